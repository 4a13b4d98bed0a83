"""Find the principal directions of rows, with signs that do not depend on the solver.

Where only a few directions of many columns are wanted, callers take a solver of scikit-learn instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def leading_eigenvectors(products: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Return the k largest eigenvalues of a symmetric matrix, the largest first, and their eigenvectors in columns.

    >>> values, vectors = leading_eigenvectors(np.diag([1.0, 3.0, 2.0]), 2)
    >>> values.tolist(), np.abs(vectors).tolist()
    ([3.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    """
    values, vectors = np.linalg.eigh(products)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def oriented(directions: NDArray) -> NDArray:
    """Turn each column so that its largest entry is positive: a solver may return either of the two signs.

    >>> oriented(np.array([[0.6, 0.8], [-0.8, 0.6]])).tolist()
    [[-0.6, 0.8], [0.8, 0.6]]
    """
    return directions * np.sign(directions[np.abs(directions).argmax(0), np.arange(directions.shape[1])])
