"""Scans in other engines: the same cells, and with them the same findings, as in polars.

Ibis, Dask and PySpark are not in the locks: `pip install "ibis-framework[duckdb]" dask pyspark`, and a Java runtime.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import miscal

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ROWS = int(os.environ.get("MISCAL_ENGINE_ROWS", "20000"))
PARTS = {"probability": "risk", "event": "late", "columns": "carrier,region,hour"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A value, an interval, a pair and days that differ, with weights."""
    rng = np.random.default_rng(0)
    carrier, region = rng.choice(list("abcdef"), ROWS), rng.choice(["north", "south", "west"], ROWS)
    hour, age, day = rng.integers(0, 24, ROWS), rng.normal(50, 15, ROWS), rng.integers(0, 400, ROWS)
    risk = rng.beta(2, 3, ROWS)
    odds = logit(risk) + rng.normal(0, 0.2, 400)[day]
    odds += 0.6 * (carrier == "b") + 0.8 * ((carrier == "c") & (region == "south")) + 0.5 * ((hour > 5) & (hour < 10))
    frame = pl.DataFrame(
        {
            "risk": risk,
            "late": (rng.random(ROWS) < expit(odds)).astype(int),
            "carrier": pl.Series(np.where(rng.random(ROWS) < 0.02, None, carrier.astype(object)), dtype=pl.String),
            "region": region,
            "hour": hour,
            "age": age,
            "member": rng.random(ROWS) < 0.3,
            "day": [date(2024, 1, 1) + timedelta(days=int(k)) for k in day],
            "w": rng.choice([1.0, 2.0, 5.0], ROWS),
        }
    )
    path = tmp_path_factory.mktemp("engines") / "rows.parquet"
    frame.write_parquet(path)
    return path


@contextmanager
def _duckdb(path) -> Iterator:
    yield pytest.importorskip("duckdb").connect().read_parquet(str(path))


@contextmanager
def _ibis(path) -> Iterator:
    yield pytest.importorskip("ibis").duckdb.connect().read_parquet(str(path))


@contextmanager
def _dask(path) -> Iterator:
    yield pytest.importorskip("dask.dataframe").read_parquet(str(path))


@contextmanager
def _pyspark(path) -> Iterator:
    sql = pytest.importorskip("pyspark.sql")
    settings = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session.read.parquet(str(path))
    session.stop()


@pytest.mark.parametrize("options", [{"group": "none"}, {"group": "day", "columns": "carrier,hour"}, {"weight": "w"}])
@pytest.mark.parametrize("engine", [_duckdb, _ibis, _dask, _pyspark])
def test_engines_count_the_same_cells_and_find_the_same(engine, options, rows):
    asked = PARTS | options
    expected = miscal.scan(pl.scan_parquet(rows), **asked)
    assert expected.summary.findings
    with engine(rows) as source:
        found = miscal.scan(source, **asked)
    assert found.cells.asked.keys() == expected.cells.asked.keys()
    for question, cells in expected.cells.asked.items():
        own = found.cells.asked[question]
        counts = [*question.keys, *(name for name in ("n", "y") if name in cells.columns)]
        assert own.select(counts).equals(cells.select(counts)), question
        for name in cells.columns:
            np.testing.assert_allclose(own[name], cells[name], rtol=1e-12, atol=1e-9, err_msg=str(question))
    assert found.findings["group"].to_list() == expected.findings["group"].to_list()
    np.testing.assert_allclose(found.findings["p_adjusted"], expected.findings["p_adjusted"], rtol=1e-6)
