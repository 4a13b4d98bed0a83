"""An embedding with columns of the table beside it; the list of encoders, and which a column of text gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from miscal.base.folders import under, with_prefix
from miscal.data.encoders.features import FeatureColumns
from miscal.data.encoders.protocol import Encoder, State, Unknown
from miscal.data.triples import InputLayout

if TYPE_CHECKING:
    import polars as pl


from miscal.base.errors import InputError
from miscal.data.encoders.protocol import Embeddings
from miscal.data.encoders.texts import TextSentenceTransformer, TextTfidfSvd, default_sentence_model


@dataclass(frozen=True, eq=False)
class PlacesAndColumns:
    """What :class:`Combined` takes: what its embedding is made of, and a table, row by row.

    Attributes
    ----------
    places : array of shape (n, d) or n texts
    columns : polars.DataFrame
    """

    places: Any
    columns: pl.DataFrame

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, rows: slice) -> PlacesAndColumns:
        return PlacesAndColumns(self.places[rows], self.columns[rows])


class Combined:
    """An embedding that places rows near or far from each other, and columns of the table as numbers and levels.

    `places`: of embeddings or of text.

    Examples
    --------
    >>> import polars as pl
    >>> from miscal.data.encoders import Embeddings
    >>> values = PlacesAndColumns(np.zeros((3, 2), np.float32), pl.DataFrame({"kind": ["a", "b", "a"]}))
    >>> encoder = Combined(Embeddings(), FeatureColumns(["kind"])).fit(values)
    >>> encoder.transform(values)[:, 2:].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    >>> encoder.layout
    InputLayout(places=2, numbers=2, codes=1, table=False, moments=())
    """

    kind = "combined"

    def __init__(self, places: Encoder, columns: FeatureColumns) -> None:
        self.places, self.columns = places, columns

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns of x: those of an embedding have none."""
        return None

    @property
    def n_features(self) -> int:
        """Number of columns of x."""
        return self.layout.width

    @property
    def layout(self) -> InputLayout:
        """What the columns of x are."""
        beside = self.columns.layout
        n = self.places.n_features
        moments = tuple(n + place for place in beside.moments)
        return InputLayout(n, beside.places + beside.numbers, beside.codes, moments=moments)

    def describe(self) -> str:
        """Say how x was made."""
        return f"{self.places.describe()}, and {self.columns.describe()}"

    def fit(self, values: PlacesAndColumns) -> Self:
        """Learn from what the embedding is made of, and the table."""
        self.places.fit(values.places)
        self.columns.fit(values.columns)
        return self

    def transform(self, values: PlacesAndColumns) -> np.ndarray:
        """Put the embedding, the numbers and the levels side by side."""
        return np.concatenate([self.places.transform(values.places), self.columns.transform(values.columns)], 1)

    def columns_of(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns of the table again, from x."""
        return self.columns.columns_of(X[:, self.places.n_features :])

    @property
    def can_be_blank(self) -> tuple[str, ...]:
        """Columns that :meth:`blanked` takes."""
        return self.columns.can_be_blank

    def blanked(self, X: np.ndarray, column: str) -> np.ndarray:
        """Return x as it would be if a column of the table were blank in every row."""
        n = self.places.n_features
        return np.concatenate([X[:, :n], self.columns.blanked(X[:, n:], column)], 1)

    def taking_as_blank(self, columns: Iterable[str]) -> Combined:
        """Return the encoder for rows that may be blank in some columns, though no row was that it learned from."""
        return Combined(self.places, self.columns.taking_as_blank(columns))

    def unknown(self, values: PlacesAndColumns, X: np.ndarray) -> Sequence[Unknown]:
        """Find what was not there at `fit`, in the embedding and in the columns."""
        n = self.places.n_features
        return [*self.places.unknown(values.places, X[:, :n]), *self.columns.unknown(values.columns, X[:, n:])]

    def state(self) -> State:
        """Return the saved form."""
        (places, held), (columns, also) = self.places.state(), self.columns.state()
        content = {"kind": self.kind, "places": places, "columns": columns}
        return content, with_prefix("places", held) | with_prefix("columns", also)

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """Rebuild from the saved form."""
        places = encoder_from_state(config["places"], under("places", tensors))
        return cls(places, FeatureColumns.from_state(config["columns"], under("columns", tensors)))


ENCODERS: list[type[Encoder]] = [
    Embeddings,
    FeatureColumns,
    Combined,
    TextTfidfSvd,
    TextSentenceTransformer,
]


def text_encoder(column: str = "text", *, model: str | None = None, seed: int = 0) -> Encoder:
    """Choose the encoder for a column of texts.

    `model`: the name of an encoder of text ("tfidf" is that of kind "text-tfidf"), or a sentence-transformers folder or
    hub id. By default a sentence model if one is on this machine, else TF-IDF. It is not fitted yet.

    Examples
    --------
    >>> text_encoder("question", model="tfidf").kind
    'text-tfidf'
    """
    if model is None and default_sentence_model() is None:
        return TextTfidfSvd(column, seed=seed)
    named = _by_kind().get(f"text-{model}")
    if named is not None and named is not TextSentenceTransformer:
        return named(column, seed=seed)
    return TextSentenceTransformer(column, model)


def encoder_from_state(config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Encoder:
    """Rebuild the encoder whose `state()` gave `config` and `tensors`.

    Examples
    --------
    >>> encoder_from_state(*Embeddings(3).state()).n_features
    3
    """
    kinds = _by_kind()
    kind = config.get("kind")
    if kind not in kinds:
        raise InputError(
            f"the saved model makes its inputs in a way that this version of miscal does not know: got kind {kind!r}, "
            f"known are {', '.join(kinds)}. Upgrade miscal, or fit the model again"
        )
    return kinds[kind].from_state(config, tensors)


def _by_kind() -> dict[str, Any]:  # classes; a protocol says nothing of constructors
    return {encoder.kind: encoder for encoder in ENCODERS}
