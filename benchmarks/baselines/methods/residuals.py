"""Regression of the residual y - f on the inputs: by a network, and linearly."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
from numpy.typing import NDArray

from baselines.choosing import BASES, best, fit_base, held_out
from baselines.protocol import Baseline, Floats
from baselines.views import fit_view
from miscal.calibration.calibrators import logit
from miscal.calibration.metrics.scores import log_losses
from miscal.data.triples import Triples

_EDGE = 0.01  # as in smoothing: how close to 0 and 1 an additive correction may come


class _ResidualModel(Baseline):
    """Correction base(f) + g(x), g a least-squares regression of the base map's residual."""

    def _options(self) -> tuple:
        raise NotImplementedError

    def _regress(self, columns: NDArray, residual: Floats, option, seed: int):
        raise NotImplementedError

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        self.view_ = fit_view(X, None)
        columns, pairs = _columns(self.view_(X), f), held_out(rows, seed)
        losses = []
        for base, option in product(BASES, self._options()):
            loss = 0.0
            for fit, score in pairs:
                fitted = fit_base(base, y[fit], f[fit])
                model = self._regress(columns[fit], y[fit] - fitted.apply(f[fit]), option, seed)
                p = _correct(fitted.apply(f[score]), model.predict(columns[score]))
                loss += float(log_losses(y[score], p).sum())
            losses.append(({"base": base, "option": option}, loss))
        self.settings_, _ = best(losses)
        self.map_ = fit_base(self.settings_["base"], y, f)
        self.model_ = self._regress(columns, y - self.map_.apply(f), self.settings_["option"], seed)

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return _correct(self.map_.apply(confidence), self.model_.predict(_columns(self.view_(X), confidence)))


class ResidualNetwork(_ResidualModel):
    """Residual regression by a network with two hidden layers of 128, stopped early on a tenth of its rows.

    The weight decay is chosen by held-out log loss. As the paper's ResReg it sees residuals row by row and has no
    kernel; unlike it, it is given the confidence.
    """

    name = "residual_network"
    place = 17

    def _options(self) -> tuple:
        return (1e-3, 1.0, 10.0, 30.0)

    def _regress(self, columns, residual, option, seed):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        network = MLPRegressor(
            hidden_layer_sizes=(128, 128),
            alpha=option,
            early_stopping=True,
            n_iter_no_change=5,
            max_iter=60,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # early stopping ends most fits before the limit
            return network.fit(columns, residual)


class Multiaccuracy(_ResidualModel):
    """Ridge regression on residuals (the multiaccuracy of Kim et al., 2019, one step); penalty by held-out log loss."""

    name = "multiaccuracy"
    place = 16

    def _options(self) -> tuple:
        return tuple(float(a) for a in np.geomspace(1e2, 1e5, 7))

    def _regress(self, columns, residual, option, seed):
        from sklearn.linear_model import Ridge

        return Ridge(alpha=option).fit(columns.astype(np.float64), residual)


def _columns(place: NDArray, f: Floats) -> NDArray[np.float32]:
    # log-odds beyond 4 say the same, and would be outliers among standardised columns
    return np.column_stack([place, np.clip(logit(f), -4, 4)]).astype(np.float32)


def _correct(p: Floats, shift: Floats) -> Floats:
    # a confidence that is nearer to 0 or 1 already may stay where it is
    return np.clip(p + shift, np.minimum(p, _EDGE), np.maximum(p, 1 - _EDGE))
