"""The rows that have one of some neighbouring values of a column whose values have an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class Levels(Condition):
    """The rows that have one of some neighbouring values of a column: ``"weekday from Friday to Sunday"``.

    Attributes
    ----------
    column : str
    values : tuple of str
        In their order, as they are written; a stretch of values that come round again may pass the last one.

    Examples
    --------
    >>> late = Levels("weekday", ("Fri", "Sat", "Sun"))
    >>> late.words, late.rows(Frame(2, {"weekday": np.array(["Sun", "Mon"])})).tolist()
    ('weekday from Fri to Sun', [True, False])
    """

    kind: ClassVar[str] = "levels"
    column: str
    values: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def wording(self) -> Wording:
        if len(self.values) < 3:
            return Wording(f"{self.column} = ", " or ".join(self.values))
        return Wording(f"{self.column} ", f"from {self.values[0]} to {self.values[-1]}")

    def lacks(self, frame: Frame) -> str | None:
        return frame.lacks(self.column)

    def rows(self, frame: Frame) -> Mask:
        return np.isin(frame.texts(self.column).astype(str), self.values) & (frame.texts(self.column) != None)  # noqa: E711
