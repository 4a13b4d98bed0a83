"""What every encoder offers, and the encoder of embeddings as given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from miscal.base.errors import InputError
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
