"""Ridge logistic regression on the inputs with the confidence's log-odds as offset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from baselines.choosing import base_offset, best, fit_base, held_out, make_folds
from baselines.protocol import Baseline, Floats
from baselines.views import fit_view
from miscal.calibration.calibrators import logit
from miscal.calibration.metrics.scores import log_losses
from miscal.data.triples import Triples
from miscal.estimators.auto.member import RidgeFits

PENALTIES = tuple(float(p) for p in np.geomspace(30_000, 1, 19))
VIEWS = (None, 64)
_LOOSE = 30.0  # prior scale of intercept and slopes: hardly penalised
_MIDDLE = 4.0  # log-odds beyond this get a slope of their own


class Ridge(Baseline):
    """y ~ Bernoulli(sigmoid(o + a + b logit f + c clip(logit f) + w'x)), o = logit f, or that of an isotonic map of f.

    Columns x: all inputs standardised, or 64 whitened components. Columns and penalty of w are chosen by five folds.
    """

    name = "ridge"
    place = 10
    base = "identity"

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        folds, pairs = make_folds(X, seed), held_out(rows, seed, cheap=True)
        candidates = []
        for k in VIEWS:
            columns = _columns(fit_view(X, k)(X), f)
            losses = np.zeros(len(PENALTIES))
            for fit, score in pairs:
                path = _path(columns[fit], y[fit], base_offset(self.base, y[fit], f[fit], folds[fit]))
                start = logit(fit_base(self.base, y[fit], f[fit]).apply(f[score]))
                p = expit(start[:, None] + columns[score] @ path)
                losses += log_losses(y[score][:, None], p).sum(0)
            candidates += [({"components": k, "penalty": p}, v) for p, v in zip(PENALTIES, losses, strict=True)]
        chosen, _ = best(candidates)
        self.settings_ = chosen
        self.view_, self.map_ = fit_view(X, chosen["components"]), fit_base(self.base, y, f)
        path = _path(_columns(self.view_(X), f), y, base_offset(self.base, y, f, folds))
        self.coefficients_ = path[:, PENALTIES.index(chosen["penalty"])]

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        shift = _columns(self.view_(X), confidence) @ self.coefficients_
        return expit(logit(self.map_.apply(confidence)) + shift.astype(np.float64))


class RidgeIsotonic(Ridge):
    """The same on the log-odds of an isotonic map of f (cross-fitted where it is learned from)."""

    name = "ridge_isotonic"
    place = 11
    base = "isotonic"


def _columns(place: NDArray, f: Floats) -> NDArray[np.float32]:
    odds = logit(f)
    return np.column_stack([np.ones(len(f)), odds, np.clip(odds, -_MIDDLE, _MIDDLE), place]).astype(np.float32)


def _path(columns: NDArray, y: Floats, offset: Floats) -> NDArray[np.float32]:
    """Coefficients along falling penalties, (p, len(PENALTIES))."""
    scale = np.ones(columns.shape[1], np.float32)
    scale[:3] = _LOOSE
    fits = RidgeFits(np.ascontiguousarray((columns * scale).T), y, offset, np.ones((1, len(y))))
    return np.stack([fits.descend(penalty).coefficients[0] * scale for penalty in PENALTIES], 1)
