"""The rows that have a date of a column in one stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame, seconds


@dataclass(frozen=True)
class Period(Condition):
    """The rows that have a date of a column in one stretch of time: ``"day between 2021-01-01 and 2021-01-31"``.

    Attributes
    ----------
    column : str
    start, stop : str or None
        From `start` on and before `stop`, each ``"2021-03-01"`` or to the second; None for no bound.
    last : str or None
        What the words name, since people count both ends of a stretch of days: the last date that is in it, or, without
        `stop`, the last date before it.

    Examples
    --------
    >>> late = Period("day", "2021-03-01", None, "2021-02-27")
    >>> late.words, late.rows(Frame(2, {"day": np.array(["2021-02-27", "2021-03-05"], "datetime64[D]")})).tolist()
    ('day after 2021-02-27', [False, True])
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
        if self.start is None:
            phrase = "known" if self.stop is None else f"before {self.stop}"
        elif self.stop is None:
            phrase = f"after {self.last}"
        else:
            phrase = f"between {self.start} and {self.last}"
        return Wording("", f"{self.column} {phrase}")

    def lacks(self, frame: Frame) -> str | None:
        if (lacking := frame.lacks(self.column)) is not None:
            return lacking
        numbers, dates = frame.numbers(self.column)
        dated = numbers is not None and (dates or np.isnan(numbers).all())
        return None if dated else f"column {self.column!r} of the rows holds no dates"

    def rows(self, frame: Frame) -> Mask:
        numbers, _ = frame.numbers(self.column)
        inside = np.isfinite(numbers)
        if self.start is not None:
            inside &= numbers >= seconds(self.start)
        return inside if self.stop is None else inside & (numbers < seconds(self.stop))
