"""Embeddings that the user gives with the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from miscal.base.errors import InputError
from miscal.data.encoders.protocol import PlacesAlone, State, Unknown


class Embeddings(PlacesAlone):
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
    names = None

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

    def unknown(self, values: np.ndarray, X: np.ndarray) -> Sequence[Unknown]:
        """Any number can be an embedding's."""
        return ()

    def state(self) -> State:
        """Return the saved form."""
        return {"kind": self.kind, "n_features": self.n_features}, {}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """Rebuild from the saved form."""
        return cls(int(config["n_features"]))
