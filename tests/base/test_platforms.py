"""Systems without the calls of POSIX that miscal makes where they are there: nothing is imported that Windows lacks."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

WITHOUT = """
import os, signal, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ("sysconf", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "getuid", "geteuid", "fork", "sched_getaffinity"):
    hasattr(os, name) and delattr(os, name)
del signal.pthread_sigmask
from miscal.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.whole
def test_a_run_needs_no_call_that_windows_lacks(tmp_path):
    rng = np.random.default_rng(0)
    risk, kind = rng.uniform(0.3, 0.7, 600), rng.choice(["a", "b"], 600)
    late = (rng.random(600) < risk + np.where(kind == "a", 0.2, -0.2)).astype(int)
    pl.DataFrame({"risk": risk, "late": late, "kind": kind}).write_csv(tmp_path / "rows.csv")
    command = ["discover", "rows.csv", "--probability", "risk", "--event", "late", "--quick", "--out", "run"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "kind" in done.stdout
    assert {one.name for one in tmp_path.iterdir()} == {"rows.csv", "run"}
