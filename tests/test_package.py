"""The package as a whole: what importing it costs, what it exports and must never do; its wheel with core alone."""

import ast
import importlib.metadata
import inspect
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import miscal

SOURCE = Path(miscal.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
HEAVY = ("torch", "transformers", "sklearn", "scipy", "numpy", "polars", "pandas", "lightgbm", "matplotlib", "numba")
UNPICKLING = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}

RUNNING = {"eval", "exec", "torch.load", "torch.save", "joblib.load", "joblib.dump", "yaml.load"}


def loaded_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in json.loads(told.stdout)}


@pytest.mark.parametrize(
    "statement",
    ["import miscal", "import miscal; miscal.__version__, dir(miscal)", "import miscal.cli.app as a; a.build()"],
)
def test_light_to_import(statement):
    assert not loaded_after(statement) & set(HEAVY)


HELP = """
import contextlib, io
from miscal.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["discover", "--help"])
"""


def test_help_on_a_command_imports_neither_other_commands_nor_what_checks_arguments():
    program = f"{HELP}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = json.loads(told.stdout)
    assert not {name.split(".")[0] for name in names} & {*HEAVY, "pydantic", "rich", "jinja2", "email"}
    assert [name for name in names if name.startswith("miscal.cli.commands.")] == ["miscal.cli.commands.discover"]


@pytest.mark.whole
def test_the_first_use_moves_no_random_state_of_python_or_numpy():
    program = """
import random
import numpy as np
rng = np.random.default_rng(0)
X, f = rng.normal(size=(120, 2)), rng.uniform(0.2, 0.8, 120)
y, t = (rng.random(120) < f).astype(int), [f"question {k} of {k % 7}" for k in range(120)]
before, numbers = random.getstate(), np.random.get_state()[1].copy()
import miscal
miscal.read_triples({"confidence": f, "correct": y, "t": t}, text="t", embed_model="tfidf")
miscal.MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
assert random.getstate() == before
assert (np.random.get_state()[1] == numbers).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_command_says_its_version():
    told = subprocess.run([sys.executable, "-m", "miscal", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"miscal {importlib.metadata.version('miscal')}\n"


def test_exports():
    assert len(miscal.__all__) == len(set(miscal.__all__))
    assert dir(miscal) == sorted(miscal.__all__)
    for name in miscal.__all__:
        value = getattr(miscal, name)
        assert name == "__version__" or value.__name__.removeprefix("miscal.") == name
    assert miscal.__version__ == importlib.metadata.version("miscal")


@pytest.mark.parametrize("name", [name for name in miscal.__all__ if name != "__version__"])
def test_every_public_object_has_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(miscal, name))


def test_every_name_for_type_checkers_is_exported():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    names = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names | {"__version__"} == set(miscal.__all__)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'Miscalibration'"):
        _ = miscal.Miscalibration


def forbidden(tree: ast.AST) -> list[str]:
    """Say what in a module could run code that came in a file."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in UNPICKLING]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in UNPICKLING:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            found += _call(node)
    return found


def _call(node: ast.Call) -> list[str]:
    # most calls need no second look, which takes longer than all else here
    if not (node.keywords or _last(node.func) in {"read_pickle", *(name.split(".")[-1] for name in RUNNING)}):
        return []
    called = ast.unparse(node.func)
    allows = [k for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"]
    if called in RUNNING or called.endswith(".read_pickle") or allows:
        return [called]
    return []


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in FILES}


def test_nothing_runs_what_a_file_brings(trees):
    assert {path: found for path, tree in trees.items() if (found := forbidden(tree))} == {}


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from dill import loads",
        "torch.load(p)",
        "pd.read_pickle(p)",
        "np.load(p, allow_pickle=True)",
        "eval('1')",
    ],
)
def test_the_search_finds_what_it_looks_for(code):
    assert forbidden(ast.parse(code))


def _last(called: ast.AST) -> str:
    return getattr(called, "attr", getattr(called, "id", ""))


def patterns(tree: ast.AST) -> list[str]:
    """Say which calls of polars could take the name of a file for a pattern, or read Parquet past the one place."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "polars":
            found += [alias.name for alias in node.names if alias.name.startswith(("read_", "scan_"))]
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not node.func.attr.startswith(("read_", "scan_")):
            continue
        called, name = ast.unparse(node.func), node.func.attr
        if not called.startswith(("pl.read_", "pl.scan_", "polars.read_", "polars.scan_")):
            continue
        literal = any(k.arg == "glob" and ast.unparse(k.value) == "False" for k in node.keywords)
        in_memory = bool(node.args) and ast.unparse(node.args[0]).startswith("io.BytesIO(")
        if name in ("read_parquet", "scan_parquet") or not (literal or in_memory or not _takes_patterns(name)):
            found.append(called)
    return found


def _takes_patterns(name: str) -> bool:
    # the reader of JSON lines has no such argument, and reads the file that is named
    return "glob" in inspect.signature(getattr(pl, name)).parameters


def test_no_name_of_a_file_is_taken_for_a_pattern(trees):
    others = dict(trees)
    tables = others.pop("base/frames.py")
    calls = [node for node in ast.walk(tables) if isinstance(node, ast.Call) and "_parquet" in _last(node.func)]
    assert all("glob=False" in ast.unparse(node) for node in calls if ast.unparse(node.func).startswith("pl."))
    assert {path: found for path, tree in others.items() if (found := patterns(tree))} == {}


@pytest.mark.parametrize(
    "code", ["pl.read_parquet(p)", "pl.scan_parquet(p, glob=False)", "pl.scan_csv(p)", "from polars import read_csv"]
)
def test_the_search_finds_names_that_could_be_patterns(code):
    assert patterns(ast.parse(code))


def test_files_stay_readable():
    long = {str(p.relative_to(SOURCE)): n for p in FILES if (n := len(p.read_text().splitlines())) > 500}
    assert not long


ROOT = Path(__file__).parents[1]
VERSION = "{}.{}".format(*sys.version_info)
NEWEST = f"requirements-core{'' if VERSION == '3.11' else f'-{VERSION}'}.lock"
OLDEST = "requirements-core-oldest.lock"
N = 400


@dataclass(frozen=True)
class Clean:
    """An environment with miscal and what it depends on, and nothing of this one."""

    bin: Path
    work: Path

    def run(self, *command: str | Path, status: int = 0) -> subprocess.CompletedProcess:
        # what is on this PYTHONPATH is the source tree, not what was installed
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        program, *arguments = map(str, command)
        ended = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert ended.returncode == status, ended.stdout + ended.stderr
        return ended


def pip(python: Path | str, *arguments: str | Path) -> None:
    """Run pip; where it fails because no index answers, the test is skipped and says so."""
    asked = [python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=900)
    if ended.returncode:
        probe = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--retries", "0", "mdurl==0.1.2"]
        here = Path(python).parent
        if subprocess.run([*probe, "-d", here], capture_output=True, timeout=300).returncode:
            pytest.skip("no package index can be reached")
        pytest.fail(ended.stderr)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", out, ROOT)
    return next(out.glob("miscal-*.whl"))


def installed(lock: str, wheel: Path, place: Path) -> Clean:
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True, timeout=300)
    pip(place / "venv" / "bin" / "python", "install", "--no-deps", "-r", ROOT / lock, wheel)
    clean = Clean(place / "venv" / "bin", place)
    clean.run("python", "-m", "pip", "check")
    return clean


def answers() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    law, confidence = rng.random(N) < 0.5, rng.uniform(0.4, 0.6, N)
    return pl.DataFrame(
        {
            "question": [f"what of {'law' if is_law else 'sums'} number {i}" for i, is_law in enumerate(law)],
            "subject": np.where(law, "law", "sums"),
            "length": rng.normal(size=N) + law,
            "confidence": confidence,
            "correct": (rng.random(N) < confidence + np.where(law, -0.35, 0.35)).astype(int),
        }
    )


def discovered_and_calibrated(clean: Clean, law: np.ndarray, name: str, *inputs: str) -> None:
    clean.run("miscal", "discover", "answers.csv", *inputs, "--metadata", "subject", "--out", name)
    delta = pl.read_parquet(clean.work / name / "field.parquet").sort("row")["delta"].to_numpy()
    assert delta[law].mean() < -0.1 < 0.1 < delta[~law].mean()
    clean.run("miscal", "calibrate", name, "answers.csv", "--out", f"{name}.csv")
    corrected = pl.read_csv(clean.work / f"{name}.csv")["corrected"]
    assert len(corrected) == N
    assert corrected.is_between(0, 1).all()


def megabytes(place: Path) -> float:
    """Return what was installed, without pip, which every environment has."""
    packages = next((place / "venv").glob("lib/python*/site-packages"))
    files = (path for path in packages.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if not path.relative_to(packages).parts[0].startswith("pip")) / 1e6


def page(clean: Clean, path: str) -> None:
    assert (clean.work / path).stat().st_size > 20_000


# one test for each environment, so that no two processes make the same one
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("lock", [NEWEST, OLDEST])
def test_core_alone_runs_its_commands(lock, wheel, tmp_path):
    if lock == OLDEST and VERSION != "3.11":
        pytest.skip("the oldest versions are locked for Python 3.11")
    clean, table = installed(lock, wheel, tmp_path), answers()
    # the install is promised to take 0.55 GB, with setuptools where the Python brings it
    assert megabytes(tmp_path) <= 550
    table.write_csv(tmp_path / "answers.csv")
    law = table["subject"].to_numpy() == "law"
    discovered_and_calibrated(clean, law, "text", "--text", "question")
    discovered_and_calibrated(clean, law, "features", "--features", "length,subject", "--text", "question")
    clean.run("miscal", "audit", "features", "--draws", "1", "--seeds", "2")
    clean.run("miscal", "compare", "text", "features", "--out", "compared")
    page(clean, "compared/compare.html")
    (tmp_path / "text" / "report.html").unlink()
    clean.run("miscal", "report", "text")
    page(clean, "text/report.html")
    clean.run("miscal", "demo", "--out", "demo")
    page(clean, "demo/report.html")
