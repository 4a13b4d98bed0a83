"""Directions learned from earlier rows, kept as sums, so that the state of a monitor need not hold the rows.

One step of Newton's method from zero for a ridge logistic regression with an offset: with residuals r = y - p, weights
w = p (1 - p) and columns Z, the coefficients are (Z' W Z + ridge)^-1 Z' r. Sums of Z' W Z and Z' r are all it takes.
It only chooses what to bet on; whether the bet is fair does not depend on how well it was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REMEMBERED = 5_000.0
"""Rows after which what was learned counts for less than half: a change must not be outvoted by a long calm. Not tuned.
"""
EXPECTED = 0.5
"""Standard deviation in log-odds that all columns together are expected to bring; the ridge follows. Not tuned."""


@dataclass(frozen=True, eq=False)
class DirectionSums:
    """What earlier rows taught.

    Attributes
    ----------
    gram : (k, k) float64
        Sum of w z z'.
    moment : (k,) float64
        Sum of z r.
    """

    gram: Floats
    moment: Floats

    @staticmethod
    def nothing(columns: int) -> DirectionSums:
        """Nothing was seen yet."""
        return DirectionSums(np.zeros((columns, columns)), np.zeros(columns))

    def after(self, Z: Floats, residual: Floats, weight: Floats) -> DirectionSums:
        """Learn from rows.

        Parameters
        ----------
        Z : (n, k) float64
        residual : (n,) float64
            y - p.
        weight : (n,) float64
            p (1 - p).

        Returns
        -------
        DirectionSums

        Examples
        --------
        >>> taught = DirectionSums.nothing(1).after(np.ones((400, 1)), np.full(400, 0.1), np.full(400, 0.25))
        >>> taught.score(np.ones((1, 1))).round(2).tolist()
        [0.38]
        """
        kept = REMEMBERED / (REMEMBERED + len(Z))
        return DirectionSums(kept * self.gram + (Z * weight[:, None]).T @ Z, kept * self.moment + Z.T @ residual)

    def score(self, Z: Floats, skipped: int = 0) -> Floats:
        """Shift in log-odds that rows are expected to have.

        Parameters
        ----------
        Z : (n, k) float64
        skipped : int, default 0
            So many of the first columns were learned beside the others and are left out.

        Returns
        -------
        (n,) float64
            Positive: more ones than stated. 0 where nothing was learned.
        """
        k = len(self.moment)
        coefficients = np.linalg.solve(self.gram + np.eye(k) * k / EXPECTED**2, self.moment)
        return Z[:, skipped:] @ coefficients[skipped:]
