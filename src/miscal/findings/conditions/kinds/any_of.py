"""The rows that meet at least one of several conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from miscal.findings.conditions.condition import Condition, Mask, Stored, Wording
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class AnyOf(Condition):
    """The rows that meet at least one of several conditions: ``"subject = law or history"``.

    Examples
    --------
    >>> from miscal.findings.conditions.kinds.value import Value
    >>> AnyOf((Value("subject", "law", "text"), Value("subject", "history", "text"))).words
    'subject = law or history'
    """

    kind: ClassVar[str] = "any_of"
    conditions: tuple[Stored, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for one in self.conditions for column in one.columns))

    @property
    def wording(self) -> Wording:
        parts = [one.wording for one in self.conditions]
        before, _, after = parts[0]
        if all((part.before, part.after) == (before, after) for part in parts):
            return Wording(before, " or ".join(part.own for part in parts), after)
        return Wording("", " or ".join(one.words for one in self.conditions))

    def lacks(self, frame: Frame) -> str | None:
        return next((lacking for one in self.conditions if (lacking := one.lacks(frame)) is not None), None)

    def rows(self, frame: Frame) -> Mask:
        return np.logical_or.reduce([one.rows(frame) for one in self.conditions])

    def redacted(self, number: Callable[[str], int]) -> AnyOf:
        return AnyOf(tuple(one.redacted(number) for one in self.conditions))
