"""The rows that meet several conditions at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Mask, Wording
from miscal.findings.conditions.frame import Frame
from miscal.findings.conditions.several import Several


@dataclass(frozen=True)
class Both(Several):
    """The rows that meet two conditions at once, or three: ``"subject = law and year = 2001"``.

    Examples
    --------
    >>> from miscal.findings.conditions.kinds.missing import Missing
    >>> Both((Missing("year"), Missing("place"))).words
    'year = (missing) and place = (missing)'
    """

    kind: ClassVar[str] = "both"

    @property
    def wording(self) -> Wording:
        return Wording("", " and ".join(one.words for one in self.conditions))

    def rows(self, frame: Frame) -> Mask:
        return np.logical_and.reduce([one.rows(frame) for one in self.conditions])
