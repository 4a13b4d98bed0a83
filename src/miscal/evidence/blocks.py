"""Rows that are tested one block after another, each by a field learned from the blocks before it.

Every row may be evaluated and the test stays exact, because of what is fixed when. The rows come in blocks, in an order
that no outcome chose. The field of a block is learned from earlier blocks (and from rows that are never tested). Once
these are known, the field is fixed and the outcomes of the block are not. So a test of the block alone has a p-value
p_b that is uniform if the hypothesis is true. z_b = Phi^-1(1 - p_b) is then standard normal given the past, and the
blocks are added up as

    Z = sum w_b z_b,    sum w_b^2 = 1.

The weights may depend on the past, as long as they spend a fixed budget: block b takes the share q_b of what the blocks
before it have left. By induction from the last block to the first, E exp(tZ) = exp(t^2 / 2), so Z is standard normal
however cleverly the shares are chosen: what is spent later is known to add up to the rest.

A block takes nothing where its field claims nothing, which is known before its outcomes (or from what the test of the
block holds fixed, such as how many outcomes of each kind a stratum has). Else its share is g_b / (g_b + g_b+1 + ...),
g = rows of the block times the rows learned from before it: the expected z_b grows with the root of both, and weights
in proportion to what is expected have the most power.

The budget has to be spent. A field that claims nothing once it is ahead would win twice as often as it should (the sum
is a random walk, which passes a bar twice as often as it ends above it). So what no block has taken goes to a normal
number that means nothing. It is needed only where the last blocks claim nothing although earlier ones did. It is not
drawn: the p-value is its mean over all such numbers, so that it does not hang on a coin. (The mean is no longer exactly
uniform. Of fields that stop claiming once they are ahead by whatever bar, none was rejected in over 5.3 % at 5 %.)

Half of the ties count as larger (the mid-p-value), or a block with few informative rows, whose p-value is often exactly
1, would silence all others. Broken at random, they would make the p-value uniform, and different for each seed.

Several tests of one hypothesis, made of the same rows, give one p-value.
Each p-value p is turned into a standard Cauchy variable cot(pi p), and their weighted mean is again standard Cauchy:
exactly if the tests are independent or the same, and in the tail whatever their dependence, as far as pairs of their
statistics are normal (Liu and Xie, Journal of the American Statistical Association 115, 2020). Bonferroni's adjustment
holds for any dependence, but charges twice for two tests that agree, as those of miscal do wherever there is something
to see. ``benchmarks/small.py`` prints how often the combination is wrong where nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

MID = 0.5
"""How much of a tie counts as larger in one of several blocks."""


@dataclass(frozen=True, eq=False)
class Budget:
    """How much each block counts.

    Attributes
    ----------
    weight : (b,) float64 >= 0
        Of each block's z; the squares and `rest` squared add up to 1.
    rest : float in [0, 1]
        Weight of a normal number that means nothing.
    """

    weight: Floats
    rest: float

    def p_value(self, p_values: Sequence[float]) -> float:
        """Combine the blocks' p-values into one.

        Takes p_values: one for each block, uniform given the past. Returns float in [0, 1].
        """
        # -log would lose what is near to 1; ndtri(p) = -ndtri(1 - p) keeps all digits of a small p
        used = self.weight > 0
        total = -float(self.weight[used] @ ndtri(np.asarray(p_values)[used]))
        # the mean of ndtr(-(total + rest * coin)) over a standard normal coin
        return float(ndtr(-total / np.sqrt(1 + self.rest**2)))


def spend(rows: Sequence[int], claims: Sequence[bool]) -> Budget:
    """Share out the budget over the blocks.

    Takes rows: rows of each block, in turn; claims: whether the field of each block claims anything there.

    Examples
    --------
    >>> (spend([100, 100, 100], [True, True, True]).weight ** 2).round(3).tolist()
    [0.167, 0.333, 0.5]
    >>> budget = spend([100, 100, 100], [True, True, False])
    >>> (budget.weight**2).round(3).tolist(), round(budget.rest**2, 3)
    ([0.167, 0.333, 0.0], 0.5)
    """
    size = np.asarray(rows, dtype=np.float64)
    expected = size * np.cumsum(size)
    share = np.where(np.asarray(claims), expected / np.cumsum(expected[::-1])[::-1], 0.0)
    left = np.cumprod(1.0 - share)
    return Budget(np.sqrt(share * np.r_[1.0, left[:-1]]), float(np.sqrt(left[-1])))


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
