"""What conditions that are made of several others have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from miscal.findings.conditions.condition import Condition, Stored
from miscal.findings.conditions.frame import Frame


@dataclass(frozen=True)
class Several(Condition):
    """A condition made of several others, at least one."""

    conditions: tuple[Stored, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all of them, each once."""
        return tuple(dict.fromkeys(column for one in self.conditions for column in one.columns))

    def lacks(self, frame: Frame) -> str | None:
        """Say what the first of them lacks that lacks anything."""
        return next((lacking for one in self.conditions if (lacking := one.lacks(frame)) is not None), None)

    def redacted(self, number: Callable[[str], int]) -> Self:
        """Return the same of conditions without any text."""
        return type(self)(tuple(one.redacted(number) for one in self.conditions))
