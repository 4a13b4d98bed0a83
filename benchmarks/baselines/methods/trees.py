"""Gradient-boosted trees on inputs and confidence, with the confidence's log-odds as offset (LightGBM)."""

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

LEAVES = (4, 8, 24)
VIEWS = (None, 50)
FRACTIONS = (0.4, 1.0)
"""Shares of the columns that a tree may use. Of three columns 0.4 is one: no interactions, so all must be on offer."""

_FEW_COLUMNS = 64
ROUNDS = (10, 20, 40, 60, 90, 120, 160, 200, 250, 300, 400)
LEARNING = {
    "objective": "binary",
    "learning_rate": 0.05,
    "lambda_l2": 5.0,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    "boost_from_average": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


class BoostedTrees(Baseline):
    """Boosted trees; base map, columns, leaves, rounds, and a tree's share of columns chosen by held-out log loss.

    Base: f, or an isotonic map of f. Columns: all inputs standardised, or 50 whitened components, and logit f. The
    share is 0.4 of the columns, or with at most 64 inputs also all of them.
    """

    name = "trees"
    place = 12

    def _fit(self, rows: Triples, seed: int) -> None:
        X, y, f = rows.X, rows.correct, rows.confidence
        folds, pairs = make_folds(X, seed), held_out(rows, seed)
        fractions = FRACTIONS if X.shape[1] <= _FEW_COLUMNS else FRACTIONS[:1]
        candidates = []
        for k in VIEWS:
            columns = _columns(fit_view(X, k)(X), f)
            for base, leaves, fraction in product(BASES, LEAVES, fractions):
                shape = {"num_leaves": leaves, "feature_fraction": fraction}
                losses = sum(_losses(columns, f, y, folds, pair, base, shape, seed) for pair in pairs)
                found = {"components": k, "base": base, **shape}
                candidates += [({**found, "rounds": r}, v) for r, v in zip(ROUNDS, losses, strict=True)]
        chosen, _ = best(candidates)
        self.settings_ = chosen
        self.view_, self.map_ = fit_view(X, chosen["components"]), fit_base(chosen["base"], y, f)
        offset = base_offset(chosen["base"], y, f, folds)
        shape = {name: chosen[name] for name in ("num_leaves", "feature_fraction")}
        self.booster_ = _boost(_columns(self.view_(X), f), y, offset, shape, chosen["rounds"], seed)

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        shift = self.booster_.predict(_columns(self.view_(X), confidence), raw_score=True, num_threads=1)
        return expit(logit(self.map_.apply(confidence)) + shift)


def _columns(place: NDArray, f: Floats) -> NDArray[np.float32]:
    return np.column_stack([place, logit(f)]).astype(np.float32)


def _losses(columns, f, y, folds, pair, base, shape, seed) -> Floats:
    """Sum the held-out log loss after each number of rounds, (len(ROUNDS),)."""
    fit, score = pair
    offset = base_offset(base, y[fit], f[fit], folds[fit])
    booster = _boost(columns[fit], y[fit], offset, shape, ROUNDS[-1], seed)
    start = logit(fit_base(base, y[fit], f[fit]).apply(f[score]))
    # one booster serves every number of rounds; its raw scores leave the offset out
    shifts = (booster.predict(columns[score], raw_score=True, num_iteration=r, num_threads=1) for r in ROUNDS)
    return np.array([log_losses(y[score], expit(start + s)).sum() for s in shifts])


def _boost(columns: NDArray, y: Floats, offset: Floats, shape: dict[str, float], rounds: int, seed: int):
    import lightgbm

    least = int(np.clip(len(y) // 100, 5, 30))
    settings = {**LEARNING, **shape, "seed": seed, "min_data_in_leaf": least}
    return lightgbm.train(settings, lightgbm.Dataset(columns, y, init_score=offset), rounds)
