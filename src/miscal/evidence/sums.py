"""Sums of many independent parts: which of the parts may be taken as normal, and draws of those that may not.

A sum of many rows is not normal if few of them decide it: rare outcomes, or a field that is large on few rows. How far
it can be from normal is bounded, up to a constant, by sum E|part|^3 / variance^1.5 (Berry 1941, Esseen 1942; for
shuffles, whose parts are the products of the pairs, Bolthausen, Z. Wahrsch. verw. Gebiete 66, 1984). Where that is
small for some of the parts, these may be replaced by one normal variable whatever the others are: adding an
independent variable to two others brings their laws no further apart. The others are drawn, exactly.

The tail of a sum of many rows, near to normal or not, and that of squares of dependent normal numbers are known by the
saddlepoint (:func:`bernoulli_tail`, :func:`chi_squares_p_value`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, expit, log_ndtr, logit

from miscal.evidence import settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def near_normal(variance: Floats, third: Floats) -> NDArray[np.bool_]:
    """Choose those parts of a sum, the lightest-tailed first, that add up to something normal.

    Parts are added in rising order of third / variance, for as long as sum third <= 0.03 (sum variance)^1.5.

    Takes variance (n,): of each part; third (n,): E|part|^3, or its sum over the rows of a part that has several.
    Returns (n,) bool: True for the parts whose sum is near enough to normal.

    Examples
    --------
    >>> near_normal(np.r_[np.ones(5000), 100.0], np.r_[np.full(5000, 1.6), 1e4]).sum()
    np.int64(5000)
    >>> near_normal(np.ones(100), np.full(100, 1.6)).any()
    np.False_
    """
    order = np.argsort(third / np.maximum(variance, np.finfo(float).tiny), kind="stable")
    fits = np.cumsum(third[order]) <= settings.NORMAL_RATIO * np.cumsum(variance[order]) ** 1.5
    chosen = np.zeros(len(order), dtype=np.bool_)
    # the last prefix that fits, not the first that does not: one heavy part may be outweighed by the many after it
    chosen[order[: len(fits) - int(np.argmax(fits[::-1]))]] = fits.any()
    return chosen


def bernoulli_sums(weight: Floats, probability: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw from the law of sum weight * (y - probability), y ~ Bernoulli(probability) independent.

    Exact. Only the rarer of the two outcomes is drawn, so time goes with the sum of min(p, 1 - p), not with the rows.

    Takes weight (n,); probability (n,). Returns (n_draws,) float64.

    Examples
    --------
    >>> drawn = bernoulli_sums(np.ones(10_000), np.full(10_000, 1e-4), 2_000, np.random.default_rng(0))
    >>> bool(abs(drawn.mean()) < 0.1), bool(abs(drawn.var() - 1) < 0.2)
    (True, True)
    """
    often = probability > 0.5
    # where 1 is the likelier outcome its absence is drawn: y - p = -((1 - y) - (1 - p))
    rare, weight = np.where(often, 1 - probability, probability), np.where(often, -weight, weight)
    # the value without any hit; each hit adds its weight
    sums = np.full(n_draws, -float(weight @ rare))
    # By octaves: every rare is at least half the largest of its octave, so at least half of the hits below are kept.
    octave = np.maximum(np.frexp(rare)[1], settings.LEAST_OCTAVE)
    for value in np.unique(octave[rare > 0]):
        rows = np.flatnonzero(octave == value)
        largest = float(rare[rows].max())
        step = int(np.ceil(settings.DRAWS_IN_MEMORY / (largest * len(rows) + 1)))
        for start in range(0, n_draws, step):
            number = min(step, n_draws - start)
            draw, row = np.divmod(_hits(number * len(rows), largest, rng), len(rows))
            row = rows[row]
            # thinning: hits were drawn at the largest rate of the octave; each row keeps its own share of them
            hit = rng.random(len(row)) * largest < rare[row]
            sums[start : start + number] += np.bincount(draw[hit], weight[row[hit]], minlength=number)
    return sums


def _hits(trials: int, probability: float, rng: np.random.Generator) -> Ints:
    """Which of so many independent trials succeed: the gaps between successes are geometric."""
    mean = trials * probability
    # six standard deviations more than expected: a second round is hardly ever needed
    size = int(mean + 6 * np.sqrt(mean) + 16)
    at = np.array([-1])
    while at[-1] < trials:
        gaps = np.minimum(rng.geometric(probability, size), trials + 1)  # one so long ends it; their sum stays in range
        at = np.r_[at, at[-1] + np.cumsum(gaps)]
    return at[1 : np.searchsorted(at, trials)]


_FARTHEST_TILT = 200.0
"""In standard deviations of the sum: beyond it, every outcome is 0 or 1 for all practical purposes."""


def has_steps(weight: Floats, probability: Floats, variance: float = 0.0) -> bool:
    """Tell whether sum weight * (y - probability) + noise moves in steps that its saddlepoint does not see.

    Of a sum with steps of size h, |E exp(i t sum)| is 1 at t = 2 pi / h, and of one without it is small. What is there
    at t makes the tail wave by as much as steps of size 2 pi / t, times its size (Fourier inversion). Looked at is
    every t from half of where steps as large as the largest weight would show.

    Takes weight (n,); probability (n,) in [0, 1]; variance: of the noise, which is normal and independent.

    Examples
    --------
    >>> half, one = np.full(400, 0.5), np.ones(400)
    >>> has_steps(one, half), has_steps(np.linspace(0.5, 1, 400), half), has_steps(one, half, variance=1.0)
    (True, False, False)
    """
    spread = float(np.sqrt(weight**2 @ (probability * (1 - probability)) + variance))
    heaviest = float(np.abs(weight).max(initial=0.0))
    if heaviest == 0 or spread == 0:
        return False
    finest = 2 * np.pi / (settings.MOST_STEP * spread)
    # waves are as narrow as 1 / spread
    for t in np.arange(np.pi / heaviest, finest, 0.5 / spread):
        size = 1 - 2 * probability * (1 - probability) * (1 - np.cos(t * weight))
        logarithm = float(np.log(np.maximum(size, np.finfo(float).tiny)).sum()) / 2 - variance * t**2 / 2
        if logarithm > np.log(t / finest):
            return True
    return False


def bernoulli_tail(
    weight: Floats, probability: Floats, above: float, variance: float = 0.0, count: Floats | None = None
) -> float:
    """P(sum weight * (y - probability) + noise >= above), y ~ Bernoulli(probability) independent, by the saddlepoint.

    The tail is that of the standard normal law at w + log(u / w) / w, with the usual two numbers of the saddlepoint
    (Lugannani and Rice, 1980; Barndorff-Nielsen, 1986). Where all weights are alike the sum has steps, of which it
    counts the one at `above` by half: its error is then up to half a step, in standard deviations of the sum.

    Takes weight (n,); probability (n,) in [0, 1]; variance: of the noise, which is normal and independent; count (n,):
    how many outcomes have each weight and probability, one by default. Returns float in (0, 1).

    Examples
    --------
    >>> half = np.full(100, 0.5)
    >>> round(bernoulli_tail(np.ones(100), half, 10.0), 4)  # exact, with half of the step at 60: 0.0230
    0.0227
    """
    inner = (weight != 0) & (probability > 0) & (probability < 1)
    number = 1.0 if count is None else count[inner]
    weight, chance = weight[inner], probability[inner]
    whole = weight * number
    spread = float(np.sqrt(np.sum(whole * weight * chance * (1 - chance)) + variance))
    if spread == 0:
        return 1.0 if above <= 0 else np.finfo(float).tiny
    if abs(above) < _NEAR_MEAN * spread:
        above = -_NEAR_MEAN * spread
    odds, middle = logit(chance), float(whole @ chance)

    def left(tilt: float) -> float:
        t = tilt / spread
        return float(whole @ expit(odds + t * weight)) - middle + variance * t - above

    if left(-_FARTHEST_TILT) >= 0 or left(_FARTHEST_TILT) <= 0:
        # the sum is at the end of what it can be: the normal law of a wider sum is no smaller
        return float(np.exp(log_ndtr(-above / spread)))
    t = float(brentq(left, -_FARTHEST_TILT, _FARTHEST_TILT, xtol=1e-9)) / spread
    tilted = expit(odds + t * weight)
    generating = float(np.sum(number * np.log1p(chance * np.expm1(t * weight)))) - t * middle + variance * t**2 / 2
    w = np.sign(t) * np.sqrt(max(2 * (t * above - generating), 0.0))
    u = t * np.sqrt(float(np.sum(whole * weight * tilted * (1 - tilted))) + variance)
    star = w + np.log(u / w) / w if abs(w) > _NEAR_MEAN else w
    return float(np.clip(np.exp(log_ndtr(-star)), np.finfo(float).tiny, 1.0))


_LEAST = 1e-9
"""Weights below this part of the largest are rounding."""
_NEAR_MEAN = 1e-3
"""Distance from the mean, in standard deviations, within which the saddlepoint is too near 0 to divide by."""


def chi_squares_p_value(total: float, weights: Floats) -> float:
    """P(sum of weights times squared independent standard normal numbers >= total), by the saddlepoint.

    With K(t) = -1/2 sum log(1 - 2 t w), K'(t) = total / largest weight, and w and u the usual two numbers of the
    saddlepoint, the tail is that of the standard normal law at w + log(u / w) / w (Kuonen, "Saddlepoint approximations
    for distributions of quadratic forms in normal variables", Biometrika 86, 1999). Of equal weights it is exact.

    Takes weights (k,): those that are not above 0 are left out: an estimated covariance may have such eigenvalues.
    Returns float: In (0, 1].

    Examples
    --------
    >>> round(chi_squares_p_value(3.841459, np.ones(1)), 4)
    0.05
    >>> round(chi_squares_p_value(20.0, np.array([3.0, 1.0, 1.0])), 4)
    0.0165
    """
    weights = weights[weights > _LEAST * max(float(weights.max(initial=0.0)), 0.0)]
    if len(weights) == 0 or total <= 0:
        return 1.0
    scale = float(weights.max())
    weights, total = weights / scale, total / scale
    if np.ptp(weights) < _LEAST:
        return max(float(chdtrc(len(weights), total)), np.finfo(float).tiny)
    mean, spread = float(weights.sum()), float(np.sqrt(2 * np.sum(weights**2)))
    if abs(total - mean) < _NEAR_MEAN * spread:
        total = mean + _NEAR_MEAN * spread
    slope = lambda t: float(np.sum(weights / (1 - 2 * t * weights))) - total  # noqa: E731
    # each weight alone bounds t from above, and all together, at least `total` of them, from below
    low = min(-1.0, (1 - len(weights) / total) / 2 / float(weights.min())) - 1.0
    t = float(brentq(slope, low, 0.5 * (1 - 1e-15), xtol=1e-15, rtol=1e-14))
    generating = -float(np.sum(np.log1p(-2 * t * weights))) / 2
    w = np.sign(t) * np.sqrt(max(2 * (t * total - generating), 0.0))
    u = t * np.sqrt(2 * float(np.sum((weights / (1 - 2 * t * weights)) ** 2)))
    return float(np.clip(np.exp(log_ndtr(-(w + np.log(u / w) / w))), np.finfo(float).tiny, 1.0))
