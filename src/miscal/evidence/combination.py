"""One p-value of several tests of one hypothesis, made of the same rows.

Each p-value p is turned into a standard Cauchy variable cot(pi p), and their weighted mean is again standard Cauchy:
exactly if the tests are independent or the same, and in the tail whatever their dependence, as far as pairs of their
statistics are normal (Liu and Xie, Journal of the American Statistical Association 115, 2020). Bonferroni's adjustment
holds for any dependence, but charges twice for two tests that agree, as those of miscal do wherever there is something
to see. ``benchmarks/sharpness.py`` prints how often the combination is wrong where nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDING = 1e-5
"""Statistics nearer to each other, relative to their size, are equal: some are summed in single precision."""

_EXPONENT = 0.5
"""Of 1 / p, whose mean combines the statistics."""


def together(p_values: Sequence[float], weights: Sequence[float]) -> float:
    """Combine p-values of one hypothesis.

    Takes p_values: A p-value of 1 counts as a test that had nothing to test, and is left out; weights: how much each
    test counts. Returns float in (0, 1]: 1 where there was nothing to test.

    Examples
    --------
    >>> round(together([0.02, 0.5], [1, 1]), 3), round(together([0.02, 0.02], [1, 3]), 3), together([0.02, 1.0], [1, 3])
    (0.04, 0.02, 0.02)
    """
    tested = [(p, weight) for p, weight in zip(p_values, weights, strict=True) if p < 1]
    if len(tested) < 2:
        return tested[0][0] if tested else 1.0
    p, weight = np.array(tested).T
    mean = float(weight @ (1 / np.tan(np.pi * p)) / weight.sum())
    # the tail of a large mean keeps its digits, which 1/2 - arctan would lose
    return float(np.arctan2(1.0, mean) / np.pi)


def either(p_values: Sequence[float]) -> float:
    """Combine p-values of which one may say nothing, and be large for that reason alone.

    As :func:`together` with equal weights, but Cauchy variables below 0 count as 0, so that a p-value near 1 does not
    undo a small one (the truncated Cauchy combination: Fang, Chang, Park and Tseng, Statistica Sinica 33, 2023). Two
    normal tests at 5 % reject in 5.0 to 5.4 % of cases, whatever their correlation between 0 and 1.

    Takes p_values: at least one. Returns float in [0, 0.5].

    Examples
    --------
    >>> round(either([0.02, 1.0]), 3), round(either([0.02, 0.02]), 3), either([0.8, 0.9])
    (0.04, 0.02, 0.5)
    """
    # no p-value of draws is so small; a normal one may be 0
    kept = np.clip(p_values, np.finfo(float).tiny, 0.5)
    return float(np.arctan2(1.0, np.mean(1 / np.tan(np.pi * kept))) / np.pi)


def needed(weight: float, significance: float) -> float:
    """Return the p-value that a test needs to reject by itself, if the others say as much as chance.

    Examples
    --------
    >>> needed(1.0, 0.05), round(needed(0.5, 0.05), 4)
    (0.05, 0.0252)
    """
    if weight == 1:
        return significance
    return float(np.arctan(weight * np.tan(np.pi * significance)) / np.pi)


def rank_among_draws(statistics: Floats) -> float:
    """Combine statistics that the same draws serve, by the mean p^(-1/2) of their p-values.

    The p-value of each statistic is known for the data and for every draw alike, so the mean is too (a generalised
    mean: Vovk and Wang, Biometrika 107, 2020), and its rank among those of the draws is an exact p-value: nothing is
    lost to testing several times.

    Takes statistics (draws, k): of the data first, then of draws under the hypothesis. Returns float in (0, 1].

    Examples
    --------
    >>> rank_among_draws(np.array([[9.0, 1.0], [1.0, 1.0], [2.0, 4.0], [3.0, 0.0]]))
    0.5
    """
    surprise = surprise_among(np.sort(statistics, axis=0), statistics)
    return float(np.mean(surprise >= surprise[0] * (1 - 1e-12)))


def surprise_among(null: Floats, statistics: Floats) -> Floats:
    """Sum of p^(-1/2) over several statistics, p the share of draws that are as large.

    Takes null (draws, k): each column sorted; statistics (n, k): those larger than all draws count as large as the
    largest. Returns (n,) float64.

    Examples
    --------
    >>> surprise_among(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[4.0], [0.0], [9.0]])).tolist()
    [2.0, 1.0, 2.0]
    """
    draws = len(null)
    # how many draws are smaller
    below = [
        np.searchsorted(known, column * (1 - _ROUNDING), side="left")
        for known, column in zip(null.T, statistics.T, strict=True)
    ]
    return np.sum((draws / (draws - np.minimum(below, draws - 1))) ** _EXPONENT, axis=0)
