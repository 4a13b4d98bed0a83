"""Intervals that hold together: those of all models and their ranks at once, and those of a mean at every look.

Of several models, what enters are the estimates and what each cluster (question) adds to the error of each: a row of
numbers for each cluster, a column for each model. Models that answered the same questions have errors that correlate;
the columns show it, and comparisons gain by it.

Errors of all models, and of all their differences, are drawn anew by giving each cluster's row a random sign or size
(multiplier bootstrap: Chernozhukov, Chetverikov and Kato, Annals of Statistics 41, 2013). The largest of their absolute
t values gives one critical value for all or, for what few questions carry, Student's quantile of the same level:
intervals and comparisons of a table are then all right at once in 95 % of tables. A model's rank lies between 1 + the
number of models that are shown to be ahead of it and the number of models less those shown to be behind it (Mogstad,
Romano, Shaikh and Wilhelm, Review of Economic Studies 91, 2024). Two models are tied where neither is shown to be ahead
of the other.

Of a mean that is looked at as rows come, units are added look by look. The sum of their deviations from the mean is
taken as normal, with the variance that is estimated from them: an asymptotic confidence sequence (Waudby-Smith, Arbour,
Sinha, Kennedy and Ramdas, 2024). Its boundary is the normal mixture of Robbins (1970), tuned to the first look, where
it is about 1.55 times as wide as an interval of 95 % for that look alone; later it widens with the logarithm of the
rows only. Of few units it is widened as an interval by t is against one of the normal distribution.
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
from miscal.evidence import settings

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


RAREST = 1e-4
"""Confidences nearer than this to 0 or 1 are taken as this near: one outcome may not win or lose everything."""
LEAST_EVENTS = 5.0
"""Outcomes of the rarer kind that are expected, at least, before a sum is taken as normal. A convention."""

SUMS = ("rows", "units", "total", "squares", "cross", "sizes", "information", "reach", "weight", "weights")
"""What is kept of units, so that looks can be added: how many rows and units there are; sums over units of the unit's
total, its square, its product with the unit's rows and the square of these; sums over rows of the variance that the
hypothesis gives, and of its root's part that an outcome brings; and two sums that say for how many equal units they
count."""


def unit_sums(residual: Floats, along: Floats, confidence: Floats, unit: NDArray[np.integer]) -> Floats:
    """Sum increments by units, so that sums of several looks can be added.

    Takes residual (n,): increments; along (n,): by how much an increment changes with the outcome; confidence (n,):
    p, the rate of outcomes that the hypothesis gives; unit (n,) int: rows with one number are one unit. Returns (10,)
    float64: As `SUMS` names them.

    Examples
    --------
    >>> found = unit_sums(np.array([0.5, 0.5, -0.5]), np.ones(3), np.full(3, 0.5), np.array([0, 0, 1]))
    >>> dict(zip(SUMS, found.tolist(), strict=True))["squares"]
    1.25
    """
    unit = np.unique(unit, return_inverse=True)[1]
    p = np.clip(confidence, RAREST, 1 - RAREST)
    variance, many, total = p * (1 - p), np.bincount(unit).astype(np.float64), np.bincount(unit, residual)
    information, reach = along**2 * variance, np.abs(along) * variance
    # rows of a unit that agree weigh as much as the square of their number
    weight = np.bincount(unit, information) * many
    return np.array([
        len(unit), len(many), total.sum(), total @ total, total @ many, many @ many, information.sum(), reach.sum(),
        weight.sum(), weight @ weight,
    ])  # fmt: skip


def looking_multiplier(error: Floats | float, ratio: Floats | float = 1.0) -> Floats:
    """How many standard errors an interval reaches to either side that holds at all looks together.

    Takes error: how often it may miss, ever; ratio: variance of the sum now over that at the look to which it is
    tuned.

    Examples
    --------
    >>> looking_multiplier(0.05).round(2), (looking_multiplier(0.05) / 1.96).round(2)
    (np.float64(3.04), np.float64(1.55))
    """
    spent = -2 * np.log(error)
    best = spent + 2.0
    for _ in range(40):
        # at the narrowest, the variance over that of the mixture is spent + log(1 + itself)
        best = spent + np.log1p(best)
    mixed = 1 / (best * ratio)
    return np.sqrt((1 + mixed) * (np.log1p(1 / mixed) + spent))


def standard_error(sums: Floats) -> Floats:
    """Return the standard error of the mean by units; at least what independent outcomes at the given rates have.

    Takes sums (..., 10). Returns (...) float64: Infinite where there are no rows.

    Examples
    --------
    >>> apart, together = np.arange(100), np.arange(100) // 50
    >>> of = lambda unit: unit_sums(np.repeat([0.5, -0.5], 50), np.ones(100), np.full(100, 0.5), unit)
    >>> standard_error(of(apart)).round(3), standard_error(of(together)).round(3)
    (np.float64(0.05), np.float64(0.5))
    """
    rows, units, total, squares, cross, sizes, information, *_ = np.moveaxis(sums, -1, 0)
    mean = total / np.maximum(rows, 1)
    seen = (squares - 2 * mean * cross + mean**2 * sizes) * units / np.maximum(units - 1, 1)
    return np.where(rows > 0, np.sqrt(np.maximum(seen, information)) / np.maximum(rows, 1), np.inf)


def running_interval(sums: Floats, first: Floats, error: Floats | float, factor: float = 1.0) -> tuple[Floats, Floats]:
    """Interval of a mean that holds at all looks together.

    Takes sums (..., 10): of all rows so far, from :func:`unit_sums`; first (..., 10): of the first look, to which the
    width is tuned; error: how often it may miss, ever. Returns mean : (...) float64; radius : (...) float64: Infinite
    with fewer than ten units of equal weight, or where fewer than five outcomes of the rarer kind are expected: then
    nothing is known.

    Examples
    --------
    >>> y = np.tile([1.0, 0.0], 50)
    >>> sums = unit_sums(y - 0.5, np.ones(100), np.full(100, 0.5), np.arange(100))
    >>> mean, radius = running_interval(sums, sums, 0.05)
    >>> float(mean), float(radius.round(3))
    (0.0, 0.157)
    """
    from scipy.stats import norm, t

    rows, _, total, *_, information, reach, weight, weights = np.moveaxis(sums, -1, 0)
    now, tuned = standard_error(sums), standard_error(first)
    still = (information == 0) & (rows > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective, events = weight**2 / weights, reach**2 / information
        ratio = np.maximum((now * rows / (tuned * first[..., 0])) ** 2, 1.0)
        enough = (effective >= settings.LEAST_UNITS) & (events >= LEAST_EVENTS)
        tail = norm.sf(looking_multiplier(error, np.where(np.isfinite(ratio), ratio, 1.0)))
        radius = t.isf(tail, np.where(enough, effective - 1, 1.0)) * now * factor
    return total / np.maximum(rows, 1), np.where(still, 0.0, np.where(enough, radius, np.inf))
