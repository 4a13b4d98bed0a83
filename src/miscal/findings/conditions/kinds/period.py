"""The rows that have a date of a column in one stretch of time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame, seconds

_FIRST = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-01")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


@dataclass(frozen=True)
class Period(Condition):
    """The rows that have a date of a column in one stretch of time: ``"day between 2021-01-01 and 2021-01-31 (past)"``.

    It was so then: the stretch lies among the rows of the run, and no correction is learned from it.

    Attributes
    ----------
    column : str
    start, stop : str or None
        From `start` on and before `stop`, each ``"2021-03-01"`` or to the second; None for no bound.
    last : str or None
        What the words name where it is given, since people count both ends of a stretch of days: the last date that is
        in it, or, without `stop`, the last date before it. Whole months are called by their names.

    Examples
    --------
    >>> late = Period("day", "2021-03-01", None, "2021-02-27")
    >>> late.words, late.rows(Frame(2, {"day": np.array(["2021-02-27", "2021-03-05"], "datetime64[D]")})).tolist()
    ('day after 2021-02-27 (past)', [False, True])
    >>> Period("day", "2021-03-01", "2021-06-01", "2021-05-31").words
    'day from March to May 2021 (past)'
    """

    kind: ClassVar[str] = "period"
    column: str
    start: str | None
    stop: str | None
    last: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def wording(self) -> Wording:
        return Wording("", f"{self.column} {self.stretch}", " (past)")

    @property
    def stretch(self) -> str:
        """Where it lies, without the column."""
        if self.start is None:
            phrase = "known" if self.stop is None else f"before {_month(self.stop) or self.stop}"
        elif self.stop is None:
            phrase = f"after {self.last}" if self.last else f"from {_month(self.start) or self.start} on"
        elif self.last is None:
            phrase = f"from {self.start} to before {self.stop}"
        elif (months := _months(self.start, self.stop)) is not None:
            phrase = months
        else:
            phrase = f"between {self.start} and {self.last}"
        return phrase

    def lacks(self, frame: Frame) -> str | None:
        return frame.lacks_dates(self.column)

    def rows(self, frame: Frame) -> Mask:
        numbers, _ = frame.numbers(self.column)
        inside = np.isfinite(numbers)
        if self.start is not None:
            inside &= numbers >= seconds(self.start)
        return inside if self.stop is None else inside & (numbers < seconds(self.stop))


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
