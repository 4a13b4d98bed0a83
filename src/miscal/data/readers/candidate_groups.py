"""Find columns whose equal values may mark rows that hang together: the day of a date, a customer, a ward."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import column_of
from miscal.base.errors import MiscalError
from miscal.data.encoders.kinds import read_dates
from miscal.data.periods import DAY
from miscal.data.readers.grouping import Grouping
from miscal.data.readers.leaks import leaks
from miscal.data.readers.rows import TableRows
from miscal.data.readers.table import Table
from miscal.data.triples import Triples

MOST_ROWS = 500_000
"""Above so many rows no column is looked at: it would take memory for each."""
MOST_COLUMNS = 200
"""Nor are there more columns looked at that play no part: such tables hold an embedding."""
LEAST_GROUPS = 20
"""Fewer groups say too little of how alike rows of a group are."""
FEW_ROWS, MANY_VALUES = 20, 100
"""Of a column that the field or the findings see, a value is a kind of row, unless so many values have so few rows on
average that hardly anything can be learned of each: they name customers, say."""
ALIKE = 0.5
"""Rows of neighbouring numbers that are at least so much as alike as those of one number: the numbers count or measure
something, so that what their rows share is an effect of it, and no group. Set between what names (0) and what counts
(nearly 1), not tuned."""
LARGEST_SHARE = 0.5
"""Of all rows in one group: more, and it is the usual value rather than a group."""


def candidate_groups(frame: pl.DataFrame, names: Sequence[str], seen: Collection[str]) -> dict[str, NDArray[np.int64]]:
    """Find the groups that columns may mark: days of dates, and equal values of texts and whole numbers.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
        Columns to look at.
    seen : collection of str
        Those of them that the field or the findings see.

    Returns
    -------
    dict of str to (n,) int64
        By what :class:`~miscal.data.readers.grouping.Grouping` calls them; -1 where the value is missing.

    Examples
    --------
    >>> table = pl.DataFrame({"ward": np.arange(200) % 40, "weight": np.linspace(50.0, 90.0, 200)})
    >>> {name: groups.max() + 1 for name, groups in candidate_groups(table, table.columns, ()).items()}
    {'ward': np.int64(40)}
    """
    found = {}
    for name in names:
        named = _groups(column_of(frame, name), name)
        if named is None:
            continue
        label, codes = named
        rows = np.bincount(codes[codes >= 0])
        units = len(rows) >= MANY_VALUES and rows.mean() <= FEW_ROWS
        kinds = name in seen and label == name and not units
        if len(rows) >= LEAST_GROUPS and 1 < rows.max() <= LARGEST_SHARE * len(codes) and not kinds:
            found[label] = codes
    return found


def candidates_of(
    table: Table,
    rows: TableRows,
    triples: Triples,
    seen: Collection[str],
    passed_over: Collection[str | None],
    seed: int,
) -> dict[str, NDArray[np.int64]]:
    """Look for columns that may mark rows that hang together, those of a table included that play no part.

    Parameters
    ----------
    table : Table
    rows : TableRows
        Of the table, as the triples are.
    triples : Triples
    seen : collection of str
        Columns that the field or the findings see.
    passed_over : collection of str
        Columns that are not looked at.
    seed : int
        Of the rows that are asked whether a column is known only after the outcome.

    Returns
    -------
    dict of str to (n,) int64
        As :func:`candidate_groups`.
    """
    if len(triples) > MOST_ROWS:
        return {}
    residual = triples.correct - triples.confidence
    residual -= residual.mean()
    frame = pl.concat([rows.frame, _other_columns(table, rows.frame, rows.row)], how="horizontal")
    found = candidate_groups(frame, [name for name in frame.columns if name not in passed_over], seen)
    numbers = [name for name in found if name in frame.columns and frame[name].dtype.is_numeric()]
    found = {name: codes for name, codes in found.items() if name not in numbers or not _measures(codes, residual)}
    # columns that play no part have not been asked whether they are known only after the outcome
    asked = [name for name in found if name not in seen and name in frame.columns]
    known_later = leaks(frame, asked, triples.correct, triples.confidence, seed)
    return {name: groups for name, groups in found.items() if name not in known_later}


def _measures(number: NDArray[np.int64], residual: NDArray[np.float64]) -> bool:
    """Tell whether rows of neighbouring numbers are nearly as alike as those of one number."""
    number, residual = number[number >= 0], residual[number >= 0]
    sums, n = np.bincount(number, residual), np.bincount(number)
    within = (sums @ sums - residual @ residual) / (n @ n - len(number))
    return bool(sums[:-1] @ sums[1:] / (n[:-1] @ n[1:]) > ALIKE * within > 0)


def _other_columns(table: Table, frame: pl.DataFrame, row: NDArray[np.int64]) -> pl.DataFrame:
    """Read the columns of a table that play no part, for the rows `row`; none where they cannot be read."""
    others = [name for name in table.columns if name not in frame.columns]
    if not others or len(others) > MOST_COLUMNS:
        return frame.select()
    try:
        return table.load(others)[row]
    # columns that nobody asked for must not stop a run
    except (MiscalError, pl.exceptions.PolarsError, ValueError, TypeError):
        return frame.select()


def _groups(series: pl.Series, name: str) -> tuple[str, NDArray[np.int64]] | None:
    """Return what the groups of a column are called, and the group of each row; None where values mark no groups."""
    if read_dates(series) is not None:
        by_day = Grouping(name, DAY)
        return by_day.name, _codes(pl.Series(by_day.values(pl.DataFrame({name: series})), dtype=pl.String))
    if series.dtype.is_float():
        known = series.fill_nan(None)
        # numbers that name something, and have become floats beside blanks
        if not known.drop_nulls().is_finite().all() or not (known.drop_nulls() % 1 == 0).all():
            return None
        return name, _codes(known)
    text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    return (name, _codes(series)) if text or series.dtype.is_integer() else None


def _codes(series: pl.Series) -> NDArray[np.int64]:
    """Give equal values equal numbers, from 0; -1 where missing."""
    codes = np.full(len(series), -1, dtype=np.int64)
    known = series.is_not_null().to_numpy()
    values = series.drop_nulls()
    text = values.cast(pl.String).cast(pl.Categorical).to_physical() if not values.dtype.is_numeric() else values
    codes[known] = np.unique(text.to_numpy(), return_inverse=True)[1]
    return codes
