"""A table as conditions see it; the interface of every kind of condition, and how conditions are stored as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from miscal.base.arrays import row_blocks
from miscal.base.document import plain
from miscal.findings.enrichment import written_date

MANY_VALUES = 1 << 25
"""Values of inputs (128 MB of float32) beyond which they are taken in blocks, and components learned from some rows."""
_BLOCK_DISTANCES = 1 << 18
"""Distances held at a time, 2 MB: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class InputClusters:
    """Positions of inputs, and centres at several scales: a row belongs to the centre that is nearest to it.

    `columns`, int (p,): columns of the inputs that are not constant. `mean, scale`, float (p,): what is subtracted from
    them, and what they are then divided by, in the precision of the inputs. `axes`, float32 (k, p): principal
    components; None where the columns themselves are the positions. `origin`, float32 (p,): where the components cross.
    `centres`, int (scale, k): of each scale, that is, number of clusters.

    Examples
    --------
    >>> space = InputClusters(np.array([0]), np.zeros(1), np.ones(1), None, None, {2: np.array([[0.0], [1.0]])})
    >>> space.nearest(space.positions(np.array([[0.2], [0.9]])), 2)
    array([0, 1])
    """

    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray | None
    origin: np.ndarray | None
    centres: dict[int, np.ndarray]

    def positions(self, X: np.ndarray) -> np.ndarray:
        """Place inputs (n, d): float32 array of shape (n, k)."""
        if X.size <= MANY_VALUES:
            return self._placed(X)
        return np.concatenate([self._placed(X[rows]) for rows in row_blocks(*X.shape)])

    def standard(self, X: np.ndarray) -> np.ndarray:
        """Centre and scale the columns that are not constant, in their own precision: float32 array of shape (n, p)."""
        values = X[:, self.columns] - self.mean
        values /= self.scale
        return values.astype(np.float32, copy=False)

    def _placed(self, X: np.ndarray) -> np.ndarray:
        values = self.standard(X)
        # as scikit-learn does it: no centred copy
        return values if self.axes is None else values @ self.axes.T - self.origin.reshape(1, -1) @ self.axes.T

    def nearest(self, positions: np.ndarray, scale: int) -> np.ndarray:
        """Index of the nearest centre of each position at one scale, int (n,); the first of equals."""
        centres = self.centres[scale].astype(np.float64)
        # |x|^2 is the same for every centre and is left out
        of_centres, twice, found = (centres**2).sum(1), -2 * centres.T, np.empty(len(positions), np.int64)
        for rows in row_blocks(len(positions), scale, values=_BLOCK_DISTANCES):
            far = positions[rows].astype(np.float64) @ twice
            far += of_centres
            far.argmin(1, found[rows])
        return found

    def __post_init__(self) -> None:
        width = self.columns.shape if self.axes is None else self.axes.shape[:1]
        shapes = {self.mean.shape, self.scale.shape, self.columns.shape if self.axes is None else self.axes.shape[1:]}
        fits = all(values.shape == (scale, *width) for scale, values in self.centres.items())
        if self.columns.dtype.kind not in "iu" or shapes != {self.columns.shape} or not fits:
            raise ValueError("the arrays of the clusters do not fit each other")


Mask = NDArray[np.bool_]
TEXT = "text"
"""What the texts are called among the columns of a condition."""


_NEAR = 1e-4
"""Distance from a whole number below which six digits may not show it; beyond, large numbers have no need of more."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of n rows; what is not there is None.

    `columns`, str (n,): text, numbers, booleans or dates, with missing values. `X`, (n, d): inputs, as the encoder of
    the run makes them. `clusters`: how the run clustered its inputs.

    Examples
    --------
    >>> from miscal.findings.conditions.condition import read_condition
    >>> law = read_condition({"kind": "value", "column": "subject", "value": "law", "of": "text"})
    >>> law.rows(Frame(2, {"subject": np.array(["art", "law"])})).tolist()
    [False, True]
    """

    n: int
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    text: Sequence[str] | None = None
    X: np.ndarray | None = None
    clusters: InputClusters | None = None
    _codes: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def lacks(self, column: str, holds: str = "") -> str | None:
        """Say that a column is not there, or holds something else than "numbers" or "dates", which blanks may be."""
        if column not in self.columns:
            return f"the rows have no column {column!r}"
        numbers, dates = self.numbers(column) if holds else (None, False)
        fits = numbers is not None and (dates == (holds == "dates") or np.isnan(numbers).all())
        return f"column {column!r} of the rows holds no {holds}" if holds and not fits else None

    def numbers(self, column: str) -> tuple[np.ndarray | None, bool]:
        """Return a column as numbers, and whether these are dates; None for text (:func:`numbers_of`)."""
        values = self.columns[column]
        if values.dtype.kind == "O" and all(_missing(value) for value in values):
            return np.full(self.n, np.nan), False
        return numbers_of(values)

    def texts(self, column: str) -> np.ndarray:
        """Return the values of a column in words, object (n,); None where missing."""
        numbers, dates = numbers_of(self.columns[column])
        if numbers is None:
            return np.array([None if _missing(value) else str(value) for value in self.columns[column]], object)
        return np.array([None if value != value else written(value, dates) for value in numbers], object)

    def cluster_of(self, scale: int) -> np.ndarray:
        """Return the cluster of each row at one scale, int (n,); X and clusters must be there."""
        if self.clusters is None or self.X is None:
            raise ValueError("the rows have no inputs, or the run stored no clusters")
        if scale not in self._codes:
            self._codes[scale] = self.clusters.nearest(self.clusters.positions(self.X), scale)
        return self._codes[scale]


def readable(encoder: Any, X: np.ndarray) -> bool:
    """Whether inputs are columns that a person reads one by one, not the coordinates of an embedding.

    Examples
    --------
    >>> readable(None, np.zeros((1, 384)))
    False
    """
    return encoder is not None and bool(encoder.columns_of(X[:1]))


def with_features(metadata: Mapping[str, Any], X: np.ndarray, encoder: Any) -> dict[str, np.ndarray]:
    """Columns that may name a group: metadata, and the columns of the table that inputs are made of.

    `metadata`, str (n,). `X`, (n, d). `encoder`: what made X; None for arrays. Returns str (n,): a name that both have
    is the metadata's.

    Examples
    --------
    >>> from miscal.data.encoders.features import FeatureColumns
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30], "kind": ["b", "a"]})
    >>> encoder = FeatureColumns(table.columns).fit(table)
    >>> columns = with_features({"year": np.zeros(2)}, encoder.transform(table), encoder)
    >>> sorted(columns), columns["kind"].tolist()
    (['age', 'kind', 'year'], ['b', 'a'])
    """
    return (encoder.columns_of(X) if encoder is not None else {}) | dict(metadata)


def frame_of_rows(
    metadata: Mapping[str, np.ndarray],
    X: np.ndarray,
    encoder: Any = None,
    *,
    text: Sequence[str] | None = None,
    clusters: InputClusters | None = None,
) -> Frame:
    """Put together what findings ask of rows.

    `metadata`, str (n,). `X`, (n, d): inputs, as the encoder makes them. `encoder`: what made X, and can tell the
    columns of a table from it; None for arrays. `text`: texts whose terms findings may name. `clusters`: how the run
    clustered its inputs. Columns that are inputs have the values that the model sees.

    Examples
    --------
    >>> frame_of_rows({"kind": np.array(["a", "b"])}, np.zeros((2, 3))).columns["kind"].tolist()
    ['a', 'b']
    """
    places = X if encoder is None else X[:, : encoder.layout.places]
    columns = with_features(metadata, X, encoder)
    return Frame(len(X), columns, text=text, X=places, clusters=clusters)


def numbers_of(values: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """Read a column as numbers.

    Returns `numbers`, float64 (n,): NaN for missing values; dates are seconds since 1970. None if the column holds
    text; `dates`: whether the values are dates.

    Examples
    --------
    >>> numbers_of(np.array(["1970-01-02", "NaT"], "datetime64[D]"))
    (array([86400.,    nan]), True)
    """
    if values.dtype.kind in "iuf":
        return values.astype(np.float64), False
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64).astype(np.float64)), True
    if values.dtype.kind == "O":
        # most columns of objects are texts
        if isinstance(next((value for value in values if not _missing(value)), None), str):
            return None, False
        known = [value for value in values if not _missing(value)]
        if known and all(isinstance(value, date) for value in known):
            plain = [np.datetime64("NaT") if _missing(value) else np.datetime64(value) for value in values]
            return numbers_of(np.array(plain, "datetime64[s]"))
        if known and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in known):
            return np.array([np.nan if value is None else float(value) for value in values]), False
    return None, False


def texts_of(values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of a column, sorted, and the place of each row's, int64 (n,): -1 where missing.

    Examples
    --------
    >>> texts_of(np.array(["b", None, "a", "b"], object))[1].tolist()
    [1, -1, 0, 1]
    """
    texts = values.tolist()
    written = {value: None if _missing(value) else str(value) for value in dict.fromkeys(texts)}
    distinct = sorted({text for text in written.values() if text is not None})
    place: dict[str | None, int] = {text: k for k, text in enumerate(distinct)} | {None: -1}
    codes = {value: place[text] for value, text in written.items()}
    return distinct, np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))


def _missing(value: Any) -> bool:
    return value is None or value != value  # NaN and NaT are unequal to themselves


def written(value: float, dates: bool) -> str:
    """Write a number with six digits, or a date (seconds since 1970) to the second, without a midnight.

    A number close to a whole one has as many digits as tell the two apart: many probabilities lie that close to 1.

    Examples
    --------
    >>> written(0.12345678, False), written(86_400.0, True), written(86_460.0, True)
    ('0.123457', '1970-01-02', '1970-01-02T00:01:00')
    >>> written(1 - 5.2e-10, False), written(1 - 2.1e-7, False), written(0.1 + 0.2, False), written(3.0, False)
    ('0.99999999948', '0.99999979', '0.3', '3')
    """
    if dates:
        return written_date(np.datetime64(int(value), "s"))
    short = f"{value:.6g}"
    apart = abs(value - round(value)) if np.isfinite(value) else 0.0
    if 1e-12 * max(1.0, abs(value)) < apart < _NEAR and float(short) == round(value):
        return f"{value:.{1 - int(np.floor(np.log10(apart)))}f}"
    return short


def seconds(text: str) -> float:
    """Read a date that :func:`written` wrote: seconds since 1970.

    Examples
    --------
    >>> seconds("1970-01-02")
    86400.0
    """
    return float(np.datetime64(text, "s").astype(np.int64))


class Wording(NamedTuple):
    """The words of a condition in three pieces: conditions of equal `before` and `after` are joined by these once."""

    before: str
    own: str
    after: str = ""


KINDS: dict[str, type[Condition]] = {}
"""Every kind of condition, by its name in JSON."""


class Condition(ABC):
    """What the rows of a group have in common. Every kind is a frozen dataclass; equal values are equal groups.

    Its fields are what its JSON holds: text, numbers, tuples of these, and other conditions (``Stored``).
    """

    kind: ClassVar[str]

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
    def description(self) -> str:
        """What its rows have in common, in words, and what they are made of where that is known."""
        return self.words

    @property
    def phrase(self) -> str:
        """Its rows, in the middle of a sentence: ``"rows with subject = law"``."""
        return f"rows with {self.words}"

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


Stored = Annotated[Condition, PlainValidator(read_condition), PlainSerializer(Condition.to_dict, return_type=dict)]
"""A condition as a field of a document, or of another condition."""
