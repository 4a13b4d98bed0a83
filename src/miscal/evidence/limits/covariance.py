"""The limit of the hidden miscalibration, from the covariance of outcome and field among rows of like confidence.

The outcome is centred by mu(f), which other rows gave, and the sign of the field by its mean among rows of near-equal
confidence; errors of the two enter only as their product. s is counted only on the rows where the field is worth their
noise (:func:`counted`). The limit inverts a simulated test of the size of a shift (:func:`shift_limit`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from miscal.evidence.conditional import centred, permutation_p_value, strata
from miscal.evidence.limits.protocol import NOTHING_CLAIMED, Bound, UnseenRows
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings
from miscal.evidence.sums import bernoulli_sums, near_normal

Floats = NDArray[np.float64]


def covariance_bound(rows: UnseenRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
    """Bound E|h| by the covariance of outcome and field given the confidence (see `Limit`).

    ``p_value`` is of H0: y independent of x given f, by shuffling the field within strata. Above 1 - confidence level
    ``low`` is 0: a limit is given only where that test rejects too.
    """
    residual, field = rows.correct - rows.expected, rows.hidden
    stratum = strata(rows.confidence, settings.stratum_rows)
    size = np.bincount(stratum)[stratum]
    sign = np.sign(field) * counted(field, rows.expected, settings)
    # Centring within n rows shrinks a covariance by (n - 1) / n.
    weight = centred(sign, stratum) * size / np.maximum(size - 1, 1)
    if not np.abs(weight).max() > 1e-12:
        return NOTHING_CLAIMED
    p_value = permutation_p_value(residual, field, stratum, rng=rng, settings=settings)
    rejected = p_value <= 1 - settings.confidence_level
    limit = shift_limit(rows.correct, weight, rows.expected, rng=rng, settings=settings) if rejected else 0.0
    return Bound(float(np.clip(np.mean(weight * residual), -1, 1)), min(1.0, limit), p_value)


def counted(field: Floats, expected: Floats, settings: EvidenceSettings = EVIDENCE_DEFAULTS) -> NDArray[np.bool_]:
    """Choose the rows on which a lower limit is best sought, by field and rate alone: no test outcome is looked at.

    Rows are added in falling order of gain / variance. The gain is what the field adds to the rate (within [0, 1]);
    the variance is that of the outcome with or without the field, whichever is larger. If the field is right, the limit
    from the first m rows is sum gain - z sqrt(sum variance) on average, z the normal quantile of the confidence level,
    and with probability 80 % it is above the same expression with z + 0.84. The m that makes the latter largest is
    taken, or, where none makes it positive, the m with the largest ratio of sum gain to that root.

    Parameters
    ----------
    field : (n,) float64 in [-1, 1]
        Estimated hidden field.
    expected : (n,) float64 in [0, 1]
        E[y | f].
    settings : EvidenceSettings, optional
        Of which the confidence level and the power are used.

    Returns
    -------
    (n,) bool

    Examples
    --------
    >>> counted(np.r_[np.full(50, 0.3), np.full(950, 0.001)], np.full(1000, 0.4)).sum()
    np.int64(50)
    >>> counted(np.full(1000, 0.1), np.full(1000, 0.4)).all()
    np.True_
    """
    rate = np.clip(expected + field, 0.0, 1.0)
    gain = np.abs(rate - expected)
    variance = np.maximum(expected * (1 - expected), rate * (1 - rate))
    ratio = gain / np.maximum(variance, np.finfo(float).tiny)
    order = np.argsort(-ratio, kind="stable")
    gains, noise = np.cumsum(gain[order]), np.sqrt(np.cumsum(variance[order]))
    reached = gains - (ndtri(settings.confidence_level) + settings.z_power) * noise
    best = reached if reached.max() > 0 else gains / np.maximum(noise, np.finfo(float).tiny)
    # by the ratio, not by the place: rows that tie with the last one taken are taken too, in whatever order they come
    return ratio >= ratio[order[np.argmax(best)]]


def shift_limit(
    correct: Floats,
    weight: Floats,
    centre: Floats,
    *,
    rng: np.random.Generator,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
) -> float:
    """Lower limit of the mean of weight * (p - centre), where y ~ Bernoulli(p).

    The smallest shift of the probabilities from `centre` in the direction of the weights under which a sum as large as
    the observed one is no longer rare, by simulation. Above 5,000 rows only those are drawn whose sum is not near
    enough to normal (:func:`~miscal.evidence.sums.near_normal`); the sum of the others is taken as normal, its variance
    that under the shift or that under `centre`, the larger (where p is spread around `centre`, that under `centre` is).

    The same random numbers serve every shift that the bisection tries (common random numbers). With a uniform number
    for each row, every outcome is monotone in the shift, so the estimated tail is too and the bisection finds its one
    crossing. With fresh numbers at each step, noise would decide every step near the crossing. Above 5,000 rows the
    draws start from the same seed, which keeps most of that.

    Parameters
    ----------
    correct : (n,) float64, 0 or 1
    weight : (n,) float64
        Fixed before the outcomes.
    centre : (n,) float64 in [0, 1]
        Probabilities that the shifts are counted from.
    rng : numpy.random.Generator
    settings : EvidenceSettings, optional
        Of which the confidence level and the draws are used.

    Returns
    -------
    float >= 0
        0 if the sum is not significantly large.

    Examples
    --------
    >>> y, sign, half = np.r_[np.ones(60), np.zeros(40)], np.ones(100), np.full(100, 0.5)
    >>> low = shift_limit(y, sign, half, rng=np.random.default_rng(0))
    >>> bool(0.0 < low < 0.04)
    True
    """
    observed = float(weight @ (correct - centre))
    direction = np.sign(weight)
    # sums equal to the observed one must count as such, whatever the order of the additions
    bar = observed - 1e-9 * float(np.abs(weight).sum())
    drawn, alpha = len(weight) <= settings.drawn_rows, 1 - settings.confidence_level
    tail = (_drawn_tail if drawn else _tail)(weight, centre, bar, rng, settings)

    def shifted(size: float) -> Floats:
        return np.clip(centre + size * direction, 0.0, 1.0)

    if tail(shifted(0.0)) > alpha:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(settings.drawn_halvings if drawn else settings.halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(shifted(middle)) <= alpha else (low, middle)
    return float(np.mean(weight * (shifted(low) - centre)))


def _drawn_tail(
    weight: Floats, centre: Floats, bar: float, rng: np.random.Generator, settings: EvidenceSettings
) -> Callable[[Floats], float]:
    """P(sum weight * (y - centre) >= bar) as a function of the probabilities of y; every row is drawn, once for all."""
    n_draws = settings.n_draws
    uniform = rng.random((n_draws, len(weight)), dtype=np.float32)  # float32: up to 40 MB instead of 80

    def tail(p: Floats) -> float:
        sums = (uniform < p.astype(np.float32)) @ weight - weight @ centre
        return (1 + int(np.sum(sums >= bar))) / (1 + n_draws)

    return tail


def _tail(
    weight: Floats, centre: Floats, bar: float, rng: np.random.Generator, settings: EvidenceSettings
) -> Callable[[Floats], float]:
    """As `_drawn_tail`, but rows whose sum is near to normal are taken as normal, and need not be drawn."""
    n_draws = settings.n_draws
    # one seed for every shift: common random numbers, as far as draws of rare outcomes can share them
    seed = int(rng.integers(1 << 62))
    stated = weight**2 * centre * (1 - centre)

    def tail(p: Floats) -> float:
        variance = weight**2 * p * (1 - p)
        # E|y - p|^3 = p (1 - p) (p^2 + (1 - p)^2)
        normal = near_normal(variance, np.abs(weight) * variance * (p**2 + (1 - p) ** 2), settings)
        spread = float(np.sqrt(max(variance[normal].sum(), stated[normal].sum())))
        above = bar - float(weight @ (p - centre))
        if normal.all() and spread > 0:
            return float(ndtr(-above / spread))
        again = np.random.default_rng(seed)
        drawn = bernoulli_sums(weight[~normal], p[~normal], n_draws, again, settings)
        sums = drawn + spread * again.standard_normal(n_draws)
        return (1 + int(np.sum(sums >= above))) / (1 + n_draws)

    return tail
