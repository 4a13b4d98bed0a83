"""kill -9 at random moments: the old result stays whole until the new one is there, and the next command works.

Scoring, studies and the paper's experiments are killed where they are tested.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from miscal.discovery.run import read_run

from ..cli.new_rows import fitted, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
KILLS = 20


def command(*arguments):
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path if place)
    return {
        "args": [sys.executable, "-m", "miscal", *map(str, arguments)],
        "env": os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
    }


def killed(check, *arguments):
    """Kill a command at random moments of its life, and check after each; then let it end."""
    begun = time.monotonic()
    subprocess.run(**command(*arguments), check=True)
    life, rng, struck = time.monotonic() - begun, random.Random(0), 0
    check()
    for _ in range(KILLS):
        with subprocess.Popen(**command(*arguments)) as process:
            time.sleep(rng.uniform(0, life))
            process.send_signal(signal.SIGKILL)
        struck += process.returncode == -signal.SIGKILL
        check()
    assert struck >= KILLS // 2
    subprocess.run(**command(*arguments), check=True)
    check()


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".miscal-")]


@pytest.fixture
def data(tmp_path):
    rows(150).write_parquet(tmp_path / "d.parquet")
    return tmp_path / "d.parquet"


def discovering(folder, data):
    options = ("--features", "age,count", "--evidence", "test", "--map", "pca", "--overwrite")
    return ("discover", data, "--out", folder / "run", *options)


@pytest.mark.promise("C2", cases=KILLS)
def test_a_discovery_that_replaces_a_run(tmp_path, data):
    told = []

    def check():
        run = tmp_path / "run"
        if not run.exists():
            # the moment between two renames: the next command puts the old run back
            assert any(path.name.endswith(".old") for path in tmp_path.iterdir())
            return
        read_run(run).load_model()
        told.append((run / "field.parquet").read_bytes())

    killed(check, *discovering(tmp_path, data))
    assert len(set(told)) == 1
    assert left_over(tmp_path) == []


@pytest.mark.promise("C3", cases=KILLS)
def test_an_audit(tmp_path, data):
    subprocess.run(**command(*discovering(tmp_path, data)), check=True)
    told = []

    def check():
        read_run(tmp_path / "run")
        if (tmp_path / "run" / "audit.json").exists():
            told.append(json.dumps(json.loads((tmp_path / "run" / "audit.json").read_text())))

    killed(check, "audit", tmp_path / "run", "--draws", "1", "--seeds", "2")
    assert len(set(told)) == 1
    assert left_over(tmp_path) == []


@pytest.mark.promise("C3", cases=KILLS)
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_corrections(tmp_path, ending):
    model = fitted(tmp_path / "model", features="age,count,one,kind")
    rows(100_000, seed=1).write_parquet(tmp_path / "new.parquet")
    told = []

    def check():
        if (tmp_path / f"out{ending}").exists():
            told.append((tmp_path / f"out{ending}").read_bytes())
            (tmp_path / f"out{ending}").unlink()

    killed(check, "calibrate", model, tmp_path / "new.parquet", "--out", tmp_path / f"out{ending}")
    assert len(set(told)) == 1
    assert left_over(tmp_path) == []
