"""Which column of a table plays which part: as asked for, found by name, or as a group."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, value_list
from miscal.base.checks import DATES
from miscal.base.errors import InputError, argument
from miscal.base.folds import PERIODS, period_starts
from miscal.base.vocabulary import ANSWER, EVENT, JUDGE, KINDS, Kind, Vocabulary, check_kind, vocabulary
from miscal.data.columns import Columns, split_names
from miscal.data.encoders.dates import read_dates
from miscal.data.readers.answers import NO_ANSWERS, AnswerColumns, answer_columns
from miscal.data.readers.class_columns import CONFIDENCE, CORRECT, ClassColumns, find_classes
from miscal.data.readers.names import find, guess, match, refuse_told, unreserved
from miscal.data.readers.rows import AUTO, TableRows, label, metadata_of, shown_text
from miscal.data.readers.source import Source
from miscal.data.triples import check_group, check_time

NO_GROUPS = "none"
"""As the option `group`: each row is counted by itself."""


@dataclass(frozen=True)
class Grouping:
    """A column whose equal values make a group, or whose dates of one period do.

    Attributes
    ----------
    column : str
    period : str or None
        One of `PERIODS`; None: equal values.

    Examples
    --------
    >>> Grouping.of("seen:day", ["seen", "ward"]), Grouping.of("ward", ["seen", "ward"])
    (Grouping(column='seen', period='day'), Grouping(column='ward', period=None))
    """

    column: str
    period: str | None = None

    @classmethod
    def of(cls, named: str, columns: Sequence[str], *, what: str = "group") -> Self:
        """Find the column that `named` means: its name, or its name with a colon and a period."""
        column, colon, period = named.rpartition(":")
        if named in columns or not colon or column not in columns:
            return cls(find(named, columns, what=what))
        if period not in PERIODS:
            raise InputError(f"{what}: {column!r} can be cut into {', '.join(PERIODS)}; got {named!r}")
        return cls(column, period)

    @property
    def name(self) -> str:
        """What it is called by in options and messages."""
        return self.column if self.period is None else f"{self.column}:{self.period}"

    @property
    def whole_column(self) -> str | None:
        """The column, where its own values are the groups; a date of which only the day counts may play other parts."""
        return self.column if self.period is None else None

    def values(self, frame: pl.DataFrame) -> list[Any]:
        """Return the group of each row, None where it is missing."""
        series = column_of(frame, self.column)
        if self.period is None:
            return series.to_list()
        dates = read_dates(series)
        if dates is None:
            raise InputError(
                f"group: {self.name!r} asks for the {self.period} of {self.column!r}, which must hold dates; its type "
                f"is {series.dtype}; if these are dates, {DATES}"
            )
        starts = period_starts(dates.dt.cast_time_unit("us").to_numpy(), self.period)
        return [None if np.isnat(one) else str(one) for one in starts]


def groups_of(rows: TableRows, grouping: Grouping) -> np.ndarray:
    """Read and check the group of each row, object (n,)."""
    values = np.array(grouping.values(rows.frame), dtype=object)
    return check_group(values, name=label("group", grouping.name), rows=rows.row)


def times_of(rows: TableRows, column: str) -> np.ndarray:
    """Read and check when each row was predicted: datetime64[s] or float64 (n,)."""
    return check_time(metadata_of(rows, column), name=label("time", column), rows=rows.row)


ID = "id"


@dataclass(frozen=True)
class Asked:
    """The columns of probability and outcome as they were asked for: of an answer, or of an event.

    Parameters
    ----------
    kind : {"answer", "event", "judge"}
    probability, outcome : str, optional
        Columns; None where they are to be found by their names.
    positive : optional
        The value of the outcome's column that is the event, or a right answer; None where it is 1, true or yes.
    """

    kind: Kind
    probability: str | None = None
    outcome: str | None = None
    positive: Any = None

    OPTIONS: ClassVar = ("confidence", "correct", "probability", "event", "positive")
    """Arguments of :meth:`of` that a study has: of answers and events."""

    @classmethod
    def of(cls, *, kind: Kind | None = None, positive: Any = None, **columns: str | None) -> Asked:
        """Tell from the columns of each kind what the probability is of; by default that of an answer.

        `positive` alone is of an event.

        Examples
        --------
        >>> Asked.of(event="defaulted").kind, Asked.of().kind
        ('event', 'answer')
        >>> Asked.of(confidence="p", event="defaulted")
        Traceback (most recent call last):
        ...
        miscal.base.errors.InputError: confidence and correct are of an answer; probability and event are ...
        """
        of_kinds = {one: vocabulary(one).columns for one in KINDS}
        given = {name: columns[name] for names in of_kinds.values() for name in names if columns.get(name) is not None}
        stated, outcome = (next((given[one[k]] for one in of_kinds.values() if one[k] in given), None) for k in (0, 1))
        kinds = [one for one, names in of_kinds.items() if not given.keys().isdisjoint(names)]
        if positive is not None:
            given["positive"] = positive
            kinds = kinds or [EVENT]
        of_columns: Kind = kinds[0] if kinds else ANSWER
        if len(kinds) > 1:
            raise InputError(
                "confidence and correct are of an answer; probability and event are of an event; judge and human are "
                "of a judge; and they do not mix: got "
                f"{', '.join(f'{name} {value!r}' for name, value in given.items())}"
            )
        alone = set(given) == {"positive"}
        if kind is not None and given and check_kind(kind) != of_columns and not alone:
            words = vocabulary(kind)
            raise InputError(
                f"these are rows of {words.about}, whose columns are named by {' and '.join(words.columns)}; got "
                f"{', '.join(f'{name} {value!r}' for name, value in given.items())}"
            )
        return cls(kind or of_columns, stated, outcome, positive)

    @property
    def words(self) -> Vocabulary:
        """The words of this kind."""
        return vocabulary(self.kind)

    def refuse_beside(self, other: str) -> None:
        """Refuse columns of one probability beside those of several classes."""
        named = [one for one in (self.probability, self.outcome, self.positive) if one is not None]
        if named or self.kind != ANSWER:
            words = " and ".join(self.words.columns)
            raise InputError(
                f"{other} are of several classes, of which {argument('label')} is the right one; {words} are of one "
                f"probability; give one of the two{f': got {value_list(named)}' if named else ''}"
            )

    def found(self, columns: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
        """Find both columns, and say which were taken because none was named."""
        roles = self.words.columns
        named = [
            column if column is None else find(column, columns, what=role)
            for role, column in zip(roles, (self.probability, self.outcome), strict=True)
        ]
        found, said = [], []
        for role, column in zip(roles, named, strict=True):
            # a column called like this part that was named for the other is refused as both, below
            taken = column or (role if role in named else guess(role, columns, taken=named))
            if column is None and taken != role:
                said.append(f"the column {taken!r} was taken as {role}, since none was named")
            found.append(taken)
        if found[0] == found[1]:
            raise InputError(f"{roles[0]} and {roles[1]} must be two columns; both are {found[0]!r}")
        return found[0], found[1], tuple(said)


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
        grouped = self.grouping and self.grouping.column
        single = (self.outcome, self.split, grouped, self.weight, self.time, self.id, self.labelling)
        named = (*self.naming, *self.answers.columns)
        return [*self.probabilities, *(column for column in single if column is not None), *named]

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

    def drop_naming(self, columns: Container[str]) -> Roles:
        """Return the roles without some of the naming columns."""
        kept = {part: tuple(c for c in getattr(self, part) if c not in columns) for part in ("metadata", "names_only")}
        return replace(self, **kept)

    def refuse_as_inputs(self, features: Sequence[str]) -> None:
        """Refuse inputs that new rows will not have."""
        both = [name for name in self.names_only if name in features]
        if both:
            raise InputError(
                f"names_only: {both[0]!r} is named as a feature, too, but what new rows will not have cannot be "
                "part of the inputs: leave it out of one of the two"
            )


def roles_of(table: Source, columns: Columns, kind: Kind | None) -> Roles:
    """Find the columns of a table that are no inputs, by name or, where none is named, by what they are called."""
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
    # words of the option, also where a column is called so: the default names no column
    found_later = columns.group in (None, AUTO, NO_GROUPS)
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


def with_naming(roles: Roles, table: Source, columns: Columns) -> Roles:
    """Add the columns that name what is found; either of `metadata` and `names_only` may be "auto"."""
    features, names_only = columns.features, columns.names_only
    # of what a judge is wrong about, every column may tell
    metadata = AUTO if roles.kind == JUDGE and not columns.metadata and features is None else columns.metadata
    shown = shown_text(table, columns.text)
    taken = roles.reserved | ({} if shown is None else {shown: "other"})
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
