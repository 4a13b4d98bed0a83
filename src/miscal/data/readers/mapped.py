"""Large inputs: float32 rows that stay on disk, mapped, or that are written to a temporary file block by block."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

LARGE_BYTES = 1 << 30
"""Inputs of more bytes than this are not held in memory. Smaller ones are copied: a file may change while a run
lasts."""

BLOCK_BYTES = 1 << 26


def float32_rows(X: Any) -> np.ndarray:
    """Convert inputs to float32 once; large ones are left in their file, or go to a temporary one.

    What overflows becomes infinite, and is refused with the rest.

    Parameters
    ----------
    X : array of shape (n, d)

    Returns
    -------
    ndarray of float32, shape (n, d), C-contiguous
    """
    mapped = isinstance(X, np.memmap)
    with np.errstate(over="ignore"):
        if 4 * X.size <= LARGE_BYTES or not mapped:
            # numpy copies only what is not float32 already; a mapped file always
            return np.array(X, np.float32, order="C") if mapped else np.ascontiguousarray(X, dtype=np.float32)
        if X.dtype == np.float32 and X.flags.c_contiguous:
            return np.asarray(X)
        return in_blocks(lambda rows: np.asarray(X[rows], np.float32), *X.shape)


def chosen_rows(X: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Take rows of inputs; of large ones into a temporary file.

    Parameters
    ----------
    X : array of shape (n, d)
    index : ndarray of int, shape (m,)

    Returns
    -------
    array of shape (m, d)
    """
    if 4 * len(index) * X.shape[1] <= LARGE_BYTES:
        return X[index]
    with np.errstate(over="ignore"):
        return in_blocks(lambda rows: np.asarray(X[index[rows]], np.float32), len(index), X.shape[1])


def in_blocks(make: Callable[[slice], np.ndarray], n: int, d: int) -> np.ndarray:
    """Make float32 rows block by block; many of them in a temporary file that nothing else can open.

    Parameters
    ----------
    make : callable
        Returns the rows of a slice, shape (its length, d).
    n, d : int

    Returns
    -------
    ndarray of float32, shape (n, d), C-contiguous

    Examples
    --------
    >>> in_blocks(lambda rows: np.full((rows.stop - rows.start, 2), 3.0), 3, 2).tolist()
    [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]
    """
    if 4 * n * d <= LARGE_BYTES:
        return np.ascontiguousarray(make(slice(0, n)), dtype=np.float32)
    # the file has no name: it is gone when the array is
    with tempfile.TemporaryFile() as file:
        out = np.memmap(file, np.float32, "w+", shape=(n, d))
    step = max(1, BLOCK_BYTES // (4 * d))
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        out[rows] = make(rows)
    return np.asarray(out)
