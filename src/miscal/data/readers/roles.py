"""Which column of a table plays which part, and where x comes from: as asked for, or found by name."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, value_list
from miscal.base.checks import DATES, non_finite_rows
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.base.folds import PERIODS, period_starts
from miscal.base.vocabulary import ANSWER, EVENT, JUDGE, KINDS, Kind, check_kind, vocabulary
from miscal.data.columns import Columns, split_names
from miscal.data.encoders.dates import read_dates
from miscal.data.encoders.texts import PlacesAndColumns
from miscal.data.readers.class_columns import CONFIDENCE, CORRECT, ClassColumns, find_classes
from miscal.data.readers.names import answer_columns, find, guess, listed, match, refuse_told, unreserved
from miscal.data.readers.rows import RowFaults, TableRows, label, lists_not_finite, numbers_in, texts
from miscal.data.readers.source import Source

TEXT, ID = "text", "id"
"""Columns that are known by what they are called."""
AUTO = "auto"
"""In the place of columns: every one that plays no other part and can be a feature."""
_LARGEST = float(np.finfo(np.float32).max)
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

    def values(self, frame: pl.DataFrame) -> list[Any]:
        """Return the group of each row, None where it is missing."""
        series = column_of(frame, self.column)
        if self.period is None:
            return series.to_list()
        dates = read_dates(series)
        if dates is None:
            asked = f"{self.name!r} asks for the {self.period} of {self.column!r}, which must hold dates"
            raise InputError(f"group: {asked}; its type is {series.dtype}; if these are dates, {DATES}")
        starts = period_starts(dates.dt.cast_time_unit("us").to_numpy(), self.period)
        return [None if np.isnat(one) else str(one) for one in starts]


# --- probability and outcome ------------------------------------------------------------------------------------------


PAIRS = ("confidence", "correct", "probability", "event", "positive")
"""Arguments of :func:`pair_asked` that a study has: of answers and events."""


def pair_asked(
    *, kind: Kind | None = None, positive: Any = None, **columns: str | None
) -> tuple[Kind, str | None, str | None]:
    """Tell from the columns of each kind what the probability is of; by default that of an answer.

    `positive` alone is of an event. Returns with it the columns of probability and outcome, None where not named.

    Examples
    --------
    >>> pair_asked(event="defaulted"), pair_asked()[0]
    (('event', None, 'defaulted'), 'answer')
    >>> pair_asked(confidence="p", event="defaulted")
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: confidence and correct are of an answer; probability and event are ...
    """
    of_kinds = {one: vocabulary(one).columns for one in KINDS}
    given = {name: columns[name] for names in of_kinds.values() for name in names if columns.get(name) is not None}
    stated, outcome = (next((given[one[k]] for one in of_kinds.values() if one[k] in given), None) for k in (0, 1))
    kinds: list[Kind] = [one for one, names in of_kinds.items() if not given.keys().isdisjoint(names)]
    kinds = kinds or [ANSWER if positive is None else EVENT]
    shown = ", ".join(f"{name} {one!r}" for name, one in [*given.items(), ("positive", positive)] if one is not None)
    if len(kinds) > 1:
        raise InputError(
            "confidence and correct are of an answer; probability and event are of an event; judge and human are of a "
            f"judge; and they do not mix: got {shown}"
        )
    if kind is not None and given and check_kind(kind) != kinds[0]:
        about, named = vocabulary(kind).about, " and ".join(vocabulary(kind).columns)
        raise InputError(f"these are rows of {about}, whose columns are named by {named}; got {shown}")
    return kind or kinds[0], stated, outcome


def refuse_beside_classes(kind: Kind, *named: Any) -> None:
    """Refuse columns of one probability beside those of several classes."""
    given = [one for one in named if one is not None]
    if given or kind != ANSWER:
        raise InputError(
            f"probabilities are of several classes, of which {argument('label')} is the right one; "
            f"{' and '.join(vocabulary(kind).columns)} are of one probability; give one of the two"
            f"{f': got {value_list(given)}' if given else ''}"
        )


def _pair(kind: Kind, named: Sequence[str | None], columns: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Find the columns of probability and outcome, and say which were taken because none was named."""
    roles = vocabulary(kind).columns
    for role, column in zip(roles, named, strict=True):
        if column is not None:
            find(column, columns, what=role)
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


# --- roles ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """Which column plays which part; None where none does.

    Attributes
    ----------
    confidence, correct : str
        Of probability and outcome; new rows have no outcome.
    positive : optional
        The outcome that counts as 1.
    metadata, names_only : tuple of str
        Columns that name what is found: seen by the field, and not.
    named : bool
        Whether a person named these; else they are all that play no other part.
    answers : dict of str to str
        Columns of answers, by what they are called; `choices` has lists that answers may be places in; `keys` are all
        columns of right answers beside the model's: what tells the outcome, and no row has before it.
    labelling : str or None
        The probability by which each row was chosen for people to judge.
    x : {"features", "embeddings", "text"}
        What places rows near or far from each other.
    features : tuple of str
        Feature columns: x, or what stands beside embeddings and texts. `chosen` are those that a person named as such;
        of the others, those that say nothing of a row's kind are left out.
    embeddings : path or array, optional
    text : str or None
        The column that x is made from, or that is only shown, where there are embeddings or features.
    allowed : tuple of str
        Columns that are used although they tell the outcome.
    notes : tuple of str
        Which columns were taken though nobody named them.
    """

    confidence: str
    correct: str = ""
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
    answers: dict[str, str] = field(default_factory=dict)
    choices: str | None = None
    keys: tuple[str, ...] = ()
    classes: ClassColumns | None = None
    labelling: str | None = None
    x: str = "features"
    features: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    embeddings: Any = None
    text: str | None = None
    allowed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The column that tells what became true."""
        return self.correct if self.classes is None else self.classes.label or ""

    @property
    def probabilities(self) -> tuple[str, ...]:
        """The columns that hold what the model says."""
        return (self.confidence,) if self.classes is None else self.classes.columns

    @property
    def stated(self) -> str | None:
        """The column of the confidence; None where it is the largest probability of several."""
        return self.confidence if self.classes is None else None

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
    def columns(self) -> tuple[str, ...]:
        """All columns to be read."""
        grouped = self.grouping and self.grouping.column
        single = (self.outcome, self.split, grouped, self.weight, self.time, self.id, self.labelling)
        shown = (*self.answers.values(), self.choices)
        every = (*self.probabilities, *single, *self.naming, *shown, *self.features, self.text)
        return tuple(dict.fromkeys(filter(None, every)))

    @property
    def naming(self) -> tuple[str, ...]:
        """Columns that name what is found, whether the field sees them or not."""
        return (*self.metadata, *self.names_only)

    @property
    def reserved(self) -> dict[str, str]:
        """Columns that a feature pattern passes over, with their part."""
        # a date of which only the day counts may play other parts
        whole = self.grouping is not None and self.grouping.period is None
        parts = {"group": self.group if whole else None}
        parts |= {name: getattr(self, name) for name in ("text", "time", "id", "weight", "split", "labelling")}
        named = {column: name for name, column in parts.items() if column is not None}
        named |= dict.fromkeys(self.probabilities, "confidence") | {self.outcome: "correct"}
        return dict.fromkeys(self.names_only, "names_only") | dict.fromkeys(self.metadata, "metadata") | named

    def without(self, columns: Container[str]) -> Roles:
        """Return the roles without some of the naming columns."""
        kept = {part: tuple(c for c in getattr(self, part) if c not in columns) for part in ("metadata", "names_only")}
        return replace(self, **kept)

    def made_of(self, path: str | None = None) -> str | list[str] | None:
        """Return what x is made of, for people: the file of embeddings at `path`, a column of text, feature columns."""
        if self.x == "features":
            return list(self.features)
        places = self.text if self.x == "text" else path
        return [*([places] if places else []), *self.features] if self.features else places


def roles_of(table: Source, columns: Columns, kind: Kind | None) -> Roles:
    """Find the column of every part, by name or, where none is named, by what it is called."""
    pair = {name: getattr(columns, name) for name in (*PAIRS, "judge", "human")}
    kind, *named = pair_asked(**pair, kind=kind)
    classes = find_classes(table, columns)
    if classes is not None:
        refuse_beside_classes(kind, *named, columns.positive)
    labelling = columns.labelling_probability
    if labelling is not None and kind != JUDGE:
        judge = f"{argument('judge', takes='COL')} {argument('human', takes='COL')}"
        raise InputError(f"labelling_probability is of rows chosen for people to judge: name a judge, too ({judge})")
    confidence, correct, said = (CONFIDENCE, CORRECT, ()) if classes else _pair(kind, named, table.columns)
    # words of the option, also where a column is called so: the default names no column
    found_later = columns.group in (None, AUTO, NO_GROUPS)
    roles = Roles(
        confidence, correct, kind, columns.positive, columns.split, weight=columns.weight, time=columns.time,
        grouping=None if found_later else Grouping.of(columns.group, table.columns), classes=classes,
        id=ID if ID in table.columns else None, labelling=labelling, notes=said,
        text=columns.text or (TEXT if TEXT in table.columns else None),
        allowed=tuple(find(name, table.columns, what="allow_leak") for name in split_names(columns.allow_leak)),
    )  # fmt: skip
    grouped = None if roles.grouping is None else roles.grouping.column
    single = {"split": roles.split, "group": grouped, "weight": roles.weight, "time": roles.time}
    for what, name in {**single, "labelling_probability": labelling}.items():
        _check(what, () if name is None else (name,), roles, table)
    if kind == ANSWER:
        taken = (confidence, roles.outcome, roles.split, roles.group, roles.weight, labelling)
        answers, choices, keys = answer_columns(table.columns, taken)
        roles = replace(roles, answers=answers, choices=choices, keys=keys)
    return _with_x(_with_naming(roles, table, columns), table, columns)


def _check(what: str, names: Sequence[str], roles: Roles, table: Source) -> None:
    """Refuse columns that are not there, or are probability or outcome."""
    for name in names:
        find(name, table.columns, what=what)
    refuse_told(what, names, roles.outcome, roles.probabilities)


def _with_naming(roles: Roles, table: Source, columns: Columns) -> Roles:
    """Add the columns that name what is found; either of `metadata` and `names_only` may be "auto"."""
    features, names_only = columns.features, columns.names_only
    # of what a judge is wrong about, every column may tell
    metadata = AUTO if roles.kind == JUDGE and not columns.metadata and features is None else columns.metadata
    taken = roles.reserved
    if AUTO in (metadata, names_only) and features not in (None, AUTO):
        taken |= dict.fromkeys(match(features, table.columns, taken), "features")
    only = unreserved(table.columns, taken) if names_only == AUTO else split_names(names_only)
    named = unreserved(table.columns, {*taken, *only}) if metadata == AUTO else split_names(metadata)
    for what, names in {"metadata": named, "names_only": only}.items():
        _check(what, names, roles, table)
    if roles.time is not None and roles.time not in split_names(features or ()):
        # times name what is found, and are an input only where a person names them as one: what is learned of a day
        # says nothing of later ones
        only = tuple(dict.fromkeys([*only, roles.time]))
    seen = tuple(name for name in named if name not in only)
    return replace(roles, metadata=seen, names_only=only, named=AUTO not in (metadata, names_only))


BESIDE = "the inputs are those of {}, which lies beside the data"
"""What is said where a source brings embeddings that nobody named."""


def _with_x(roles: Roles, table: Source, columns: Columns) -> Roles:
    """Decide where x comes from; columns of metadata are seen beside whatever else it is made of."""
    embeddings, features, said = columns.embeddings, columns.features, ()
    if columns.text is not None:
        find(columns.text, table.columns, what="text")
    beside: tuple[str, ...] = ()
    if features == AUTO:
        beside = _every_other(table, roles.reserved)
    elif features is not None:
        beside = match(features, table.columns, roles.reserved)
    seen = tuple(dict.fromkeys((*beside, *roles.metadata)))
    if embeddings is not None:
        x = "embeddings"
    elif beside or features == AUTO:
        x = "features"
    elif table.embeddings is not None:
        x, embeddings, said = "embeddings", table.embeddings, (BESIDE.format(table.embeddings.name),)
    elif roles.text is not None:
        x = "text"
        said = () if columns.text else (f"the inputs are the column {TEXT!r}, since nothing else was named",)
    else:
        x, seen = "features", (*_every_other(table, roles.reserved), *roles.metadata)
    refuse_told("text", [roles.text], roles.outcome, roles.probabilities)
    for name in roles.names_only:
        if name in seen:
            both = f"{name!r} is named as a feature, too, but new rows will not have it"
            raise InputError(f"names_only: {both}: leave it out of one of the two")
    chosen = () if features == AUTO else beside
    return replace(roles, x=x, features=seen, chosen=chosen, embeddings=embeddings, notes=roles.notes + said)


def _every_other(table: Source, reserved: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that play no other part, in the order of the table."""
    found = unreserved(table.columns, reserved)
    if not found and "metadata" not in reserved.values():
        remedy = f"name {argument('embeddings', takes='FILE.npy')}, or columns of the inputs"
        raise MissingColumn(f"no inputs are left: every column plays another part; {remedy}. {listed(table.columns)}")
    return found


UNSEEN_SHOWN = 5
"""Columns that are named where some play no part."""


def unseen_note(table: Source, roles: Roles) -> tuple[str, ...]:
    """Say which columns play no part beside embeddings or texts, and which option looks at them."""
    played = {*roles.reserved, *roles.keys}
    columns = [] if roles.features else [one for one in table.columns if one not in played]
    if not columns:
        return ()
    shown = ", ".join(map(repr, columns[:UNSEEN_SHOWN]))
    more = f" and {len(columns) - UNSEEN_SHOWN} more" if len(columns) > UNSEEN_SHOWN else ""
    one = len(columns) == 1
    return (
        f"the column{'' if one else 's'} {shown}{more} {'was' if one else 'were'} not looked at: --metadata auto looks "
        f"for findings there, and lets the correction see {'it' if one else 'them'}",
    )


# --- rows by their roles ---------------------------------------------------------------------------------------------


def with_inputs(rows: TableRows, roles: Roles, faults: RowFaults, fitted: Any = None) -> TableRows:
    """Note rows whose x is not complete, by column.

    `fitted`: of new rows, what reads the columns, by which blanks are values like others or not, and text stands for
    numbers.
    """
    if rows.X is not None:
        reason = "the embedding holds NaN, infinity or a value too large for float32"
        faults.add("embeddings", non_finite_rows(rows.X), "NaN, infinite or too large for float32", reason)
    own, found = [str(roles.text)] if roles.x == "text" else [], []
    for name in (*own, *roles.features):
        series, shown, said = column_of(rows.frame, name), f"column {name!r}", repr(name)
        lists = isinstance(series.dtype, (pl.List, pl.Array))
        kind = "number" if series.dtype.is_float() else "list" if lists else ""
        kind = kind if fitted is None or name in own else fitted.column_types[name]
        blanks = name not in own and (not lists if fitted is None else name in fitted.with_blanks)
        if kind == "number":
            values = numbers_in(series, shown, faults, said, blanks=blanks)
            large = "infinite or too large for float32"
            faults.add(shown, np.abs(values) > _LARGEST, large, f"{said} is {large}")
            found += [] if fitted is None else [pl.Series(name, values)]
        elif not blanks:
            faults.add(shown, series.is_null().to_numpy(), "missing", f"{said} is missing")
        if lists and series.dtype.inner.is_numeric():
            faults.add(shown, lists_not_finite(series), "missing, NaN or infinite", f"{said} holds NaN or infinity")
    return replace(rows, frame=rows.frame.with_columns(found))


def encoder_values(roles: Roles, frame: pl.DataFrame, X: np.ndarray | None) -> Any:
    """Return what an encoder takes, of rows whose x is complete: matrix, table or texts."""
    if roles.x == "features":
        return frame
    places = X if roles.x == "embeddings" else texts(frame, str(roles.text))
    return PlacesAndColumns(places, frame) if roles.features else places


def naming_alone(metadata: str | Sequence[str], names_only: str | Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Options by which metadata name what is found and nothing else, for estimators that see no such columns.

    Examples
    --------
    >>> naming_alone("year", ["topic"])
    {'metadata': (), 'names_only': ('year', 'topic')}
    """
    both = (*split_names(metadata), *split_names(names_only))
    return {"metadata": (), "names_only": AUTO if metadata == AUTO else both}
