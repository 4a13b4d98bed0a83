"""The core does without torch: commands run, and no process of theirs tries to import it."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

pytestmark = pytest.mark.whole

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
