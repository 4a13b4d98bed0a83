"""A run says its answer first, and ends at Ctrl-C and SIGTERM with their status, leaving what was there before."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from miscal.discovery.summary import read_summary
from miscal.report.brief import brief_lines
from miscal.report.sheet import opening_lines

from .conftest import planted, start

pytestmark = pytest.mark.whole

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def long_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "data.parquet"
    planted(4_000).write_parquet(path)
    return path


def wait_for(found, seconds=60):
    for _ in range(int(seconds / 0.02)):
        if found():
            return
        time.sleep(0.02)
    pytest.fail("the run did not start")


def stop(process, number):
    """Ctrl-C reaches the workers too, as from a terminal; SIGTERM the command alone."""
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)


@pytest.mark.parametrize("number", STATUS)
@pytest.mark.parametrize(
    "delay", [0.0, pytest.param(3.0, marks=pytest.mark.slow), pytest.param(15.0, marks=pytest.mark.slow)]
)
def test_a_signal_ends_the_run_and_leaves_nothing(number, delay, long_data, tmp_path):
    process = start("discover", long_data, "--out", tmp_path / "a" / "run", "--features", "x_*", "--map", "pca")
    wait_for(lambda: list(tmp_path.glob("a/.miscal-*.partial")))
    time.sleep(delay)
    stop(process, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == STATUS[number]
    # before it, what has been reached until then
    assert err.splitlines()[-1] == "miscal: stopped; no file was left half-written"
    assert delay or (out, err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_keeps_the_run_that_was_to_be_replaced(long_data, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.html").write_text("old")
    process = start("discover", long_data, "--out", tmp_path / "run", "--features", "x_*", "--overwrite")
    wait_for(lambda: list(tmp_path.glob(".miscal-*.partial")))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "report.html").read_text() == "old"


def test_a_second_run_on_the_same_folder_is_refused_at_once(long_data, tmp_path):
    arguments = ("discover", long_data, "--out", tmp_path / "run", "--features", "x_*")
    first = start(*arguments)
    wait_for(lambda: list(tmp_path.glob(".miscal-*.partial")))
    second = start(*arguments)
    _, err = second.communicate(timeout=60)
    assert second.returncode == 2
    assert "another miscal process" in err
    first.kill()
    first.communicate()
    left = next(tmp_path.glob(".miscal-*.partial")).stat().st_ctime_ns
    third = start(*arguments)
    wait_for(lambda: any(path.stat().st_ctime_ns != left for path in tmp_path.glob(".miscal-*.partial")))
    stop(third, signal.SIGINT)
    third.communicate(timeout=60)
    assert third.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", STATUS)
@pytest.mark.parametrize("module", ["miscal.base.errors", "miscal.cli.exit_status", "typer", "miscal.cli.app"])
def test_a_signal_while_modules_are_imported_ends_in_one_line(module, number):
    """Python names each module on standard error when it has been imported, so the signal comes right after it."""
    with start("--version", PYTHONPROFILEIMPORTTIME="1") as process:
        next(line for line in process.stderr if line.rstrip().endswith(f" {module}"))
        stop(process, number)
        rest = process.stderr.read().splitlines()
    assert process.returncode == STATUS[number]
    assert [line for line in rest if not line.startswith("import time:")] == [
        "miscal: stopped; no file was left half-written"
    ]


TRACED = """
import importlib, os, sys
from miscal.cli import main
from miscal.base.process import import_lightly
import_lightly()
def traced(module, name):
    module = importlib.import_module(module)
    function = getattr(module, name)
    def run(*arguments, **options):
        os.write(1, b"LATER\\n")
        open("modules.txt", "a").write(" ".join(sys.modules) + "\\n")
        return function(*arguments, **options)
    setattr(module, name, run)
traced("miscal.discovery.summarise", "contents_of")
traced("miscal.discovery.layout", "lay_out")
status = main(sys.argv[1:])
open("modules.txt", "a").write(" ".join(sys.modules))
sys.exit(status)
"""

UNUSED = {
    *("pandas", "matplotlib", "torch", "transformers", "sentence_transformers", "datasets", "numba", "umap", "ray"),
    *("miscal.estimators.paper", "miscal.study", "miscal.scoring.tasks", "miscal.integrations", "miscal.runs.audit"),
    *("miscal.runs.compare", "miscal.runs.monitor", "miscal.runs.correct", "miscal.runs.run", "miscal.report.displays"),
}
"""What a run imports for nothing."""
OF_THE_PAGE = {"jinja2", "markupsafe", "miscal.report.page", "miscal.report.map_data"}
"""What nothing before the answer needs."""


def test_the_answer_is_printed_before_words_and_map_and_nothing_twice(table, tmp_path):
    table.head(150).write_parquet(tmp_path / "rows.parquet")
    options = ["--features", "x_*", "--map", "pca", "--evidence", "test"]
    told = subprocess.run(
        [sys.executable, "-c", TRACED, "discover", "rows.parquet", "--out", "run", *options],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, *between, after = told.stdout.split("LATER\n")
    assert len(between) == 2
    assert not any(between)
    summary = read_summary(tmp_path / "run")
    answer = opening_lines(summary.answer)
    assert before.splitlines() == answer
    assert [*answer, *after.splitlines()] == brief_lines(summary, Path("run"))
    first, *_, last = (set(line.split()) for line in (tmp_path / "modules.txt").read_text().splitlines())
    assert first & (UNUSED | OF_THE_PAGE) == set()
    assert last & UNUSED == set()
    stages = [line.split()[0] for line in told.stderr.splitlines()]
    assert stages == ["reading", *summary.timing, "report"]
