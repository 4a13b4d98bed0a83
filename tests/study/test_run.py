"""Running a study: cells done once, resumed, refused, and failing alone. Toy steps stand in for fits."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest

from miscal.base.errors import InputError, LockedError, MismatchError
from miscal.base.files import locked
from miscal.cli import main
from miscal.study import StudyDone, read_tables, steps, study, survey
from miscal.study import run as running

from . import toys
from .conftest import answers, entry

pytestmark = pytest.mark.whole

TOY = [sys.executable, str(Path(toys.__file__)), "--toy"]


@pytest.fixture
def toy(monkeypatch):
    """Toy steps in this process, without the pauses in which other processes are killed."""
    monkeypatch.setattr(toys, "PAUSE", 0.0)
    for kind, step in toys.TOYS.items():
        monkeypatch.setitem(steps.STEPS, kind, step)
    monkeypatch.setattr(running, "draw_pages", toys.draw_pages)


@pytest.fixture
def plan(data):
    pairs = [entry(data), entry(data, "two")]
    return {"method": "both", "evidence": "test", "options": {"max_epochs": 1}, "pairs": pairs}


def untimed(out) -> dict[str, list]:
    """Everything in the tables but seconds."""
    return {
        name: table.drop([c for c in table.columns if c.startswith("seconds")]).rows()
        for name, table in read_tables(out).items()
    }


# --- what is computed ---------------------------------------------------------------------------------------------


def test_every_cell_is_computed_once(toy, plan, tmp_path):
    steps_told = []
    done = study(plan, tmp_path / "out", progress=steps_told.append)
    # 4 pairs read, 2 splits, 4 pairs x 2 methods fitted and measured, 4 duels, 2 data sets x 2 methods together
    assert (done.n_computed, done.n_done, done.n_cells, done.failures) == (30, 30, 30, ())
    assert (done.page, done.lines) == (tmp_path / "out" / "index.html", ("a verdict",))
    assert len([step for step in steps_told if step.seconds is not None]) == 30
    assert [step.done for step in steps_told if step.seconds is not None] == list(range(1, 31))
    left = [step.left for step in steps_told if step.left is not None]
    assert left[-1] == 0.0
    again = study(plan, tmp_path / "out")
    assert (again.n_computed, again.n_done) == (0, 30)


def test_kinds_of_cells_can_be_left_to_a_later_call_with_what_rests_on_them(toy, plan, tmp_path):
    told = []
    first = study(plan, tmp_path / "out", skip=["discover"], progress=told.append)
    # 4 pairs read and 2 splits; what is measured rests on the fits
    assert (first.n_computed, first.n_done, first.n_cells, first.failures) == (6, 6, 30, ())
    assert told[-1].left == 0.0
    assert study(plan, tmp_path / "out").n_computed == 24
    with pytest.raises(InputError, match=r"skip must name kinds of cells, of score, read, .*; got 'audits'"):
        study(plan, tmp_path / "out", skip=["audits"])


def test_tables_have_the_rows_of_all_cells_in_the_order_of_the_plan(toy, plan, tmp_path):
    study(plan, tmp_path / "out")
    rows = read_tables(tmp_path / "out")["deferral"]
    pairs = ["one.a", "one.bb", "two.a", "two.bb"]
    expected = [(p, m, s) for p in pairs for m in ("paper", "auto") for s in ("raw", "corrected")]
    assert rows.select("pair", "method", "score").rows() == expected
    assert pl.read_csv(tmp_path / "out" / "tables" / "deferral.csv")["risk"].to_list() == rows["risk"].to_list()


def test_all_models_on_a_set_share_the_split(toy, plan, tmp_path):
    study(plan, tmp_path / "out")
    for dataset in ("one", "two"):
        sides = dict(pl.read_parquet(tmp_path / "out" / "splits" / f"{dataset}.parquet").iter_rows())
        assert list(sides.values()).count("test") == 24
        assert set(sides) == {f"q{row}" for row in range(240)}


@pytest.mark.slow
def test_processes_change_nothing(toy, plan, tmp_path):
    study(plan, tmp_path / "one", n_jobs=1)
    ended = run_toy(plan, tmp_path / "many", tmp_path, "--jobs", "2")
    assert ended.returncode == 0, ended.stderr
    assert untimed(tmp_path / "one") == untimed(tmp_path / "many")


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, r"seed \(0 there, 1 asked\)"),
        ({"epsilon": 0.1}, r"discover one.a paper was made with other settings: epsilon \(None there, 0.1 asked\)"),
        ({"split": "permutation"}, r"split \('grouped' there, 'permutation' asked\)"),
        ({"options": {"max_epochs": 2}}, "options"),
    ],
)
def test_other_settings_are_refused_and_named(toy, plan, tmp_path, change, said):
    study(plan, tmp_path / "out")
    with pytest.raises(MismatchError, match=said):
        study(plan | change, tmp_path / "out")
    assert study(plan, tmp_path / "out").n_computed == 0


def test_changed_data_are_refused(toy, plan, data, tmp_path):
    study(plan, tmp_path / "out")
    answers("a", seed=5).write_parquet(data / "one.a.parquet")
    with pytest.raises(MismatchError, match=r"one.a.parquet has changed since the pair one.a was read"):
        study(plan, tmp_path / "out")


def test_other_data_under_another_name_are_refused(toy, plan, data, tmp_path):
    study(plan, tmp_path / "out")
    for model in ("a", "bb"):
        answers(model, seed=5).write_parquet(data / f"other.{model}.parquet")
    other = plan | {"pairs": [entry(data) | {"data": f"{data}/other.{{model}}.parquet"}, *plan["pairs"][1:]]}
    with pytest.raises(MismatchError, match=r"other.a.parquet has changed since the pair one.a was read"):
        study(other, tmp_path / "out")


def test_data_may_move(toy, plan, data, tmp_path):
    study(plan, tmp_path / "out")
    data.rename(tmp_path / "moved")
    moved = json.loads(json.dumps(plan).replace(str(data), str(tmp_path / "moved")))
    assert study(moved, tmp_path / "out").n_computed == 0


def test_a_plan_may_grow_but_not_lose_what_was_measured(toy, plan, data, tmp_path):
    study(plan, tmp_path / "out")
    first = untimed(tmp_path / "out")
    answers("ccc", n=300).write_parquet(data / "one.ccc.parquet")
    grown = plan | {"pairs": [*plan["pairs"], entry(data, models=("ccc",))], "interpret": ["two.a"]}
    done = study(grown, tmp_path / "out")
    # read, 2 fits, 2 measures, what sets them beside each other; the split of the set, whose new questions are dealt; 2
    # interpretations; its data set together, under either method
    assert done.n_computed == 11
    second = untimed(tmp_path / "out")
    assert first["deferral"] == [row for row in second["deferral"] if row[0] != "one.ccc"]
    assert [row[0] for row in second["purity"]] == ["two.a", "two.a"]
    with pytest.raises(MismatchError, match=r"its pairs one\.ccc are not in the plan"):
        study(plan, tmp_path / "out")


def test_a_second_writer_is_refused(toy, plan, tmp_path):
    with locked(tmp_path / "out"), pytest.raises(LockedError, match="another miscal process is writing"):
        study(plan, tmp_path / "out")


def test_another_version_is_refused(toy, plan, tmp_path):
    study(plan, tmp_path / "out")
    cell = tmp_path / "out" / "cells" / "read@one.a.json"
    cell.write_text(cell.read_text().replace('"miscal": "', '"miscal": "9'))
    with pytest.raises(MismatchError, match=r"read one.a was made by another version of miscal \(9"):
        study(plan, tmp_path / "out")


# --- what fails ---------------------------------------------------------------------------------------------------


def failures(done: StudyDone) -> set[tuple]:
    return {(row["pair"], row["step"]) for one in done.failures for row in one.rows}


def test_a_failed_pair_is_named_and_the_others_go_on(toy, plan, data, tmp_path):
    answers("poison", seed=3).write_parquet(data / "one.poison.parquet")
    (data / "one.broken.parquet").write_bytes(b"PAR1 no more")
    poisoned = plan | {"pairs": [entry(data, models=("poison", "broken", "missing", "bug")), *plan["pairs"]]}
    answers("bug", seed=4).write_parquet(data / "one.bug.parquet")
    done = study(poisoned, tmp_path / "out")
    assert failures(done) == {
        ("one.poison", "discover paper"), ("one.poison", "discover auto"),
        ("one.bug", "discover paper"), ("one.bug", "discover auto"),
        ("one.broken", "read"), ("one.missing", "read"),
    }  # fmt: skip
    told = {row["pair"]: (row["message"], one.mendable) for one in done.failures for row in one.rows}
    assert told["one.poison"] == ("the pair is poisoned: give it an antidote", True)
    assert told["one.bug"] == ("KeyError: 'no such key'", False)
    assert "does not exist" in told["one.missing"][0]
    table = read_tables(tmp_path / "out")["failures"]
    assert set(table.select("pair", "step").rows()) == failures(done)
    assert len(read_tables(tmp_path / "out")["deferral"]) == 16
    # what failed is tried again, and nothing else
    answers("missing", seed=6).write_parquet(data / "one.missing.parquet")
    again = study(poisoned, tmp_path / "out")
    assert ("one.missing", "read") not in failures(again)
    # the pair that came back: read, split, two fits with their measures, and what sets them beside each other
    assert again.n_computed == 7
    assert len(read_tables(tmp_path / "out")["deferral"]) == 20


def test_a_step_that_makes_other_columns_is_a_bug(toy, plan, tmp_path, monkeypatch):
    monkeypatch.setitem(steps.STEPS, "measure", lambda job: steps.CellResult({"deferral": [{"pair": "one.a"}]}))
    done = study(plan, tmp_path / "out")
    assert len(done.failures) == 8
    assert not any(one.mendable for one in done.failures)
    assert "a row of the table deferral has other columns" in done.failures[0].message


# --- from a shell -------------------------------------------------------------------------------------------------


def command(plan, out, folder, *more) -> list[str]:
    path = folder / "plan.yaml"
    # JSON is YAML
    path.write_text(json.dumps(plan))
    return [*TOY, "study", str(path), "--out", str(out), *more]


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def started(asked, **more) -> subprocess.Popen:
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(asked, env=environment(), text=True, **pipes, **more)


def run_toy(plan, out, folder, *more) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(plan, out, folder, *more), env=environment(), capture_output=True, text=True, timeout=120
    )


def test_the_command_says_where_the_page_is_and_fails_by_its_status(toy, plan, data, tmp_path, capsys):
    ended = run_toy(plan, tmp_path / "out", tmp_path, "--markdown")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "a verdict")
    assert ended.stdout.splitlines()[1].startswith("30 of 30 cells computed now, 30 done in all: ")
    written = [line.removeprefix("to hand on: ") for line in ended.stdout.splitlines()[2:]]
    assert written == [str(tmp_path / "out" / name) for name in ("board.md", "board.csv")]
    assert all(Path(path).is_file() for path in written)
    assert len(ended.stderr.splitlines()) == 30
    poisoned = plan | {"pairs": [*plan["pairs"], entry(data, models=("missing",))]}
    # in this process, which has imported all that takes long
    assert main(command(poisoned, tmp_path / "out", tmp_path)[len(TOY) :]) == 2
    assert "FAILED      read one.missing: the data file" in capsys.readouterr().err


def test_killed_at_any_moment_it_goes_on(toy, plan, tmp_path):
    killed_and_resumed(plan, tmp_path, kills=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_thirty_times_it_goes_on(toy, plan, tmp_path):
    killed_and_resumed(plan, tmp_path, kills=30, jobs="2")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_one_line(plan, tmp_path, number):
    with started(command(plan, tmp_path / "out", tmp_path, "--jobs", "2"), start_new_session=True) as process:
        process.stderr.readline()
        # Ctrl-C goes to every process of the terminal
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        said = [line for line in process.stderr.read().splitlines() if " of 26 " not in line]
    assert process.returncode == 128 + number
    assert said == ["miscal: stopped; no file was left half-written; run the same command again to go on from here"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_killed_workers_cost_their_cells_alone(toy, plan, tmp_path):
    """What a worker computed is named as lost, the rest is finished, and the same command makes it up."""
    study(plan, tmp_path / "whole")
    rng, struck, failed, number = np.random.default_rng(0), 0, True, 0
    while struck < 20 or failed:
        out = tmp_path / f"out {number}"
        with started(command(plan, out, tmp_path, "--jobs", "2")) as process:
            hit = kill_workers(process, rng, 20 - struck)
            said = process.communicate(timeout=240)[1]
        lost = [line for line in said.splitlines() if " FAILED " in line]
        assert len(lost) <= hit
        assert all("ended from outside" in line for line in lost)
        assert process.returncode == (2 if lost else 0), said
        struck, failed = struck + hit, bool(lost)
        if not failed:
            assert untimed(out) == untimed(tmp_path / "whole")
            number += 1


def kill_workers(process, rng, most) -> int:
    """Kill processes that a study has started, at random moments, as long as it lives; tell how many."""
    hit = 0
    while process.poll() is None and hit < most:
        time.sleep(rng.uniform(0.05, 1))
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(process.pid).children()
            workers = [child for child in children if any("spawn_main" in word for word in child.cmdline())]
            if workers:
                workers[rng.integers(len(workers))].kill()
                hit += 1
    return hit


def killed_and_resumed(plan, tmp_path, *, kills: int, jobs: str = "1") -> None:
    """Kill studies at random moments until so many kills hit; each goes on until it is whole, and none loses a cell."""
    study(plan, tmp_path / "whole")
    rng, out, done, struck, hit = np.random.default_rng(0), tmp_path / "out 0", 0, 0, True
    while struck < kills or hit:
        with started(command(plan, out, tmp_path, "--jobs", jobs)) as process:
            # from the first cell that ends on
            process.stderr.readline()
            if struck < kills:
                time.sleep(rng.uniform(0, 0.1))
                process.send_signal(signal.SIGKILL)
            else:
                process.communicate(timeout=120)
        hit = process.returncode == -signal.SIGKILL
        now = len(list((out / "cells").glob("*.json")))
        assert now >= done
        done, struck = now, struck + hit
        if not hit:
            assert process.returncode == 0
            assert untimed(out) == untimed(tmp_path / "whole")
            assert not [path for path in out.rglob(".miscal-*") if not path.name.endswith(".lock")]
            out, done = out.with_name(f"out {struck}"), 0


def test_a_survey_lists_the_cells_and_which_are_done_and_computes_nothing(toy, plan, data, tmp_path, capsys):
    assert not any(done for _, done in survey(plan, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    study(plan | {"pairs": plan["pairs"][:1]}, tmp_path / "out")
    cells = survey(plan, tmp_path / "out")
    kinds = dict.fromkeys(cell.kind for cell, _ in cells)
    done = {kind: [done for cell, done in cells if cell.kind == kind] for kind in kinds}
    counts = {kind: (len(own), sum(own)) for kind, own in done.items()}
    expected = {"read": (4, 2), "split": (2, 1), "discover": (8, 4), "measure": (8, 4)}
    assert counts == expected | {"duel": (4, 2), "together": (4, 2)}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    assert main(["study", str(tmp_path / "plan.yaml"), "--out", str(tmp_path / "out"), "--dry-run"]) == 0
    first, *listed = capsys.readouterr().out.splitlines()
    assert first == "30 cells, 15 done"
    assert len(listed) == 30
