"""Sums of residuals under permutations within strata of near-equal confidence: their factors, variances, covariances.

A column b has a number for each row: 1 for the rows of a group and 0 for others, or, for its slope, how far the
confidence of each of its rows lies from that of the group. Its sum is T = sum over rows of w_i b~_i e_i, where e is the
residual, w how much a row counts, and b~ is b less its weighted mean in the stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from miscal.evidence.conditional import centred
from miscal.findings.ledger.membership import Columns


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

    @cached_property
    def total(self) -> np.ndarray:
        """Mass of each stratum, (s,), above 0."""
        return np.maximum(np.bincount(self.stratum, self.mass), np.finfo(float).tiny)

    @cached_property
    def squares(self) -> np.ndarray:
        """Sum of the squared masses of each stratum, (s,)."""
        return np.bincount(self.stratum, self.mass**2)

    @property
    def many(self) -> int:
        """Number of strata, s."""
        return len(self.total)

    def factors_at(self, rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the factors of some rows (k,) in the sum of a column that is 0 in all other rows, (k,).

        Examples
        --------
        >>> strata = Strata(np.array([0, 0, 1]), np.ones(3), np.ones(3))
        >>> strata.factors_at(np.array([0]), np.array([1.0])).tolist(), strata.factors(np.array([1.0, 0, 0])).tolist()
        ([0.5], [0.5, -0.5, 0.0])
        """
        at, mass = self.stratum[rows], self.mass[rows]
        return mass * (numbers - (np.bincount(at, mass * numbers, minlength=self.many) / self.total)[at])

    def factors(self, column: np.ndarray) -> np.ndarray:
        """Return what each residual is multiplied by in the sum of a column, (n,)."""
        return self.mass * self.centred(column)

    def centred(self, column: np.ndarray) -> np.ndarray:
        """Subtract from each number of a column the weighted mean of its stratum, (n,)."""
        return centred(column, self.stratum, self.mass)

    def sums(self, columns: Columns, residual: np.ndarray) -> np.ndarray:
        """Return the sum of each column, (m,)."""
        return columns.sums(self.factors(residual))

    def covariances(self, columns: Columns, column: np.ndarray) -> np.ndarray:
        """Return the covariances of the sums of all columns with that of one, (m,)."""
        return columns.sums(self.factors(self.scatter * self.factors(column)))

    def variances(self, columns: Columns) -> np.ndarray:
        """Return the variance of the sum of each column, (m,).

        With B the weighted sum of a column in a stratum, P and Q the sums of w^2 b and w^2 b^2, and U and V those of w
        and w^2 over all of its rows, the squared factors add up to Q - 2 P B / U + V (B / U)^2; where all count alike
        and b is 0 or 1, to n - n^2 / m.
        """
        scatter = np.zeros(self.many)
        scatter[self.stratum] = self.scatter
        first, second = columns.squared_sums(self.scatter * self.mass**2), np.empty(len(columns))
        for places, (sums, squares) in columns.by_stratum(self.stratum, (self.mass, self.mass**2)):
            mean = sums / self.total[:, None]
            second[places] = scatter @ (2 * squares * mean - self.squares[:, None] * mean**2)
        return np.maximum(first - second, 0.0)
