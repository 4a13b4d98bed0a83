"""Kernel smoothing of residuals in the raw inputs: the paper's readout without its learned geometry."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from baselines.choosing import BASES, best, fit_base, held_out
from baselines.protocol import Baseline, Floats
from miscal.calibration.metrics.scores import log_losses
from miscal.data.triples import Triples
from miscal.estimators.kernel import median_distance, smooth
from miscal.estimators.paper.readout import range_aware

SCALES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0)
"""Bandwidths, in units of the median distance between two rows."""

ALPHAS = tuple(float(a) for a in np.geomspace(0.25, 8.0, 16))
_ADDITIVE = "additive"
_EDGE = 0.01  # an additive correction is held this far from 0 and 1, where the log loss would punish it without limit


class RawKernel(Baseline):
    """delta(x) = sum K(x, x_i) r_i / sum K(x, x_i) over the inputs themselves, K(x, x') = exp(-|x - x'|^2 / sigma^2).

    Bandwidth, base map (f, or an isotonic map of f whose residuals are smoothed) and correction (additive and clipped,
    or the paper's range-aware map with its alpha) are chosen by held-out log loss.
    """

    name = "raw_kernel"
    place = 14

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        spread = median_distance(X, np.random.default_rng(seed))
        pairs = held_out(rows, seed)
        losses: dict[tuple, float] = {}
        for base, (fit, score), scale in product(BASES, pairs, SCALES):
            fitted = fit_base(base, y[fit], f[fit])
            residual = y[fit] - fitted.apply(f[fit])
            shift = _smooth(X[score], X[fit], residual, scale * spread)
            for way in (_ADDITIVE, *ALPHAS):
                key = (base, scale, way)
                p = _correct(fitted.apply(f[score]), shift, way)
                losses[key] = losses.get(key, 0.0) + float(log_losses(y[score], p).sum())
        names = ("base", "scale", "correction")
        self.settings_, _ = best((dict(zip(names, key, strict=True)), v) for key, v in losses.items())
        self.sigma_ = self.settings_["scale"] * spread
        self.map_ = fit_base(self.settings_["base"], y, f)
        self.X_, self.residual_ = X, y - self.map_.apply(f)

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        shift = _smooth(X, self.X_, self.residual_, self.sigma_)
        return _correct(self.map_.apply(confidence), shift, self.settings_["correction"])


def _smooth(query: NDArray, bank: NDArray, residual: Floats, sigma: float) -> Floats:
    average, _ = smooth(query, bank, residual.astype(np.float32), sigma)
    return np.asarray(average, np.float64).reshape(len(query))


def _correct(p: Floats, shift: Floats, way: str | float) -> Floats:
    if way == _ADDITIVE:
        # a confidence that is nearer to 0 or 1 already may stay where it is
        return np.clip(p + shift, np.minimum(p, _EDGE), np.maximum(p, 1 - _EDGE))
    return range_aware(p, shift, float(way))
