"""The rows that have no value of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class Missing(Condition):
    """The rows that have no value of a column: ``"year = (missing)"``. An infinite number counts as none.

    Examples
    --------
    >>> Missing("year").rows(Frame(2, {"year": np.array([2001, np.nan])})).tolist()
    [False, True]
    """

    kind: ClassVar[str] = "missing"
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def wording(self) -> Wording:
        return Wording(f"{self.column} = ", "(missing)")

    def lacks(self, frame: Frame) -> str | None:
        return frame.lacks(self.column)

    def rows(self, frame: Frame) -> Mask:
        numbers, _ = frame.numbers(self.column)
        if numbers is not None:
            return ~np.isfinite(numbers)
        return frame.texts(self.column) == None  # noqa: E711  element by element
