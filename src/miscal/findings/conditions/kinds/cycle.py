"""The rows whose date lies at some hours, on some days of the week, or in some months, of any day, week or year."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame
from miscal.findings.conditions.kinds.period import MONTHS

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PARTS = {"hour": 24, "weekday": 7, "month": 12}
"""Parts of a date that come round again, and how many values each has."""


@dataclass(frozen=True)
class Cycle(Condition):
    """The rows whose date lies in a stretch of the day, the week or the year: ``"opened from 22 to 5 o'clock"``.

    Attributes
    ----------
    column : str
    part : {"hour", "weekday", "month"}
    first, last : int
        The first and the last value inside, from 0 (midnight, Monday, January); a stretch may pass the end and go on
        from the beginning.

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
    column: str
    part: Literal["hour", "weekday", "month"]
    first: int
    last: int

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

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
        told = f"from {names[first]} to {names[last]}"
        if (last - first) % many < 2:
            told = f"{before} {' or '.join(dict.fromkeys((names[first], names[last])))}"
        return Wording("", f"{self.column} {told}")

    def lacks(self, frame: Frame) -> str | None:
        return frame.lacks_dates(self.column)

    def rows(self, frame: Frame) -> Mask:
        numbers, _ = frame.numbers(self.column)
        many = PARTS[self.part]
        values = part_of(numbers, self.part)
        return (values >= 0) & ((values - self.first) % many <= (self.last - self.first) % many)


def part_of(seconds: np.ndarray, part: str) -> np.ndarray:
    """Return a part of each date, from 0; -1 where there is none.

    Parameters
    ----------
    seconds : float64 array of shape (n,)
        Since 1970; NaN where missing.
    part : {"hour", "weekday", "month"}

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
