"""Rank several models by a mean, with intervals that hold all at once, and call a tie a tie.

What enters are the estimates and what each cluster (question) adds to the error of each: a row of numbers for each
cluster, a column for each model. Models that answered the same questions have errors that correlate; the columns show
it, and comparisons gain by it.

Errors of all models, and of all their differences, are drawn anew by giving each cluster's row a random sign or size
(multiplier bootstrap: Chernozhukov, Chetverikov and Kato, Annals of Statistics 41, 2013). The largest of their absolute
t values gives one critical value for all or, for what few questions carry, Student's quantile of the same level:
intervals and comparisons of a table are then all right at once in 95 % of tables. A model's rank lies between 1 + the
number of models that are shown to be ahead of it and the number of models less those shown to be behind it (Mogstad,
Romano, Shaikh and Wilhelm, Review of Economic Studies 91, 2024). Two models are tied where neither is shown to be ahead
of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri, stdtrit

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import equal_parts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 1_999
"""Draws of the errors: the critical value is known to about 0.02. Not tuned."""
IN_MEMORY = 1 << 22
"""Numbers that a block of draws holds (memory against calls). Not tuned."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Estimates of m models, what is known of each, of each pair, and of their ranks, all at once at 95 %.

    Attributes
    ----------
    estimate : (m,) float64
    low, high : (m,) float64
        Simultaneous intervals.
    difference : (m, m) float64
        Estimate of the row's model less that of the column's.
    difference_low, difference_high : (m, m) float64
        Simultaneous intervals of all differences; 0 on the diagonal.
    ahead : (m, m) bool
        Whether the row's model is shown to be ahead of the column's.
    best_rank, worst_rank : (m,) int64
        Ranks that the model may have, 1 the best; all of these intervals hold in 95 % of tables.
    """

    estimate: Floats
    low: Floats
    high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    ahead: NDArray[np.bool_]
    best_rank: Ints
    worst_rank: Ints

    def tied(self, one: int, other: int) -> bool:
        """Whether neither of two models is shown to be ahead of the other.

        Examples
        --------
        >>> found = rank([0.5, 0.5], np.tile([[0.01], [-0.01]], (50, 2)) * [1, -1])
        >>> found.tied(0, 1)
        True
        """
        return not (self.ahead[one, other] or self.ahead[other, one])


def rank(
    estimate: Floats,
    influence: Floats,
    *,
    higher_is_better: bool = True,
    n_draws: int = DRAWS,
    random_state: int | np.random.Generator = 0,
) -> Ranking:
    """Rank models.

    Takes estimate (m,): one number for each model: a rate, a calibration error, a log loss; influence (c, m):
    what each cluster adds to the error of each estimate; higher_is_better: false for losses and errors.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((400, 3)) < [0.8, 0.5, 0.5]
    >>> mean = right.mean(0)
    >>> found = rank(mean, (right - mean) / 400)
    >>> found.best_rank.tolist(), found.worst_rank.tolist(), found.tied(1, 2)
    ([1, 2, 2], [1, 3, 3], True)
    """
    estimate, influence = np.asarray(estimate, np.float64), np.asarray(influence, np.float64)
    m, rng = len(estimate), np.random.default_rng(random_state)
    first, second = np.triu_indices(m, 1)
    error, clusters = standard_errors(influence)
    pair_error, pair_clusters = _of_differences(influence, first, second)
    all_at_once, paired = _largest(influence, first, second, error, pair_error, n_draws, rng)
    own = student(all_at_once, clusters)
    low, high = estimate - own * error, estimate + own * error
    pair_margin = np.zeros((m, m))
    pair_margin[first, second] = pair_margin[second, first] = student(paired, pair_clusters) * pair_error
    difference = estimate[:, None] - estimate[None, :]
    below, above = difference - pair_margin, difference + pair_margin
    ahead = (below > 0) if higher_is_better else (above < 0)
    return Ranking(
        estimate, low, high, difference, below, above, ahead,
        1 + ahead.sum(0).astype(np.int64), m - ahead.sum(1).astype(np.int64),
    )  # fmt: skip


def _of_differences(influence: Floats, first: Ints, second: Ints) -> tuple[Floats, Floats]:
    """Return the standard errors of differences, and the clusters that carry them."""
    error, clusters = np.empty(len(first)), np.empty(len(first))
    for at in np.array_split(np.arange(len(first)), 1 + influence.shape[0] * len(first) // IN_MEMORY):
        error[at], clusters[at] = standard_errors(influence[:, first[at]] - influence[:, second[at]])
    return error, clusters


def _largest(
    influence: Floats, first: Ints, second: Ints, error: Floats, pair_error: Floats, n_draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """Critical values: 95 % quantiles of the largest absolute t value of all models, and of all pairs."""
    moving, apart = error > 0, pair_error > 0
    own, paired = [], []
    for drawn in error_draws(influence, n_draws, rng, len(first)):
        if moving.any():
            own.append(np.max(np.abs(drawn[:, moving]) / error[moving], axis=1))
        if apart.any():
            differences = drawn[:, first[apart]] - drawn[:, second[apart]]
            paired.append(np.max(np.abs(differences) / pair_error[apart], axis=1))
    return tuple(critical_value(draws) if draws else float(ndtri(0.975)) for draws in (own, paired))


def standard_errors(influence: Floats) -> tuple[Floats, Floats]:
    """Return the standard error of each estimate, and of how many equal clusters it is as well known as by these.

    Takes influence (c, k): what each of c clusters adds to the error of each of k estimates.

    Examples
    --------
    >>> error, clusters = standard_errors(np.full((100, 1), 0.01))
    >>> error.round(2).tolist(), clusters.round().tolist()
    ([0.1], [100.0])
    """
    squares = influence**2
    return np.sqrt(squares.sum(0)), equal_parts(squares)


def student(critical: float, clusters: Floats) -> Floats:
    """Return Student's quantiles in place of a normal one, at the same level: what few clusters cost.

    The ratio of the two grows with the level: an allowance at 95 % is too small for the largest of many t values.

    Takes critical: critical value if errors were known; clusters (k,): as :func:`standard_errors` counts them.

    Examples
    --------
    >>> student(1.96, np.array([15.0, 1e9])).round(2).tolist(), student(3.4, np.array([15.0, 1e9])).round(2).tolist()
    ([2.14, 1.96], [4.34, 3.4])
    """
    return -stdtrit(np.maximum(clusters - 1.0, 1.0), ndtr(-critical))


def error_draws(
    influence: Floats | csr_array, n_draws: int, rng: np.random.Generator, width: int = 1
) -> Iterator[Floats]:
    """Draw the errors of all estimates together, in blocks of shape (some draws, k).

    Takes influence (c, k): as for :func:`standard_errors`, or a sparse array of it; width: numbers that the caller
    makes of each draw, which the size of a block allows for.

    Examples
    --------
    >>> drawn = np.concatenate(list(error_draws(np.full((100, 1), 0.01), 5000, np.random.default_rng(0))))
    >>> drawn.shape, bool(abs(drawn.std() - 0.1) < 0.005)
    ((5000, 1), True)
    """
    step = max(1, IN_MEMORY // max(influence.shape[0], width, 1))
    for start in range(0, n_draws, step):
        yield rng.standard_normal((min(step, n_draws - start), influence.shape[0])) @ influence


def simultaneous_margins(influence: Floats) -> Floats:
    """Half-widths of intervals that hold for all estimates at once in 95 % of tables.

    Takes influence (c, k): as for :func:`standard_errors`. Returns (k,) float64: 0 where all clusters are alike.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(400, 20)) / 400
    >>> margins = simultaneous_margins(noise)
    >>> bool(np.all(margins > 2.5 * standard_errors(noise)[0]))  # one estimate alone would take 1.96
    True
    """
    error, clusters = standard_errors(influence)
    moving = error > 0
    if not moving.any():
        return error
    rng, own = np.random.default_rng(0), error[moving]
    largest = [np.max(np.abs(drawn) / own, axis=1) for drawn in error_draws(influence[:, moving], DRAWS, rng)]
    return student(critical_value(largest), clusters) * error


def critical_value(largest: list[Floats]) -> float:
    """Return the 95 % quantile of the largest absolute t values of blocks of draws.

    Examples
    --------
    >>> critical_value([np.arange(0, 51), np.arange(51, 101)])
    95.0
    """
    return float(np.quantile(np.concatenate(largest), CONFIDENCE_LEVEL))
