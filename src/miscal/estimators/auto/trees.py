"""Boosted trees on the offset: interactions and edges that smooth kernels miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.estimators.auto.inputs import Inputs
from miscal.estimators.auto.kernels import CrossFitted
from miscal.estimators.auto.ridge import negative_log_likelihood

Array = NDArray[np.floating]

_ROUNDS = 200
_SETTINGS = {
    "objective": "binary",
    "learning_rate": 0.05,
    "num_leaves": 8,
    "max_depth": 3,
    "min_data_in_leaf": 30,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    "boost_from_average": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


def tree_columns(inputs: Inputs) -> NDArray[np.float32]:
    """Columns the trees may split: inputs (their leading components where there are many), logit of the confidence.

    Parameters
    ----------
    inputs : Inputs

    Returns
    -------
    ndarray of shape (n, q + 1), float32
    """
    place = inputs.components if inputs.x.shape[1] > inputs.components.shape[1] else inputs.x
    return np.concatenate([place, inputs.level[:, None]], 1)


@dataclass(frozen=True)
class TreeScore:
    """A fitted boosted score, kept as LightGBM's text form (no pickle).

    Attributes
    ----------
    text : str
    """

    text: str

    def shift(self, columns: Array) -> NDArray[np.float64]:
        """Logit shift of rows, (n,); positive raises the confidence."""
        import lightgbm

        return lightgbm.Booster(model_str=self.text).predict(columns, raw_score=True, num_threads=1)


def crossfit_trees(
    columns: Array,
    y: Array,
    offset: Array,
    folds: NDArray[np.integer],
    seed: int,
    weight: Array | None = None,
) -> CrossFitted:
    """Boost trees on the offset, out of fold, with the number of rounds chosen by out-of-fold log loss.

    Parameters
    ----------
    columns : ndarray of shape (n, p + 1)
        From `tree_columns`.
    y : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
    folds : ndarray of shape (n,), int
    seed : int
    weight : ndarray of shape (n,), optional

    Returns
    -------
    CrossFitted
        With a `TreeScore`.
    """
    import lightgbm

    settings = {**_SETTINGS, "seed": seed}
    # leaves of 30 rows leave a small table no splits at all
    settings["min_data_in_leaf"] = int(np.clip(len(y) // 100, 5, 30))

    def boost(rows, rounds):
        data = lightgbm.Dataset(
            columns[rows], y[rows], weight=None if weight is None else weight[rows], init_score=offset[rows]
        )
        return lightgbm.train(settings, data, rounds)

    stops = (25, 50, 100, 150, _ROUNDS)
    shifts = np.zeros((len(y), len(stops)))
    for k in np.unique(folds):
        rest = np.flatnonzero(folds != k)
        inside = np.flatnonzero(folds == k)
        booster = boost(rest, _ROUNDS)
        for j, rounds in enumerate(stops):
            shifts[inside, j] = booster.predict(columns[inside], raw_score=True, num_iteration=rounds, num_threads=1)
    losses = np.average(negative_log_likelihood(y, offset[:, None] + shifts), axis=0, weights=weight)
    best = int(losses.argmin())
    final = boost(np.arange(len(y)), stops[best])
    return CrossFitted(TreeScore(final.model_to_string()), shifts[:, best], {"rounds": stops[best]})
