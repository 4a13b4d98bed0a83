"""`miscal score` as a person runs it: what it says, how it ends, and that `miscal discover` takes it from there."""

import os
import signal
import time

import numpy as np
import polars as pl
import psutil
import pytest

from miscal.cli import main
from miscal.data.readers.read import read_triples

from ..cli.conftest import start

pytestmark = pytest.mark.whole


@pytest.fixture
def task_file(tmp_path):
    rows = [
        {"id": f"q{k}", "question": f"Number {k} {'so ' * (k % 7)}?", "choices": ["one", "two"], "answer_index": k % 2}
        for k in range(120)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "task.parquet")
    return str(tmp_path / "task.parquet")


@pytest.fixture
def arguments(llama_folder, task_file, tmp_path):
    out = str(tmp_path / "out")
    return ["score", "--model", str(llama_folder), "--task", task_file, "--out", out, "--dtype", "float32"]


def test_what_it_says_and_leaves(arguments, tmp_path, capsys):
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "120 rows scored, 0 failed, 0 truncated" in said.out
    assert "questions per second" in said.out
    assert not said.err
    triples = read_triples(tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    assert triples.X.shape == (120, 32)
    np.testing.assert_array_equal(triples.confidence, table["confidence"].to_numpy())
    np.testing.assert_array_equal(triples.correct, table["correct"].to_numpy())
    assert main(arguments) == 0
    assert "questions per second" not in capsys.readouterr().out  # none were asked


@pytest.mark.slow
def test_discover_takes_it_from_there(arguments, tmp_path):
    assert main(arguments) == 0
    assert main(["discover", str(tmp_path / "out"), "--out", str(tmp_path / "run"), "--map", "pca"]) == 0
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped_goes_on_with_the_same_command(arguments, number, status, tmp_path):
    arguments = [*arguments, "--batch-tokens", "1", "--threads", "1"]
    with start(*arguments) as process:
        while not list(tmp_path.glob("out/shards/*.json")):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.count("\n")) == (status, 1)
    assert "run the same command again to go on from here" in said
    done = len(list(tmp_path.glob("out/shards/*.json")))
    assert 0 < done < 120
    assert main(arguments) == 0
    assert len(pl.read_parquet(tmp_path / "out" / "triples.parquet")) == 120


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("delay", [0.2, 0.0, 0.1, 1.0])
def test_ctrl_c_ends_the_workers_without_a_word(arguments, delay):
    """A terminal sends it to all of them, whether they still import or compute already."""
    with start(*arguments, "--workers", "2", "--batch-tokens", "1") as process:
        while len(working := psutil.Process(process.pid).children()) < 3:  # two, and the one that tidies up after them
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "miscal: stopped; no file was left half-written; run the same command again to go on from here\n"
    assert not psutil.wait_procs(working, timeout=60)[1]
