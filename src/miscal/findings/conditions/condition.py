"""The interface of every kind of condition, and how conditions are stored as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from miscal.base.json_values import plain
from miscal.findings.conditions.frame import Frame

Mask = NDArray[np.bool_]


class Wording(NamedTuple):
    """The words of a condition in three pieces: conditions of equal `before` and `after` are joined by these once."""

    before: str
    own: str
    after: str = ""


class TermNumbers:
    """Numbers that stand for terms of the texts where texts are left out, in the order in which they are asked for.

    Examples
    --------
    >>> number = TermNumbers()
    >>> number("court"), number("jury"), number("court")
    (1, 2, 1)
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, term: str) -> int:
        """Return the number of a term, from 1."""
        return self._numbers.setdefault(term, len(self._numbers) + 1)


KINDS: dict[str, type[Condition]] = {}
"""Every kind of condition, by its name in JSON."""


class Condition(ABC):
    """What the rows of a group have in common. Every kind is a frozen dataclass; equal values are equal groups.

    Its fields are what its JSON holds: text, numbers, tuples of these, and other conditions (``Stored``).

    `on_field`: whether the estimated hidden field says which rows belong to it.
    """

    kind: ClassVar[str]
    on_field: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Register a kind by its name."""
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of; ``"text"`` for texts."""

    @property
    @abstractmethod
    def wording(self) -> Wording:
        """What its rows have in common, in words: ``"subject = law"``."""

    @abstractmethod
    def lacks(self, frame: Frame) -> str | None:
        """Say why the rows of a table cannot be named, as half a sentence; None where they can."""

    @abstractmethod
    def rows(self, frame: Frame) -> Mask:
        """Mark the rows of a table that belong to the group.

        `frame`: a table of n rows in which nothing is lacking (:meth:`lacks`).
        """

    @property
    def axis(self) -> str:
        """What it is a stretch of, where it is an interval: two intervals of one axis may overlap."""
        return " and ".join(self.columns)

    @property
    def words(self) -> str:
        """What its rows have in common, in words."""
        return "".join(self.wording)

    @property
    def phrase(self) -> str:
        """Its rows, in the middle of a sentence: ``"rows with subject = law"``."""
        return f"rows with {self.words}"

    def redacted(self, number: Callable[[str], int]) -> Condition:
        """Return the condition without any text: numbers stand for terms. By default it holds none, and is returned."""
        return self

    @property
    def tells_texts(self) -> bool:
        """Whether it holds a word of the texts."""
        return self.redacted(lambda term: 0) != self

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as plain JSON values, from which :func:`read_condition` makes an equal one."""
        return plain({"kind": self.kind, **_adapter(type(self)).dump_python(self, mode="json")})


@cache
def _adapter(kind: type[Condition]) -> TypeAdapter:
    return TypeAdapter(kind)


def read_condition(content: Any) -> Condition:
    """Make a condition from its JSON.

    `content`: from :meth:`Condition.to_dict`; a condition is returned as it is.

    Examples
    --------
    >>> read_condition({"kind": "span", "column": "year", "low": 2002.0, "high": None}).words
    'year at least 2002'
    """
    if isinstance(content, Condition):
        return content
    if not isinstance(content, dict) or content.get("kind") not in KINDS:
        given = content.get("kind") if isinstance(content, dict) else type(content).__name__
        raise ValueError(f"kind must be one of {', '.join(sorted(KINDS))}; got {given!r}")
    fields = {name: value for name, value in content.items() if name != "kind"}
    return _adapter(KINDS[content["kind"]]).validate_python(fields)


Stored = Annotated[Condition, PlainValidator(read_condition), PlainSerializer(Condition.to_dict)]
"""A condition as a field of a document, or of another condition."""
