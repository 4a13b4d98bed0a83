"""The rows that lie on one side of a line in the plane of two numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame, written


@dataclass(frozen=True)
class Slanted(Condition):
    """The rows on one side of a line in the plane of two numbers: ``"income + 3 x tenure at least 50"``.

    Attributes
    ----------
    first, second : str
        Two columns of numbers.
    of_first, of_second : float
        What each is multiplied by in the sum; `of_first` is positive.
    side : {"below", "at least"}
    bound : float
        Of the sum.

    Examples
    --------
    >>> rich = Slanted("income", 1.0, "debt", -2.0, "at least", 30.0)
    >>> rich.words
    'income − 2 × debt at least 30'
    >>> rich.rows(Frame(2, {"income": np.array([50.0, 50.0]), "debt": np.array([10.0, 11.0])})).tolist()
    [True, False]
    """

    kind: ClassVar[str] = "slanted"
    first: str
    of_first: float
    second: str
    of_second: float
    side: Literal["below", "at least"]
    bound: float

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.first, self.second)))

    @property
    def wording(self) -> Wording:
        sign = "\N{MINUS SIGN}" if self.of_second < 0 else "+"
        one, two = _term(self.of_first, self.first), _term(abs(self.of_second), self.second)
        return Wording("", f"{one} {sign} {two} {self.side} {written(self.bound, False)}")

    def lacks(self, frame: Frame) -> str | None:
        for column in self.columns:
            if (lacking := frame.lacks(column)) is not None:
                return lacking
            numbers, dates = frame.numbers(column)
            if numbers is None or dates:
                return f"column {column!r} of the rows holds no numbers"
        return None

    def rows(self, frame: Frame) -> Mask:
        total = self.of(*(frame.numbers(column)[0] for column in (self.first, self.second)))
        known = np.isfinite(total)
        return known & (total < self.bound if self.side == "below" else total >= self.bound)

    def of(self, first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray:
        """Return the sum of each row, (n,), NaN where a number is missing."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self.of_first * first + self.of_second * second


def _term(factor: float, column: str) -> str:
    return column if factor == 1 else f"{written(factor, False)} \N{MULTIPLICATION SIGN} {column}"
