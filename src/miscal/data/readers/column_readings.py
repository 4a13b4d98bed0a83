"""Say what each column of a table is read as, and leave out those that say nothing of a row's kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, dense_rank, is_frame
from miscal.base.checks import DATES
from miscal.base.document import Measure
from miscal.base.errors import InputError, argument
from miscal.base.folds import content_order
from miscal.data.encoders.dates import STROKED
from miscal.data.encoders.features import Encoder, FeatureColumns, blank_rows, embedding_columns
from miscal.data.encoders.kinds import CategoryColumn, DateColumn, NumberColumn, hardly_repeats, is_text, kind_of
from miscal.data.encoders.texts import text_encoder
from miscal.data.readers.candidate_groups import FEW_UNITS, candidate_groups, names_identity
from miscal.data.readers.leaks import LEAST_CHANCE, Leak, LeakSearch, blank_leaks
from miscal.data.readers.names import RIGHT
from miscal.data.readers.opening import FrameSource, is_table
from miscal.data.readers.roles import Roles
from miscal.data.readers.rows import TableRows

FEATURES, METADATA, NAMES_ONLY = "features", "metadata", "names only"
"""Roles of a column."""
COORDINATE = "embedding"
"""What a number is read as that is one of the many coordinates of an embedding."""


@dataclass(frozen=True)
class ColumnReading:
    """What a column is read as.

    Attributes
    ----------
    name : str
    read_as : str
        'number', 'boolean', 'category', 'ordered', 'date' or 'list'; 'embedding' of a number that is one of many
        coordinates; 'other' where it is none of them.
    levels : int
        Number of distinct values, blanks aside.
    missing : int
        Number of blanks.
    left_out : str or None
        Why it is no part of x; None where it is one, or where it was named for names only.
    leak_with : str or None
        The other column, where the leak is that of a pair.
    role : str or None
        'features', 'metadata' (part of x and names findings) or 'names only'.
    needed : bool
        Whether new rows need it to be corrected.
    cost_if_missing : Measure or None
        By how much the log loss of the corrected confidences changes where it is blank in every row; None where this
        was not measured.
    leak : float or None
        How well it tells the outcome, where that is so much that the column may be known only after the outcome: it is
        part of nothing then. What is measured depends on `leak_by`.
    leak_by : str or None
        'ranking' (the area under the ROC curve by this column alone), 'entropy' (the share of the outcome's entropy
        given the confidence that it takes away), 'blanks' (all its blanks have one outcome; the chance of that by the
        confidences), or of a pair with `leak_with` 'equality', 'cells' (the values of both) or 'difference' (the area
        by these). None where `leak` is.
    """

    name: str
    read_as: str
    levels: int
    missing: int
    left_out: str | None = None
    leak: float | None = None
    role: str | None = None
    needed: bool = False
    leak_with: str | None = None
    cost_if_missing: Measure | None = None
    leak_by: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


READ_COLUMNS = "read_columns"
"""Key of ``Triples.source`` that holds the readings, as JSON values."""
ROW_NAMES = re.compile(r"(?i)(.*[_\s])?(case|index|row)|Unnamed: \d+|__index_level_\d+__")
"""Names of columns that number the rows, where every value occurs once, beside those of identities."""
LEAKS = {
    "ranking": "it tells the outcome nearly perfectly",
    "entropy": "it takes away half of what is not known of the outcome",
    "blanks": "all rows in which it is blank have one outcome",
    "equality": "whether it equals {!r} tells the outcome nearly perfectly",
    "cells": "together with {!r} it tells the outcome nearly perfectly",
    "difference": "its difference from {!r} tells the outcome nearly perfectly",
}
"""Why a column is left out that may be known only after the outcome."""
SAME = "all rows of one {} have the same outcome"
KEY = "it holds the right answer: name it as a feature if new rows have it"
LIST = "its lists name nothing: name it as a feature"


def read_columns(
    frame: pl.DataFrame, names: Sequence[str], *, chosen: Collection[str] = ()
) -> tuple[ColumnReading, ...]:
    """Say what each of some columns is read as.

    `chosen`: those that a person named as inputs: of these, none is left out. They come in the order of the names.

    Examples
    --------
    >>> table = pl.DataFrame({"id": [1, 2, 3], "age": [20, None, 30], "same": ["x", "x", "x"]})
    >>> [(one.name, one.read_as, one.missing, one.left_out) for one in read_columns(table, table.columns)]
    [('id', 'number', 0, 'it numbers or names the rows'), ('age', 'number', 1, None), ('same', 'category', 0, 'it is the same in all rows')]
    """  # noqa: E501
    readings: list[ColumnReading] = []
    coordinates = embedding_columns(frame, names)
    kept: dict[tuple[pl.DataType, int], list[str]] = {}
    for name in names:
        series = column_of(frame, name)
        reading = _reading(series, name, chosen=name in chosen)
        if name in coordinates and reading.read_as == NumberColumn.type:
            reading = replace(reading, read_as=COORDINATE)
        if reading.left_out is None and series.dtype not in (pl.List, pl.Array):
            # type and a sum of hashes: alike of equal columns, so that each is compared with few others
            values = series.cast(pl.String) if series.dtype in (pl.Categorical, pl.Enum) else series
            alike = kept.setdefault((series.dtype, int(values.hash().to_numpy().sum(dtype=np.uint64))), [])
            same = (before for before in alike if name not in chosen and column_of(frame, before).equals(series))
            if (before := next(same, None)) is not None:
                reading = replace(reading, left_out=f"it is the same as {before!r}")
            else:
                alike.append(name)
        readings.append(reading)
    return tuple(readings)


def used(readings: Sequence[ColumnReading], *, needed: bool = True) -> tuple[str, ...]:
    """Names of the columns that are part of x.

    `needed`: whether x is made of nothing else.
    """
    kept = tuple(one.name for one in readings if one.left_out is None)
    if needed and readings and not kept:
        reasons = "; ".join(f"{one.name!r}: {one.left_out}" for one in readings[:5])
        takes = {"features": "COL,COL", "embeddings": "FILE.npy", "text": "COL"}
        raise InputError(
            f"no inputs are left: none of the {len(readings)} other columns says of what kind a row is ({reasons}). "
            f"Name some: {', '.join(argument(name, takes=what) for name, what in takes.items())}"
        )
    return kept


def stroked_dates(frame: pl.DataFrame, readings: Sequence[ColumnReading]) -> tuple[str, ...]:
    """Say which columns hold dates that were not read as such.

    Examples
    --------
    >>> table = pl.DataFrame({"day": ["12/31/2013", None], "share": ["1/2", "3/4"]})
    >>> stroked_dates(table, read_columns(table, table.columns))
    ("'day' holds dates with strokes, which countries order differently, so they are read as text: write them as ...",)
    """
    text = [one.name for one in readings if one.read_as == CategoryColumn.type and one.levels]
    return tuple(
        f"{name!r} holds dates with strokes, which countries order differently, so they are read as text: {DATES}"
        for name in text
        if column_of(frame, name).drop_nulls().cast(pl.String).str.contains(STROKED).all()
    )


def _reading(series: pl.Series, name: str, *, chosen: bool) -> ColumnReading:
    kind = kind_of(series)
    missing = blank_rows(series)
    known = series.filter(pl.Series(~missing)) if missing.any() else series
    distinct = 0 if series.dtype.is_nested() or series.dtype == pl.Object else known.n_unique()
    read_as = "other" if kind is None else "boolean" if series.dtype == pl.Boolean else kind.type
    why = None if chosen else _left_out(series, known, name, read_as, distinct)
    return ColumnReading(name, read_as, distinct, len(series) - len(known), why)


def _left_out(series: pl.Series, known: pl.Series, name: str, read_as: str, distinct: int) -> str | None:
    if read_as == "other":
        return f"its type is {series.dtype}"
    if read_as == "list":
        whole = series.null_count() == 0 and series.dtype.inner.is_numeric()
        even = whole and series.cast(pl.List(series.dtype.inner)).list.len().n_unique() == 1
        return None if even else "its lists do not all hold as many numbers"
    if distinct <= 1 and len(known) in (0, len(series)):
        return "it is the same in all rows"
    every_one = distinct == len(known) == len(series)
    if every_one and not series.dtype.is_float() and (names_identity(name) or ROW_NAMES.fullmatch(name)):
        return "it numbers or names the rows"
    if read_as == CategoryColumn.type and hardly_repeats(known, named=names_identity(name)):
        if is_text(known):
            return f"it holds texts that hardly repeat: --text {name} makes inputs of them"
        return "its values hardly repeat: they name the rows"
    return None


ROWS_OF_A_LEVEL = 10
"""Rows that each right answer has on average where another column is taken for the same in other words."""


def with_readings(frame: pl.DataFrame, roles: Roles, text: str | None) -> tuple[Roles, tuple[ColumnReading, ...]]:
    """Say what every column is read as, and what x is made of: the columns that say of what kind a row is."""
    names = dict.fromkeys((*roles.features, *roles.naming))
    readings = read_columns(frame, list(names), chosen={*roles.chosen, *(roles.names_only if roles.named else ())})
    if not roles.named:
        lists = [name for name in roles.naming if column_of(frame, name).dtype.is_nested()]
        readings = tuple(replace(one, left_out=LIST) if one.name in lists else one for one in readings)
        roles = roles.without([one.name for one in readings if one.left_out is not None])
    asked = {*roles.chosen, *(roles.naming if roles.named else ()), *roles.allowed}
    keys = {one.name for one in readings if one.name not in asked and _is_key(one, frame, roles)}
    readings = tuple(replace(one, left_out=KEY) if one.name in keys else one for one in readings)
    roles = roles.without(keys)
    readings = tuple(replace(one, role=_role_in(one, roles)) for one in readings)
    named = [one for one in readings if one.name in roles.features]
    features = used(named, needed=roles.x == "features" and text is None)
    # texts that a person names are seen, too, unless an embedding is there
    of_text = text is not None and roles.x == "features" and not embedding_columns(frame, features)
    return replace(roles, features=features, x="text" if of_text else roles.x), readings


def _is_key(reading: ColumnReading, frame: pl.DataFrame, roles: Roles) -> bool:
    """Whether a column that could be an input holds the right answers, or one value for each of them."""
    if reading.left_out is not None or reading.name in roles.keys:
        return reading.left_out is None
    for key in (column_of(frame, name) for name in roles.keys if name in frame.columns):
        if 1 < reading.levels == key.drop_nulls().n_unique() <= len(frame) / ROWS_OF_A_LEVEL:
            pairs = pl.DataFrame({"key": key, "other": column_of(frame, reading.name)}).drop_nulls()
            if len(pairs) and pairs.n_unique() == reading.levels:
                return True
    return False


def _role_in(reading: ColumnReading, roles: Roles) -> str:
    # what is no input can still name what is found, where a person named it for that
    unseen = reading.left_out is not None and roles.named
    if reading.name in roles.names_only or (reading.name in roles.metadata and unseen):
        return NAMES_ONLY
    return METADATA if reading.name in roles.metadata else FEATURES


def without_leaks(
    rows: TableRows, f: np.ndarray, y: np.ndarray, readings: Sequence[ColumnReading], roles: Roles, seed: int
) -> tuple[tuple[ColumnReading, ...], Roles, tuple[str, ...]]:
    """Leave columns out that tell the outcome as only what comes after it; evaluation rows by a split have no say.

    An identity tells by its blanks alone; where all rows of each unit have the same outcome, it is no input either.
    Returns readings, roles and notes.
    """
    teaching = np.full(len(y), True)
    if roles.split is not None:
        teaching = column_of(rows.frame, roles.split).cast(str).ne_missing("test").to_numpy()
    frame, known = rows.frame.filter(teaching), (y[teaching], f[teaching])
    part = {*roles.features, *roles.naming}
    asked = {one.name: one for one in readings if one.name in part.difference(roles.allowed)}
    dates = [one.name for one in readings if one.read_as == DateColumn.type]
    units = _identities(frame, roles, dates)
    same = [name for name, unit in units.items() if _one_outcome(unit, known[0])]
    units = {name: unit for name, unit in units.items() if unit.max() >= FEW_UNITS}

    def countable() -> list[np.ndarray]:
        return [*units.values(), *(unit for one, unit in candidate_groups(frame, dates).items() if one.period == "day")]

    found = blank_leaks(frame, [*asked], *known, units=countable)
    predicted = () if roles.classes is None else (roles.classes.predicted,)
    named = [*(one.name for one in readings if one.name in part), *predicted]
    # folds that keep the fewest units whole keep those within them whole, too
    repeated = [unit for unit in units.values() if unit.max() + 1 < len(unit)]
    search = LeakSearch(frame, named, *known, seed, min(repeated, key=np.max, default=None))
    single = [name for name in asked if name not in {*found, *units, *same}]
    found |= search.alone(single)
    equal = search.equal_pairs([name for name in named if name not in found])
    for pair, area in equal.items():
        # of an answer and its key, the key goes; what equals the class predicted where that is right, is the label
        if (key := _key(pair, roles, (*roles.allowed, *predicted))) is not None:
            found[key] = Leak("equality", area, next(name for name in pair if name != key))
    single = [name for name in single if name not in found and asked[name].read_as != COORDINATE]
    found |= search.pairs(single)
    together = search.together([name for name in single if name not in found])
    gone = {*found, *(name for name in same if name in asked)}
    marked = tuple(_marked(one, found.get(one.name)) if one.name in gone else one for one in readings)
    features = tuple(name for name in roles.features if name not in gone)
    if roles.x == "features" and not features:
        used(marked)
    notes = []
    if unused := [repr(name) for name in same if name not in roles.allowed]:
        notes.append(f"{SAME.format(' and of one '.join(unused))}: not used as input")
    if together:
        them = ", ".join(map(repr, together))
        told = "several columns together tell nearly all of the outcome"
        notes.append(f"{told}, among them {them}: is one of them known only later?")
    return marked, replace(roles.without(gone), features=features), tuple(notes)


def _identities(frame: pl.DataFrame, roles: Roles, dates: Collection[str]) -> dict[str, np.ndarray]:
    """Give numbers to units that rows belong to: of the group named, and of what is named or looks like an identity."""
    played = {*roles.probabilities, roles.correct, roles.outcome, *dates}
    names = [name for name in frame.columns if name not in played and not frame[name].dtype.is_nested()]
    names = [name for name in names if frame[name].dtype not in (pl.Object, pl.Binary)]
    named = [name for name in names if names_identity(name)]
    found = {name: dense_rank(frame[name].cast(pl.String)).fill_null(0).to_numpy() - 1 for name in named}
    # numbers that repeat mostly measure something, unless their name says whose they are
    texts = [name for name in names if name not in named and not frame[name].dtype.is_numeric()]
    looked = candidate_groups(frame, texts).items()
    found |= {one.column: unit for one, unit in looked if one.kind not in ("repeats", "period")}
    if roles.grouping is not None:
        groups = [str(value) for value in roles.grouping.values(frame)]
        found[roles.grouping.name] = np.unique(groups, return_inverse=True)[1]
    return found


def _one_outcome(unit: np.ndarray, y: np.ndarray) -> bool:
    """Whether all rows of each unit have the same outcome, and chance would have made it so less than once in 1e6."""
    rows, right = (np.bincount(unit[unit >= 0], values) for values in (None, y[unit >= 0]))
    log_chance = np.logaddexp(rows * np.log(y.mean()), rows * np.log(1 - y.mean())).sum()
    return bool(((right == 0) | (right == rows)).all() and log_chance < np.log(LEAST_CHANCE))


def _key(pair: tuple[str, str], roles: Roles, allowed: Sequence[str]) -> str | None:
    """Return which of two columns holds the right answer: the one called so, else the second that is not allowed."""
    asked = [name for name in pair if name not in allowed]
    return roles.answers[RIGHT] if roles.answers.get(RIGHT) in asked else next(reversed(asked), None)


def _marked(one: ColumnReading, leak: Leak | None) -> ColumnReading:
    if leak is None:
        return replace(one, left_out=SAME.format(repr(one.name)))
    left_out = LEAKS[leak.by].format(leak.other)
    return replace(one, left_out=left_out, leak=leak.value, leak_by=leak.by, leak_with=leak.other)


# --- inputs as scikit-learn is given them -----------------------------------------------------------------------------


_MOST_DENSE = 1 << 27
"""Numbers of a sparse matrix that are written out, 1 GB of them."""


class InputReading:
    """X of any make as the numbers that the field is learned from: the reading of ``--features auto``.

    A frame is read column by column (numbers, dates, categories, each with blanks); columns that say nothing of a row's
    kind are left out. An array is read as a frame whose columns are called x0, x1 and so on; texts become TF-IDF.

    `seed`: of the encoder of texts.

    Attributes
    ----------
    readings : tuple of ColumnReading
        What each column was read as, and why it was left out; empty for texts.
    encoder : Encoder
        What makes numbers of X; it knows their names and what they are.

    Examples
    --------
    >>> table = pl.DataFrame({"id": [1, 2, 3], "age": [20, None, 30], "kind": ["a", "b", "a"]})
    >>> reading = InputReading().fit(table)
    >>> reading.encoder.names
    ('age', 'age is blank', 'kind=a', 'kind=b', 'level of kind')
    >>> reading.transform(pl.DataFrame({"id": [9], "age": [25], "kind": [None]}))[:, :4].tolist()
    [[25.0, 0.0, 1.0, 0.0]]
    """

    seed: int
    of_texts: bool
    readings: tuple[ColumnReading, ...]
    encoder: Encoder

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.readings = seed, ()

    def fit(self, X: Any) -> Self:
        """Learn what X holds."""
        self.of_texts = _is_texts(X)
        if self.of_texts:
            self.encoder = text_encoder(model="tfidf", seed=self.seed).fit(_texts(X))
            return self
        frame = _table(X)
        self.readings = read_columns(frame, frame.columns)
        columns = FeatureColumns(used(self.readings)).fit(frame)
        self.encoder = columns.taking_as_blank(columns.can_be_blank)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the inputs as numbers, (n, d)."""
        if self.of_texts:
            return self.encoder.transform(_texts(X))
        frame = _table(X)
        missing = [name for name in self.encoder.columns if name not in frame.columns]
        if missing:
            raise InputError(f"X lacks the column {missing[0]!r}, which it had in fit; it has {frame.columns[:10]}")
        return self.encoder.transform(frame)


def order_of(X: Any, *columns: Any) -> np.ndarray:
    """Order rows of whatever :class:`InputReading` reads by what they hold, then by columns, or None; int64 (n,).

    Examples
    --------
    >>> X = np.array([[3.0], [1.0], [2.0]])
    >>> bool((X[order_of(X)] == X[::-1][order_of(X[::-1])]).all())
    True
    """
    columns = tuple(column for column in columns if column is not None)
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        rows.sum_duplicates()
        parts = [slice(*ends) for ends in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
        columns = ([rows.indices[one].tobytes() + rows.data[one].tobytes() for one in parts], *columns)
    elif is_frame(X):
        try:
            table = _table(X)
        except InputError:
            # what cannot be read may still be what a classifier takes
            return np.arange(len(X))
        columns = (*(table[name].to_numpy() for name in table.columns), *columns)
    elif (values := np.asarray(X)).ndim == 2 and values.dtype.kind in "biuf":
        return content_order(values, *columns)
    else:
        columns = (*(np.asarray(X, dtype=object).T if values.ndim == 2 else [list(X)]), *columns)
    return content_order(np.zeros((len(columns[0]), 0)), *columns)


def _is_texts(X: Any) -> bool:
    if is_frame(X) or hasattr(X, "toarray"):
        return False
    values = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    return values.ndim == 1 and len(values) > 0 and isinstance(values[0], str)


def _texts(X: Any) -> tuple[str, ...]:
    return tuple("" if one is None or one != one else str(one) for one in np.asarray(X, dtype=object).tolist())


def _table(X: Any) -> pl.DataFrame:
    """Return X as a table; an array's columns are called x0, x1 and so on."""
    if hasattr(X, "toarray"):
        if np.prod(X.shape, dtype=float) > _MOST_DENSE:
            raise InputError(
                f"X is a sparse matrix of {X.shape[0]:,} x {X.shape[1]:,}, too large to be written out: reduce it "
                "first, for instance with sklearn.decomposition.TruncatedSVD in a pipeline"
            )
        X = X.toarray()
    if not is_table(X):
        values = np.asarray(X)
        if values.ndim != 2:
            raise InputError(f"X must be two-dimensional, of shape (n, d), or n texts; its shape is {values.shape}")
        X = {f"x{k}": values[:, k] for k in range(values.shape[1])}
    table = FrameSource(X)
    return table.load(table.columns)
