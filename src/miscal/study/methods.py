"""The names of methods, geometries and regions in tables, and the rows that belong to one method and geometry."""

from __future__ import annotations

import polars as pl

METHODS = ("paper", "auto")
"""Methods in the order of pages and figures."""

LEARNED, RAW = "learned", "raw"

REGIONS = ("all", "over", "under", "good")
"""Regions that corrections are scored on, in the order of pages and figures: all rows, and the regimes of delta."""


def methods_of(table: pl.DataFrame) -> list[str]:
    """Return the methods that a table holds, the paper's first.

    Parameters
    ----------
    table : polars.DataFrame
        One of :data:`miscal.study.tables.TABLES` with the column ``method``; it may be empty.

    Examples
    --------
    >>> methods_of(pl.DataFrame({"method": ["auto", "paper", "auto"]}))
    ['paper', 'auto']
    """
    held = set(table["method"].to_list())
    return [method for method in METHODS if method in held]


def of_method(table: pl.DataFrame, method: str, geometry: str | None = None) -> pl.DataFrame:
    """Return the rows of one method, and of one geometry where one is named.

    Parameters
    ----------
    table : polars.DataFrame
        One of :data:`miscal.study.tables.TABLES`.
    method : {"paper", "auto"}
    geometry : {"learned", "raw"}, optional

    Examples
    --------
    >>> table = pl.DataFrame({"method": ["paper", "auto"], "geometry": ["raw", "learned"]})
    >>> of_method(table, "paper").height, of_method(table, "paper", "learned").height
    (1, 0)
    """
    kept = table.filter(pl.col("method") == method)
    return kept if geometry is None else kept.filter(pl.col("geometry") == geometry)
