"""Written tables come back as they went, and no text in a csv starts a formula."""

import csv
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.data import writing as tables

STARTS = "=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20"


@settings(max_examples=100)
@given(st.lists(st.text(alphabet=STARTS + " 'a1\u3000\xa0", max_size=6), min_size=1, max_size=5))
def test_no_text_starts_a_formula(texts):
    harmless = tables.defused(pl.DataFrame({"text": texts}))["text"].to_list()
    for before, after in zip(texts, harmless, strict=True):
        assert not after.lstrip(" \u3000\xa0\t\r\n\0")[:1] or after.lstrip(" \u3000\xa0\t\r\n\0")[0] not in STARTS
        assert not after or after[0] not in STARTS
        assert re.sub("^'", "", after) == before or after == before


@pytest.mark.parametrize("ending", tables.FORMATS)
def test_tables_come_back(tmp_path, ending):
    table = pl.DataFrame(
        {"row": [0, 1], "delta": [-0.25, 1e-17], "supported": [True, False], "text": ["a,b", 'say "x"']}
    )
    path = tmp_path / f"out{ending}"
    tables.write_table(table, path)
    read = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".jsonl": pl.read_ndjson}[ending]
    assert read(path).equals(table)


def test_numbers_and_names(tmp_path):
    tables.write_table(pl.DataFrame({"=cmd()": ["=1"], "x": [-1.0]}), tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as stream:
        assert list(csv.reader(stream)) == [["'=cmd()", "x"], ["'=1", "-1.0"]]


def test_other_endings_are_refused_with_the_allowed_ones(tmp_path):
    with pytest.raises(InputError, match=r"\.parquet, \.csv or \.jsonl"):
        tables.write_table(pl.DataFrame({"a": [1]}), tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_several_text_columns_stay_apart():
    table = pl.DataFrame({"a": ["=1", "b"], "b": ["c", None], "x": [1, 2]})
    assert tables.defused(table).rows() == [("'=1", "c", 1), ("b", None, 2)]
