"""Squared distances from rows to the points that kernels stand on, computed once for all kernels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def squared_distances(A: Array, B: Array) -> NDArray[np.float32]:
    """Squared distances between rows of A (n, p) and of B (m, p), float32 (n, m), not negative.

    Examples
    --------
    >>> squared_distances(np.zeros((1, 2), "float32"), np.float32([[3, 4]]))
    array([[25.]], dtype=float32)
    """
    # |a|^2 - 2ab + |b|^2, put together in one buffer; the factor rides on the smaller matrix
    distance = A @ (B * np.float32(-2)).T
    distance += np.einsum("ij,ij->i", A, A)[:, None]
    distance += np.einsum("ij,ij->i", B, B)
    # rounding can leave a distance of almost 0 negative; numpy is three times faster with a row than with a number
    return np.maximum(distance, np.zeros(len(B), np.float32), out=distance)


def gaussian_of(
    distance: NDArray[np.float32], sigma: float, *, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Gaussian kernel exp(-d / sigma^2) of squared distances, float32, into `out` if given.

    Examples
    --------
    >>> gaussian_of(np.float32([0.0, 1e9]), 1.0).round(3)
    array([1., 0.], dtype=float32)
    """
    exponent = np.multiply(distance, np.float32(-1 / sigma**2), out=out)
    # exp of less than -80 is 0 for us and twenty times slower to compute
    np.maximum(exponent, np.full(exponent.shape[-1], -80, np.float32), out=exponent)
    return np.exp(exponent, out=exponent)


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows that kernels stand on.

    Attributes
    ----------
    x : ndarray of shape (m, p), float32
    """

    x: NDArray[np.float32]

    @cached_property
    def key(self) -> bytes:
        """What equal rows have in common: a digest, as members that were read back hold a copy each."""
        return hashlib.blake2b(np.ascontiguousarray(self.x).data, digest_size=16).digest()


@dataclass(frozen=True, eq=False)
class Distances:
    """Squared distances of rows, table by table.

    Attributes
    ----------
    x : ndarray of shape (n, p), float32
    tables : dict
        Those computed so far, by the rows they lead to.
    """

    x: NDArray[np.float32]
    tables: dict[bytes, NDArray[np.float32]] = field(default_factory=dict)

    def to(self, rows: Placed) -> NDArray[np.float32]:
        """Squared distances to some rows, (n, m); for reading only."""
        if rows.key not in self.tables:
            self.tables[rows.key] = squared_distances(self.x, rows.x)
        return self.tables[rows.key]
