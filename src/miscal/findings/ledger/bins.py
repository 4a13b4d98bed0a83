"""Stretches of neighbouring values: bins of numbers and dates, hours, days of the week, months, and ordered levels.

And trends: the rows of a trend are tested by their midranks in the column in place of 0 and 1: one candidate of a
column, however many intervals a trend would fill. It is reported by the upper third of the rows, against the lower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from miscal.findings.conditions.column_kinds import DAYS, MONTHS, PARTS, Cycle, Levels, Period, Span, Trend, part_of
from miscal.findings.conditions.condition import Condition, numbers_of, texts_of, written
from miscal.findings.ledger.membership import CodedColumns

_MOVED = 0.0075
"""Share of the rows by which an end may move from its quantile to a round number: 0.3 of a bin of 2.5 %."""
_COUNTED = 1_000
_LEADING = (10, 5, 2, 1)
_DAY = 86_400
_CLOCK = (_DAY, 3_600, 600, 60)
"""Seconds of a day, an hour, ten minutes and a minute."""


Stretches = tuple[Sequence[Condition], CodedColumns]
"""Conditions and their rows, as columns."""
_SECONDS = {"hour": 86_400, "weekday": 7 * 86_400, "month": 366 * 86_400}
"""How long a date's part takes to come round again."""
_ROUNDS = 2
"""Rounds that dates must span: what happened in one winter is no matter of winter."""
_ROUND_NUMBERS = (
    (re.compile(r"(?:^|[_ ])(?:hour|hr)(?:$|[_ ])", re.IGNORECASE), ((0, 23),)),
    (re.compile(r"(?:^|[_ ])(?:weekday|dow|day[_ ]?of[_ ]?week)(?:$|[_ ])", re.IGNORECASE), ((0, 6), (1, 7))),
    (re.compile(r"(?:^|[_ ])month(?:$|[_ ])", re.IGNORECASE), ((1, 12),)),
)
"""Names of columns of numbers that come round again, and the numbers that they may hold."""
_ROUND_LEVELS = tuple(
    tuple(name[:length].lower() for name in names) for names in (DAYS, MONTHS) for length in (None, 3)
)
_SCALES = tuple(
    tuple(scale.split("/"))
    for scale in (
        "none/very low/low/medium/high/very high",
        "low/moderate/high/very high",
        "none/mild/moderate/severe",
        "never/rarely/sometimes/often/always",
        "very poor/poor/fair/good/very good/excellent",
        "very easy/easy/medium/hard/very hard",
        "small/medium/large",
        "xxs/xs/s/m/l/xl/xxl",
        "strongly disagree/disagree/neutral/agree/strongly agree",
    )
)
_RANGE = re.compile(r"([<>≤≥]?)=?\s*[$€£]?(\d[\d,.]*)\s*(k|K)?.*")
_MARKS = re.compile(r"\d\s*(?:-|\N{EN DASH}|to\s|\+)|[<>≤≥]")
_LEAST_LEVELS = 3
_LEAST_VALUES = 5
"""Distinct values from which a number has a trend: fewer are taken one by one."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Numbers or dates cut into bins of about equal counts; code -1 is missing.

    `inner`, float64 (count - 1,): where one bin ends and the next begins, strictly rising. `codes`, int (n,). `date`:
    whether numbers are seconds since 1970. `whole`: whether numbers are whole and few enough to be taken one by one:
    ages, years, counts.
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
        # dates are named by their last day where both ends are midnights
        start, stop = (None if end is None else written(end, True) for end in (low, high))
        days = low is not None and high is not None and low % _DAY == high % _DAY == 0
        return Period(self.column, start, stop, written(high - _DAY, True) if days else None)


def bins_of(column: str, numbers: np.ndarray, count: int, date: bool) -> Bins:
    """Cut numbers into bins.

    `numbers`, float64 (n,): NaN or infinite where missing; at least two distinct others. `count`: bins at most: equal
    numbers stay together. `date`: whether they are seconds since 1970.

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

    `order`, float64 (n,): numbers in rising order, or dates as seconds since 1970. `date, whole`: whether they are
    dates, or whole numbers.

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
            if step == 0:  # too small for double precision
                return exact
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


def spans(count: int, narrow: float, widest: float) -> Iterator[tuple[int, int]]:
    """Yield first and last bin of every interval.

    `count`: number of bins. `narrow, widest`: share of the bins up to which an interval may end at every bin, and of
    the widest interval; between the two it ends at every second.
    """
    narrow_bins, widest_bins = (max(1, int(share * count)) for share in (narrow, widest))
    for first in range(count):
        for after in range(first + 1, min(first + widest_bins, count) + 1):
            if after - first <= narrow_bins or (first % 2 == 0 and (after % 2 == 0 or after == count)):
                yield first, after - 1


def stretches(
    column: str, values: np.ndarray, few: int, texts: tuple[list[str], np.ndarray] | None = None
) -> Iterator[Stretches]:
    """Yield the stretches of two and more neighbouring values of a column; of dates, of hours, days and months.

    `values`, (n,): text, numbers or dates. `few`: distinct numbers up to which stretches go from value to value; of
    more, those alone that pass the end. `texts`: what :func:`texts_of` returns, where it is known.

    Examples
    --------
    >>> day = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    >>> [[one.words for one in conditions][-1] for conditions, _ in stretches("day", day, 12)]
    ['day = Sat or Sun', 'day from Sun to Tue']
    """
    numbers, date = numbers_of(values)
    if numbers is None:
        yield from _of_levels(column, *(texts or texts_of(values)))
    else:
        yield from _of_dates(column, numbers) if date else _of_numbers(column, numbers, few)


def _of_dates(column: str, seconds: np.ndarray) -> Iterator[Stretches]:
    known = seconds[np.isfinite(seconds)]
    for part, many in PARTS.items():
        values = part_of(seconds, part)
        if len(np.unique(values[values >= 0])) >= _LEAST_LEVELS and np.ptp(known) >= _ROUNDS * _SECONDS[part]:
            runs = [(first, length) for first in range(many) for length in range(1, many // 2 + 1)]
            ends = ((first, (first + length - 1) % many) for first, length in runs)
            yield [Cycle(column, part, *both) for both in ends], _of_runs(values, many, runs)


def _of_runs(places: np.ndarray, many: int, runs: Sequence[tuple[int, int]]) -> CodedColumns:
    """Hold runs of so many places each from the first on, which may pass the end; rows at the place -1 are in none."""
    return CodedColumns.unions(places, many, [(first + np.arange(length)) % many for first, length in runs])


def _of_numbers(column: str, numbers: np.ndarray, few: int) -> Iterator[Stretches]:
    known = np.isfinite(numbers)
    distinct = np.unique(numbers[known])
    if len(distinct) < _LEAST_LEVELS:
        return
    whole = bool(np.all(distinct == np.floor(distinct)))
    places = np.where(known, np.searchsorted(distinct, np.where(known, numbers, 0.0)), -1)
    if len(distinct) <= few:
        ends = [*(distinct[:-1] + 1 if whole else distinct[1:]).tolist(), None]
        starts, runs = [None, *distinct[1:].tolist()], _runs(len(distinct))
        spans = [Span(column, starts[first], ends[first + length - 1], whole) for first, length in runs]
        yield spans, _of_runs(places, len(distinct), runs)
    if whole and any(
        name.search(column) and any(low <= distinct[0] and distinct[-1] <= high for low, high in ranges)
        for name, ranges in _ROUND_NUMBERS
    ):
        yield from _passing_the_end(column, [written(value, False) for value in distinct], places)


def _of_levels(column: str, distinct: list[str], codes: np.ndarray) -> Iterator[Stretches]:
    levels, rounds = order_levels(distinct)
    if len(levels) < _LEAST_LEVELS:
        return
    place = {level: place for place, level in enumerate(levels)}
    # of a missing value the last one
    places, runs = np.array([*(place[one] for one in distinct), -1])[codes], _runs(len(levels))
    named = [Levels(column, tuple(levels[first : first + length])) for first, length in runs]
    yield named, _of_runs(places, len(levels), runs)
    if rounds:
        yield from _passing_the_end(column, levels, places)


def _passing_the_end(column: str, levels: Sequence[str], places: np.ndarray) -> Iterator[Stretches]:
    many = len(levels)
    runs = [(first, length) for first in range(1, many) for length in range(many - first + 1, many // 2 + 1)]
    if runs:
        chosen = [tuple(levels[(first + at) % many] for at in range(length)) for first, length in runs]
        yield [Levels(column, one) for one in chosen], _of_runs(places, many, runs)


def _runs(many: int) -> list[tuple[int, int]]:
    return [(first, length) for first in range(many) for length in range(2, many - first + 1)]


def order_levels(levels: Sequence[str]) -> tuple[list[str], bool]:
    """Put levels in the order that their names tell, and say whether they come round again.

    `levels`: all different. Returns no levels where their names tell no order.

    Examples
    --------
    >>> order_levels(["65+", "18-25", "26-64", "<18"])
    (['<18', '18-25', '26-64', '65+'], False)
    >>> order_levels(["Sat", "Mon", "Fri"]), order_levels(["high", "low", "medium"])[0], order_levels(["law", "art"])[0]
    ((['Mon', 'Fri', 'Sat'], True), ['low', 'medium', 'high'], [])
    """
    plain = {level: level.strip().lower() for level in levels}
    for scale in (*_ROUND_LEVELS, *_SCALES):
        if set(plain.values()) <= set(scale):
            return sorted(levels, key=lambda level: scale.index(plain[level])), scale in _ROUND_LEVELS
    begins = {level: _RANGE.fullmatch(text) for level, text in plain.items()}
    if not levels or any(found is None for found in begins.values()) or not any(map(_MARKS.search, plain.values())):
        return [], False
    return sorted(levels, key=lambda level: _begin(begins[level])), False


def _begin(found: re.Match | None) -> tuple[float, int]:
    if found is None:
        return 0.0, 0
    sign, digits, thousand = found.groups()
    number = float(digits.rstrip(",.").replace(",", "") or 0) if digits.count(".") < 2 else 0.0
    return number * (1_000 if thousand else 1), {"<": -1, "≤": -1, ">": 1, "≥": 1}.get(sign, 0)


class TrendRows(NamedTuple):
    """A trend: its condition, the rows at its upper and at its lower end (bool (n,)), and the score of each row.

    Scores are midranks among the known values, from -1/2 to 1/2; 0 where there is none.
    """

    condition: Trend
    upper: np.ndarray
    lower: np.ndarray
    score: np.ndarray


def trend_of(column: str, numbers: np.ndarray, date: bool) -> TrendRows | None:
    """Return the trend along a column; None where its values are too few.

    `numbers`, float64 (n,): NaN where missing; seconds since 1970 for dates.

    Examples
    --------
    >>> found = trend_of("age", np.arange(20.0, 80.0), date=False)
    >>> found.condition.words, int(found.upper.sum()), found.score[[0, -1]].round(2).tolist()
    ('higher age, at least 60 against at most 39', 20, [-0.49, 0.49])
    """
    known = np.isfinite(numbers)
    if len(np.unique(numbers[known])) < _LEAST_VALUES:
        return None
    thirds = bins_of(column, numbers, 3, date)
    if thirds.count < 2:
        return None
    lower, upper = (written(float(end), True) if date else float(end) for end in (thirds.inner[0], thirds.inner[-1]))
    score = np.zeros(len(numbers))
    score[known] = (rankdata(numbers[known]) - 0.5) / known.sum() - 0.5
    condition = Trend(column, upper, lower, thirds.whole)
    return TrendRows(condition, thirds.codes == thirds.count - 1, thirds.codes == 0, score)
