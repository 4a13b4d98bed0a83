"""The script that compares the tables of two studies."""

import importlib.util
import sys
from pathlib import Path

import polars as pl
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "same_tables.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("same_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = pl.DataFrame({"pair": ["a", "b"], "gap": [0.1, None], "seconds": [1.0, 2.0]})


@pytest.mark.parametrize(("after", "said"), [
    (TABLE.with_columns(seconds=pl.lit(9.0)), ""),
    (TABLE.with_columns(new=pl.lit("x")), ""),
    (TABLE.with_columns(gap=pl.Series([0.1, 0.0])), "columns that differ: gap"),
    (TABLE.with_columns(gap=pl.Series([0.1 + 1e-15, None])), "columns that differ: gap"),
    (TABLE.head(1), "2 rows before, 1 after"),
])  # fmt: skip
def test_any_value_that_differs_is_named_but_time_spent_is_not(script, after, said):
    assert script.difference(TABLE, after) == said


def test_the_status_says_whether_a_table_differs(script, tmp_path, capsys, monkeypatch):
    for name, table in {"before": TABLE, "after": TABLE.with_columns(gap=pl.lit(0.0))}.items():
        (tmp_path / name / "tables").mkdir(parents=True)
        table.write_parquet(tmp_path / name / "tables" / "pairs.parquet")
    for other, status in (("before", 0), ("after", 1)):
        monkeypatch.setattr(sys, "argv", ["same_tables.py", str(tmp_path / "before"), str(tmp_path / other)])
        assert script.main() == status
    assert "columns that differ: gap" in capsys.readouterr().out
