"""Probabilities of several classes beside the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

LEAST_CLASSES = 3
"""Of two classes, the probability of one says everything: it is an event."""


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """What a classifier says of each row, and the class that the row has.

    Attributes
    ----------
    names : tuple of K str
        The classes, at least three.
    probability : (n, K) float64
        In [0, 1]; rows sum to 1.
    code : (n,) int64
        Place of the class that each row has.
    predicted_column : str, default "predicted"
        What the class predicted is called among the columns that name what is found.
    columns : tuple of K str
        Columns of the table that held the probabilities, in the order of `names`; empty where a matrix did.
    log : bool
        Whether they were written as natural logarithms.

    Examples
    --------
    >>> rows = ClassProbabilities(("cat", "dog", "owl"), np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]]), np.array([1, 1]))
    >>> rows.predicted.tolist(), rows.take([1]).code.tolist()
    ([1, 0], [1])
    """

    names: tuple[str, ...]
    probability: NDArray[np.float64]
    code: NDArray[np.int64]
    predicted_column: str = "predicted"
    columns: tuple[str, ...] = ()
    log: bool = False

    def __len__(self) -> int:
        return len(self.code)

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Place of the class with the largest probability, (n,); of equal ones the first."""
        return self.probability.argmax(axis=1)

    def take(self, index: NDArray) -> ClassProbabilities:
        """Return the rows `index` (numbers or a mask), in that order."""
        return replace(self, probability=self.probability[index], code=self.code[index])
