"""Sums of residuals under permutations within strata of near-equal confidence: their factors, variances, covariances.

A column b has a number for each row: 1 for the rows of a group and 0 for others, or, for its slope, how far the
confidence of each of its rows lies from that of the group. Its sum is T = sum over rows of w_i b~_i e_i, where e is the
residual, w how much a row counts, and b~ is b less its weighted mean in the stratum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from miscal.evidence.conditional import centred


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata, with what rows of each count and how much their residuals vary; float64 arrays of shape (n,).

    Attributes
    ----------
    stratum : int64
        Number of the stratum, 0, 1, ...
    mass : >= 0
        How much each row counts, 1 on average.
    scatter : >= 0
        Of the row's stratum: sum of squares of the centred residuals, divided by its rows less one.
    """

    stratum: np.ndarray
    mass: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, stratum: np.ndarray, residual: np.ndarray, mass: np.ndarray) -> Strata:
        """Measure how much residuals vary within strata.

        Examples
        --------
        >>> Strata.of(np.array([0, 0, 1, 1]), np.array([0.5, -0.5, 0.5, 0.5]), np.ones(4)).scatter.tolist()
        [0.5, 0.5, 0.0, 0.0]
        """
        squares = np.bincount(stratum, centred(residual, stratum) ** 2)
        return cls(stratum, mass, (squares / np.maximum(np.bincount(stratum) - 1, 1))[stratum])

    def factors(self, column: np.ndarray) -> np.ndarray:
        """Return what each residual is multiplied by in the sum of a column, (n,)."""
        return self.mass * self.centred(column)

    def centred(self, column: np.ndarray) -> np.ndarray:
        """Subtract from each number of a column the weighted mean of its stratum, (n,)."""
        return centred(column, self.stratum, self.mass)

    def sums(self, columns: csc_array, residual: np.ndarray) -> np.ndarray:
        """Return the sum of each column, (m,)."""
        return columns.T @ self.factors(residual)

    def covariances(self, columns: csc_array, column: np.ndarray) -> np.ndarray:
        """Return the covariances of the sums of all columns with that of one, (m,)."""
        return columns.T @ self.factors(self.scatter * self.factors(column))

    def variances(self, columns: csc_array) -> np.ndarray:
        """Return the variance of the sum of each column, (m,).

        With B the weighted sum of a column in a stratum, P and Q the sums of w^2 b and w^2 b^2, and U and V those of w
        and w^2 over all of its rows, the squared factors add up to Q - 2 P B / U + V (B / U)^2; where all count alike
        and b is 0 or 1, to n - n^2 / m.
        """
        total = np.maximum(np.bincount(self.stratum, self.mass), np.finfo(float).tiny)
        every, many = np.bincount(self.stratum, self.mass**2), len(total)
        scatter = np.zeros(many)
        scatter[self.stratum] = self.scatter
        scattered = self.scatter * self.mass**2
        first, second = np.empty(columns.shape[1]), np.empty(columns.shape[1])
        for place in range(columns.shape[1]):
            rows, values = stored(columns, place)
            at, weighted = self.stratum[rows], self.mass[rows] * values
            first[place] = scattered[rows] @ values**2
            mean = np.bincount(at, weighted, minlength=many) / total
            squares = np.bincount(at, self.mass[rows] * weighted, minlength=many)
            second[place] = np.sum(scatter * (2 * squares * mean - every * mean**2))
        return np.maximum(first - second, 0.0)


def stored(columns: csc_array, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a column has a number for, and these numbers.

    Examples
    --------
    >>> [part.tolist() for part in stored(csc_array([[0.0], [2.0]]), 0)]
    [[1], [2.0]]
    """
    inside = slice(columns.indptr[place], columns.indptr[place + 1])
    return columns.indices[inside], columns.data[inside]
