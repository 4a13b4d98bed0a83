"""Folders whose names polars would take for patterns: a run reads its own tables, never its neighbour's."""

from dataclasses import replace

import polars as pl
import pytest

from miscal.base.frames import read_parquet, scan_parquet
from miscal.data.readers.read import read_triples
from miscal.discovery.discover import discover
from miscal.discovery.run import read_run
from miscal.report import write_run

from ..cli.new_rows import rows


@pytest.mark.parametrize(("name", "neighbour"), [("exp[1]", "exp1"), ("exp*", "exp2"), ("exp?", "exp3")])
def test_a_table_is_read_by_its_exact_name(tmp_path, name, neighbour):
    for place, value in ((name, 1), (neighbour, 2)):
        (tmp_path / place).mkdir()
        pl.DataFrame({"a": [value]}).write_parquet(tmp_path / place / "t.parquet")
    path = tmp_path / name / "t.parquet"
    assert read_parquet(path).rows() == scan_parquet(path).collect().rows() == [(1,)]


@pytest.mark.usefixtures("few_folds")
def test_a_run_under_a_folder_with_brackets_is_drawn_and_reads_its_own_tables(tmp_path):
    for place in ("exp[1]", "exp1"):
        (tmp_path / place).mkdir()
        rows(200).write_parquet(tmp_path / place / "old.parquet")
    data = read_triples(tmp_path / "exp[1]" / "old.parquet", features="age,count")
    found = discover(data, map_method="pca", n_jobs=1)
    # alone, the run cannot be drawn if its name is a pattern; beside a neighbour, it is drawn from the wrong tables
    write_run(found, tmp_path / "exp[1]" / "run")
    other = found.table.with_columns(delta=pl.lit(0.5))
    write_run(replace(found, table=other), tmp_path / "exp1" / "run", report=False)
    assert read_run(tmp_path / "exp[1]" / "run").table.equals(found.table)
