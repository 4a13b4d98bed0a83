"""Whole studies of tiny pairs from a shell, with real fits: on every engine, and killed on the way."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from miscal.base.errors import InputError
from miscal.discovery.run_folder import check_seal
from miscal.study import read_tables, study

from .conftest import entry
from .test_run import environment, untimed

SMALL = {"sigmas": [0.3], "lambdas": [0.01], "max_epochs": 2, "patience": 2}


def command(plan, out, *more) -> list[str]:
    path = out.parent / "plan.yaml"
    path.write_text(json.dumps(plan))
    return [sys.executable, "-m", "miscal", "study", str(path), "--out", str(out), *more]


def ran(plan, out, *more) -> subprocess.CompletedProcess:
    return subprocess.run(command(plan, out, *more), env=environment(), capture_output=True, text=True, timeout=280)


def test_an_engine_that_is_not_there_is_refused(data, tmp_path):
    with pytest.raises(InputError, match="ray_address can be given with engine ray only"):
        study({"pairs": [entry(data)]}, tmp_path / "out", ray_address="auto")
    with pytest.raises(InputError, match="engine must be one of local, ray; got 'slurm'"):
        study({"pairs": [entry(data)]}, tmp_path / "out", engine="slurm")


@pytest.mark.slow
def test_a_study_by_both_methods(data, tmp_path):
    out = tmp_path / "out"
    plan = {
        "method": "both", "evidence": "test", "options": SMALL, "interpret": ["one.a"],
        "audit": {"pairs": ["one.a"], "draws": 2, "seeds": 2}, "pairs": [entry(data, metadata="kind")],
    }  # fmt: skip
    ended = ran(plan, out)
    assert ended.returncode == 0, ended.stderr
    assert str(out / "index.html") in ended.stdout
    for pair in ("one.a", "one.bb"):
        for method in ("paper", "auto"):
            check_seal(out / "pairs" / pair / method)
            assert (out / "pairs" / pair / method / "report.html").is_file()
    tables = read_tables(out)
    # 24 test rows are too few for a reliability diagram, for groups, and for what models share
    few = {"curves", "group_rankings", "shared_findings"}
    assert {name for name, table in tables.items() if not len(table)} <= {"failures", *few}
    judged = tables["pairs"].filter(geometry="learned").select("pair", "method", "n_test").rows()
    # both methods are judged on the same rows
    assert judged == [(pair, method, 24) for pair in ("one.a", "one.bb") for method in ("paper", "auto")]
    assert read_tables(out)["pairs"]["seconds"].min() > 0
    assert not (out / "board.md").exists()
    again = ran(plan, out, "--json", "--markdown")
    # all cells are done: the board is written from the tables that are there
    assert (out / "board.md").read_text().count("| rank |") == 3
    assert len((out / "board.csv").read_text().splitlines()) == 1 + 2
    assert again.returncode == 0
    assert json.loads(again.stdout) == json.loads((out / "summary.json").read_text())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_all_engines_leave_the_same_tables(data, tmp_path):
    pytest.importorskip("ray", reason="needs the extra ray")
    pairs = [entry(data), entry(data, models=("missing",))]
    plan = {"method": "both", "evidence": "test", "options": SMALL, "pairs": pairs}
    for name, more in {"one": [], "two": ["--jobs", "2"], "ray": ["--engine", "ray"]}.items():
        ended = ran(plan, tmp_path / name, *more)
        assert ended.returncode == 2, ended.stderr
        assert "read one.missing: the data file" in ended.stderr
    assert untimed(tmp_path / "one") == untimed(tmp_path / "two") == untimed(tmp_path / "ray")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_study_killed_in_its_fits_goes_on(data, tmp_path):
    plan = {"method": "both", "evidence": "test", "options": SMALL, "pairs": [entry(data)]}
    assert ran(plan, tmp_path / "whole").returncode == 0
    rng = np.random.default_rng(1)
    for _ in range(3):
        with subprocess.Popen(
            command(plan, tmp_path / "out", "--jobs", "2"), env=environment(), stderr=subprocess.PIPE, text=True
        ) as process:
            process.stderr.readline()
            time.sleep(rng.uniform(0, 12))
            process.send_signal(signal.SIGKILL)
    ended = ran(plan, tmp_path / "out", "--jobs", "2")
    assert ended.returncode == 0, ended.stderr
    assert untimed(tmp_path / "out") == untimed(tmp_path / "whole")
    assert not [name for name in os.listdir(tmp_path / "out" / "pairs" / "one.a") if name.endswith(".partial")]
