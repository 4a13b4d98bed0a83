"""Which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from miscal.base.errors import InputError, argument
from miscal.base.vocabulary import ANSWER, JUDGE, Kind, vocabulary
from miscal.data.columns import Columns
from miscal.data.readers.answers import NO_ANSWERS, AnswerColumns, answer_columns
from miscal.data.readers.class_columns import CONFIDENCE, CORRECT, ClassColumns, find_classes
from miscal.data.readers.grouping import NO_GROUPS, Grouping
from miscal.data.readers.names import find, match, refuse_told, split_names, unreserved
from miscal.data.readers.outcomes import Asked
from miscal.data.readers.rows import AUTO, label, shown_text
from miscal.data.readers.table import Table

ID = "id"


@dataclass(frozen=True)
class Roles:
    """Which column plays which part; None where none does.

    `named` says whether a person named the columns that name what is found; else they are all that play no other part.
    """

    confidence: str
    correct: str
    kind: Kind = ANSWER
    positive: Any = None
    split: str | None = None
    grouping: Grouping | None = None
    weight: str | None = None
    time: str | None = None
    metadata: tuple[str, ...] = ()
    names_only: tuple[str, ...] = ()
    named: bool = True
    id: str | None = None
    notes: tuple[str, ...] = ()
    answers: AnswerColumns = NO_ANSWERS
    classes: ClassColumns | None = None
    labelling: str | None = None

    @property
    def outcome(self) -> str:
        """The column that tells what became true."""
        return self.correct if self.classes is None else str(self.classes.label)

    @property
    def probabilities(self) -> tuple[str, ...]:
        """The columns that hold what the model says."""
        return (self.confidence,) if self.classes is None else self.classes.columns

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
        single = (
            *self.probabilities,
            self.outcome,
            self.split,
            grouped,
            self.weight,
            self.time,
            self.id,
            self.labelling,
        )
        return [column for column in single if column is not None] + [*self.naming, *self.answers.columns]

    @property
    def naming(self) -> tuple[str, ...]:
        """Columns that name what is found, whether the field sees them or not."""
        return (*self.metadata, *self.names_only)

    @property
    def reserved(self) -> dict[str, str]:
        """Columns that a feature pattern passes over, with their part."""
        parts = {"group": None if self.grouping is None else self.grouping.whole_column}
        parts |= {name: getattr(self, name) for name in ("time", "id", "weight", "split", "labelling")}
        named = {column: name for name, column in parts.items() if column is not None}
        named |= dict.fromkeys(self.probabilities, "confidence") | {self.outcome: "correct"}
        return dict.fromkeys(self.names_only, "names_only") | dict.fromkeys(self.metadata, "metadata") | named

    def without(self, columns: Container[str]) -> Roles:
        """Return the roles without some of the naming columns."""
        kept = {part: tuple(c for c in getattr(self, part) if c not in columns) for part in ("metadata", "names_only")}
        return replace(self, **kept)

    def refuse_as_inputs(self, features: Sequence[str]) -> None:
        """Refuse inputs that new rows will not have.

        Raises
        ------
        InputError
        """
        both = [name for name in self.names_only if name in features]
        if both:
            raise InputError(
                f"names_only: {both[0]!r} is named as a feature, too, but what new rows will not have cannot be "
                "part of the inputs: leave it out of one of the two"
            )


def roles_of(table: Table, columns: Columns, kind: Kind | None) -> Roles:
    """Find the columns of a table that are no inputs, by name or, where none is named, by what they are called.

    Raises
    ------
    MissingColumn
        If one is not there.
    InputError
        If a column is asked to play two parts that exclude each other.
    """
    pair = {name: getattr(columns, name) for name in (*Asked.OPTIONS, "judge", "human")}
    asked = Asked.of(**pair, kind=kind)
    classes = find_classes(table, columns.probabilities, columns.label, columns.classes)
    if classes is not None:
        asked.refuse_beside("probabilities")
    split, weight, time, labelling = columns.split, columns.weight, columns.time, columns.labelling_probability
    if labelling is not None and asked.kind != JUDGE:
        raise InputError(
            "labelling_probability says how rows were chosen for people to judge: name a judge, too "
            f"({argument('judge', takes='COL')} {argument('human', takes='COL')})"
        )
    confidence, correct, said = (CONFIDENCE, CORRECT, ()) if classes is not None else asked.found(table.columns)
    outcome, stated = (correct, (confidence,)) if classes is None else (classes.label, classes.columns)
    found_later = columns.group in (None, AUTO, NO_GROUPS) and columns.group not in table.columns
    grouping = None if found_later else Grouping.of(columns.group, table.columns)
    grouped = None if grouping is None else grouping.column
    named = {"split": split, "group": grouped, "weight": weight, "time": time, "labelling_probability": labelling}
    for what, name in named.items():
        if name is not None:
            find(name, table.columns, what=what)
        refuse_told(what, [name], outcome, stated)
    group = None if grouping is None else columns.group
    taken = [name for name in (confidence, outcome, split, group, weight, labelling) if name is not None]
    return Roles(
        confidence,
        correct,
        asked.kind,
        asked.positive,
        split,
        grouping,
        weight,
        time,
        id=ID if ID in table.columns else None,
        notes=table.notes + said,
        answers=answer_columns(table.columns, taken) if asked.kind == ANSWER else NO_ANSWERS,
        classes=classes,
        labelling=labelling,
    )


def with_naming(roles: Roles, table: Table, columns: Columns) -> Roles:
    """Add the columns that name what is found; either of `metadata` and `names_only` may be "auto".

    Raises
    ------
    MissingColumn, InputError
        If one is not there, or is the confidence or the outcome.
    """
    features, names_only = columns.features, columns.names_only
    # of what a judge is wrong about, every column may tell
    metadata = AUTO if roles.kind == JUDGE and not columns.metadata and features is None else columns.metadata
    others = (shown_text(table, columns.text), columns.embedding_rows)
    taken = roles.reserved | {name: "other" for name in others if name is not None}
    if AUTO in (metadata, names_only) and features not in (None, AUTO):
        taken |= dict.fromkeys(match(features, table.columns, taken), "features")
    only = unreserved(table.columns, taken) if names_only == AUTO else split_names(names_only)
    named = unreserved(table.columns, {*taken, *only}) if metadata == AUTO else split_names(metadata)
    for what, names in {"metadata": named, "names_only": only}.items():
        for name in names:
            find(name, table.columns, what=what)
        refuse_told(what, names, roles.outcome, roles.probabilities)
    if roles.time is not None and roles.time not in split_names(features or ()):
        # times name what is found, and are an input only where a person names them as one: what is learned of a day
        # says nothing of later ones
        only = tuple(dict.fromkeys([*only, roles.time]))
    seen = tuple(name for name in named if name not in only)
    return replace(roles, metadata=seen, names_only=only, named=AUTO not in (metadata, names_only))


def naming_alone(metadata: str | Sequence[str], names_only: str | Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Options by which metadata name what is found and nothing else, for estimators that see no such columns.

    Examples
    --------
    >>> naming_alone("year", ["topic"])
    {'metadata': (), 'names_only': ('year', 'topic')}
    """
    both = (*split_names(metadata), *split_names(names_only))
    return {"metadata": (), "names_only": AUTO if metadata == AUTO else both}
