"""Kinds of conditions on one column: values, spans of numbers, stretches of time, levels, trends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from miscal.findings.conditions.condition import Condition, Frame, Mask, Wording, seconds, written

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
PARTS = {"hour": 24, "weekday": 7, "month": 12}
"""Parts of a date that come round again, and how many values each has."""
_FIRST = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-01")


@dataclass(frozen=True)
class OfColumn(Condition):
    """A condition on one column."""

    holds: ClassVar[str] = ""
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def lacks(self, frame: Frame) -> str | None:
        return frame.lacks(self.column, self.holds)

    def _between(self, frame: Frame, low: float | None, high: float | None) -> Mask:
        numbers, _ = frame.numbers(self.column)
        inside = np.isfinite(numbers)
        if low is not None:
            inside &= numbers >= low
        return inside if high is None else inside & (numbers < high)


@dataclass(frozen=True)
class Value(OfColumn):
    """The rows that have one value of a column: ``"subject = law"``.

    `value` of a date is written, ``"2021-03-01"`` or to the second. `of` says what the column held in the run; in a
    table where it holds something else, values are compared as they are written.

    Examples
    --------
    >>> year = Value("year", 2001.0, "number")
    >>> year.words, year.rows(Frame(2, {"year": np.array([2001, 2002])})).tolist()
    ('year = 2001', [True, False])
    >>> empty = Value("topic", "", "text")
    >>> empty.words, empty.rows(Frame(2, {"topic": np.array(["", "law"])})).tolist()
    ('topic = (empty)', [True, False])
    """

    kind: ClassVar[str] = "value"
    value: str | float
    of: Literal["text", "number", "date"]

    @property
    def wording(self) -> Wording:
        # nothing would stand where the value should
        own = self._written if self._written.strip() else "(only blanks)" if self._written else "(empty)"
        return Wording(f"{self.column} = ", own, " (past)" if self.of == "date" else "")

    @property
    def _written(self) -> str:
        return self.value if isinstance(self.value, str) else written(self.value, False)

    def rows(self, frame: Frame) -> Mask:
        numbers, dates = frame.numbers(self.column)
        if self.of == "text" or numbers is None or dates != (self.of == "date"):
            return frame.texts(self.column) == self._written
        return numbers == (seconds(self.value) if isinstance(self.value, str) else self.value)


@dataclass(frozen=True)
class Missing(OfColumn):
    """The rows that have no value of a column: ``"year = (missing)"``. An infinite number counts as none.

    Examples
    --------
    >>> Missing("year").rows(Frame(2, {"year": np.array([2001, np.nan])})).tolist()
    [False, True]
    """

    kind: ClassVar[str] = "missing"

    @property
    def wording(self) -> Wording:
        return Wording(f"{self.column} = ", "(missing)")

    def rows(self, frame: Frame) -> Mask:
        numbers, _ = frame.numbers(self.column)
        if numbers is not None:
            return ~np.isfinite(numbers)
        return frame.texts(self.column) == None  # noqa: E711  element by element


@dataclass(frozen=True)
class Levels(OfColumn):
    """The rows that have one of some neighbouring values of a column: ``"weekday from Friday to Sunday"``.

    `values` are in their order, as they are written; a stretch of values that come round again may pass the last one.

    Examples
    --------
    >>> late = Levels("weekday", ("Fri", "Sat", "Sun"))
    >>> late.words, late.rows(Frame(2, {"weekday": np.array(["Sun", "Mon"])})).tolist()
    ('weekday from Fri to Sun', [True, False])
    """

    kind: ClassVar[str] = "levels"
    values: tuple[str, ...]

    @property
    def wording(self) -> Wording:
        if len(self.values) < 3:
            return Wording(f"{self.column} = ", " or ".join(self.values))
        return Wording(f"{self.column} ", f"from {self.values[0]} to {self.values[-1]}")

    def rows(self, frame: Frame) -> Mask:
        return np.isin(frame.texts(self.column).astype(str), self.values) & (frame.texts(self.column) != None)  # noqa: E711


@dataclass(frozen=True)
class Span(OfColumn):
    """The rows that have a number of a column from `low` to below `high`: ``"age from 20 to below 30"``.

    None is no bound. The words write bounds with six digits; where the column held `whole` numbers in the run, they
    name the last number inside.

    Examples
    --------
    >>> young = Span("age", None, 20.0)
    >>> young.words, young.rows(Frame(3, {"age": np.array([19, 20, np.nan])})).tolist()
    ('age below 20', [True, False, False])
    >>> Span("age", 18.0, 26.0, whole=True).words
    'age from 18 to 25'
    """

    kind: ClassVar[str] = "span"
    holds: ClassVar[str] = "numbers"
    low: float | None
    high: float | None
    whole: bool = False

    @property
    def wording(self) -> Wording:
        return Wording("", f"{self.column} {self.stretch}")

    @property
    def stretch(self) -> str:
        """Where it lies, without the column."""
        last = self.high - 1 if self.whole and self.high is not None else None
        if self.low is None:
            phrase = "known" if self.high is None else f"below {self._in_words(self.high)}"
            phrase = phrase if last is None else f"at most {self._in_words(last)}"
        elif self.high is None:
            phrase = f"at least {self._in_words(self.low)}"
        elif last is None:
            phrase = f"from {self._in_words(self.low)} to below {self._in_words(self.high)}"
        else:
            phrase = f"from {self._in_words(self.low)} to {self._in_words(last)}"
            phrase = phrase if self.low < last else f"= {self._in_words(self.low)}"
        return phrase

    def _in_words(self, number: float) -> str:
        return f"{number:.0f}" if self.whole else written(number, False)

    def rows(self, frame: Frame) -> Mask:
        return self._between(frame, self.low, self.high)


@dataclass(frozen=True)
class Period(OfColumn):
    """The rows that have a date of a column in one stretch of time: ``"day between 2021-01-01 and 2021-01-31 (past)"``.

    It was so then: the stretch lies among the rows of the run, and no correction is learned from it. Dates are from
    `start` on and before `stop`, each ``"2021-03-01"`` or to the second; None is no bound. `last`, if given, is what
    the words name, since people count both ends of a stretch of days: the last date that is in it, or, without `stop`,
    the last date before it. Whole months are called by their names.

    Examples
    --------
    >>> late = Period("day", "2021-03-01", None, "2021-02-27")
    >>> late.words, late.rows(Frame(2, {"day": np.array(["2021-02-27", "2021-03-05"], "datetime64[D]")})).tolist()
    ('day after 2021-02-27 (past)', [False, True])
    >>> Period("day", "2021-03-01", "2021-06-01", "2021-05-31").words
    'day from March to May 2021 (past)'
    """

    kind: ClassVar[str] = "period"
    holds: ClassVar[str] = "dates"
    start: str | None
    stop: str | None
    last: str | None

    @property
    def wording(self) -> Wording:
        return Wording("", f"{self.column} {self.stretch}", " (past)")

    @property
    def stretch(self) -> str:
        """Where it lies, without the column."""
        if self.start is None:
            return "known" if self.stop is None else f"before {_month(self.stop) or self.stop}"
        if self.stop is None:
            return f"after {self.last}" if self.last else f"from {_month(self.start) or self.start} on"
        if self.last is None:
            return f"from {self.start} to before {self.stop}"
        return _months(self.start, self.stop) or f"between {self.start} and {self.last}"

    def rows(self, frame: Frame) -> Mask:
        return self._between(frame, *(None if end is None else seconds(end) for end in (self.start, self.stop)))


def _month(day: str) -> str | None:
    """Name the month that begins with a day, with its year; None for another day."""
    found = _FIRST.fullmatch(day)
    return None if found is None else f"{MONTHS[int(found[2]) - 1]} {found[1]}"


def _months(start: str, stop: str) -> str | None:
    """Name the months from `start` to before `stop`; None where these are no firsts of a month."""
    first, after = _FIRST.fullmatch(start), _FIRST.fullmatch(stop)
    if first is None or after is None or not start < stop:
        return None
    year, month, end, last = int(first[1]), int(first[2]), int(after[1]), int(after[2]) - 1
    end, last = (end, last) if last else (end - 1, 12)
    if (month, last) == (1, 12):
        return f"in {year}" if year == end else f"from {year} to {end}"
    if (year, month) == (end, last):
        return f"in {MONTHS[month - 1]} {year}"
    if year == end:
        return f"from {MONTHS[month - 1]} to {MONTHS[last - 1]} {end}"
    return f"from {MONTHS[month - 1]} {year} to {MONTHS[last - 1]} {end}"


@dataclass(frozen=True)
class Cycle(OfColumn):
    """The rows whose date lies in a stretch of any day, week or year: ``"opened from 22 to 5 o'clock"``.

    `first` and `last` are inside, from 0 (midnight, Monday, January); a stretch may pass the end and go on from the
    beginning.

    Examples
    --------
    >>> night = Cycle("opened", "hour", 22, 4)
    >>> moments = np.array(["2021-03-01T23:10", "2021-03-01T12:00"], "datetime64[s]")
    >>> night.words, night.rows(Frame(2, {"opened": moments})).tolist()
    ("opened from 22 to 5 o'clock", [True, False])
    >>> Cycle("opened", "weekday", 5, 6).words, Cycle("opened", "month", 11, 11).words
    ('opened on Saturday or Sunday', 'opened in December')
    """

    kind: ClassVar[str] = "cycle"
    holds: ClassVar[str] = "dates"
    part: Literal["hour", "weekday", "month"]
    first: int
    last: int

    @property
    def axis(self) -> str:
        return f"{self.part} of {self.column}"

    @property
    def wording(self) -> Wording:
        many = PARTS[self.part]
        first, last = self.first % many, self.last % many
        if self.part == "hour":
            return Wording("", f"{self.column} from {first} to {(last + 1) % many} o'clock")
        names, before = (DAYS, "on") if self.part == "weekday" else (MONTHS, "in")
        stretch = f"from {names[first]} to {names[last]}"
        if (last - first) % many < 2:
            stretch = f"{before} {' or '.join(dict.fromkeys((names[first], names[last])))}"
        return Wording("", f"{self.column} {stretch}")

    def rows(self, frame: Frame) -> Mask:
        many, values = PARTS[self.part], part_of(frame.numbers(self.column)[0], self.part)
        return (values >= 0) & ((values - self.first) % many <= (self.last - self.first) % many)


def part_of(seconds: np.ndarray, part: str) -> np.ndarray:
    """Return a part of each date (seconds since 1970), from 0; -1 where there is none.

    Examples
    --------
    >>> day = np.array([np.datetime64("2021-03-06T22:00", "s").astype(float), np.nan])
    >>> [part_of(day, part).tolist() for part in PARTS]
    [[22, -1], [5, -1], [2, -1]]
    """
    known = np.isfinite(seconds)
    whole = np.where(known, seconds, 0.0).astype(np.int64)
    if part == "hour":
        values = whole // 3_600 % 24
    elif part == "weekday":
        # 1 January 1970 was a Thursday; Monday is 0
        values = (whole // 86_400 + 3) % 7
    else:
        values = whole.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12
    return np.where(known, values, -1)


@dataclass(frozen=True)
class Trend(OfColumn):
    """The rows at the upper end of a number, or the latest of a date, which stand for a trend along all of it.

    They have at least `upper`, about a third of all; the rows at the other end, which they are compared with, have less
    than `lower`. Dates are written ``"2021-03-01"`` or to the second. `whole` as in :class:`Span`.

    Examples
    --------
    >>> older = Trend("age", 65.0, 43.0, whole=True)
    >>> older.words
    'higher age, at least 65 against at most 42'
    >>> older.rows(Frame(2, {"age": np.array([64, 65])})).tolist()
    [False, True]
    """

    kind: ClassVar[str] = "trend"
    upper: float | str
    lower: float | str
    whole: bool = False

    @property
    def wording(self) -> Wording:
        return Wording("", f"{self.higher}, {self.upper_end.stretch} against {self.lower_end.stretch}")

    @property
    def higher(self) -> str:
        """The direction of the trend: ``"higher age"``, ``"later opened"``."""
        return f"{'later' if isinstance(self.upper, str) else 'higher'} {self.column}"

    @property
    def upper_end(self) -> Period | Span:
        """Its rows as a condition of their own."""
        if isinstance(self.upper, str):
            return Period(self.column, self.upper, None, None)
        return Span(self.column, self.upper, None, self.whole)

    @property
    def lower_end(self) -> Period | Span:
        """The rows that its own are compared with."""
        if isinstance(self.lower, str):
            return Period(self.column, None, self.lower, None)
        return Span(self.column, None, self.lower, self.whole)

    def lacks(self, frame: Frame) -> str | None:
        return self.upper_end.lacks(frame)

    def rows(self, frame: Frame) -> Mask:
        return self.upper_end.rows(frame)
