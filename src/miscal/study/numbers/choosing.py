"""Rows of a table that belong to one method and geometry."""

from __future__ import annotations

import polars as pl

LEARNED, RAW = "learned", "raw"


def of_method(table: pl.DataFrame, method: str, geometry: str | None = None) -> pl.DataFrame:
    """Return the rows of one method, and of one geometry where one is named.

    Parameters
    ----------
    table : polars.DataFrame
        One of :data:`miscal.study.tables.TABLES`.
    method : {"paper", "auto"}
    geometry : {"learned", "raw"}, optional

    Returns
    -------
    polars.DataFrame

    Examples
    --------
    >>> table = pl.DataFrame({"method": ["paper", "auto"], "geometry": ["raw", "learned"]})
    >>> of_method(table, "paper").height, of_method(table, "paper", "learned").height
    (1, 0)
    """
    kept = table.filter(pl.col("method") == method)
    return kept if geometry is None else kept.filter(pl.col("geometry") == geometry)
