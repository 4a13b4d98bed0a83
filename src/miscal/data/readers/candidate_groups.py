"""Find columns whose equal values may be what is counted once: the day of a date, a customer, a ward."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import column_of
from miscal.base.errors import MiscalError
from miscal.data.encoders.features import embedding_columns
from miscal.data.encoders.kinds import read_dates
from miscal.data.periods import PERIODS
from miscal.data.readers.leaks import LeakSearch
from miscal.data.readers.roles import Grouping
from miscal.data.readers.rows import TableRows
from miscal.data.readers.table import Table
from miscal.data.triples import Triples

MOST_ROWS = 500_000
"""Above so many rows no column is looked at: it would take memory for each."""
MOST_COLUMNS = 200
"""Nor are there more columns looked at that play no part: such tables hold an embedding."""
PERIODS_COUNTED = PERIODS[:-1]
"""What dates are counted by, the finest first: of years there are too few."""
LEAST_UNITS, FEW_UNITS = 30, 10
"""Units of several rows that a column needs to be counted by. Of fewer than thirty, but at least ten, a coarser period
still says how much too narrow the intervals of a finer one are, and a column named like an identity is believed."""
FEW_ROWS = 20
"""Half of the units have no more rows, or values are kinds of rows that can be named, and no units."""
ALIKE = 0.5
"""Rows of neighbouring numbers that are at least so much as alike as those of one number: the numbers count or measure
something, so that what their rows share is an effect of it, and no group. Set between what names (0) and what counts
(nearly 1), not tuned."""
LARGEST_SHARE = 0.5
"""Of all rows in one unit: more, and it is the usual value."""

_WHO = (
    "account applicant borrower caregiver claimant client conversation customer employee encounter episode household "
    "individual member participant patient person prompt question respondent session student user visitor"
)
IDENTITIES = frozenset([*_WHO.split(), "uid", "uuid", "guid"])
"""Words in the names of columns that say who or what a row is of."""


def names_identity(column: str) -> bool:
    """Tell whether a column is named like an identity, by one of its words.

    Examples
    --------
    >>> [names_identity(name) for name in ("customer_id", "userName", "Patients", "age", "identity")]
    [True, True, True, False, False]
    """
    words = re.findall(r"[a-z]+|[A-Z][a-z]*|[A-Z]+", column)
    return any(word.lower() in IDENTITIES or word.lower().removesuffix("s") in IDENTITIES for word in words)


def candidate_groups(frame: pl.DataFrame, names: Sequence[str]) -> dict[Grouping, NDArray[np.int64]]:
    """Find what rows may be counted by: periods of dates, and equal values of columns that look like identities.

    `names`: columns to look at. Returns number of the unit of each row; -1 where the value is missing.

    Examples
    --------
    >>> table = pl.DataFrame({"ward": np.arange(200) % 40, "weight": np.linspace(50.0, 90.0, 200)})
    >>> {one.name: unit.max() + 1 for one, unit in candidate_groups(table, table.columns).items()}
    {'ward': np.int64(40)}
    """
    found = {}
    for name in names:
        series = column_of(frame, name)
        if series.dtype.is_nested():
            continue
        dated = read_dates(series) is not None
        for one in [Grouping(name, period) for period in PERIODS_COUNTED] if dated else [Grouping(name)]:
            codes = _codes(pl.Series(one.values(pl.DataFrame({name: series})), dtype=pl.String) if dated else series)
            rows = np.bincount(codes[codes >= 0], minlength=1)
            several = rows[rows > 1]
            least = FEW_UNITS if dated or names_identity(name) else LEAST_UNITS
            if len(several) < least or rows.max() > LARGEST_SHARE * len(codes):
                continue
            if dated or names_identity(name) or np.median(several) <= FEW_ROWS:
                found[one] = codes
    return found


def candidates_of(
    table: Table, rows: TableRows, triples: Triples, passed_over: Collection[str | None], seed: int
) -> dict[Grouping, NDArray[np.int64]]:
    """Look for columns that rows may be counted by, those of a table included that play no part.

    `rows`: of the table, as the triples are; `passed_over`: columns that are not looked at; `seed`: of the rows that
    are asked whether a column is known only after the outcome.
    """
    if len(triples) > MOST_ROWS:
        return {}
    others = _other_columns(table, rows.frame, rows.row)
    frame = pl.concat([rows.frame, others], how="horizontal")
    # coordinates of an embedding identify nothing one by one
    passed_over = {*passed_over, *embedding_columns(frame, frame.columns)}
    found = candidate_groups(frame, [name for name in frame.columns if name not in passed_over])
    residual = triples.correct - triples.confidence
    residual -= residual.mean()
    numbers = [one for one in found if frame[one.column].dtype.is_numeric() and not names_identity(one.column)]
    found = {one: codes for one, codes in found.items() if one not in numbers or not _measures(codes, residual)}
    # columns that play no part have not been asked whether they are known only after the outcome
    asked = list(dict.fromkeys(one.column for one in found if one.column in others.columns))
    known_later = LeakSearch(others, asked, triples.correct, triples.confidence, seed).alone(asked)
    return {one: units for one, units in found.items() if one.column not in known_later}


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


def _codes(series: pl.Series) -> NDArray[np.int64]:
    """Give equal values equal numbers, from 0; -1 where missing."""
    series = series.fill_nan(None) if series.dtype.is_float() else series
    codes = np.full(len(series), -1, dtype=np.int64)
    known = series.is_not_null().to_numpy()
    values = series.drop_nulls()
    text = values if values.dtype.is_numeric() else values.cast(pl.String).rank("dense")
    codes[known] = np.unique(text.to_numpy(), return_inverse=True)[1]
    return codes
