"""Stretches of values that have an order or come round again: hours of the day, days of the week, months, levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from miscal.findings.conditions import Condition, Cycle, Levels, Span
from miscal.findings.conditions.column_kinds import DAYS, MONTHS, PARTS, part_of
from miscal.findings.conditions.frame import numbers_of, written

Stretch = tuple[Condition, np.ndarray]
"""A condition and its rows, bool (n,)."""

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


def stretches(column: str, values: np.ndarray, few: int) -> Iterator[Stretch]:
    """Yield the stretches of two and more neighbouring values of a column, up to half of the rows.

    Parameters
    ----------
    column : str
    values : array of shape (n,)
        Text, numbers or dates.
    few : int
        Distinct numbers up to which stretches go from value to value; of more, those alone that pass the end.

    Examples
    --------
    >>> day = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    >>> [one.words for one, _ in stretches("day", day, 12)][-2:]
    ['day = Sun or Mon', 'day from Sun to Tue']
    """
    numbers, date = numbers_of(values)
    if numbers is None:
        yield from _of_levels(column, values)
    elif date:
        yield from _of_dates(column, numbers)
    else:
        yield from _of_numbers(column, numbers, few)


def _of_dates(column: str, seconds: np.ndarray) -> Iterator[Stretch]:
    known = seconds[np.isfinite(seconds)]
    if len(known) == 0:
        return
    for part, many in PARTS.items():
        values = part_of(seconds, part)
        if np.ptp(known) < _ROUNDS * _SECONDS[part] or len(np.unique(values[values >= 0])) < _LEAST_LEVELS:
            continue
        for first in range(many):
            for length in range(1, many // 2 + 1):
                last = (first + length - 1) % many
                yield Cycle(column, part, first, last), (values >= 0) & ((values - first) % many < length)


def _of_numbers(column: str, numbers: np.ndarray, few: int) -> Iterator[Stretch]:
    known = np.isfinite(numbers)
    distinct = np.unique(numbers[known])
    if len(distinct) < _LEAST_LEVELS:
        return
    whole = bool(np.all(distinct == np.floor(distinct)))
    places = np.where(known, np.searchsorted(distinct, np.where(known, numbers, 0.0)), -1)
    if len(distinct) <= few:
        for first, length in _runs(len(distinct)):
            low = None if first == 0 else float(distinct[first])
            high = None if first + length == len(distinct) else float(distinct[first + length])
            if whole and high is not None:
                high = float(distinct[first + length - 1]) + 1
            yield from _narrow(Span(column, low, high, whole), (places >= first) & (places < first + length))
    if whole and any(
        name.search(column) and any(low <= distinct[0] and distinct[-1] <= high for low, high in ranges)
        for name, ranges in _ROUND_NUMBERS
    ):
        yield from _passing_the_end(column, [written(value, False) for value in distinct], places)


def _of_levels(column: str, values: np.ndarray) -> Iterator[Stretch]:
    missing = np.array([value is None or value != value for value in values], bool)
    text = np.where(missing, "", values.astype(str))
    distinct = np.unique(text[~missing])
    levels, rounds = ordered(distinct.tolist())
    if len(levels) < _LEAST_LEVELS:
        return
    place = {level: place for place, level in enumerate(levels)}
    places = np.array([-1 if gone else place[one] for one, gone in zip(text.tolist(), missing, strict=True)])
    for first, length in _runs(len(levels)):
        inside = (places >= first) & (places < first + length)
        yield from _narrow(Levels(column, tuple(levels[first : first + length])), inside)
    if rounds:
        yield from _passing_the_end(column, levels, places)


def _passing_the_end(column: str, levels: Sequence[str], places: np.ndarray) -> Iterator[Stretch]:
    many = len(levels)
    for first in range(1, many):
        for length in range(many - first + 1, many // 2 + 1):
            chosen = tuple(levels[(first + at) % many] for at in range(length))
            yield from _narrow(Levels(column, chosen), (places >= 0) & ((places - first) % many < length))


def _runs(many: int) -> Iterator[tuple[int, int]]:
    return ((first, length) for first in range(many) for length in range(2, many - first + 1))


def _narrow(condition: Condition, inside: np.ndarray) -> Iterator[Stretch]:
    """Leave out a stretch of more than half of the rows, which is told by its complement."""
    if 2 * inside.sum() <= len(inside):
        yield condition, inside


def ordered(levels: Sequence[str]) -> tuple[list[str], bool]:
    """Put levels in the order that their names tell, and say whether they come round again.

    Parameters
    ----------
    levels : sequence of str
        All different.

    Returns
    -------
    (list of str, bool)
        No levels where their names tell no order.

    Examples
    --------
    >>> ordered(["65+", "18-25", "26-64", "<18"])
    (['<18', '18-25', '26-64', '65+'], False)
    >>> ordered(["Sat", "Mon", "Fri"]), ordered(["high", "low", "medium"])[0], ordered(["law", "art"])[0]
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
