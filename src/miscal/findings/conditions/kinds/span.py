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
    whole : bool
        Whether the column held whole numbers in the run: words then name the last number inside.

    Examples
    --------
    >>> young = Span("age", None, 20.0)
    >>> young.words, young.rows(Frame(3, {"age": np.array([19, 20, np.nan])})).tolist()
    ('age below 20', [True, False, False])
    >>> Span("age", 18.0, 26.0, whole=True).words
    'age from 18 to 25'
    """

    kind: ClassVar[str] = "span"
    column: str
    low: float | None
    high: float | None
    whole: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def wording(self) -> Wording:
        return Wording("", f"{self.column} {self.stretch}")

    @property
    def stretch(self) -> str:
        """Where it lies, without the column."""
        last = self.high - 1 if self.whole and self.high is not None else None
        if self.low is None:
            phrase = "known" if self.high is None else f"below {self._told(self.high)}"
            phrase = phrase if last is None else f"at most {self._told(last)}"
        elif self.high is None:
            phrase = f"at least {self._told(self.low)}"
        elif last is None:
            phrase = f"from {self._told(self.low)} to below {self._told(self.high)}"
        else:
            phrase = f"from {self._told(self.low)} to {self._told(last)}"
            phrase = phrase if self.low < last else f"= {self._told(self.low)}"
        return phrase

    def _told(self, number: float) -> str:
        return f"{number:.0f}" if self.whole else written(number, False)

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
