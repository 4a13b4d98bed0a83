"""Keep large inputs on disk: mapped into memory, or written to a temporary file block by block."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from miscal.base.precision import JUDGED_ROWS, held, narrowed

LARGE_BYTES = 1 << 30
"""Inputs of more bytes than this are not held in memory. Smaller ones are copied: a file may change while a run
lasts."""

BLOCK_BYTES = 1 << 26


def held_rows(X: Any) -> np.ndarray:
    """Load inputs in the precision that holds them; large ones are left in their file, or go to a temporary one.

    A large file in double precision becomes float32 where that is enough for some of its rows; what overflows
    becomes infinite, and is refused with the rest.
    """
    mapped = isinstance(X, np.memmap)
    if 4 * X.size <= LARGE_BYTES or not mapped:
        # a mapped file is always copied
        return held(np.array(X, order="C")) if mapped else held(X)
    if X.dtype == np.float32 and X.flags.c_contiguous:
        return np.asarray(X)
    with np.errstate(over="ignore"):
        return in_blocks(lambda rows: X[rows], len(X), X.shape[1], _enough(X))


def _enough(X: Any) -> np.dtype:
    """Precision that is enough for rows evenly spread over inputs."""
    return narrowed(np.nan_to_num(np.asarray(X[:: -(-len(X) // JUDGED_ROWS)]))).dtype


def chosen_rows(X: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Take rows of inputs; of large ones into a temporary file."""
    if 4 * len(index) * X.shape[1] <= LARGE_BYTES:
        return X[index]
    with np.errstate(over="ignore"):
        return in_blocks(lambda rows: X[index[rows]], len(index), X.shape[1], _enough(X))


def in_blocks(make: Callable[[slice], np.ndarray], n: int, d: int, kind: Any = np.float32) -> np.ndarray:
    """Make rows block by block; many of them in a temporary file that nothing else can open.

    `make`: returns the rows of a slice, shape (its length, d); `kind`: of what is returned.

    Examples
    --------
    >>> in_blocks(lambda rows: np.full((rows.stop - rows.start, 2), 3.0), 3, 2).tolist()
    [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]
    """
    if 4 * n * d <= LARGE_BYTES:
        return np.ascontiguousarray(make(slice(0, n)), dtype=kind)
    # the file has no name: it is gone when the array is
    with tempfile.TemporaryFile() as file:
        out = np.memmap(file, kind, "w+", shape=(n, d))
    step = max(1, BLOCK_BYTES // (4 * d))
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        out[rows] = make(rows)
    return np.asarray(out)
