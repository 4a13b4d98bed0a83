"""The rows at the upper end of a number along which something rises or falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame
from miscal.findings.conditions.kinds.period import Period
from miscal.findings.conditions.kinds.span import Span


@dataclass(frozen=True)
class Trend(Condition):
    """The rows at the upper end of a number, or the latest of a date, which stand for a trend along all of it.

    Attributes
    ----------
    column : str
    upper, lower : float or str
        The rows of the trend have at least `upper`, about a third of all; the rows at the other end, which they are
        compared with, have less than `lower`. Dates are written ``"2021-03-01"`` or to the second.
    whole : bool
        Whether the column held whole numbers in the run.

    Examples
    --------
    >>> import numpy as np
    >>> older = Trend("age", 65.0, 43.0, whole=True)
    >>> older.words
    'higher age, at least 65 against at most 42'
    >>> older.rows(Frame(2, {"age": np.array([64, 65])})).tolist()
    [False, True]
    """

    kind: ClassVar[str] = "trend"
    column: str
    upper: float | str
    lower: float | str
    whole: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

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
        return _end(self, above=self.upper)

    @property
    def lower_end(self) -> Period | Span:
        """The rows that its own are compared with."""
        return _end(self, below=self.lower)

    def lacks(self, frame: Frame) -> str | None:
        return self.upper_end.lacks(frame)

    def rows(self, frame: Frame) -> Mask:
        return self.upper_end.rows(frame)


def _end(trend: Trend, above: float | str | None = None, below: float | str | None = None) -> Period | Span:
    if isinstance(above, str) or isinstance(below, str):
        start, stop = (None if end is None else str(end) for end in (above, below))
        return Period(trend.column, start, stop, None)
    return Span(trend.column, above, below, trend.whole)
