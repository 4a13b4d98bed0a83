"""Without the extras: what core imports, what a command says that needs one; nothing tries to import torch."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal import read_triples
from miscal.base.errors import InputError
from miscal.base.process import EXTRAS
from miscal.discovery.discover import discover
from miscal.estimators.field import MiscalibrationField
from miscal.report import write_run

pytestmark = pytest.mark.whole

HIDE = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0].replace("_", "-") in { ({*sum(EXTRAS.values(), ())} | {"umap"})!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""

IMPORT_ALL = """
import importlib, pkgutil, miscal
for module in pkgutil.walk_packages(miscal.__path__, "miscal."):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        print(module.name, error.name)
"""

BEHIND_EXTRAS = (
    "miscal.estimators.paper.",
    "miscal.scoring.",
    "miscal.study.",
    "miscal.integrations.",
)
"""Packages that hold the modules which cannot be imported without an extra."""


@pytest.fixture
def without(tmp_path):
    """Run Python where no extra can be imported, in processes that it starts neither."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HIDE)
    path = os.pathsep.join([str(tmp_path / "hook"), *filter(None, sys.path)])

    def run(*arguments: str | Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=240,
        )  # fmt: skip

    return run


def test_modules_that_need_an_extra_are_where_they_belong(without):
    told = without("-c", IMPORT_ALL)
    assert told.returncode == 0, told.stderr
    failed = dict(line.split() for line in told.stdout.splitlines())
    assert "miscal.estimators.paper.phi" in failed  # the hook hides what it should
    assert [name for name in failed if not name.startswith(BEHIND_EXTRAS)] == []
    assert not {"miscal.study.synthetic.worlds", "miscal.scoring.demo", "miscal.scoring.scorer"} & set(failed)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "discover a.csv --features x_0 --method paper --out p",
            'method="paper" needs torch, which is not installed: {paper}',
        ),
        (
            "discover a.csv --features x_0 --map umap --out u",
            '--map umap needs umap-learn, which is not installed: run pip install "miscal[interpret]", or take',
        ),
        ("synthetic clusters --out s", "miscal synthetic needs torch, matplotlib, which are not installed: {paper}"),
        ("study paper48 --out t", "miscal study needs matplotlib, which is not installed: {study}"),
        ("score --model m --task mmlu --out o", "model m needs torch, transformers, which are not installed: {llm}"),
        ("demo --live --out l", "135m-instruct needs torch, transformers, which are not installed: {llm}"),
    ],
)
def test_a_command_says_in_one_line_what_to_install(without, tmp_path, command, said):
    pl.DataFrame({"x_0": np.arange(200.0), "confidence": 0.5, "correct": np.arange(200) % 2}).write_csv(
        tmp_path / "a.csv"
    )
    told = without("-m", "miscal", *command.split())
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.count("\n") == 1
    commands = {extra: f'run pip install "miscal[{extra}]"\n' for extra in EXTRAS}
    assert said.format(**commands) in told.stderr


@pytest.fixture(scope="module")
def paper_run(tmp_path_factory) -> Path:
    """A run by the paper's method, with a grid of one."""
    place = tmp_path_factory.mktemp("paper")
    rng = np.random.default_rng(0)
    table = pl.DataFrame(rng.normal(size=(300, 2)), schema=["x_0", "x_1"])
    chance = np.where(table["x_0"].to_numpy() > 0, 0.8, 0.2)
    table = table.with_columns(confidence=0.5, correct=pl.Series(rng.random(300) < chance).cast(pl.Int64))
    table.write_csv(place / "a.csv")
    rows = read_triples(place / "a.csv", features="x_*")
    options = {"sigmas": [0.3], "lambdas": [0.01], "max_epochs": 2}

    write_run(discover(rows, method="paper", options=options, map_method="pca", n_jobs=1), place / "run")
    return place


@pytest.mark.slow
def test_a_saved_paper_model_asks_for_its_extra(without, paper_run):
    for command in ("audit run --draws 1 --seeds 2", "calibrate run a.csv --out new.csv"):
        arguments = [paper_run / word if word in ("run", "a.csv") else word for word in command.split()]
        told = without("-m", "miscal", *arguments)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr.endswith(
            'method="paper" needs torch, which is not installed: run pip install "miscal[paper]"\n'
        )


def test_from_python_the_same_is_said_before_anything_is_computed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r'method="paper" needs torch.*pip install "miscal\[paper\]"'):
        MiscalibrationField(method="paper").fit(np.zeros((9, 1)), np.zeros(9), confidence=np.full(9, 0.5))


TRAP = """
import os, traceback
with open(os.environ["TORCH_TRAP"], "a") as file:
    file.write("".join(traceback.format_stack()))
raise ImportError("torch is not installed")
"""

FIT = """
import numpy as np
from miscal import MiscalibrationField
rng = np.random.default_rng(0)
X, f = rng.normal(size=(300, 3)), rng.uniform(0.1, 0.9, 300)
y = (rng.random(300) < np.clip(f + 0.3 * np.sign(X[:, 0]), 0, 1)).astype(int)
field = MiscalibrationField().fit(X, y, confidence=f)
field.save("model")
again = MiscalibrationField.load("model")
assert (again.calibrate(X, confidence=f) == field.calibrate(X, confidence=f)).all()
"""


@pytest.fixture
def torchless(tmp_path):
    """Run Python in a folder where importing torch fails and leaves a trace, in child processes too."""
    (tmp_path / "trap" / "torch").mkdir(parents=True)
    (tmp_path / "trap" / "torch" / "__init__.py").write_text(TRAP)
    trace = tmp_path / "imported.txt"
    path = os.pathsep.join([str(tmp_path / "trap"), *filter(None, sys.path)])

    def run(*arguments):
        environment = os.environ | {"PYTHONPATH": path, "TORCH_TRAP": str(trace)}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert not trace.exists(), trace.read_text()
        return done.stdout

    return run


def test_the_trap_catches_an_import_that_is_forgiven(torchless):
    with pytest.raises(AssertionError, match="line 2, in <module>"):
        torchless("-c", "try:\n    import torch\nexcept ImportError:\n    pass  # forgiven\nprint('forgiven')")


def test_a_field_is_fitted_saved_loaded_and_applied(torchless):
    torchless("-c", FIT)


GIVEN = ("rows.parquet", "--embeddings", "x.safetensors")
QUICK = ("--map", "pca", "--evidence", "test")


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 3)).astype(np.float32)
    f = rng.uniform(0.2, 0.8, 240)
    y = (rng.random(240) < np.clip(f + 0.2 * np.sign(X[:, 0]), 0, 1)).astype(int)
    pl.DataFrame({"confidence": f, "other": 1 - f, "correct": y}).write_parquet(tmp_path / "rows.parquet")
    save_file({"x": X}, tmp_path / "x.safetensors")


@pytest.mark.usefixtures("rows")
def test_a_run_is_discovered_and_applied(torchless, tmp_path):
    torchless("-m", "miscal", "discover", *GIVEN, *QUICK, "--out", "run")
    torchless("-m", "miscal", "calibrate", "run/model", *GIVEN, "--out", "new.parquet")
    assert (tmp_path / "run" / "report.html").exists()
    assert len(pl.read_parquet(tmp_path / "new.parquet")) == 240


@pytest.mark.slow
@pytest.mark.usefixtures("rows")
def test_runs_are_drawn_again_audited_and_compared(torchless, tmp_path):
    for column in ("confidence", "other"):
        torchless("-m", "miscal", "discover", *GIVEN, *QUICK, "--confidence", column, "--out", column)
    torchless("-m", "miscal", "report", "other")
    torchless("-m", "miscal", "audit", "confidence", "--draws", "1", "--seeds", "2")
    torchless("-m", "miscal", "compare", "confidence", "other", "--out", "both")
    assert (tmp_path / "both" / "compare.html").exists()
