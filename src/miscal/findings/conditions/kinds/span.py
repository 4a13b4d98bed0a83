"""The rows that have a number of a column between two bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame, written


@dataclass(frozen=True)
class Span(Condition):
    """The rows that have a number of a column between two bounds: ``"age from 20 to below 30"``.

    Attributes
    ----------
    column : str
    low, high : float or None
        At least `low` and below `high`; None for no bound. The words write them with six digits.

    Examples
    --------
    >>> young = Span("age", None, 20.0)
    >>> young.words, young.rows(Frame(3, {"age": np.array([19, 20, np.nan])})).tolist()
    ('age below 20', [True, False, False])
    """

    kind: ClassVar[str] = "span"
    column: str
    low: float | None
    high: float | None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def wording(self) -> Wording:
        if self.low is None:
            phrase = "known" if self.high is None else f"below {written(self.high, False)}"
        elif self.high is None:
            phrase = f"at least {written(self.low, False)}"
        else:
            phrase = f"from {written(self.low, False)} to below {written(self.high, False)}"
        return Wording("", f"{self.column} {phrase}")

    def lacks(self, frame: Frame) -> str | None:
        if (lacking := frame.lacks(self.column)) is not None:
            return lacking
        numbers, dates = frame.numbers(self.column)
        return f"column {self.column!r} of the rows holds no numbers" if numbers is None or dates else None

    def rows(self, frame: Frame) -> Mask:
        numbers, _ = frame.numbers(self.column)
        inside = np.isfinite(numbers)
        if self.low is not None:
            inside &= numbers >= self.low
        return inside if self.high is None else inside & (numbers < self.high)
