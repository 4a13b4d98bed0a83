"""Columns of the table as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, quoted, value_list
from miscal.base.checks import check_features, refuse_rows
from miscal.base.errors import InputError, argument
from miscal.data.encoders.kinds import (
    CategoryColumn,
    ColumnKind,
    DateColumn,
    NumberColumn,
    VectorColumn,
    hardly_repeats,
    kind_of,
)
from miscal.data.triples import InputLayout


@dataclass(frozen=True, eq=False)
class Unknown:
    """Something that rows hold and the rows learned from did not, so that their x says less than it seems to.

    Attributes
    ----------
    what : str
        What it is, for a message about all such rows: ``category of 'country'``.
    rows : int array of shape (k,)
        Positions.
    values : tuple of k str
        What each of the rows holds.
    reasons : tuple of k str
        Why the row is not supported, or what of it is taken as blank, in words.
    as_blank : bool
        Whether it is taken as blank, so that the rest of a row is corrected as ever.
    """

    what: str
    rows: np.ndarray
    values: tuple[str, ...]
    reasons: tuple[str, ...]
    as_blank: bool = False


class Encoder:
    """What every encoder offers; by default for x that is an embedding, and nothing else.

    `fit` and `transform` take what the readers have checked: a finite float32 matrix, columns without missing values,
    or texts. `kind` of an encoder of text begins with ``text-``, and its constructor takes a column and a ``seed``.
    What is learned is annotated in the class, to be saved (:mod:`miscal.base.folders`).
    """

    kind: ClassVar[str]
    names: ClassVar[Any] = None
    can_be_blank: ClassVar[Any] = ()
    """Columns that may be taken as blank."""

    @property
    def n_features(self) -> int:
        """Number of columns of x."""
        raise NotImplementedError

    @property
    def layout(self) -> InputLayout:
        """What the columns of x are: by default all are places."""
        return InputLayout(self.n_features)

    def columns_of(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns again that a person reads, from x; nobody reads the coordinates of an embedding."""
        return {}

    def describe(self) -> str:
        """Say in one phrase, for the summary, how x was made."""
        raise NotImplementedError

    def fit(self, values: Any) -> Self:
        """Learn from train and validation rows."""
        raise NotImplementedError

    def transform(self, values: Any) -> np.ndarray:
        """Return x, float32 (n, n_features), finite."""
        raise NotImplementedError

    def unknown(self, values: Any, X: np.ndarray) -> Sequence[Unknown]:
        """Find what was not there at `fit`, in rows and what `transform` made of them; by default nothing."""
        return ()


class Embeddings(Encoder):
    """Embeddings that the user gives with the data, used as they are.

    Examples
    --------
    >>> encoder = Embeddings().fit(np.zeros((2, 3), np.float32))
    >>> encoder.transform(np.ones((1, 3), np.float32)).shape
    (1, 3)
    >>> encoder.transform(np.ones((1, 4), np.float32))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: X has 4 features, but the model was fitted with 3; give embeddings made in the ...
    """

    kind = "embeddings"
    n_features: int = 0

    def __init__(self, n_features: int = 0) -> None:
        self.n_features = n_features

    def describe(self) -> str:
        """Say how x was made."""
        return f"embeddings as given, {self.n_features} numbers each"

    def fit(self, values: np.ndarray) -> Self:
        """Note the width."""
        self.n_features = values.shape[1]
        return self

    def transform(self, values: np.ndarray) -> np.ndarray:
        """Check the width; the values stay as they are: the reader has checked them."""
        if values.shape[1] != self.n_features:
            raise InputError(
                f"X has {values.shape[1]} features, but the model was fitted with {self.n_features}; "
                "give embeddings made in the same way"
            )
        return values


MOST_NUMBERED = 40
"""More number columns than this whose names are one stem and a running number (x_0, x_1, ...) are an embedding."""


NOWHERE = ("everywhere alike",)
"""Column of x that is 0 in all rows, where categories of many levels leave none: a field needs a place for each row."""


class FeatureColumns(Encoder):
    """Columns of the table: numbers, truth values, dates, categories of any number of levels, lists of numbers.

    x is what places rows near or far from each other (numbers, dates, few categories one-hot), column by column, and
    then the level of each column that has levels (see :class:`~miscal.data.triples.InputLayout`). Lists and many
    numbered columns are an embedding: they come first, and the other columns stand beside it. A blank is a value like
    others where any was there at `fit`. A category that was not is taken as a blank.

    `columns`: the columns, in the order of x.

    Examples
    --------
    >>> encoder = FeatureColumns(["age", "kind"]).fit(pl.DataFrame({"age": [3, 4], "kind": ["a", "b"]}))
    >>> encoder.names
    ('age', 'kind=a', 'kind=b', 'level of kind')
    >>> encoder.transform(pl.DataFrame({"age": [5], "kind": ["b"]})).tolist()
    [[5.0, 0.0, 1.0, 1.0]]
    """

    kind = "features"
    kinds: tuple[ColumnKind, ...] = ()

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self._named = tuple(columns)
        self.taken_as_blank = frozenset()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return tuple(kind.column for kind in self.kinds) or self._named

    @property
    def _ordered(self) -> list[ColumnKind]:
        """The columns in the order of x: an embedding among them first."""
        read = {kind.column for kind in self._readable}
        return sorted(self.kinds, key=lambda kind: kind.column in read)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of x."""
        numbers = tuple(name for kind in self._ordered for name in kind.names)
        return (*(numbers or NOWHERE), *(name for kind in self._ordered for name in kind.levels))

    @property
    def n_features(self) -> int:
        """Number of columns of x."""
        return self.layout.width

    @property
    def layout(self) -> InputLayout:
        """What the columns of x are."""
        numbers, codes = (sum(len(getattr(kind, part)) for kind in self.kinds) for part in ("names", "levels"))
        numbers = numbers or len(NOWHERE)
        starts = np.cumsum([0, *(len(kind.names) for kind in self._ordered)])
        dated = zip(self._ordered, starts.tolist(), strict=False)
        moments = tuple(start for kind, start in dated if isinstance(kind, DateColumn))
        read = self._readable
        # equal embeddings are the same input, equal ages are not
        if len(read) in (0, len(self.kinds)):
            return InputLayout(numbers, codes=codes, table=len(read) == len(self.kinds), moments=moments)
        beside = sum(len(kind.names) for kind in read)
        return InputLayout(numbers - beside, beside, codes, moments=moments)

    @property
    def _readable(self) -> list[ColumnKind]:
        """Columns that a person reads: no lists, no coordinates of an embedding."""
        numbered = _numbered([kind.column for kind in self.kinds if isinstance(kind, NumberColumn)])
        return [kind for kind in self.kinds if not isinstance(kind, VectorColumn) and kind.column not in numbered]

    def describe(self) -> str:
        """Say how x was made; a run that is read again is compared by these words, so that they stay as they are."""
        n_text = sum(isinstance(kind, CategoryColumn) for kind in self.kinds)
        how = f", {n_text} of them text" if n_text else ""
        return f"{len(self.columns)} feature columns ({value_list(self.columns)}){how}"

    def fit(self, values: pl.DataFrame) -> Self:
        """Learn what each column holds."""
        kinds = [_fitted(column_of(values, column), column) for column in self.columns]
        self.kinds = tuple(kinds)
        # the coordinates of an embedding say nothing one by one
        read = self._readable
        self.kinds = tuple(
            replace(kind, edges=()) if isinstance(kind, NumberColumn) and kind not in read else kind for kind in kinds
        )
        return self

    def transform(self, values: pl.DataFrame) -> np.ndarray:
        """Put the columns side by side, and then their levels."""
        series = {kind.column: self._known(values, kind) for kind in self.kinds}
        numbers = [kind.numbers(series[kind.column]) for kind in self._ordered]
        if not any(part.shape[1] for part in numbers):
            numbers = [np.zeros((len(values), len(NOWHERE)), np.float32)]
        codes = [kind.codes(series[kind.column]) for kind in self._ordered]
        # single precision holds every level: a table of categories alone is never held in double precision
        precision = np.result_type(np.float32, *(part.dtype for part in numbers))
        found, start = np.empty((len(values), self.n_features), precision), 0
        for part in (*numbers, *codes):
            found[:, start : start + part.shape[1]] = part
            start += part.shape[1]
        return check_features(found, name="features", narrow=False)

    def _series(self, values: pl.DataFrame, kind: ColumnKind) -> pl.Series:
        return _of_kind(column_of(values, kind.column), kind, kind.column in self.with_blanks)

    def _known(self, values: pl.DataFrame, kind: ColumnKind) -> pl.Series:
        """Return a column, blank where it holds what `fit` did not see."""
        series = self._series(values, kind)
        unknown = kind.unknown(series)
        return series.set(pl.Series(unknown), None) if unknown.any() else series

    @property
    def column_types(self) -> dict[str, str]:
        """What each column holds: 'number', 'list', 'date' or 'category'."""
        return {kind.column: kind.type for kind in self.kinds}

    @property
    def with_blanks(self) -> frozenset[str]:
        """Columns in which rows may be blank."""
        return self.taken_as_blank | {kind.column for kind in self.kinds if kind.blank}

    @property
    def can_be_blank(self) -> tuple[str, ...]:
        """Columns that :meth:`blanked` takes: all that a person reads."""
        return tuple(kind.column for kind in self._readable)

    def blanked(self, X: np.ndarray, column: str) -> np.ndarray:
        """Return x as it would be if a column were blank in every row.

        A blank that `fit` did not see has the place of the median or the most frequent category, and the level -1.

        Examples
        --------
            >>> table = pl.DataFrame({"age": [3, 5], "kind": ["a", "b"]})
        >>> encoder = FeatureColumns(["age", "kind"]).fit(table)
        >>> encoder.blanked(encoder.transform(table), "kind").tolist()
        [[3.0, 1.0, 0.0, -1.0], [5.0, 1.0, 0.0, -1.0]]
        """
        found = X.copy()
        kind, numbers, codes = next(span for span in self.spans() if span[0].column == column)
        blank = pl.Series([None], dtype=kind.empty)
        found[:, numbers], found[:, codes] = kind.numbers(blank), kind.codes(blank)
        return found

    def taking_as_blank(self, columns: Iterable[str]) -> Self:
        """Return the encoder for rows that may be blank in some columns, though no row was that it learned from."""
        again = copy(self)
        again.taken_as_blank = self.taken_as_blank | frozenset(columns)
        return again

    def columns_of(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns again that a person reads, from x."""
        read = {kind.column for kind in self._readable}
        return {
            kind.column: kind.values(X[:, numbers], X[:, codes].astype(np.int64))
            for kind, numbers, codes in self.spans()
            if kind.column in read
        }

    def spans(self) -> Iterator[tuple[ColumnKind, slice, slice]]:
        """Each column with the columns of x that hold its numbers, and those that hold its levels."""
        place, code = 0, self.layout.places + self.layout.numbers
        for kind in self._ordered:
            width, levels = len(kind.names), len(kind.levels)
            yield kind, slice(place, place + width), slice(code, code + levels)
            place, code = place + width, code + levels

    def unknown(self, values: pl.DataFrame, X: np.ndarray) -> Sequence[Unknown]:
        """Categories that were not there at `fit`, and are taken as blank."""
        found = []
        for kind in self.kinds:
            series = self._series(values, kind)
            unknown = kind.unknown(series)
            if kind.column in self.taken_as_blank:
                unknown &= ~blank_rows(series)
            rows = np.flatnonzero(unknown)
            if len(rows):
                held = tuple(str(value) for value in series.cast(str)[rows].to_list())
                never = f"is a category of {kind.column!r} that the model never saw, and taken as blank"
                reasons = tuple(f"{quoted(value)} {never}" for value in held)
                found.append(Unknown(f"category of {kind.column!r}", rows, held, reasons, as_blank=True))
        return found


def embedding_columns(frame: pl.DataFrame, columns: Sequence[str]) -> frozenset[str]:
    """Find the columns that are, or together make, an embedding: lists, and many numbered columns of one name.

    Examples
    --------
    >>> sorted(embedding_columns(pl.DataFrame({"v": [[1.0, 2.0]], "age": [20], "x_1": [0.5]}), ["v", "age", "x_1"]))
    ['v']
    """
    kinds = {column: kind_of(column_of(frame, column)) for column in columns}
    numbers = [column for column, kind in kinds.items() if kind is NumberColumn]
    return _numbered(numbers) | {column for column, kind in kinds.items() if kind is VectorColumn}


def _numbered(columns: Sequence[str]) -> frozenset[str]:
    """Find columns whose names are one stem and a running number, where there are many of them."""
    stems = {column: re.sub(r"\d+$", "", column) for column in columns}
    count = Counter(stems.values())
    return frozenset(column for column, stem in stems.items() if stem != column and count[stem] > MOST_NUMBERED)


def _fitted(series: pl.Series, column: str) -> ColumnKind:
    kind = kind_of(series)
    if kind is None:
        raise InputError(
            f"column {column!r} cannot be a feature: its type is {series.dtype}; "
            "a feature must be numbers, truth values, dates, text with values that repeat, or lists of numbers"
        )
    if kind is CategoryColumn:
        _refuse_sentences(series, column)
    return kind.fit(series, column)


def _refuse_sentences(series: pl.Series, column: str) -> None:
    known = series.drop_nulls()
    if hardly_repeats(known):
        values = known.cast(str).unique().sort().to_list()
        raise InputError(
            f"column {column!r} is text with {len(values)} distinct values ({value_list(values)}) in {len(series)} "
            "rows, which hardly repeat, so they are no categories. If these are numbers, write them as numbers; if "
            f"sentences, use them as text ({argument('text')}) instead of features; if they name the rows, leave "
            "the column out"
        )


_TEXT = {"ordered": "category"}
"""Kinds that hold text alike: the order of categories is lost in files that have no type for it."""


def blank_rows(series: pl.Series) -> np.ndarray:
    """Find rows without a value, bool (n,)."""
    if series.null_count() == 0:  # many columns without blanks are soonest read so
        return np.isnan(series.to_numpy()) if series.dtype.is_float() else np.zeros(len(series), dtype=bool)
    blank = series.is_null()
    return (blank | series.is_nan().fill_null(True) if series.dtype.is_float() else blank).to_numpy()


def _of_kind(series: pl.Series, kind: ColumnKind, blanks: bool) -> pl.Series:
    """Return a column that holds what it held at `fit`, or refuse it; `blanks` says whether rows may be blank."""
    if blanks and series.null_count() == len(series):
        return pl.Series([None] * len(series), dtype=kind.empty)
    now = kind_of(series)
    if now is None or _TEXT.get(now.type, now.type) != _TEXT.get(kind.type, kind.type) or kind.type == "list":
        found = None if now is None else now.fit(series, kind.column)
        if found != kind:
            raise InputError(
                f"column {kind.column!r} held {kind.shown} when the model was fitted, and must again; got "
                f"{series.dtype if found is None else found.shown}"
            )
    missing = blank_rows(series)
    remedy = "none was where the model learned: fill them in, or drop those rows"
    refuse_rows(f"column {kind.column!r}", missing & (not blanks), "missing", None, remedy)
    return series
