"""How rare a weighted sum of squared normal numbers is: the law of what several dependent differences add up to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, log_ndtr

Floats = NDArray[np.float64]

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
