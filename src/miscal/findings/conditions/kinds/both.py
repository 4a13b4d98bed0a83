"""The rows that meet several conditions at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Stored, Wording
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class Both(Condition):
    """The rows that meet two conditions at once, or three: ``"subject = law and year = 2001"``.

    Examples
    --------
    >>> from miscal.findings.conditions.kinds.missing import Missing
    >>> Both((Missing("year"), Missing("place"))).words
    'year = (missing) and place = (missing)'
    """

    kind: ClassVar[str] = "both"
    conditions: tuple[Stored, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for one in self.conditions for column in one.columns))

    @property
    def wording(self) -> Wording:
        return Wording("", " and ".join(one.words for one in self.conditions))

    def lacks(self, frame: Frame) -> str | None:
        return next((lacking for one in self.conditions if (lacking := one.lacks(frame)) is not None), None)

    def rows(self, frame: Frame) -> Mask:
        return np.logical_and.reduce([one.rows(frame) for one in self.conditions])

    def redacted(self, number: Callable[[str], int]) -> Both:
        return Both(tuple(one.redacted(number) for one in self.conditions))
