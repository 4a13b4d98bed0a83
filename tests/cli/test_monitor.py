"""``miscal monitor`` as a person runs it, over one small run."""

import csv
import json
import os
import shutil

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base import files
from miscal.base.folders import load_state, save_state
from miscal.cli import main
from miscal.runs.monitor.command import MONITOR_FILES
from miscal.runs.monitor.document import Monitoring
from miscal.runs.monitor.state import FORM

from ..report.read_page import check_terminal
from .conftest import Ended, planted

pytestmark = pytest.mark.whole

OPTIONS = ("--features", "x_*", "--metadata", "subject", "--map", "pca", "--group", "who")


def with_groups(n, seed, share=1.0):
    """Rows of new groups of about two rows; `share` of the right answers stay right."""
    rng = np.random.default_rng(seed)
    who = pl.Series("who", [f"{seed}-{k}" for k in rng.integers(0, n // 2, n)])
    kept = pl.Series(rng.random(n) < share).cast(pl.Int64)
    return planted(n, seed=seed).with_columns(who, (pl.col("correct") * kept).alias("correct"))


@pytest.fixture(scope="module")
def made(tmp_path_factory, few_folds):
    """A run with a finding; nobody writes into it."""
    folder = tmp_path_factory.mktemp("monitored")
    with_groups(240, 0).write_parquet(folder / "data.parquet")
    assert main(["discover", str(folder / "data.parquet"), "--out", str(folder / "run"), *OPTIONS]) == 0
    return folder / "run"


@pytest.fixture
def watch(made, tmp_path, capsys):
    """Call the command on a copy of the run."""
    shutil.copytree(made, tmp_path / "run")

    def call(rows, *options, name="new.parquet"):
        if isinstance(rows, pl.DataFrame):
            rows.write_parquet(tmp_path / name)
        status = main(["monitor", str(tmp_path / "run"), str(tmp_path / name), *map(str, options)])
        told = capsys.readouterr()
        assert [p.name for p in (tmp_path / "run").iterdir() if p.name.startswith(".miscal")] == []
        return Ended(status, told.out, told.err)

    call.folder = tmp_path / "run" / "monitor"
    return call


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_look_where_nothing_changed(watch):
    ended = watch(with_groups(200, 1))
    assert ended.status == 0, ended.err
    assert ended.out.startswith("Not known yet whether the correction holds: ")
    check_terminal(ended.out.splitlines())
    assert str(watch.folder / "monitor.html") in ended.out
    assert {path.name for path in watch.folder.iterdir()} == MONITOR_FILES


def test_a_broken_correction_ends_with_3_now_and_at_later_looks(watch):
    assert watch(with_groups(200, 1)).status == 0
    ended = watch(with_groups(300, 2, share=0.3))
    assert ended.status == 3
    assert ended.out.startswith("Outcomes are ")
    check_terminal(ended.out.splitlines())
    assert "miscal discover" in ended.out
    assert watch(with_groups(60, 3)).status == 3


def test_the_document_is_what_the_schema_says_and_the_table_agrees(watch):
    watch(with_groups(200, 1), "--at", "2026-01-05")
    ended = watch(with_groups(150, 2), "--json", "--at", "=1+1")
    text = (watch.folder / "monitor.json").read_text()
    found = Monitoring.model_validate_json(text)
    assert ended.out == text == found.to_json()
    assert [(one.rows, one.at) for one in found.looks] == [(200, "2026-01-05"), (150, "=1+1")]
    assert found.group == "who"
    asked = {one.key: one for one in found.questions}
    assert {"level", "gain", "finding:0"} <= set(asked)
    assert sum(one.error for one in found.questions) == pytest.approx(found.alpha)
    lines = list(csv.DictReader((watch.folder / "course.csv").read_text().splitlines()))
    assert len(lines) == 2 * len(asked)
    assert {one["at"] for one in lines} == {"2026-01-05", "'=1+1"}
    last = {one["question"]: float(one["value"]) for one in lines if one["look"] == "2" and one["value"]}
    assert last == pytest.approx({key: one.rows.value.value for key, one in asked.items() if one.rows.n})
    assert asked["level"].rows.value.value == pytest.approx(found.accuracy - found.corrected)
    assert asked["gain"].rows.value.value == pytest.approx(sum(one.lost * one.rows for one in found.looks) / found.rows)


def test_the_same_looks_give_the_same_bytes(watch, made, tmp_path):
    rows = [with_groups(80, 1), with_groups(80, 2)]
    for one in rows:
        assert watch(one).status == 0
    first = content(watch.folder)
    shutil.rmtree(watch.folder)
    for one in rows:
        assert watch(one).status == 0
    assert content(watch.folder) == first


@pytest.mark.parametrize("how", ["the same file", "another format, another order", "at the head of a longer file"])
def test_rows_that_were_counted_are_refused_and_nothing_changes(watch, tmp_path, how):
    rows = with_groups(80, 1)
    watch(rows, "--at", "monday")
    before = content(watch.folder)
    if how == "another format, another order":
        rows.reverse().write_csv(tmp_path / "again.csv")
        ended = watch(None, name="again.csv")
    else:
        ended = watch(rows if how == "the same file" else pl.concat([rows, with_groups(40, 2)]))
    ended.refuses("counted before, as look 1 (monday)", "nothing was changed")
    assert content(watch.folder) == before


def test_an_id_identifies_a_row_whatever_else_it_holds(watch):
    def rows(seed, first, n=80):
        return with_groups(n, seed).with_columns(id=pl.int_range(first, first + n))

    assert "missing" in watch(rows(1, 0).with_columns(id=pl.when(pl.col("id") > 3).then("id"))).err
    assert not watch.folder.exists()
    assert watch(rows(1, 0)).status == 0
    before = content(watch.folder)
    again = watch(rows(2, 79))
    again.refuses("1 of 80 rows have an id of the run or of rows that were counted before")
    assert "(79" in again.err or "'79'" in again.err
    # a column of whole numbers in which a cell is blank is read as one of numbers
    assert "1 of 80 rows have an id of" in watch(rows(2, 79).with_columns(pl.col("id").cast(pl.Float64))).err
    assert "by a column 'row_id' or 'id'" in watch(with_groups(80, 3)).err
    assert "the same id as in another row" in watch(rows(2, 300).with_columns(id=pl.col("id") // 2)).err
    assert content(watch.folder) == before
    assert watch(rows(1, 500)).status == 0


def test_an_id_that_repeats_tells_no_row_from_another(watch):
    def rows(seed):
        return with_groups(80, seed).with_columns(id=pl.int_range(80) // 2)

    assert watch(rows(1)).status == 0
    assert watch(rows(2)).status == 0
    assert watch(rows(2)).status == 2


def test_a_group_that_returns_is_told(watch):
    watch(with_groups(80, 1))
    again = with_groups(80, 1).with_columns(pl.Series("correct", 1 - with_groups(80, 1)["correct"]))
    ended = watch(again)
    assert "80 of 80 rows are of groups of 'who' that came at earlier looks" in " ".join(ended.out.split())


WRONG = [
    (lambda rows: rows.drop("correct"), (), "correct"),
    (lambda rows: rows.drop("who"), (), "who"),
    (lambda rows: rows.drop("confidence"), (), "--confidence"),
    (lambda rows: rows.with_columns(pl.lit(None, pl.Int64).alias("correct")), (), "80 of 80 values are missing"),
    (lambda rows: rows.with_columns(pl.concat_list("who").alias("who")), (), "one value for each row"),
    (lambda rows: rows, ("--where", "subject == 'chess'"), "no row"),
    (lambda rows: rows, ("--tolerance", "-1"), "at least 0"),
    (lambda rows: rows, ("--correct", "corect"), "did you mean 'correct'"),
    (lambda rows: rows, ("--correct", "confidence"), "two columns"),
]


@pytest.mark.parametrize(("change", "options", "said"), WRONG)
def test_rows_that_cannot_be_used_end_in_one_line_and_leave_nothing(watch, change, options, said):
    ended = watch(change(with_groups(80, 1)), *options)
    ended.refuses(said)
    assert not watch.folder.exists()


def test_invalid_rows_can_be_left_out_and_are_counted(watch):
    rows = with_groups(80, 1).with_row_index()
    rows = rows.with_columns(
        pl.when(pl.col("index") < 5).then(None).otherwise(pl.col("correct")).alias("correct"),
        pl.when(pl.col("index") == 7).then(2.0).otherwise(pl.col("confidence")).alias("confidence"),
    ).drop("index")
    ended = watch(rows, "--on-invalid", "drop")
    assert ended.status == 0, ended.err
    assert "74 new" in ended.out
    assert json.loads((watch.folder / "monitor.json").read_text())["looks"][0]["dropped"] == 6


def test_another_model_another_setting_and_a_damaged_state_are_refused(watch, made, tmp_path):
    watch(with_groups(80, 1))
    before = content(watch.folder)
    assert "keeps it" in watch(with_groups(80, 2), "--tolerance", "0.3").err
    assert "keeps it" in watch(with_groups(80, 2), "--group", "subject").err
    summary = tmp_path / "run" / "summary.json"
    kept = summary.read_text()
    summary.write_text(kept.replace("0", "1", 1))
    assert "changed since miscal wrote it" in watch(with_groups(80, 2)).err
    summary.write_text(kept)
    config = tmp_path / "run" / "model" / "config.json"
    kept = config.read_text()
    config.write_text(kept + "\n")
    assert "not the one that this monitor began with" in watch(with_groups(80, 2)).err
    config.write_text(kept)
    state = watch.folder / "state" / "config.json"
    kept = state.read_text()
    state.write_text(kept.replace("0", "1", 1))
    assert "begin a new monitor with --out" in watch(with_groups(80, 2)).err
    state.write_text(kept)
    assert content(watch.folder) == before
    assert watch(with_groups(80, 2)).status == 0


def test_another_place_is_another_monitor(watch, tmp_path):
    watch(with_groups(80, 1))
    assert watch(with_groups(80, 1), "--out", tmp_path / "other").status == 0


def test_a_monitor_that_asked_other_questions_is_refused_in_one_line_that_says_how_to_begin_anew(watch):
    watch(with_groups(80, 1))
    state = watch.folder / "state"
    kept, tensors = load_state(state, FORM)
    del kept["layout"]
    save_state(state, FORM, kept, tensors)
    before = content(watch.folder)
    ended = watch(with_groups(80, 2))
    ended.refuses("another version of miscal began", "begin a new one with --out DIR")
    assert content(watch.folder) == before


def test_a_correction_that_is_worse_than_none_is_said_to_be_and_the_page_agrees(watch):
    watch(with_groups(200, 1))
    # outcomes turned round: the correction, which is right, is now worse than none
    for seed in (3, 4):
        ended = watch(with_groups(300, seed).with_columns((1 - pl.col("correct")).alias("correct")))
    assert ended.status == 3
    assert "Do not use the correction" in ended.out
    page = (watch.folder / "monitor.html").read_text()
    found = Monitoring.model_validate_json((watch.folder / "monitor.json").read_text())
    names = [name.text for name, *_ in found.shown().tables[0].cells()]
    # the change of log loss has no place among points
    assert len(names) == len(found.questions) - 1
    assert any(about == "log loss" for about, _ in found.shown().facts)
    assert all(name in page for name in names)
    for one in found.questions:
        assert one.rows.value.interval is not None or one.state == "not known"
    asked = [one for one in found.questions if one.kind != "gain"]
    assert page.count('class="raised">does not hold') == sum(one.state == "does not hold" for one in asked)


@pytest.mark.parametrize("group", ["who", "none"])
def test_rows_count_by_the_units_of_the_run_unless_none_are_asked_for(watch, group):
    """Each row five times with one outcome: by units no more is known than from the rows once."""

    def width(rows, *options):
        watch(rows, *options)
        found = Monitoring.model_validate_json((watch.folder / "monitor.json").read_text())
        shutil.rmtree(watch.folder)
        low, high = found.questions[0].rows.value.interval
        assert found.unit == ("row" if options[1:] == ("none",) else "who")
        return high - low

    once = with_groups(200, 1)
    five = pl.concat([once] * 5).with_columns((pl.col("x_2") + pl.int_range(1_000) * 1e-9).alias("x_2"))
    ratio = width(five, "--group", group) / width(once)
    assert ratio == pytest.approx(1, abs=0.05) if group == "who" else ratio < 0.6


def test_a_run_folder_with_a_monitor_is_not_replaced(watch, made, tmp_path, capsys):
    watch(with_groups(60, 1))
    data = str(made.parent / "data.parquet")
    assert main(["discover", data, "--out", str(tmp_path / "run"), "--overwrite", *OPTIONS]) == 2
    assert "'monitor'" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path, capsys):
    with_groups(20, 1).write_parquet(tmp_path / "new.parquet")
    for run in (tmp_path, tmp_path / "none", tmp_path / "new.parquet"):
        assert main(["monitor", str(run), str(tmp_path / "new.parquet")]) == 2
        assert "miscal discover" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["new.parquet"]


def test_without_the_data_of_the_run_findings_are_left_out_and_it_is_said(made, tmp_path):
    shutil.copytree(made, tmp_path / "run")
    data = made.parent / "data.parquet"
    data.rename(made.parent / "away.parquet")
    try:
        with_groups(60, 1).write_parquet(tmp_path / "new.parquet")
        found = miscal.monitor(tmp_path / "run", tmp_path / "new.parquet")
    finally:
        (made.parent / "away.parquet").rename(data)
    assert {one.kind for one in found.questions} == {"finding", "gain", "level"}
    assert sum(one.error for one in found.questions) == pytest.approx(found.alpha)


def test_a_second_writer_is_refused_at_once(watch):
    watch(with_groups(60, 1))
    with files.locked(watch.folder):
        with_groups(60, 2).write_parquet(watch.folder.parent.parent / "new.parquet")
        with pytest.raises(miscal.MiscalError, match="another miscal process"):
            miscal.monitor(watch.folder.parent, watch.folder.parent.parent / "new.parquet")
    assert watch(with_groups(60, 2)).status == 0


def gone_on(folder, data):
    """Repeat a look that was killed: whether it had been counted."""
    try:
        miscal.monitor(folder, data)
    except miscal.MiscalError as error:
        return "counted before, as look 2" in str(error) or pytest.fail(str(error))
    return False


def test_a_kill_between_any_two_writes_leaves_the_old_or_the_new_monitor(watch, tmp_path, monkeypatch):
    """What lies on the disk before each operation is what a kill leaves there, and the same command goes on from it."""
    watch(with_groups(60, 1))
    snapshots = []

    def before(operation):
        def observed(*given, **named):
            snapshots.append(tmp_path / "snapshots" / str(len(snapshots)))
            shutil.copytree(tmp_path / "run", snapshots[-1])
            return operation(*given, **named)

        return observed

    with monkeypatch.context() as patched:
        for name in ("rename", "replace", "fsync"):
            patched.setattr(files.os, name, before(getattr(os, name)))
        assert watch(with_groups(60, 2)).status == 0
    after = (watch.folder / "monitor.json").read_text()
    counted = [gone_on(folder, tmp_path / "new.parquet") for folder in snapshots]
    # first the old state, then the new one, and nothing between
    assert counted == sorted(counted)
    assert {True, False} == set(counted)
    for folder in snapshots:
        told = Monitoring.model_validate_json((folder / "monitor" / "monitor.json").read_text())
        assert told.model_copy(update={"run": "run"}).to_json() == after


def test_rows_of_the_run_are_no_later_rows(tmp_path, few_folds, capsys):
    rows = [with_groups(n, seed).with_columns(id=pl.int_range(n) + start) for n, seed, start in
            ((240, 0, 0), (100, 1, 1_000))]  # fmt: skip
    rows[0].write_parquet(tmp_path / "data.parquet")
    asked = [*OPTIONS, "--quick"]
    assert main(["discover", str(tmp_path / "data.parquet"), "--out", str(tmp_path / "run"), *asked]) == 0

    def look(frame):
        frame.write_parquet(tmp_path / "new.parquet")
        capsys.readouterr()
        return main(["monitor", str(tmp_path / "run"), str(tmp_path / "new.parquet")]), capsys.readouterr().err

    # floats, as pandas writes whole numbers beside blanks
    mixed = pl.concat([rows[1], rows[0][:7]]).with_columns(pl.col("id").cast(float))
    for _ in range(2):
        status, said = look(mixed)
        assert status == 2
        assert "7 of 107 rows have an id of the run" in said
        assert look(rows[1])[0] == 0
        rows[1] = with_groups(100, 2).with_columns(id=pl.int_range(100) + 2_000)
        # what was learned is known without the data
        (tmp_path / "data.parquet").unlink(missing_ok=True)


def test_a_person_of_the_run_may_return(tmp_path, few_folds, capsys):
    """An id that repeats in the run says whose rows these are."""
    for name, seed, of_one in (("data", 0, 2), ("new", 1, 1)):
        rows = with_groups(240, seed).with_columns(id=pl.int_range(240) // of_one)
        rows.write_parquet(tmp_path / f"{name}.parquet")
    asked = [*OPTIONS, "--quick"]
    assert main(["discover", str(tmp_path / "data.parquet"), "--out", str(tmp_path / "run"), *asked]) == 0
    assert main(["monitor", str(tmp_path / "run"), str(tmp_path / "new.parquet")]) == 0


def test_rows_without_id_are_dropped_where_that_is_asked(watch):
    rows = with_groups(100, 1).with_columns(id=pl.int_range(100))
    rows = rows.with_columns(pl.when(pl.col("id") < 5).then(None).otherwise("id").alias("id"))
    assert watch(rows).status == 2
    assert watch(rows, "--on-invalid", "drop").status == 0
    assert json.loads((watch.folder / "monitor.json").read_text())["rows"] == 95
