"""Decide which inputs single precision can hold, and which must stay in double precision until they are centred.

Single precision has 24 bits: of 3,000 seconds around 1.7e9 it keeps 29 values. Whoever computes with inputs therefore
centres and scales them first, in the precision that they have here, and narrows afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class Standard:
    """Columns that are centred and scaled before they are narrowed, where they are in double precision.

    Attributes
    ----------
    centre, spread : float64 ndarray of shape (d,)
        Means and standard deviations, 1 for constant columns; zeros and ones for columns in single precision, which
        stay as they are.
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray) -> Standard:
        """Learn centre and spread from inputs (n, d)."""
        if X.dtype != np.float64:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        spread = X.std(0)
        return cls(X.mean(0), np.where(spread > 0, spread, 1.0))

    def __call__(self, X: NDArray) -> NDArray[np.float32]:
        """Return inputs (n, d) as float32.

        >>> X = np.array([[1.7e9], [1.7e9 + 2]])
        >>> Standard.of(X)(X).ravel().tolist()
        [-1.0, 1.0]
        """
        if X.dtype != np.float64:
            return X.astype(np.float32, copy=False)
        return ((X - self.centre) / self.spread).astype(np.float32)


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
