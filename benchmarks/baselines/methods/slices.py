"""k-means slices of the inputs, each with a logit shift of its own."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from baselines.choosing import BASES, base_offset, best, fit_base, held_out, make_folds
from baselines.protocol import Baseline, Floats
from baselines.views import fit_view
from miscal.calibration.calibrators import logit
from miscal.calibration.metrics.scores import log_losses
from miscal.data.triples import Triples

N_SLICES = (4, 8, 16, 32, 64)
RIDGES = (1.0, 4.0, 16.0)
COMPONENTS = 50
_STEPS = 12


class KMeansSlices(Baseline):
    """Slices by k-means in 50 whitened components; shift d of a slice from sum (y - sigmoid(o + d)) = ridge d.

    Number of slices, ridge and base map (f, or an isotonic map of f) are chosen by held-out log loss.
    """

    name = "slices"
    place = 15

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        folds, pairs = make_folds(X, seed), held_out(rows, seed, cheap=True)
        self.view_ = fit_view(X, min(COMPONENTS, X.shape[1]))
        place = self._place(X)
        models = {k: _cluster(place, k, seed) for k in N_SLICES if k <= len(np.unique(place, axis=0)) // 2} or {
            1: _cluster(place, 1, seed)
        }
        losses = []
        for k, base, ridge in product(models, BASES, RIDGES):
            slices, loss = models[k].labels_, 0.0
            for fit, score in pairs:
                offset = base_offset(base, y[fit], f[fit], folds[fit])
                shift = slice_shifts(slices[fit], k, y[fit], offset, ridge)
                start = logit(fit_base(base, y[fit], f[fit]).apply(f[score]))
                loss += float(log_losses(y[score], expit(start + shift[slices[score]])).sum())
            losses.append(({"slices": k, "base": base, "ridge": ridge}, loss))
        self.settings_, _ = best(losses)
        k, base = self.settings_["slices"], self.settings_["base"]
        self.model_, self.map_ = models[k], fit_base(base, y, f)
        offset = base_offset(base, y, f, folds)
        self.shift_ = slice_shifts(self.model_.labels_, k, y, offset, self.settings_["ridge"])

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return expit(logit(self.map_.apply(confidence)) + self.shift_[self.model_.predict(self._place(X))])

    def _place(self, X: NDArray) -> NDArray[np.float32]:
        columns = self.view_(X)
        # inputs that are all alike leave no component
        return columns if columns.shape[1] else np.zeros((len(X), 1), np.float32)


def slice_shifts(slices: NDArray, k: int, y: Floats, offset: Floats, ridge: float) -> Floats:
    """Logit shift of each slice, by damped Newton steps.

    Parameters
    ----------
    slices : ndarray of shape (n,), int in 0..k - 1
    k : int
    y, offset : ndarray of shape (n,)
    ridge : float
        Positive; a slice without rows has shift 0.

    Returns
    -------
    ndarray of shape (k,)
        Positive where the slice is under-confident.

    Examples
    --------
    >>> shift = slice_shifts(np.array([0, 0, 1, 1]), 3, np.array([1.0, 1, 0, 0]), np.zeros(4), 1.0)
    >>> np.sign(shift).tolist()
    [1.0, -1.0, 0.0]
    """
    shift = np.zeros(k)
    for _ in range(_STEPS):
        p = expit(offset + shift[slices])
        slope = np.bincount(slices, y - p, k) - ridge * shift
        shift += np.clip(slope / (np.bincount(slices, p * (1 - p), k) + ridge), -2, 2)
    return shift


def _cluster(place: NDArray, k: int, seed: int):
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=1, random_state=seed).fit(place)
