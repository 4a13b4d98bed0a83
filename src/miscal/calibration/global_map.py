"""The global map of the confidence, which tells visible from hidden miscalibration: the simplest that is not beaten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.calibrators import CALIBRATORS, Calibrator, logit
from miscal.calibration.metrics import log_losses

Array = NDArray[np.floating]

GLOBAL_MAPS = ("identity", "temperature", "isotonic")
"""From the simplest on."""

STANDARD_ERRORS = 2.0
"""Paired standard errors of the log loss that count as more than noise."""


@dataclass(frozen=True)
class CrossFittedMaps:
    """Global maps learned out of fold, and the one that is taken.

    Attributes
    ----------
    map : Calibrator
        The chosen one, fitted to all rows.
    chosen : str
        Its name.
    log_odds : dict of str to ndarray of shape (n,)
        Of every map, each row's from the folds it is not in.
    """

    map: Calibrator
    chosen: str
    log_odds: dict[str, NDArray[np.float64]]


def crossfit_global_map(
    correct: Array, confidence: Array, folds: NDArray[np.integer], weight: Array | None = None
) -> CrossFittedMaps:
    """Choose the global map by its out-of-fold log loss, and fit it to all rows.

    Parameters
    ----------
    correct : ndarray of shape (n,), 0 or 1
    confidence : ndarray of shape (n,), in [0, 1]
    folds : ndarray of shape (n,), int
    weight : ndarray of shape (n,), optional

    Returns
    -------
    CrossFittedMaps

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.random(4000)
    >>> y = (rng.random(4000) < f).astype(float)
    >>> crossfit_global_map(y, f, np.arange(4000) % 5).chosen
    'identity'
    """
    p = {name: np.zeros(len(correct)) for name in GLOBAL_MAPS}
    for k in np.unique(folds):
        inside, rest = folds == k, folds != k
        w = None if weight is None else weight[rest]
        for name in GLOBAL_MAPS:
            p[name][inside] = CALIBRATORS[name]().fit(correct[rest], confidence[rest], w).predict(confidence[inside])
    chosen = simplest({name: log_losses(correct, values) for name, values in p.items()}, weight)
    fitted = CALIBRATORS[chosen]().fit(correct, confidence, weight)
    return CrossFittedMaps(fitted, chosen, {name: logit(values) for name, values in p.items()})


def held_out_global_map(correct: Array, confidence: Array, weight: Array, train: Array, val: Array) -> Calibrator:
    """Fit the global maps to rows `train` and choose by their log loss on rows `val`.

    Parameters
    ----------
    correct, confidence, weight : arrays of shape (n,)
    train, val : int arrays
        Rows to fit on and to compare on.

    Returns
    -------
    Calibrator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.random(4000)
    >>> y, half = (rng.random(4000) < f).astype(float), np.arange(2000)
    >>> held_out_global_map(y, f, np.ones(4000), half, half + 2000).name
    'identity'
    """
    maps = {name: CALIBRATORS[name]().fit(correct[train], confidence[train], weight[train]) for name in GLOBAL_MAPS}
    losses = {name: log_losses(correct[val], fitted.predict(confidence[val])) for name, fitted in maps.items()}
    return maps[simplest(losses, weight[val])]


def simplest(losses: Mapping[str, Array], weight: Array | None = None) -> str:
    """Choose the simplest that no later one beats.

    A later one takes the place of the choice so far if it gains two paired standard errors on it.

    Parameters
    ----------
    losses : mapping of str to ndarray of shape (n,)
        A loss of each row, from the simplest on.
    weight : ndarray of shape (n,), optional

    Returns
    -------
    str

    Examples
    --------
    >>> simplest({"plain": np.array([0.5, 0.7]), "a little better": np.array([0.4, 0.7])})
    'plain'
    """
    chosen, *others = losses
    for name in others:
        gain, error = paired_gain(losses[chosen], losses[name], weight)
        if gain > STANDARD_ERRORS * error:
            chosen = name
    return chosen


def paired_gain(before: Array, after: Array, weight: Array | None = None) -> tuple[float, float]:
    """Mean loss before minus that after, and its paired standard error.

    Parameters
    ----------
    before, after : ndarray of shape (n,)
        Losses of the same rows.
    weight : ndarray of shape (n,), optional
        Numbers of rows: a row of weight 2 counts as two rows.

    Returns
    -------
    gain, error : float
        A positive gain says that `after` is better.

    Examples
    --------
    >>> paired_gain(np.array([1.0, 0.5]), np.array([0.5, 0.0]))
    (0.5, 0.0)
    """
    difference = before - after
    w = np.ones(len(difference)) if weight is None else weight
    gain = float(np.average(difference, weights=w))
    error = float(np.sqrt(np.sum(w * (difference - gain) ** 2) / np.sum(w) / max(np.sum(w) - 1, 1)))
    return gain, error
