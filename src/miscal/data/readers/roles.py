"""Which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from miscal.base.errors import InputError
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.data.readers.answers import NO_ANSWERS, AnswerColumns, answer_columns
from miscal.data.readers.columns import find, refuse_outcome
from miscal.data.readers.grouping import Grouping
from miscal.data.readers.outcomes import Asked
from miscal.data.readers.rows import label
from miscal.data.readers.table import Table

ID = "id"


@dataclass(frozen=True)
class Roles:
    """Which column plays which part; None where none does."""

    confidence: str
    correct: str
    kind: Kind = ANSWER
    positive: Any = None
    split: str | None = None
    grouping: Grouping | None = None
    weight: str | None = None
    metadata: tuple[str, ...] = ()
    id: str | None = None
    notes: tuple[str, ...] = ()
    answers: AnswerColumns = NO_ANSWERS

    @property
    def labels(self) -> tuple[str, str]:
        """What messages call the columns of probability and outcome."""
        probability, outcome = vocabulary(self.kind).columns
        return label(probability, self.confidence), label(outcome, self.correct)

    @property
    def group(self) -> str | None:
        """What the groups are called by."""
        return None if self.grouping is None else self.grouping.name

    @property
    def columns(self) -> list[str]:
        """All columns named."""
        grouped = None if self.grouping is None else self.grouping.column
        single = (self.confidence, self.correct, self.split, grouped, self.weight, self.id)
        return [column for column in single if column is not None] + [*self.metadata, *self.answers.columns]

    @property
    def reserved(self) -> dict[str, str]:
        """Columns that a feature pattern passes over, with their part."""
        parts = {"group": None if self.grouping is None else self.grouping.whole_column}
        parts |= {name: getattr(self, name) for name in ("id", "weight", "split", "confidence", "correct")}
        named = {column: name for name, column in parts.items() if column is not None}
        return dict.fromkeys(self.metadata, "metadata") | named


def roles_of(
    table: Table,
    asked: Asked,
    split: str | None,
    group: str | None,
    weight: str | None,
    metadata: Sequence[str],
) -> Roles:
    """Find the columns of a table that were asked for.

    Raises
    ------
    MissingColumn
        If one is not there.
    InputError
        If a column is asked to play two parts that exclude each other.
    """
    confidence, correct, said = asked.found(table.columns)
    grouping = None if group is None else Grouping.of(group, table.columns)
    grouped = None if grouping is None else grouping.column
    for what, names in {"split": [split], "group": [grouped], "weight": [weight], "metadata": metadata}.items():
        for name in names:
            if name is not None:
                find(name, table.columns, what=what)
        refuse_outcome(what, names, correct)
    if confidence in metadata:
        words = asked.words
        raise InputError(
            f"metadata: {confidence!r} is the {words.probability}, and findings compare {words.equal_rows()}; leave it "
            "out"
        )
    taken = [name for name in (confidence, correct, split, group, weight) if name is not None]
    return Roles(
        confidence,
        correct,
        asked.kind,
        asked.positive,
        split,
        grouping,
        weight,
        tuple(metadata),
        ID if ID in table.columns else None,
        table.notes + said,
        answer_columns(table.columns, taken) if asked.kind == ANSWER else NO_ANSWERS,
    )
