"""The rows that have one value of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import Frame, seconds, written


@dataclass(frozen=True)
class Value(Condition):
    """The rows that have one value of a column: ``"subject = law"``.

    Attributes
    ----------
    column : str
    value : str or float
        A date as it is written, ``"2021-03-01"`` or to the second.
    of : {"text", "number", "date"}
        What the column held in the run. In a table where it holds something else, values are compared as they are
        written.

    Examples
    --------
    >>> import numpy as np
    >>> year = Value("year", 2001.0, "number")
    >>> year.words, year.rows(Frame(2, {"year": np.array([2001, 2002])})).tolist()
    ('year = 2001', [True, False])
    >>> empty = Value("topic", "", "text")
    >>> empty.words, empty.rows(Frame(2, {"topic": np.array(["", "law"])})).tolist()
    ('topic = (empty)', [True, False])
    """

    kind: ClassVar[str] = "value"
    column: str
    value: str | float
    of: Literal["text", "number", "date"]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def wording(self) -> Wording:
        # nothing would stand where the value should
        own = self._written if self._written.strip() else "(only blanks)" if self._written else "(empty)"
        # as a stretch of dates (:class:`.period.Period`)
        return Wording(f"{self.column} = ", own, " (past)" if self.of == "date" else "")

    @property
    def _written(self) -> str:
        return self.value if isinstance(self.value, str) else written(self.value, False)

    def lacks(self, frame: Frame) -> str | None:
        return frame.lacks(self.column)

    def rows(self, frame: Frame) -> Mask:
        numbers, dates = frame.numbers(self.column)
        if self.of == "text" or numbers is None or dates != (self.of == "date"):
            return frame.texts(self.column) == self._written
        return numbers == (seconds(self.value) if isinstance(self.value, str) else self.value)
