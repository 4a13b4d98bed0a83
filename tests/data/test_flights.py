"""The packaged flights: small, complete, and what their documentation says."""

import polars as pl

from miscal.data import flights

LARGEST = 700_000
"""Bytes that the file may have."""


def test_the_file_is_small_and_says_what_it_is():
    assert flights.path().stat().st_size < LARGEST
    about = pl.read_parquet_metadata(flights.path())
    assert "CC0" in about["source"]
    assert "January to March" in about["model"]


def test_flights_come_in_the_order_of_time_with_a_risk_and_an_event():
    table = pl.read_parquet(flights.path())
    assert len(table) == 10_000
    assert table["departure"].is_sorted()
    assert set(table["departure"].dt.month()) == {4, 5, 6}
    assert set(table["delayed"]) == {0, 1}
    assert table["predicted_delay_risk"].is_between(0, 1).all()
    assert (
        table.select("departure", "carrier", "origin", "dest", "hour", "weekday").null_count().sum_horizontal()[0] == 0
    )


def test_the_time_is_no_input_and_its_days_are_groups():
    rows = flights.load()
    assert "departure" not in rows.encoder.columns
    assert "departure" in rows.metadata
    assert len(set(rows.group)) == 91
    assert {"weekday", "temp", "dest"} <= set(rows.encoder.columns)
