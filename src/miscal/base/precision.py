"""Keep inputs in the precision that holds them, and large ones on disk.

Single precision has 24 bits: of 3,000 seconds around 1.7e9 it keeps 29 values. Whoever computes with inputs therefore
centres and scales them first, in the precision that they have here, and narrows afterwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import row_blocks
from miscal.base.folds import row_groups

LARGEST_SINGLE = 1e15
"""Numbers beyond it are not held in single precision: sums of their squares would leave its range."""

JUDGED_ROWS = 10_000
_LEAST_KEPT = 0.99
"""Share of a column's distinct values that must stay distinct. Of 10,000 rows of a continuous column about 0.03 % do
not, since some lie very close together by chance; where numbers are large beside their spread, nearly all do not."""


def held(X: NDArray) -> NDArray[np.floating]:
    """Return numbers in the precision that holds them, whatever they are, C-contiguous: float32 or float64.

    >>> held(np.zeros((1, 1), np.float16)).dtype, held(np.zeros((1, 1), int)).dtype
    (dtype('float32'), dtype('float64'))
    """
    small = X.dtype.itemsize < 4 or (X.dtype.kind == "f" and X.dtype.itemsize == 4)
    return np.ascontiguousarray(X, dtype=np.float32 if small else np.float64)


def narrowed(X: NDArray) -> NDArray[np.floating]:
    """Return inputs in single precision where that tells apart what they tell apart, else in double precision.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite numbers.

    Returns
    -------
    ndarray of shape (n, d), float32 or float64, C-contiguous
        float64 if single precision would make two different rows equal, merge more than 1 % of the distinct values of
        a column (judged on 10,000 rows), or hold a number beyond 1e15. Shares memory with `X` where nothing changes.

    >>> narrowed(np.array([[0.1], [0.2]])).dtype, narrowed(np.array([[1.7e9], [1.7e9 + 1]])).dtype
    (dtype('float32'), dtype('float64'))
    """
    if X.dtype.itemsize < 4 or X.dtype.kind == "b":
        return np.ascontiguousarray(X, dtype=np.float32)
    if any(max(float(X[rows].max()), -float(X[rows].min())) > LARGEST_SINGLE for rows in row_blocks(*X.shape)):
        return np.ascontiguousarray(X, dtype=np.float64)
    single = np.ascontiguousarray(X, dtype=np.float32)
    if X.dtype == np.float32 or np.array_equal(single, X):
        return single
    double = np.ascontiguousarray(X, dtype=np.float64)
    return double if len(merged_columns(double)) or _merges_rows(double, single) else single


def merged_columns(X: NDArray[np.float64]) -> NDArray[np.intp]:
    """Find the columns that single precision does not hold.

    Parameters
    ----------
    X : float64 ndarray of shape (n, d)
        Finite.

    Returns
    -------
    ndarray of int
        Numbers of the columns of which over 1 % of the distinct values would become equal, judged on at most 10,000
        rows; in rising order.

    >>> merged_columns(np.array([[0.1, 1.7e9], [0.2, 1.7e9 + 1]])).tolist()
    [1]
    """
    some = X[:: -(-len(X) // JUDGED_ROWS)]
    kept = [_kept(some[:, columns]) for columns in row_blocks(*some.T.shape)]
    return np.flatnonzero(np.concatenate(kept) < _LEAST_KEPT)


def _kept(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the distinct values of each column that single precision tells apart, (d,)."""
    # a smaller number is never rounded to a larger one, so that what is sorted stays sorted
    ordered = np.sort(columns.T, axis=1)
    single, double = (1 + (one[:, 1:] != one[:, :-1]).sum(1) for one in (ordered.astype(np.float32), ordered))
    return single / double


def _merges_rows(double: NDArray[np.float64], single: NDArray[np.float32]) -> bool:
    """Tell whether rows that differ become equal."""
    number = row_groups(single)
    first = np.unique(number, return_index=True)[1][number]
    again = np.flatnonzero(first != np.arange(len(first)))
    blocks = (again[some] for some in row_blocks(len(again), double.shape[1]))
    return any((double[rows] != double[first[rows]]).any() for rows in blocks)


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
