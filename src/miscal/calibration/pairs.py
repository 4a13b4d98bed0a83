"""Pairs of groups of two columns: which stand out by themselves, and beside both groups that they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BESIDE = 2.5
"""Standard score that a pair of small groups needs beside both of them, less of larger ones: a group that is off takes
all of its pairs along, few of which say more than it does. Not tuned."""
_LEFT = 0.05
"""Share of a pair's variance that its groups must leave."""


def pair_scores(total: Floats, known: Floats, rising: tuple[bool, bool] = (False, False)) -> Floats:
    """Return the standard score of each pair against all other rows; 0 where it has none given both of its groups.

    `total, known`, (k1, k2): sums of residuals, and of their variances, over the rows of each cell of two columns, as
    if all rows were independent. `rising`: of which column a group is not a cell, but all cells from one on.

    Examples
    --------
    >>> pair_scores(np.array([[24.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.full((2, 3), 25.0)).round(1).tolist()
    [[4.4, 0.0, 0.0], [-0.9, 0.0, 0.0]]
    """
    every = known.sum()
    t, v = (
        [from_one_on(part, rising) for part in (some, some.sum(1, keepdims=True), some.sum(0, keepdims=True))]
        for some in (total - total.sum() / every * known, known)
    )
    # a pair is what its two groups share, so that its sum has their covariance, too
    own, one, two = (some * (1 - some / every) for some in v)
    both, left, right = v[0] - v[1] * v[2] / every, v[0] * (1 - v[1] / every), v[0] * (1 - v[2] / every)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (left * two - right * both) / (one * two - both**2), (right * one - left * both) / (one * two - both**2)
        rest = own - a * left - b * right
        z, beside = t[0] / np.sqrt(own), (t[0] - a * t[1] - b * t[2]) / np.sqrt(rest)
        return np.where((rest > _LEFT * own) & (beside * np.sign(z) >= BESIDE * np.sqrt(rest / own)), z, 0.0)


def from_one_on(sums: NDArray[Any], rising: tuple[bool, bool]) -> NDArray[Any]:
    """Add up sums from each cell of a column on, where it is rising.

    Examples
    --------
    >>> from_one_on(np.array([[1, 2], [3, 4]]), (False, True)).tolist()
    [[3, 2], [7, 4]]
    """
    for axis, asked in enumerate(rising):
        if asked:
            sums = np.flip(np.flip(sums, axis).cumsum(axis), axis) if sums.shape[axis] > 1 else sums
    return sums
