"""Numbers, truth values, lists of numbers; dates and times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from miscal.base.arrays import value_list
from miscal.base.errors import InputError

if TYPE_CHECKING:
    import polars as pl


FEW_VALUES = 20
"""Up to so many distinct numbers each is a level of its own."""
BINS = 10
"""More distinct numbers are cut into so many levels of about equal counts."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: itself, and whether it is blank; its levels are few values, or tenths of the rows.

    Attributes
    ----------
    column : str
    fill : float
        What stands for a blank: the median.
    blank : bool
    edges : tuple of float
        Least value of every level but the first; empty where levels would say no more than the number.

    Examples
    --------
    >>> import polars as pl
    >>> ages = pl.Series([20.0, None, 30.0, 40.0])
    >>> age = NumberColumn.fit(ages, "age")
    >>> age.names, age.numbers(ages).tolist()
    (('age', 'age is blank'), [[20.0, 0.0], [30.0, 1.0], [30.0, 0.0], [40.0, 0.0]])
    >>> age.codes(ages).tolist()
    [[0], [3], [1], [2]]
    """

    type: ClassVar[str] = "number"
    shown = "numbers"

    column: str
    fill: float = 0.0
    blank: bool = False
    edges: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return (self.column, f"{self.column} is blank") if self.blank else (self.column,)

    @property
    def levels(self) -> tuple[str, ...]:
        """Name of the column of :meth:`codes`."""
        return (f"level of {self.column}",) if self.edges else ()

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds numbers or truth values."""
        import polars as pl

        return series.dtype.is_numeric() or series.dtype == pl.Boolean

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the median and the levels."""
        values = as_numbers(series)
        known = values[~np.isnan(values)]
        fill = float(np.median(known)) if len(known) else 0.0
        return cls(column, fill, len(known) < len(values), level_edges(known))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the numbers, blanks filled in, and where these are."""
        values = as_numbers(series)
        blank = np.isnan(values)
        filled = np.where(blank, self.fill, values)
        return np.stack([filled, blank], 1) if self.blank else filled[:, None]

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the level of each row; blanks have the last."""
        if not self.edges:
            return np.zeros((len(series), 0), dtype=np.int64)
        return binned(as_numbers(series), self.edges, self.blank)[:, None]

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Any number is known; a blank where there were none cannot."""
        return np.isnan(as_numbers(series)) & (not self.blank)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the numbers, NaN where blank."""
        return np.where(numbers[:, 1] == 1, np.nan, numbers[:, 0]) if self.blank else numbers[:, 0]


def as_numbers(series: pl.Series) -> np.ndarray:
    """Read numbers and truth values as float64, NaN where blank."""
    import polars as pl

    numbers = series.cast(pl.Float64)
    return (numbers.fill_null(np.nan) if numbers.null_count() else numbers).to_numpy()


def binned(values: np.ndarray, edges: tuple[float, ...], blank: bool) -> np.ndarray:
    """Find the level of each value, int (n,); blanks, NaN, have the last one, or -1 where there is none."""
    level = np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), len(edges) + 1 if blank else -1, level)


def level_edges(known: np.ndarray) -> tuple[float, ...]:
    """Cut numbers into levels: few values one by one, more into tenths of the rows; return all but the least edge."""
    distinct = np.unique(known)
    if len(distinct) <= 2:
        return ()
    if len(distinct) <= FEW_VALUES:
        return tuple(distinct[1:].tolist())
    inner = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    return tuple(inner[inner > distinct[0]].tolist())


@dataclass(frozen=True)
class VectorColumn:
    """A column of lists of numbers, side by side; it has no levels, and no blanks.

    Attributes
    ----------
    column : str
    width : int

    Examples
    --------
    >>> import polars as pl
    >>> VectorColumn.fit(pl.Series([[1.0, 2.0]]), "v").names
    ('v[0]', 'v[1]')
    """

    type: ClassVar[str] = "list"
    blank = False
    levels = ()

    column: str
    width: int

    @property
    def shown(self) -> str:
        """What it holds, for messages."""
        return f"lists of {self.width} numbers"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return tuple(f"{self.column}[{j}]" for j in range(self.width))

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds lists."""
        import polars as pl

        return series.dtype in (pl.List, pl.Array)

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the width."""
        import polars as pl

        widths = series.cast(pl.List(series.dtype.inner)).list.len().drop_nulls().unique().sort().to_list()
        if not series.dtype.inner.is_numeric() or len(widths) != 1 or widths[0] == 0:
            raise InputError(
                f"column {column!r} must hold lists of numbers, all of one length; got {series.dtype} "
                f"with lengths {value_list(widths)}"
            )
        return cls(column, int(widths[0]))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the numbers side by side."""
        return np.array(series.to_list(), dtype=np.float64).reshape(len(series), self.width)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return nothing: lists have no levels."""
        return np.zeros((len(series), 0), dtype=np.int64)

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Any list of numbers is known."""
        return np.zeros(len(series), dtype=bool)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Raise: lists name nothing."""
        raise NotImplementedError


_PERIODS = {"month": 12, "weekday": 7, "hour": 24}
"""Parts of a date that come round again, and the number of values of each."""
_DAY = 86_400
_ROUND = {"month": 365 * _DAY, "weekday": 7 * _DAY, "hour": _DAY}
"""Seconds until each comes round."""
_DOTTED = r"^\d{1,2}\.\d{1,2}\.\d{4}( \d{2}:\d{2}(:\d{2})?)?$"
"""Day, month and year, as 31.12.2023: with points they have one order everywhere, with strokes they have two."""
STROKED = r"^\d{1,2}/\d{1,2}/\d{2,4}\b"
"""Dates with strokes, which are not read."""
_FORM = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"


def _dotted(text: str) -> datetime:
    day, _, time = text.partition(" ")
    date, parts = datetime.strptime(day, "%d.%m.%Y"), [int(part) for part in time.split(":") if part]
    return date.replace(**dict(zip(("hour", "minute", "second"), parts, strict=False)))


_WRITTEN = {_FORM: datetime.fromisoformat, _DOTTED: _dotted}
"""Forms of dates that are written as text, and what reads each."""


@dataclass(frozen=True)
class DateColumn:
    """A column of dates: days since 1970, and month, weekday and hour on a circle where they come round twice.

    Its levels are these parts. A month of which one year is known, or a weekday of which one week is, says no more than
    when it was, and the days since 1970 say only that: nothing is learned from them, because later rows have others.
    They tell the dates again.

    Attributes
    ----------
    column : str
    parts : tuple of str
        Those of month, weekday and hour that vary, and of which two rounds are known.
    fill : float
        What stands for a blank: the median, in days since 1970.
    blank : bool

    Examples
    --------
    >>> import polars as pl
    >>> days = pl.Series(["2024-01-01", "2024-01-02", "2024-01-16"]).str.to_date()
    >>> day = DateColumn.fit(days, "day")
    >>> day.names, day.codes(days).tolist()
    (('day', 'sine of weekday of day', 'cosine of weekday of day'), [[0], [1], [1]])
    """

    type: ClassVar[str] = "date"
    shown = "dates"

    column: str
    parts: tuple[Literal["month", "weekday", "hour"], ...] = ()
    fill: float = 0.0
    blank: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        circles = [f"{wave} of {part} of {self.column}" for part in self.parts for wave in ("sine", "cosine")]
        return (self.column, *circles, *((f"{self.column} is blank",) * self.blank))

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`codes`."""
        return tuple(f"{one} of {self.column}" for one in self.parts)

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds dates, or text that is nothing but dates in the form of ISO 8601."""
        return read_dates(series) is not None

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn which parts vary and come round."""
        seconds, blank = _seconds(series)
        known = seconds[~blank]
        if not len(known):
            return cls(column, blank=bool(blank.any()))
        twice = [part for part, round_ in _ROUND.items() if np.ptp(known) >= 2 * round_]
        parts = tuple(part for part in twice if len(np.unique(_part(known, part))) > 1)
        return cls(column, parts, float(np.median(known)) / _DAY, bool(blank.any()))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return days since 1970, the parts on a circle (0, 0 for a blank), and where blanks are."""
        seconds, blank = _seconds(series)
        columns, none = [np.where(blank, self.fill, seconds / _DAY)], blank & self.blank
        # where no row was blank, a blank lies where the median does: among the rows learned from
        seconds = np.where(blank, round(self.fill * _DAY), seconds)
        for part in self.parts:
            angle = 2 * np.pi * _part(seconds, part) / _PERIODS[part]
            columns += [np.where(none, 0.0, np.sin(angle)), np.where(none, 0.0, np.cos(angle))]
        return np.stack([*columns, *([blank.astype(np.float64)] * self.blank)], 1)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return month, weekday (Monday is 0) and hour; blanks have the last level."""
        seconds, blank = _seconds(series)
        codes = [np.where(blank, _PERIODS[one] if self.blank else -1, _part(seconds, one)) for one in self.parts]
        return np.stack(codes, 1) if codes else np.zeros((len(series), 0), dtype=np.int64)

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Any date is known; a blank where there were none cannot."""
        return _seconds(series)[1] & (not self.blank)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the dates to the second, NaT where blank."""
        dates = np.round(numbers[:, 0].astype(np.float64) * _DAY).astype("datetime64[s]")
        return np.where(numbers[:, -1] == 1, np.datetime64("NaT"), dates) if self.blank else dates


def _seconds(series: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Seconds since 1970, int64 (n,), 0 where blank, and where blanks are."""
    dates = read_dates(series)
    if dates is None:
        raise ValueError("no dates")
    return dates.dt.epoch("s").fill_null(0).to_numpy(), dates.is_null().to_numpy()


def _part(seconds: np.ndarray, part: str) -> np.ndarray:
    if part == "hour":
        return seconds // 3_600 % 24
    if part == "weekday":
        # 1 January 1970 was a Thursday; Monday is 0
        return (seconds // _DAY + 3) % 7
    return seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12


def read_dates(series: pl.Series) -> pl.Series | None:
    """Read dates without a zone, with the time of UTC where one is given; None if the column holds anything else.

    Text that is nothing but dates in the form of ISO 8601, or nothing but dates like 31.12.2023, is read as dates,
    because CSV and JSON have no other way to give them.
    """
    import polars as pl

    if isinstance(series.dtype, pl.Datetime):
        zoned = series.dtype.time_zone is not None
        return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zoned else series
    if series.dtype == pl.Date:
        return series.cast(pl.Datetime("us"))
    if series.dtype != pl.String or series.null_count() == len(series):
        return None
    written = next((read for form, read in _WRITTEN.items() if series.str.contains(form).all()), None)
    if written is None:
        return None
    try:
        read = {text: written(text) for text in series.drop_nulls().unique().to_list()}
    except ValueError:  # a day that no calendar has
        return None
    plain = {
        text: value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        for text, value in read.items()
    }
    return pl.Series([None if text is None else plain[text] for text in series.to_list()], dtype=pl.Datetime("us"))
