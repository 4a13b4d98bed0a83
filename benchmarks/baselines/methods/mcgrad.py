"""MCGrad (Tax et al., 2026), by its own package: multicalibration by gradient boosting. Needs the extra [compare]."""

from __future__ import annotations

import logging
from itertools import product

import numpy as np
from numpy.typing import NDArray

from baselines.choosing import BASES, best, fit_base, held_out
from baselines.protocol import Baseline, Floats
from baselines.views import fit_view
from miscal.calibration.calibrators import LOGIT_CLIP
from miscal.calibration.metrics.scores import log_losses
from miscal.data.triples import Triples

COMPONENTS = (32, 64)
LEAF_ROWS = (160, 40)  # its default, and leaves small enough for a few thousand rows


class MCGradBaseline(Baseline):
    """MCGrad on leading components of the inputs and the confidence, as numeric features.

    Its number of rounds is its own choice (early stopping). Number of components, least rows of a leaf and base map
    (f, or an isotonic map of f) are chosen by held-out log loss.
    """

    name = "mcgrad"
    place = 13
    packages = ("mcgrad",)

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        pairs = held_out(rows, seed)
        options = sorted({min(k, X.shape[1]) for k in COMPONENTS})
        losses = []
        for k, leaf, base in product(options, LEAF_ROWS, BASES):
            found = {"components": k, "leaf_rows": leaf, "base": base}
            losses.append((found, sum(_loss(X, f, y, pair, found, seed) for pair in pairs)))
        self.settings_, _ = best(losses)
        self.model_ = _Fitted(X, f, y, self.settings_, seed)
        self.settings_ = {**self.settings_, "rounds": self.model_.rounds}

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return self.model_.predict(X, confidence)


class _Fitted:
    def __init__(self, X, f, y, settings, seed) -> None:
        model = _package().MCGrad(
            lightgbm_params={"min_child_samples": settings["leaf_rows"], "num_threads": 1}, random_state=seed
        )
        self._view, self._map = fit_view(X, settings["components"]), fit_base(settings["base"], y, f)
        frame, names = self._frame(X, f)
        frame["outcome"] = y.astype(int)
        self._model = model.fit(frame, "score", "outcome", numerical_feature_column_names=names)
        self.rounds = int(model.num_rounds_trained)

    def predict(self, X: NDArray, f: Floats) -> Floats:
        frame, names = self._frame(X, f)
        return np.asarray(self._model.predict(frame, "score", numerical_feature_column_names=names), np.float64)

    def _frame(self, X: NDArray, f: Floats):
        import pandas

        place = self._view(X)
        names = [f"component_{j}" for j in range(place.shape[1])]
        frame = pandas.DataFrame(place, columns=names)
        frame["confidence"] = f
        frame["score"] = np.clip(self._map.apply(f), LOGIT_CLIP, 1 - LOGIT_CLIP)
        return frame, [*names, "confidence"]


def _loss(X, f, y, pair, settings, seed) -> float:
    fit, score = pair
    return float(
        log_losses(y[score], _Fitted(X[fit], f[fit], y[fit], settings, seed).predict(X[score], f[score])).sum()
    )


def _package():
    from mcgrad import methods

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    return methods
