"""Intervals of a mean that hold at every look together, counted by units.

Units are added look by look. The sum of their deviations from the mean is taken as normal, with the variance that is
estimated from them: an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024). Its
boundary is the normal mixture of Robbins (1970), tuned to the first look, where it is about 1.55 times as wide as an
interval of 95 % for that look alone; later it widens with the logarithm of the rows only. Of few units it is widened as
an interval by t is against one of the normal distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from miscal.evidence import settings

Floats = NDArray[np.float64]

RAREST = 1e-4
"""Confidences nearer than this to 0 or 1 are taken as this near: one outcome may not win or lose everything."""
LEAST_EVENTS = 5.0
"""Outcomes of the rarer kind that are expected, at least, before a sum is taken as normal. A convention."""

SUMS = ("rows", "units", "total", "squares", "cross", "sizes", "information", "reach", "weight", "weights")
"""What is kept of units, so that looks can be added: how many rows and units there are; sums over units of the unit's
total, its square, its product with the unit's rows and the square of these; sums over rows of the variance that the
hypothesis gives, and of its root's part that an outcome brings; and two sums that say for how many equal units they
count."""


def clipped_logit(confidence: Floats) -> Floats:
    """Log-odds of confidences, those of 0 and 1 kept finite.

    Takes confidence (n,). Returns (n,) float64 in [-9.21, 9.21].

    Examples
    --------
    >>> clipped_logit(np.array([0.5, 1.0])).round(2).tolist()
    [0.0, 9.21]
    """
    return logit(np.clip(confidence, RAREST, 1 - RAREST))


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
