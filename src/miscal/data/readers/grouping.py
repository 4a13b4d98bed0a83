"""What says which rows belong together, and when they were predicted: a column, or the day of a column of dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.base.checks import DATES
from miscal.base.errors import InputError
from miscal.data.encoders.kinds import read_dates
from miscal.data.periods import PERIODS, period_starts
from miscal.data.readers.names import find
from miscal.data.readers.rows import TableRows, label, metadata_of
from miscal.data.triples import check_group, check_time

NO_GROUPS = "none"
"""As the option `group`: each row is counted by itself."""


@dataclass(frozen=True)
class Grouping:
    """A column whose equal values make a group, or whose dates of one period do.

    Attributes
    ----------
    column : str
    period : str or None
        One of `PERIODS`; None: equal values.

    Examples
    --------
    >>> Grouping.of("seen:day", ["seen", "ward"]), Grouping.of("ward", ["seen", "ward"])
    (Grouping(column='seen', period='day'), Grouping(column='ward', period=None))
    """

    column: str
    period: str | None = None

    @classmethod
    def of(cls, named: str, columns: Sequence[str], *, what: str = "group") -> Self:
        """Find the column that `named` means: its name, or its name with a colon and a period.

        Raises
        ------
        MissingColumn
            If there is no such column.
        InputError
            If what follows the colon is no period.
        """
        column, colon, period = named.rpartition(":")
        if named in columns or not colon or column not in columns:
            return cls(find(named, columns, what=what))
        if period not in PERIODS:
            raise InputError(f"{what}: {column!r} can be cut into {', '.join(PERIODS)}; got {named!r}")
        return cls(column, period)

    @property
    def name(self) -> str:
        """What it is called by in options and messages."""
        return self.column if self.period is None else f"{self.column}:{self.period}"

    @property
    def whole_column(self) -> str | None:
        """The column, where its own values are the groups; a date of which only the day counts may play other parts."""
        return self.column if self.period is None else None

    def values(self, frame: pl.DataFrame) -> list[Any]:
        """Return the group of each row, None where it is missing.

        Raises
        ------
        InputError
            If a period is asked for and the column holds anything but dates.
        """
        series = column_of(frame, self.column)
        if self.period is None:
            return series.to_list()
        dates = read_dates(series)
        if dates is None:
            raise InputError(
                f"group: {self.name!r} asks for the {self.period} of {self.column!r}, which must hold dates; its type "
                f"is {series.dtype}; if these are dates, {DATES}"
            )
        starts = period_starts(dates.dt.cast_time_unit("us").to_numpy(), self.period)
        return [None if np.isnat(one) else str(one) for one in starts]


def groups_of(rows: TableRows, grouping: Grouping) -> np.ndarray:
    """Read and check the group of each row, object (n,)."""
    values = np.array(grouping.values(rows.frame), dtype=object)
    return check_group(values, name=label("group", grouping.name), rows=rows.row)


def times_of(rows: TableRows, column: str) -> np.ndarray:
    """Read and check when each row was predicted: datetime64[s] or float64 (n,)."""
    return check_time(metadata_of(rows, column), name=label("time", column), rows=rows.row)
