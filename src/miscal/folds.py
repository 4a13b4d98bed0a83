"""Folds that keep equal inputs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def row_groups(X: np.ndarray, groups: Any = None) -> np.ndarray:
    """Give numbers to rows so that equal inputs, or equal named groups, share a number.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    groups : array-like of shape (n,), optional
        Named groups; where given, they alone decide.

    Returns
    -------
    ndarray of shape (n,), int64

    Examples
    --------
    >>> row_groups(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    """
    if groups is not None:
        return np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    rows = np.ascontiguousarray(X).view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
    _, first, number = np.unique(rows, return_index=True, return_inverse=True)
    # number groups by first appearance, so that the deal does not depend on byte order
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def assign_folds(groups: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Folds that keep equal groups together, as even as a random deal of groups makes them.

    Where that leaves too little to learn from (fewer groups than folds, or one group over a fifth of the rows), rows
    are dealt one by one.

    Parameters
    ----------
    groups : ndarray of shape (n,), int
        Rows with the same number stay together.
    n_folds : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n,), int64, in 0..n_folds - 1

    Examples
    --------
    >>> import numpy as np
    >>> folds = assign_folds(np.repeat(np.arange(10), 2), 2, np.random.default_rng(0))
    >>> bool((folds[::2] == folds[1::2]).all())
    True
    """
    _, number, size = np.unique(groups, return_inverse=True, return_counts=True)
    if len(size) < 2 * n_folds or size.max() > len(groups) / 5:
        number = np.arange(len(groups))
    deal = rng.permutation(number.max() + 1) % n_folds
    return deal[number].astype(np.int64)
