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


@pytest.fixture
def show(command):
    """Call `miscal show` in this process."""
    return lambda *arguments: command("show", *arguments)


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


def test_in_words_and_in_markdown_each_value_has_a_line_with_its_mark(finished, shown, show):
    plain, marked = (show(finished[1], "--by", "subject", *form) for form in ((), ("--markdown",)))
    assert (plain.status, plain.err, marked.status, marked.err) == (0, "", 0, "")
    lines = plain.out.splitlines()
    for one, line in zip(json.loads(shown.out)["values"], lines[3:], strict=False):
        assert line.split()[:2] == [one["value"], str(one["n"])]
        words = f"{one['mark']} {one['finding']}" if one["mark"] == "finding" else one["mark"]
        assert words in line
    rows = [line for line in marked.out.splitlines() if line.startswith("| ")]
    assert len(rows) == 3
    for row in rows:
        assert all(cell.replace("\\", "") in plain.out for cell in row.strip("| ").split(" | "))


def test_several_columns_have_a_table_each_in_turn(finished, shown, show):
    for form in ((), ("--json",), ("--markdown",)):
        both, one, other = (show(finished[1], "--by", by, *form).out for by in ("subject,x_0", "subject", "x_0"))
        if form == ("--json",):
            assert json.loads(both) == [json.loads(one), json.loads(other)]
        else:
            assert both == f"{one}\n{other}"


def test_features_that_name_findings_have_tables_too(finished, show):
    ended = show(finished[1], "--by", "x_0", "--json")
    values = json.loads(ended.out)["values"]
    assert len(values) == 10
    assert sum(one["n"] for one in values) == 600
    assert values[0]["value"].startswith("below ")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--by", "subjct"), "did you mean 'subject'"),
        (("--by", "subject,nothing"), "nothing"),
        (("--by", "subject", "--class", "a"), "one of --by COL, --class NAME and --columns"),
        (("--class", "a", "--columns"), "one of --by COL, --class NAME and --columns"),
        (("--class", "a"), "is no run of several classes"),
        (("--by", "subject", "--markdown", "--json"), "one of --json and --markdown"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(finished, asked, said, show):
    ended = show(finished[1], *asked)
    ended.refuses(said)


def test_a_run_is_shown_with_every_group_as_python_prints_it(finished, show):
    ended = show(finished[1])
    assert (ended.status, ended.err) == (0, "")
    found = miscal.load(finished[1])
    assert ended.out.splitlines()[:3] == str(found).splitlines()[:3]
    assert all(one.description[:30] in ended.out for one in found.summary.findings)
    assert max(map(len, ended.out.splitlines()[:3])) <= 100


def test_what_every_column_was_read_as_is_shown(finished, show):
    ended = show(finished[1], "--columns")
    assert (ended.status, ended.err) == (0, "")
    for one in miscal.load(finished[1]).summary.columns:
        assert one.name in ended.out


def test_a_folder_that_is_no_run_or_was_changed_or_has_no_tables_is_refused(finished, tmp_path, show):
    assert "is not a folder" in show(tmp_path / "none", "--by", "subject").err
    changed = shutil.copytree(finished[1], tmp_path / "changed")
    pl.read_parquet(changed / "columns.parquet").head(1).write_parquet(changed / "columns.parquet")
    ended = show(changed, "--by", "subject")
    ended.refuses("columns.parquet changed since miscal wrote it")
    before = shutil.copytree(finished[1], tmp_path / "before")
    (before / "columns.parquet").unlink()
    manifest = json.loads((before / MANIFEST).read_text())
    del manifest["sha256"]["columns.parquet"]
    (before / MANIFEST).write_text(json.dumps(manifest))
    ended = show(before, "--by", "subject")
    ended.refuses("made by an earlier miscal, which wrote no columns.parquet")


def test_what_is_read_back_is_what_was_written(finished):
    frame = pl.read_parquet(finished[1] / "columns.parquet")
    tables = tables_of(frame)
    assert columns_table(one for values in tables.values() for one in values).equals(frame)
    for values in tables.values():
        assert np.isclose(sum(one.share for one in values), 1)
