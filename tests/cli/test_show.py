"""`miscal show`: the table of a column, as a person runs the command."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.discovery.run_folder import MANIFEST
from miscal.discovery.tables import columns_table, tables_of

from .conftest import run

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def shown(finished):
    return run("show", finished[1], "--by", "subject", "--json")


def test_the_table_holds_every_row_and_every_value_once(finished, shown, table):
    assert (shown.status, shown.err) == (0, "")
    document = json.loads(shown.out)
    assert (document["column"], document["evidence"], document["n"]) == ("subject", "all", len(table))
    counts = dict(table["subject"].value_counts().iter_rows())
    assert {one["value"]: one["n"] for one in document["values"]} == counts
    wanted = pl.read_parquet(finished[1] / "columns.parquet").filter(pl.col("column") == "subject").to_dicts()
    for one, row in zip(document["values"], wanted, strict=True):
        assert one["condition"] == json.loads(row["condition"])
        assert one["mark"] == row["mark"]
        for name in ("residual", "hidden", "after", "conditional"):
            interval = [row[f"{name}_low"], row[f"{name}_high"]]
            assert one[name] == {"value": row[name], "interval": None if row[name] is None else interval}


def test_the_table_agrees_with_the_findings_of_the_run(finished, shown):
    found = json.loads((finished[1] / "summary.json").read_text())["findings"]
    marked = {one["value"]: one for one in json.loads(shown.out)["values"] if one["mark"] == "finding"}
    assert marked
    for one in marked.values():
        finding = found[one["finding"] - 1]
        assert finding["condition"] == one["condition"]
        assert (finding["n"], finding["hidden"]["value"]) == (one["n"], one["hidden"]["value"])
        assert (finding["after"], finding["conditional"]) == (one["after"], one["conditional"])


def test_in_words_each_value_has_a_line_with_its_mark(finished, shown):
    ended = run("show", finished[1], "--by", "subject")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "subject: 2 values, 600 rows"
    assert " ".join(lines[2].split()) == "value rows right says residual hidden after correction mark"
    for one, line in zip(json.loads(shown.out)["values"], lines[3:], strict=False):
        assert line.split()[:2] == [one["value"], str(one["n"])]
        words = f"{one['mark']} {one['finding']}" if one["mark"] == "finding" else one["mark"]
        assert words in line
    assert "up to one in twenty excludes zero" in ended.out.replace("\n", " ")


def test_several_columns_have_a_table_each_in_turn(finished, shown):
    every = {
        form: run("show", finished[1], "--by", "subject,x_0", *form) for form in ((), ("--json",), ("--markdown",))
    }
    for form, ended in every.items():
        one, other = (run("show", finished[1], "--by", column, *form).out for column in ("subject", "x_0"))
        if "--json" in form:
            assert json.loads(ended.out) == [json.loads(one), json.loads(other)]
        else:
            assert ended.out == f"{one}\n{other}"
    unknown = run("show", finished[1], "--by", "subject,nothing")
    assert (unknown.status, unknown.out) == (2, "")


def test_features_that_name_findings_have_tables_too(finished):
    ended = run("show", finished[1], "--by", "x_0", "--json")
    values = json.loads(ended.out)["values"]
    assert len(values) == 10
    assert sum(one["n"] for one in values) == 600
    assert values[0]["value"].startswith("below ")


def test_another_column_is_refused_in_one_line_with_the_nearest(finished, data):
    ended = run("show", finished[1], "--by", "subjct")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        "miscal: --by: there is no column 'subjct' (did you mean 'subject'?). The columns are 'subject', 'x_0', "
        "'x_1', 'x_2'\n"
    )


@pytest.mark.parametrize(
    "asked",
    [
        ("--by", "subject", "--class", "a"),
        ("--by", "subject", "--columns"),
        ("--class", "a", "--columns"),
        ("--by", "subject", "--class", "a", "--columns"),
    ],
)
def test_two_things_at_once_are_refused_in_one_line(finished, asked):
    ended = run("show", finished[1], *asked)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "miscal: give one of --by COL, --class NAME and --columns\n"


def test_a_class_of_a_run_without_classes_is_refused(finished):
    ended = run("show", finished[1], "--class", "a")
    assert (ended.status, ended.out) == (2, "")
    assert "is no run of several classes" in ended.err


def test_a_run_is_shown_with_every_group_as_python_prints_it(finished):
    ended = run("show", finished[1])
    assert (ended.status, ended.err) == (0, "")
    found = miscal.load(finished[1])
    assert ended.out.splitlines()[:3] == str(found).splitlines()[:3]
    assert all(one.description[:30] in ended.out for one in found.summary.findings)
    assert max(map(len, ended.out.splitlines()[:3])) <= 100


def test_what_every_column_was_read_as_is_shown(finished):
    ended = run("show", finished[1], "--columns")
    assert (ended.status, ended.err) == (0, "")
    for one in miscal.load(finished[1]).summary.columns:
        assert one.name in ended.out


def test_a_folder_that_is_no_run_or_was_changed_or_has_no_tables_is_refused(finished, tmp_path):
    assert "is not a folder" in run("show", tmp_path / "none", "--by", "subject").err
    changed = shutil.copytree(finished[1], tmp_path / "changed")
    pl.read_parquet(changed / "columns.parquet").head(1).write_parquet(changed / "columns.parquet")
    ended = run("show", changed, "--by", "subject")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "columns.parquet changed since miscal wrote it" in ended.err
    before = shutil.copytree(finished[1], tmp_path / "before")
    (before / "columns.parquet").unlink()
    manifest = json.loads((before / MANIFEST).read_text())
    del manifest["sha256"]["columns.parquet"]
    (before / MANIFEST).write_text(json.dumps(manifest))
    ended = run("show", before, "--by", "subject")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "made by an earlier miscal, which wrote no columns.parquet" in ended.err


def test_what_is_read_back_is_what_was_written(finished):
    frame = pl.read_parquet(finished[1] / "columns.parquet")
    tables = tables_of(frame)
    assert columns_table(one for values in tables.values() for one in values).equals(frame)
    for values in tables.values():
        assert np.isclose(sum(one.share for one in values), 1)


def test_in_markdown_the_same_cells_stand_in_a_table(finished):
    ended = run("show", finished[1], "--by", "subject", "--markdown")
    assert (ended.status, ended.err) == (0, "")
    text = run("show", finished[1], "--by", "subject").out
    lines = [line for line in ended.out.splitlines() if line.startswith("| ")]
    assert len(lines) == 3
    for line in lines:
        assert all(cell.replace("\\", "") in text for cell in line.strip("| ").split(" | "))


def test_one_form_at_a_time(finished):
    ended = run("show", finished[1], "--by", "subject", "--markdown", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "miscal: give one of --json and --markdown; got both\n"
