"""The comparison of golden runs names each number that differs, and counts texts apart from numbers."""

import json
from pathlib import Path

import polars as pl
import pytest

from .conftest import script_of

TABLE = pl.DataFrame({"row": [0, 1], "delta": [0.1, None], "seconds": [1.0, 2.0]})
SUMMARY = {"gap": {"over": 0.25, "under": None}, "verdict": "Nothing is hidden.", "timing": {"field": 1.0}}


@pytest.fixture(scope="module")
def golden():
    return script_of("golden")


@pytest.fixture
def written(tmp_path):
    def write(name: str, table: pl.DataFrame = TABLE, summary: dict = SUMMARY, text: str = "Two findings.") -> Path:
        folder = tmp_path / name / "judge"
        folder.mkdir(parents=True)
        table.write_parquet(folder / "field.parquet")
        (folder / "summary.json").write_text(json.dumps(summary))
        (folder / "discover.terminal.txt").write_text(text)
        return folder.parent

    return write


@pytest.mark.parametrize(("changed", "status", "said"), [
    ({}, 0, "numbers differ in 0 files, texts in 0"),
    ({"table": TABLE.with_columns(seconds=pl.lit(9.0), delta=pl.Series([0.1 + 1e-12, None]))}, 0, "in 0 files"),
    ({"summary": SUMMARY | {"timing": {"field": 7.0}}}, 0, "in 0 files"),
    ({"table": TABLE.with_columns(delta=pl.Series([0.1 + 1e-6, None]))}, 1, "field.parquet delta: 1 of 2 rows"),
    ({"table": TABLE.with_columns(delta=pl.Series([0.1, 0.0]))}, 1, "field.parquet delta: 1 of 2 rows"),
    ({"table": TABLE.head(1)}, 1, "2 rows, then 1"),
    ({"table": TABLE.drop("delta")}, 1, "delta: is gone"),
    ({"summary": SUMMARY | {"gap": {"over": 0.26, "under": None}}}, 1, ".gap.over: 0.25, then 0.26"),
    ({"summary": SUMMARY | {"gap": {"over": 0.25, "under": 0.0}}}, 1, ".gap.under: None, then 0.0"),
    ({"text": "Three findings."}, 0, "texts in 1"),
])  # fmt: skip
def test_numbers_that_differ_are_named(golden, written, capsys, changed, status, said):
    assert golden.compare(written("before"), written("after", **changed), show_texts=False) == status
    assert said in capsys.readouterr().out


def test_a_run_that_one_side_lacks_is_not_passed_over(golden, written, tmp_path, capsys):
    before, after = written("before"), written("after")
    (after / "judge").rename(after / "classes")
    assert golden.compare(before, after, show_texts=False) == 1
    assert "in one folder alone: classes, judge" in capsys.readouterr().out
