"""Folds that keep equal inputs, or named groups, together."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MANY_VALUES = 1 << 27  # above, rows are compared by digests: sorting whole rows would copy them
_BLOCK_VALUES = 1 << 22


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
    # each row as one value of bytes: equal inputs are found by one sort
    # adding 0.0 turns -0.0 into 0.0, which is the same input and other bytes
    if X.size > _MANY_VALUES:
        rows = _digests(X)
    else:
        wide = np.dtype((np.void, X.dtype.itemsize * X.shape[1]))
        rows = (np.ascontiguousarray(X) + X.dtype.type(0)).view(wide).ravel()
    _, first, number = np.unique(rows, return_index=True, return_inverse=True)
    # number groups by first appearance, so that the deal does not depend on byte order
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def _digests(X: np.ndarray) -> NDArray[np.uint64]:
    """Eight bytes for each row, in little memory; that two of 1e7 rows share theirs by chance has a chance of 3e-6."""
    zero = X.dtype.type(0)
    found = np.empty(len(X), np.uint64)
    step = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, len(X), step):
        block = X[start : start + step] + zero
        joined = b"".join(blake2b(row, digest_size=8).digest() for row in block)
        found[start : start + step] = np.frombuffer(joined, np.uint64)
    return found


def assign_folds(groups: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Folds that keep equal groups together, as even as a random deal of groups makes them.

    Of few groups, or where one holds over a fifth of the rows, the largest are dealt first, each to the fold with the
    fewest rows; with fewer groups than folds there are fewer folds. Only a group of over half the rows is broken up,
    as too little would be left to learn from without it: its rows are dealt one by one.

    Parameters
    ----------
    groups : ndarray of shape (n,), int
        Rows with the same number stay together.
    n_folds : int
        At least 2.
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
    >>> assign_folds(np.repeat([0, 1, 2], [5, 3, 2]), 2, np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    number = _whole_or_broken(groups)
    size = np.bincount(number)
    if len(size) < 2 * n_folds or size.max() > len(number) / 5:
        return _evenly(size, min(n_folds, len(size)), rng)[number]
    deal = rng.permutation(len(size)) % n_folds
    return deal[number].astype(np.int64)


def _whole_or_broken(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count groups from 0, (n,); the rows of one that holds over half of them become groups of their own."""
    _, number, size = np.unique(groups, return_inverse=True, return_counts=True)
    broken = (size > len(number) / 2)[number]
    if broken.any():
        number = np.where(broken, len(size) + np.arange(len(number)), number)
        number = np.unique(number, return_inverse=True)[1]
    return number


def _evenly(size: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Fold of each group: the largest first, each to the fold with the fewest rows."""
    fold, rows = np.empty(len(size), np.int64), np.zeros(n_folds, np.int64)
    # shuffled before a stable sort: groups of one size are dealt in random order
    shuffled = rng.permutation(len(size))
    for group in shuffled[np.argsort(-size[shuffled], kind="stable")]:
        fold[group] = rows.argmin()
        rows[fold[group]] += size[group]
    return fold
