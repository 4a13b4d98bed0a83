"""The rows that meet at least one of several conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Mask, Wording
from miscal.findings.conditions.frame import Frame
from miscal.findings.conditions.several import Several


@dataclass(frozen=True)
class AnyOf(Several):
    """The rows that meet at least one of several conditions: ``"subject = law or history"``.

    Examples
    --------
    >>> from miscal.findings.conditions.kinds.value import Value
    >>> AnyOf((Value("subject", "law", "text"), Value("subject", "history", "text"))).words
    'subject = law or history'
    """

    kind: ClassVar[str] = "any_of"

    @property
    def wording(self) -> Wording:
        parts = [one.wording for one in self.conditions]
        before, _, after = parts[0]
        if all((part.before, part.after) == (before, after) for part in parts):
            return Wording(before, " or ".join(part.own for part in parts), after)
        return Wording("", " or ".join(one.words for one in self.conditions))

    def rows(self, frame: Frame) -> Mask:
        return np.logical_or.reduce([one.rows(frame) for one in self.conditions])
