"""Test whether outcomes of rows that share a value hang together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def intraclass_score(residual: Floats, unit: Ints) -> float:
    """Score of the intraclass correlation, over its standard error where rows are independent.

    T = sum over units of (sum e)^2 - sum e^2 adds up the products of the residuals of two rows of a unit: the score of
    a random intercept for each unit (Jacqmin-Gadda and Commenges, Biometrics 51, 1995). Where rows are independent its
    variance is that of the products, 2 ((sum e^2)^2 - sum e^4) added up over units.

    Takes residual (n,): outcome less its rate, as units that do not hold the row have taught it; unit (n,) int64:
    number of each row's unit, from 0. Returns float: About standard normal where rows are independent.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(50), 20)
    >>> e = (rng.random(1000) < np.repeat(rng.uniform(0.2, 0.8, 50), 20)) - 0.5
    >>> bool(intraclass_score(e, day) > 6), bool(intraclass_score(e, rng.permutation(day)) < 3)
    (True, True)
    """
    sums, squares, fourth = (np.bincount(unit, residual**power) for power in (1, 2, 4))
    variance = float(2 * np.sum(squares**2 - fourth))
    return float(np.sum(sums**2 - squares)) / np.sqrt(variance) if variance > 0 else 0.0


def widening(residual: Floats, unit: Ints) -> float:
    """How many times as wide the interval of a mean is by units as by rows, as the residuals show it; 0 or more.

    Examples
    --------
    >>> widening(np.array([0.5, 0.5, -0.5, -0.5]), np.array([0, 0, 1, 1]))
    1.4142135623730951
    """
    sums = np.bincount(unit, residual)
    return float(np.sqrt(sums @ sums / max(float(residual @ residual), np.finfo(float).tiny)))
