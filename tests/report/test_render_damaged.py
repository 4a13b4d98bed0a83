"""A run that is damaged, incomplete or newer is a typed error, and the old page stays."""

import contextlib
import json
import os
import re

import polars as pl
import pytest

from miscal.base.errors import CorruptFile, FileError
from miscal.discovery.summary import SCHEMA_VERSION
from miscal.report import render

pytestmark = pytest.mark.whole


def paths(value, before=()):
    """Every key of a summary that is not inside a free-form part."""
    free = {"settings", "versions", "timing", "candidates", "chosen", "metadata", "correction"}
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*before, key)
            if key not in free:
                yield from paths(inner, (*before, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*before, 0))


def test_a_missing_key_is_a_typed_error_or_harmless(make_run):
    run = make_run(120)
    original = (run / "summary.json").read_text()
    refused = []
    for path in paths(json.loads(original)):
        (run / "summary.json").write_text(json.dumps(without(json.loads(original), path)))
        with contextlib.suppress(CorruptFile):
            render(run)
            continue
        refused.append(path)
    assert len(refused) > 80


def without(summary, path):
    holder = summary
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return summary


def test_the_missing_key_is_named(make_run):
    with pytest.raises(CorruptFile, match=r"regimes\.0\.residual"):
        render(make_run(120, edit=lambda summary: summary["regimes"][0].pop("residual")))


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", json.dumps({"schema_version": SCHEMA_VERSION}), "\ufeff{}", "[" * 100_000]
)
def test_a_damaged_summary_is_a_corrupt_file(make_run, content):
    run = make_run(120)
    (run / "summary.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"summary\.json"):
        render(run)


@pytest.mark.parametrize("name", ["summary.json", "field.parquet", "map.parquet"])
def test_a_missing_file_is_named(make_run, name):
    run = make_run(120)
    (run / name).unlink()
    with pytest.raises(FileError, match=re.escape(name)):
        render(run)


@pytest.mark.parametrize("name", ["field.parquet", "map.parquet", "columns.parquet"])
@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_table_is_a_corrupt_file(make_run, name, kept):
    run = make_run(120)
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(CorruptFile, match=re.escape(name)):
        render(run)


def test_a_missing_column_is_named(make_run):
    run = make_run(120)
    pl.read_parquet(run / "map.parquet").drop("learned_2").write_parquet(run / "map.parquet")
    with pytest.raises(CorruptFile, match="learned_2 is missing"):
        render(run)


@pytest.mark.parametrize("condition", ["{", "{}", "[]", "null", '{"kind": "value"}', '{"kind": "no such kind"}'])
def test_a_table_of_columns_without_conditions_is_a_corrupt_file(make_run, condition):
    run = make_run(120)
    table = pl.read_parquet(run / "columns.parquet").with_columns(condition=pl.lit(condition))
    table.write_parquet(run / "columns.parquet")
    with pytest.raises(CorruptFile, match=r"columns\.parquet"):
        render(run)


def test_a_failed_run_leaves_the_old_page(make_run):
    run = make_run(120)
    before = render(run).read_bytes()
    (run / "summary.json").write_text("{}")
    with pytest.raises(CorruptFile):
        render(run)
    assert (run / "report.html").read_bytes() == before
    kept = ["columns.parquet", "field.parquet", "map.parquet", "report.html", "summary.json"]
    assert sorted(os.listdir(run)) == kept


def test_an_unwritable_place_is_a_file_error(make_run):
    run = make_run(120)
    (run / "report.html").mkdir()
    (run / "report.html" / "x").touch()
    with pytest.raises(FileError, match=r"report\.html: Is a directory; check the path"):
        render(run)
    assert not [name for name in os.listdir(run) if name.startswith(".")]
