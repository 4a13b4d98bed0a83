"""The kinds of columns that inputs are made of: numbers, lists, dates, categories.

To add one, write a subclass of :class:`ColumnKind`, and list it in ``KINDS``: the first whose `reads` holds takes a
column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl

from miscal.base.arrays import as_text, value_list
from miscal.base.errors import InputError
from miscal.data.encoders.dates import read_dates

MOST_ONE_HOT = 50
"""Up to so many categories each is a column of numbers of its own; more are known by their codes alone."""
FEW_CATEGORIES = 50
"""Text with more distinct values than this must repeat them to be categories."""
LEAST_REPEATED, LEAST_OF_TEXTS = 0.5, 0.05
"""Largest share of the known values that may then be distinct; of texts, and of what identifies, each has twenty rows:
several models, or times, are asked the same question."""
SENTENCE = 3
"""Words that values have in the middle which are taken for texts, and not for names of rows."""
BLANK = "is blank"
OTHER = "(other)"
"""What stands for a category that `fit` did not see."""


FEW_VALUES = 20
"""Up to so many distinct numbers each is a level of its own."""
BINS = 10
"""More distinct numbers are cut into so many levels of about equal counts."""


def hardly_repeats(known: pl.Series, *, named: bool = False) -> bool:
    """Tell whether text without blanks holds sentences, or names rows: so many of its values are distinct.

    `named`: whether the name of the column says that it identifies.

    Examples
    --------
    >>> codes = pl.Series([f"a{k}" for k in range(60)] * 2)
    >>> hardly_repeats(codes), hardly_repeats(codes, named=True), hardly_repeats("where is " + codes)
    (False, True, True)
    """
    distinct = known.n_unique()
    if distinct <= FEW_CATEGORIES or distinct <= LEAST_OF_TEXTS * len(known):
        return False
    return named or distinct > LEAST_REPEATED * len(known) or is_text(known)


def is_text(known: pl.Series) -> bool:
    """Tell whether values are sentences, not words or codes."""
    words = known.cast(str).str.count_matches(r"\S+").median()
    return words is not None and words >= SENTENCE  # type: ignore[operator]


@dataclass(frozen=True)
class ColumnKind:
    """A column of a table as numbers, fitted to the rows learned from: itself, and where it is blank.

    Attributes
    ----------
    type, shown : str
        What it is called, and what the column holds, for messages.
    empty : polars type
        Of a column that is blank in every row.
    column : str
    blank : bool
        Whether any of the rows learned from is blank. Then blanks are values like others.
    """

    type: ClassVar[str]
    shown: ClassVar[Any] = "text"
    empty: ClassVar[Any] = pl.String

    column: str
    blank: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return (self.column, f"{self.column} {BLANK}") if self.blank else (self.column,)

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`codes`; none where the column has no levels."""
        return ()

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column is of this kind."""
        raise NotImplementedError

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn what the column of this name holds."""
        raise NotImplementedError

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return what places a row near or far from others, float64 (n, width), finite."""
        raise NotImplementedError

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the levels of each row, int (n, len(levels)): -1 for one that `fit` did not see; blanks the last."""
        return np.zeros((len(series), 0), dtype=np.int64)

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Find rows whose value `fit` did not see and numbers do not tell, bool (n,)."""
        return np.zeros(len(series), dtype=bool)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the column again from what :meth:`numbers` and :meth:`codes` made of it, (n,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class NumberColumn(ColumnKind):
    """A column of numbers: itself, and whether it is blank; its levels are few values, or tenths of the rows.

    Attributes
    ----------
    fill : float
        What stands for a blank: the median.
    edges : tuple of float
        Least value of every level but the first; empty where levels would say no more than the number.

    Examples
    --------
    >>> ages = pl.Series([20.0, None, 30.0, 40.0])
    >>> age = NumberColumn.fit(ages, "age")
    >>> age.names, age.numbers(ages).tolist()
    (('age', 'age is blank'), [[20.0, 0.0], [30.0, 1.0], [30.0, 0.0], [40.0, 0.0]])
    >>> age.codes(ages).tolist()
    [[0], [3], [1], [2]]
    """

    type = "number"
    shown = "numbers"
    empty = pl.Float64

    fill: float = 0.0
    edges: tuple[float, ...] = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """Name of the column of :meth:`codes`."""
        return (f"level of {self.column}",) if self.edges else ()

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds numbers or truth values."""
        return series.dtype.is_numeric() or series.dtype == pl.Boolean

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the median and the levels."""
        values = as_numbers(series)
        known = values[~np.isnan(values)]
        fill = float(np.median(known)) if len(known) else 0.0
        return cls(column, len(known) < len(values), fill, level_edges(known))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the numbers, blanks filled in, and where these are."""
        values = as_numbers(series)
        missing = np.isnan(values)
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing], 1) if self.blank else filled[:, None]

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the level of each row."""
        if not self.edges:
            return super().codes(series)
        return binned(as_numbers(series), self.edges, self.blank)[:, None]

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Any number is known; a blank where there were none cannot."""
        return np.isnan(as_numbers(series)) & (not self.blank)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the numbers, NaN where blank."""
        return np.where(numbers[:, 1] == 1, np.nan, numbers[:, 0]) if self.blank else numbers[:, 0]


def as_numbers(series: pl.Series) -> np.ndarray:
    """Read numbers and truth values as float64, NaN where blank."""
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
class VectorColumn(ColumnKind):
    """A column of lists of numbers, side by side; it has no levels, and no blanks, and names nothing.

    Attributes
    ----------
    width : int

    Examples
    --------
    >>> VectorColumn.fit(pl.Series([[1.0, 2.0]]), "v").names
    ('v[0]', 'v[1]')
    """

    type = "list"

    width: int = 0

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
        return series.dtype in (pl.List, pl.Array)

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the width."""
        widths = series.cast(pl.List(series.dtype.inner)).list.len().drop_nulls().unique().sort().to_list()
        if not series.dtype.inner.is_numeric() or len(widths) != 1 or widths[0] == 0:
            raise InputError(
                f"column {column!r} must hold lists of numbers, all of one length; got {series.dtype} "
                f"with lengths {value_list(widths)}"
            )
        return cls(column, width=int(widths[0]))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the numbers side by side."""
        return np.array(series.to_list(), dtype=np.float64).reshape(len(series), self.width)


_PERIODS = {"month": 12, "weekday": 7, "hour": 24}
"""Parts of a date that come round again, and the number of values of each."""
_DAY = 86_400
_ROUND = {"month": 365 * _DAY, "weekday": 7 * _DAY, "hour": _DAY}
"""Seconds until each comes round."""


@dataclass(frozen=True)
class DateColumn(ColumnKind):
    """A column of dates: days since 1970, and month, weekday and hour on a circle where they come round twice.

    Its levels are these parts. A month of which one year is known, or a weekday of which one week is, says no more than
    when it was, and the days since 1970 say only that: nothing is learned from them, because later rows have others.
    They tell the dates again.

    Attributes
    ----------
    parts : tuple of str
        Those of month, weekday and hour that vary, and of which two rounds are known.
    fill : float
        What stands for a blank: the median, in days since 1970.

    Examples
    --------
    >>> days = pl.Series(["2024-01-01", "2024-01-02", "2024-01-16"]).str.to_date()
    >>> day = DateColumn.fit(days, "day")
    >>> day.names, day.codes(days).tolist()
    (('day', 'sine of weekday of day', 'cosine of weekday of day'), [[0], [1], [1]])
    """

    type = "date"
    shown = "dates"
    empty = pl.Datetime("us")

    parts: tuple[Literal["month", "weekday", "hour"], ...] = ()
    fill: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        circles = [f"{wave} of {part} of {self.column}" for part in self.parts for wave in ("sine", "cosine")]
        return (self.column, *circles, *((f"{self.column} {BLANK}",) * self.blank))

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
        seconds, missing = _seconds(series)
        known = seconds[~missing]
        if not len(known):
            return cls(column, blank=bool(missing.any()))
        twice = [part for part, round_ in _ROUND.items() if np.ptp(known) >= 2 * round_]
        parts = tuple(part for part in twice if len(np.unique(_part(known, part))) > 1)
        return cls(column, bool(missing.any()), parts, float(np.median(known)) / _DAY)

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return days since 1970, the parts on a circle (0, 0 for a blank), and where blanks are."""
        seconds, missing = _seconds(series)
        columns, none = [np.where(missing, self.fill, seconds / _DAY)], missing & self.blank
        # where no row was blank, a blank lies where the median does: among the rows learned from
        seconds = np.where(missing, round(self.fill * _DAY), seconds)
        for part in self.parts:
            angle = 2 * np.pi * _part(seconds, part) / _PERIODS[part]
            columns += [np.where(none, 0.0, np.sin(angle)), np.where(none, 0.0, np.cos(angle))]
        return np.stack([*columns, *([missing.astype(np.float64)] * self.blank)], 1)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return month, weekday (Monday is 0) and hour."""
        seconds, missing = _seconds(series)
        codes = [np.where(missing, _PERIODS[one] if self.blank else -1, _part(seconds, one)) for one in self.parts]
        return np.stack(codes, 1) if codes else super().codes(series)

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


@dataclass(frozen=True)
class CategoryColumn(ColumnKind):
    """A column of categories: each a 0 or 1 where they are few; its levels are the categories.

    Attributes
    ----------
    categories : tuple of str
        Sorted.
    usual : str or None
        The most frequent category, whose place a blank has where `fit` saw none, so that it lies among the rows learned
        from; None where every row was blank.

    Examples
    --------
    >>> kinds = pl.Series(["b", "a", None])
    >>> kind = CategoryColumn.fit(kinds, "kind")
    >>> kind.names, kind.numbers(kinds).tolist()
    (('kind=a', 'kind=b', 'kind is blank'), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> kind.codes(pl.Series(["a", None, "c"])).tolist()
    [[0], [2], [-1]]
    """

    type = "category"

    categories: tuple[str, ...] = ()
    usual: str | None = None

    def __post_init__(self) -> None:
        if self.usual is not None and self.usual not in self.categories:
            raise ValueError(f"the usual category of {self.column!r} is none of its categories")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        if len(self.categories) > MOST_ONE_HOT:
            return ()
        return tuple(f"{self.column}={one}" for one in self.categories) + (f"{self.column} {BLANK}",) * self.blank

    @property
    def levels(self) -> tuple[str, ...]:
        """Name of the column of :meth:`codes`."""
        return (f"level of {self.column}",)

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds text, or categories by their type."""
        return series.dtype in (pl.String, pl.Categorical, pl.Enum)

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the categories."""
        texts = series.cast(str).drop_nulls()
        usual = texts.mode().sort().to_list()[0] if len(texts) else None
        return cls(column, len(texts) < len(series), tuple(sorted(texts.unique().to_list())), usual=usual)

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return 1 in the column of a row's category, 0 elsewhere."""
        if not self.names:
            return np.zeros((len(series), 0), np.float32)
        series = as_text(series)
        filled = series if self.blank or self.usual is None else series.fill_null(self.usual)
        return (self.codes(filled) == np.arange(len(self.names))).astype(np.float32)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the place of each row's category."""
        places = dict(zip(self.categories, range(len(self.categories)), strict=True))
        # new rows may come from a file whose format has no type for what is ordered
        known = as_text(series).replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
        return np.where(series.is_null().to_numpy(), len(self.categories) if self.blank else -1, known)[:, None]

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Find categories that `fit` did not see, and blanks where there were none."""
        return self.codes(series)[:, 0] < 0

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the categories, None where blank, "(other)" where not seen by `fit`."""
        return np.array([*self.categories, None, OTHER], dtype=object)[np.maximum(codes[:, 0], -1)]


@dataclass(frozen=True)
class OrderedColumn(CategoryColumn):
    """A column of ordered categories: their rank, by which rows lie near each other, and each of them as a level.

    Attributes
    ----------
    categories : tuple of str
        In their order.
    fill : float
        Rank that stands for a blank, and for a category that `fit` did not see: the median.

    Examples
    --------
    >>> risks = pl.Series(["low", "high", None], dtype=pl.Enum(["low", "medium", "high"]))
    >>> risk = OrderedColumn.fit(risks, "risk")
    >>> risk.names, risk.numbers(risks).tolist(), risk.codes(risks).tolist()
    (('risk', 'risk is blank'), [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[0], [2], [3]])
    """

    type = "ordered"

    fill: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return ColumnKind.names.fget(self)  # type: ignore[attr-defined]

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether the type of a column orders its categories."""
        return series.dtype == pl.Enum

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Take the order from the type, and learn the median."""
        ranks = series.drop_nulls().to_physical().to_numpy()
        fill = float(np.quantile(ranks, 0.5, method="inverted_cdf")) if len(ranks) else 0.0
        return cls(column, series.null_count() > 0, tuple(series.dtype.categories), fill=fill)

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the ranks, and where blanks are."""
        ranks, missing = self.codes(series)[:, 0], series.is_null().to_numpy()
        filled = np.where(missing | (ranks < 0), self.fill, ranks.astype(np.float64))
        return np.stack([filled, *([missing.astype(np.float64)] * self.blank)], 1)


KINDS: tuple[type[ColumnKind], ...] = (NumberColumn, VectorColumn, DateColumn, OrderedColumn, CategoryColumn)


def kind_of(series: pl.Series) -> type[ColumnKind] | None:
    """Find the kind that reads a column; None where none does."""
    return next((kind for kind in KINDS if kind.reads(series)), None)
