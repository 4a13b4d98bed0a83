"""The paper's readout without its learned geometry: residuals smoothed over the inputs themselves.

Bank, kernel, choice of the bandwidth by the proxy, and the range-aware correction are those of the paper's field; the
coordinates are not, and here every row keeps its kernel average, however small its mass, as in the learned geometry
with ``min_mass=0``. (The baseline ``raw_kernel`` is another thing: it smooths all rows, may map the
confidence first, and chooses by log loss.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miscal.estimators.kernel import median_distance, smooth
from miscal.estimators.paper.correction import choose_alpha, range_aware

SCALES = tuple(float(scale) for scale in np.geomspace(0.125, 2.0, 9))
"""Bandwidths tried, in units of the median distance between two rows of the bank, in steps of sqrt(2).

The paper gives none for raw inputs, whose unit is arbitrary: its own grid (0.05 to 1) is for vectors of unit length,
and far below all distances between hidden states. At 1/8 of the median distance a row so far away has the weight
exp(-64), just above the floor of the kernel, exp(-80); below, most averages would rest on that floor. At twice the
median distance it has the weight 0.78, and the field is all but the mean residual. Not tuned."""


@dataclass(frozen=True, eq=False)
class RawField:
    """Residuals smoothed over the inputs.

    Attributes
    ----------
    bank : float array of shape (b, d)
        Inputs of the rows that are averaged.
    residual : float array of shape (b,)
        Their residuals y - f; positive: under-confident.
    weight : float array of shape (b,), or None
        Their weights.
    sigma : float
        Bandwidth, in units of the inputs.
    alpha : float
        Scale of the range-aware correction.
    proxy : float
        Validation Brier score of f + delta, unclipped, at the chosen bandwidth.
    """

    bank: np.ndarray
    residual: np.ndarray
    weight: np.ndarray | None
    sigma: float
    alpha: float
    proxy: float

    def delta(self, X: np.ndarray) -> np.ndarray:
        """Estimate the field at rows, float64 (n,) in [-1, 1]; far from the whole bank it is the mean residual."""
        return _smoothed(X, self.bank, self.residual, self.weight, self.sigma)

    def corrected(self, confidence: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Correct confidences (n,) by the range-aware map of the field (n,); in [0, 1]."""
        return range_aware(confidence, delta, self.alpha)


def choose_raw_field(
    bank: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray | None,
    X: np.ndarray,
    confidence: np.ndarray,
    correct: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    scales: Sequence[float] = SCALES,
    random_state: int | np.random.Generator = 0,
) -> RawField:
    """Choose bandwidth and scale of the correction on validation rows, as the paper does in its learned geometry.

    Parameters
    ----------
    bank : float array of shape (b, d)
        Inputs of the bank: training rows.
    residual : float array of shape (b,)
        Their residuals y - f.
    weight : float array of shape (b,), or None
        Their weights, not negative.
    X : float array of shape (v, d)
        Inputs of the validation rows.
    confidence, correct : float arrays of shape (v,)
        Their confidences in [0, 1] and outcomes, 0 or 1.
    sample_weight : float array of shape (v,), optional
        Their weights.
    scales : sequence of float, default SCALES
        Bandwidths to try, in units of the median distance between two rows of the bank.
    random_state : int or numpy.random.Generator, default 0
        Draws the pairs of rows behind that distance.

    Returns
    -------
    RawField
        With the bandwidth of the smallest proxy, mean (y - f - delta)^2 over validation rows, and then the scale of
        the smallest validation Brier score.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 1)), np.full(600, 0.5)
    >>> y = (X[:, 0] > 0).astype(float)
    >>> found = choose_raw_field(X[:400], (y - f)[:400], None, X[400:500], f[400:500], y[400:500])
    >>> found.delta(np.array([[-1.0], [1.0]])).round(1).tolist()
    [-0.5, 0.5]
    """
    unit = median_distance(bank, np.random.default_rng(random_state))
    sigmas = [scale * unit for scale in scales]
    fields = [_smoothed(X, bank, residual, weight, sigma) for sigma in sigmas]
    proxies = [np.average(np.square(correct - confidence - delta), weights=sample_weight) for delta in fields]
    best = int(np.argmin(proxies))
    alpha = choose_alpha(correct, confidence, fields[best], sample_weight)
    return RawField(bank, residual, weight, sigmas[best], alpha, float(proxies[best]))


def _smoothed(
    query: np.ndarray, bank: np.ndarray, residual: np.ndarray, weight: np.ndarray | None, sigma: float
) -> np.ndarray:
    return smooth(query, bank, residual, sigma, weight=weight)[0].astype(np.float64)
