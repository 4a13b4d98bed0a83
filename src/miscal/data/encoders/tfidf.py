"""Texts as weighted counts of words, projected on few dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from miscal.base.errors import InputError
from miscal.data.encoders.protocol import PlacesAlone, State, Unknown

MAX_TERMS = 10_000
MAX_DIMENSIONS = 256


class TextTfidfSvd(PlacesAlone):
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
    names = None

    def __init__(self, column: str = "text", n_components: int = MAX_DIMENSIONS, seed: int = 0) -> None:
        self.column = column
        self.n_components = n_components
        self.seed = seed
        self.terms: list[str] = []
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

    def state(self) -> State:
        """Return the saved form."""
        config = {"kind": self.kind, "column": self.column, "n_components": self.n_components, "seed": self.seed}
        return config | {"terms": self.terms}, {"idf": self.idf, "components": self.components}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """Rebuild from the saved form."""
        encoder = cls(config["column"], config["n_components"], config["seed"])
        encoder.terms, encoder.idf, encoder.components = list(config["terms"]), tensors["idf"], tensors["components"]
        return encoder


def _directions(weights: Any, n_components: int, seed: int) -> np.ndarray:
    """Right singular vectors, float32 (k, n_terms), of the values that are not rounding."""
    from sklearn.utils.extmath import randomized_svd

    k = min(n_components, *weights.shape)
    _, values, directions = randomized_svd(weights, n_components=k, random_state=seed)
    return np.ascontiguousarray(directions[values > 1e-6 * values[0]], dtype=np.float32)
