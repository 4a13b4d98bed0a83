"""kill -9 at random moments: the old result stays whole until the new one is there, and the next command works.

Scoring, studies, the paper's experiments and monitors are killed where they are tested.
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

from miscal.base.files import digest
from miscal.discovery.run import read_run

from ..cli.new_rows import fitted, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

PAPER = """
import sys
from miscal.data.readers.read import read_triples
from miscal.discovery.discover import discover
from miscal.report import write_run

options = {"sigmas": (0.1, 0.3), "lambdas": (0.01,), "max_epochs": 40}
data = read_triples(sys.argv[1], features="age,count")
found = discover(data, method="paper", options=options, evidence="test", map_method="pca", n_jobs=1)
write_run(found, sys.argv[2], report=False, overwrite=True)
"""
"""The paper's training with a small grid: what `miscal discover --method paper` does, in less time."""


def process(*arguments):
    """Arguments of a process of Python."""
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path if place)
    return {
        "args": [sys.executable, *map(str, arguments)],
        "env": os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
    }


def killed(check, kills, *arguments):
    """Kill a process at random moments of its life until so many kills hit, and check after each; then let it end."""
    begun = time.monotonic()
    subprocess.run(**process(*arguments), check=True)
    life, rng, struck = time.monotonic() - begun, random.Random(0), 0
    check()
    while struck < kills:
        with subprocess.Popen(**process(*arguments)) as running:
            time.sleep(rng.uniform(0, life))
            running.send_signal(signal.SIGKILL)
        struck += running.returncode == -signal.SIGKILL
        check()
    subprocess.run(**process(*arguments), check=True)
    check()


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".miscal-")]


@pytest.fixture
def data(tmp_path):
    rows(150).write_parquet(tmp_path / "d.parquet")
    return tmp_path / "d.parquet"


def discovering(folder, data):
    options = ("--features", "age,count", "--evidence", "test", "--map", "pca", "--overwrite")
    return ("-m", "miscal", "discover", data, "--out", folder / "run", *options)


RESULT = ("field.parquet", "model/config.json", "model/tensors.safetensors")


def killed_fits(tmp_path, kills, *arguments):
    """Kill a discovery that replaces a run: table and weights are always those of a whole one."""
    told = set()

    def check():
        run = tmp_path / "run"
        if not run.exists():
            # the moment between two renames: the next command puts the old run back
            assert any(path.name.endswith(".old") for path in tmp_path.iterdir())
            return
        read_run(run).load_model()
        told.add(tuple(digest(run / name) for name in RESULT))

    killed(check, kills, *arguments)
    assert len(told) == 1
    assert left_over(tmp_path) == []


def test_a_discovery_that_replaces_a_run(tmp_path, data):
    killed_fits(tmp_path, 20, *discovering(tmp_path, data))


def test_the_training_of_the_paper(tmp_path, data):
    killed_fits(tmp_path, 10, "-c", PAPER, data, tmp_path / "run")


def test_an_audit(tmp_path, data):
    subprocess.run(**process(*discovering(tmp_path, data)), check=True)
    told = []

    def check():
        read_run(tmp_path / "run")
        if (tmp_path / "run" / "audit.json").exists():
            told.append(json.dumps(json.loads((tmp_path / "run" / "audit.json").read_text())))

    killed(check, 30, "-m", "miscal", "audit", tmp_path / "run", "--draws", "1", "--seeds", "2")
    assert len(set(told)) == 1
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_corrections(tmp_path, ending):
    model = fitted(tmp_path / "model", features="age,count,one,kind")
    rows(100_000, seed=1).write_parquet(tmp_path / "new.parquet")
    told = []

    def check():
        if (tmp_path / f"out{ending}").exists():
            told.append((tmp_path / f"out{ending}").read_bytes())
            (tmp_path / f"out{ending}").unlink()

    command = ("-m", "miscal", "calibrate", model, tmp_path / "new.parquet", "--out", tmp_path / f"out{ending}")
    killed(check, 20, *command)
    assert len(set(told)) == 1
    assert left_over(tmp_path) == []
