"""Numbers and dates cut into bins of about equal counts, whose ends are round wherever that moves few rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from miscal.findings.conditions import Condition, Period, Span
from miscal.findings.conditions.frame import written

_MOVED = 0.0075
"""Share of the rows by which an end may move from its quantile to a round number: 0.3 of a bin of 2.5 %."""
_COUNTED = 1_000
_LEADING = (10, 5, 2, 1)
_DAY = 86_400
_CLOCK = (_DAY, 3_600, 600, 60)
"""Seconds of a day, an hour, ten minutes and a minute."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Numbers or dates cut into bins of about equal counts; code -1 is missing.

    Attributes
    ----------
    column : str
    inner : float64 array of shape (count - 1,)
        Where one bin ends and the next begins, strictly rising.
    codes : int array of shape (n,)
    date : bool
        Whether numbers are seconds since 1970.
    whole : bool
        Whether all numbers are whole and few enough to be told one by one: ages, years, counts.
    """

    column: str
    inner: np.ndarray
    codes: np.ndarray
    date: bool
    whole: bool = False

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.inner) + 1

    def condition(self, first: int, last: int) -> Condition:
        """Return the condition that a value is in one of the bins from `first` to `last`."""
        low = None if first == 0 else float(self.inner[first - 1])
        high = None if last == self.count - 1 else float(self.inner[last])
        if not self.date:
            return Span(self.column, low, high, self.whole)
        return _period(self.column, low, high)


def bins_of(column: str, numbers: np.ndarray, count: int, date: bool) -> Bins:
    """Cut numbers into bins.

    Parameters
    ----------
    column : str
    numbers : float64 array of shape (n,)
        NaN or infinite where missing; at least two distinct others.
    count : int
        Bins at most: equal numbers stay together.
    date : bool
        Whether they are seconds since 1970.

    Examples
    --------
    >>> ages = np.repeat(np.arange(18.0, 91.0), 5)
    >>> [bins_of("age", ages, 5, False).condition(i, i).words for i in (0, 1, 4)]
    ['age at most 32', 'age from 33 to 46', 'age at least 76']
    """
    known = np.isfinite(numbers)
    order = np.sort(numbers[known])
    whole = bool(np.all(order == np.floor(order)))
    ends = [round_quantile(order, place / count, date=date, whole=whole) for place in range(1, count)]
    inner = np.unique([end for end in ends if end > order[0]])
    codes = np.where(known, np.searchsorted(inner, np.where(known, numbers, 0.0), "right"), -1)
    return Bins(column, inner, codes, date, bool(whole and order[-1] - order[0] < _COUNTED))


def round_quantile(order: np.ndarray, place: float, *, date: bool = False, whole: bool = False) -> float:
    """Return a quantile of numbers, or a rounder number near it.

    Parameters
    ----------
    order : float64 array of shape (n,)
        Numbers in rising order, or dates as seconds since 1970.
    place : float in (0, 1)
    date, whole : bool
        Whether they are dates, or whole numbers.

    Examples
    --------
    >>> round_quantile(np.arange(1_000.0) / 7, 0.5)
    72.0
    """

    def at(share: float) -> float:
        # a product that is whole but for rounding is whole
        return float(order[int(np.clip(np.ceil(round(share * len(order), 6)) - 1, 0, len(order) - 1))])

    bounds = at(place), at(place - _MOVED), at(place + _MOVED)
    return _round_date(*bounds) if date else _round_number(*bounds, whole)


def _round_number(exact: float, low: float, high: float, whole: bool) -> float:
    """Return the roundest number above `low` and up to `high`; `exact` where there is none that takes fewer digits."""
    if not low < high:
        return exact
    if low < 0 <= high:
        return 0.0
    size = np.floor(np.log10(max(abs(low), abs(high))))
    for power in np.arange(size, size - 6, -1):
        for leading in _LEADING:
            step = leading * 10.0**power
            # 0.3 has no exact form: the nearest number of so many digits is taken
            value = float(f"{np.floor(high / step) * step:.6g}")
            if low < value <= high and not (whole and value != np.floor(value)):
                return value
    return exact


def _round_date(exact: float, low: float, high: float) -> float:
    """Return the roundest instant above `low` and up to `high`: the first of a year, a quarter, a month, a day."""
    if not low < high:
        return exact
    latest = np.datetime64(int(high), "s")
    month = latest.astype("datetime64[M]")
    quarter = np.datetime64(int(month.astype(int)) // 3 * 3, "M")
    for start in (latest.astype("datetime64[Y]"), quarter, month):
        value = float(start.astype("datetime64[s]").astype(np.int64))
        if value > low:
            return value
    for step in _CLOCK:
        value = np.round(exact / step) * step
        if low < value <= high:
            return float(value)
    return exact


def _period(column: str, low: float | None, high: float | None) -> Period:
    """Return the dates from `low` to before `high`, told by their last day where both are midnights."""
    start, stop = (None if end is None else written(end, True) for end in (low, high))
    days = low is not None and high is not None and low % _DAY == high % _DAY == 0
    return Period(column, start, stop, written(high - _DAY, True) if days else None)


def spans(count: int, narrow: float, widest: float) -> Iterator[tuple[int, int]]:
    """Yield first and last bin of every interval.

    Parameters
    ----------
    count : int
        Number of bins.
    narrow, widest : float
        Share of the bins up to which an interval may end at every bin, and of the widest interval; between the two it
        ends at every second.
    """
    narrow_bins, widest_bins = (max(1, int(share * count)) for share in (narrow, widest))
    for first in range(count):
        for after in range(first + 1, min(first + widest_bins, count) + 1):
            if after - first <= narrow_bins or (first % 2 == 0 and (after % 2 == 0 or after == count)):
                yield first, after - 1
