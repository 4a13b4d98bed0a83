"""The paper's readout without its learned geometry: residuals smoothed over the inputs themselves.

Bank, kernel, choice of the bandwidth by the proxy, readout and range-aware correction are those of the paper's field;
the coordinates are not: the two differ in nothing but the geometry. (The baseline ``raw_kernel`` is another thing: it
smooths all rows, may map the confidence first, and chooses by log loss.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miscal.calibration.calibrators import Calibrator
from miscal.estimators.estimate import Correction
from miscal.estimators.kernel import median_distance
from miscal.estimators.paper.correction import choose_alpha, range_aware
from miscal.estimators.paper.readout import PAPERS, Readout

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
    readout : Readout
        How residuals are averaged.
    global_map : Calibrator or None
        Whose values rows get that the readout leaves without average; None: the confidence as it is.
    """

    bank: np.ndarray
    residual: np.ndarray
    weight: np.ndarray | None
    sigma: float
    alpha: float
    proxy: float
    readout: Readout
    global_map: Calibrator | None

    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> Correction:
        """Estimate the field at rows (n, d), and correct their confidences (n,) by the range-aware map."""
        average, mass = _smoothed(self.readout, X, self.bank, self.residual, self.weight, self.sigma)
        delta = _field(self.readout, self.global_map, confidence, average, mass)
        local = self.readout.local(mass)
        corrected = np.where(local, range_aware(confidence, delta, self.alpha), confidence + delta)
        return Correction(delta, corrected, self.readout.supported(mass), mass, local)


def choose_raw_field(
    bank: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray | None,
    X: np.ndarray,
    confidence: np.ndarray,
    correct: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    readout: Readout = PAPERS,
    global_map: Calibrator | None = None,
    scales: Sequence[float] = SCALES,
    random_state: int | np.random.Generator = 0,
) -> RawField:
    """Choose bandwidth and scale of the correction on validation rows, as the paper does in its learned geometry.

    Returns: RawField: With the bandwidth of the smallest proxy, mean (y - f - delta)^2 over validation rows, and then
    the scale of the smallest validation Brier score.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 1)), np.full(600, 0.5)
    >>> y = (X[:, 0] > 0).astype(float)
    >>> found = choose_raw_field(X[:400], (y - f)[:400], None, X[400:500], f[400:500], y[400:500])
    >>> found.estimate(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5])).delta.round(1).tolist()
    [-0.5, 0.5]
    """
    unit = median_distance(bank, np.random.default_rng(random_state))
    sigmas = [scale * unit for scale in scales]
    smoothed = [_smoothed(readout, X, bank, residual, weight, sigma) for sigma in sigmas]
    proxies = [np.average(np.square(correct - confidence - delta), weights=sample_weight) for delta, _ in smoothed]
    best = int(np.argmin(proxies))
    delta = _field(readout, global_map, confidence, *smoothed[best])
    alpha = choose_alpha(correct, confidence, delta, sample_weight)
    return RawField(bank, residual, weight, sigmas[best], alpha, float(proxies[best]), readout, global_map)


def _smoothed(
    readout: Readout,
    query: np.ndarray,
    bank: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray | None,
    sigma: float,
) -> tuple[np.ndarray, np.ndarray]:
    average, mass = readout.average(query, bank, residual, weight, sigma)
    return average.astype(np.float64), mass.astype(np.float64)


def _field(
    readout: Readout, global_map: Calibrator | None, confidence: np.ndarray, average: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    visible = 0.0 if global_map is None else global_map.apply(confidence) - confidence
    return np.where(readout.local(mass), average, visible)
