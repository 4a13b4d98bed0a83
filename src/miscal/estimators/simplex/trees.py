"""Shifts of the log-probabilities of all classes by boosted trees, which start from these log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miscal.calibration.simplex_maps import class_log_losses
from miscal.estimators.simplex.way import ClassRows, CrossFittedShift, Floats

_STEP, _MOST_ROUNDS = 10, 150
"""Rounds by which trees grow, and at most."""

_LEAVES = 8
_LEARNING_RATE = 0.15
_LEAST_ROWS = 20
_RIDGE = 10.0
"""Small trees that are drawn to no shift: what is left after a classifier is faint. Not tuned."""


@dataclass(frozen=True, eq=False)
class TreeShift:
    """Boosted trees, kept as LightGBM's text.

    Attributes
    ----------
    text : str
        Empty where no tree was grown.
    n_classes : int
    """

    text: str
    n_classes: int

    def at(self, X: NDArray, base: Floats) -> Floats:
        """Shift of each class, (n, K)."""
        if not self.text:
            return np.zeros((len(X), self.n_classes))
        import lightgbm

        return lightgbm.Booster(model_str=self.text).predict(_columns(X), raw_score=True).reshape(len(X), -1)


def crossfit_trees(rows: ClassRows) -> CrossFittedShift:
    """Grow trees out of fold and on all rows, their number chosen by the log loss out of fold."""
    folds = [rows.folds == k for k in np.unique(rows.folds)]
    growing = [_Growing(rows, ~inside) for inside in folds]
    shift = np.zeros_like(rows.base)
    best, chosen, least, waited = shift, 0, _loss(rows, shift), 0
    for rounds in range(_STEP, _MOST_ROUNDS + 1, _STEP):
        shift = shift.copy()
        for inside, booster in zip(folds, growing, strict=True):
            shift[inside] = booster.grow(rows.X[inside])
        loss = _loss(rows, shift)
        waited = 0 if loss < least else waited + 1
        if loss < least:
            best, chosen, least = shift, rounds, loss
        elif waited == 2:
            break
    text = ""
    if chosen:
        final = _Growing(rows, np.ones(len(rows), dtype=bool))
        for _ in range(chosen // _STEP):
            final.grow(rows.X[:0])
        text = final.text()
    return CrossFittedShift("trees", TreeShift(text, rows.base.shape[1]), best, {"rounds": chosen})


def _loss(rows: ClassRows, shift: Floats) -> float:
    losses = class_log_losses(rows.code, log_softmax(rows.base + shift, axis=1))
    return float(np.average(losses, weights=rows.weight))


class _Growing:
    """Trees of some rows, a few more at a time."""

    def __init__(self, rows: ClassRows, inside: NDArray[np.bool_]) -> None:
        import lightgbm

        self._classes = rows.base.shape[1]
        settings: dict[str, Any] = {
            "objective": "multiclass", "num_class": self._classes, "num_leaves": _LEAVES, "lambda_l2": _RIDGE,
            "learning_rate": _LEARNING_RATE, "min_data_in_leaf": _LEAST_ROWS, "seed": rows.seed, "num_threads": 1,
            "deterministic": True, "force_row_wise": True, "verbosity": -1, "boost_from_average": False,
            "feature_pre_filter": False, "max_bin": 63,
        }  # fmt: skip
        # LightGBM takes the starts of all rows class by class
        data = lightgbm.Dataset(
            _columns(rows.X[inside]), rows.code[inside], weight=rows.weight[inside],
            init_score=rows.base[inside].ravel(order="F"), params=settings, free_raw_data=False,
        )  # fmt: skip
        self._booster = lightgbm.Booster(settings, data)

    def grow(self, at: NDArray) -> Floats:
        """Grow some more trees, and return the shifts of other rows."""
        for _ in range(_STEP):
            self._booster.update()
        if not len(at):
            return np.zeros((0, self._classes))
        return self._booster.predict(_columns(at), raw_score=True).reshape(len(at), self._classes)

    def text(self) -> str:
        """Return the trees as LightGBM writes them."""
        return self._booster.model_to_string()


def _columns(X: NDArray) -> NDArray[np.float64]:
    return np.ascontiguousarray(X, dtype=np.float64)
