"""Choose the simplest global calibration map that no other clearly beats.

What it corrects is the visible miscalibration, which a reliability diagram shows; what it leaves is hidden.

Calibration in the large comes first: a shift and Platt's map, of which the mean is the rate, replace the confidence as
it is where an interval shows it (:data:`EARNED`). ``benchmarks/small_maps.py`` compares rules by their log
loss, and by how often the mean of what they choose is the rate, on real sets and on calibrated outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.calibration.calibrators import CALIBRATORS, Calibrator, logit
from miscal.calibration.metrics.scores import log_losses

Array = NDArray[np.floating]

GLOBAL_MAPS = ("identity", "shift", "platt", "isotonic")
"""The maps to choose from, in order from the simplest to the most flexible."""

STANDARD_ERRORS = 2.0
"""A more flexible model must gain this many paired standard errors of the log loss. Fewer would take noise for
structure, more would overlook faint structure: at 2, a map that is exactly as good is taken in about 2 % of choices. It
is the one-standard-error rule (Breiman et al., CART, 1984), made stricter. Not tuned."""

EARNED = 0.75
"""Paired standard errors that a map of one number more must gain. With z the standard score of that number, its gain
out of fold is about (z^2 - 2) / 2 log-likelihoods with a standard error of z: 0.75 are gained where z is beyond 2.4. Of
0.5, 0.75 and 1, the first loses 0.0005 on calibrated outcomes of 300 rows, the last leaves means off on real sets."""

LEAST_GAIN = 1.0
"""Log-likelihood that a map must gain in all: where next to none of the rarer outcome was seen, or promised, a standard
error is not to be trusted."""

FEW_ROWS = 200
"""With fewer rows to learn from, isotonic regression is not taken: its ends are blocks of a few rows that are all right
or all wrong, and one new row that is otherwise costs more log loss than the others gain. A number more must gain one
standard error: less would lose on calibrated outcomes what it gains on others."""


@dataclass(frozen=True)
class CrossFittedMaps:
    """Log-odds under each global map, learned out of fold, and the map that was chosen.

    Attributes
    ----------
    map : Calibrator
        The chosen one, fitted to all rows.
    chosen : str
        Its name.
    log_odds : dict of str to ndarray of shape (n,)
        Log-odds of each row under every map, learned from the folds that the row is not in.
    """

    map: Calibrator
    chosen: str
    log_odds: dict[str, NDArray[np.float64]]


def crossfit_global_map(
    correct: Array, confidence: Array, folds: NDArray[np.integer], weight: Array | None = None
) -> CrossFittedMaps:
    """Choose the global map by its out-of-fold log loss, and fit it to all rows.

    Takes correct (n,); confidence (n,); folds (n,): the fold of each row; weight (n,): numbers of rows, all 1 by
    default.

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
            p[name][inside] = CALIBRATORS[name]().learn(correct[rest], confidence[rest], w).apply(confidence[inside])
    losses = {name: log_losses(correct, values) for name, values in p.items()}
    log_odds = {name: logit(values) for name, values in p.items()}
    chosen = simplest(losses, weight, proof_of(len(correct)), log_odds)
    fitted = CALIBRATORS[chosen]().learn(correct, confidence, weight)
    return CrossFittedMaps(fitted, chosen, log_odds)


def held_out_global_map(correct: Array, confidence: Array, weight: Array, train: Array, val: Array) -> Calibrator:
    """Fit the global maps to rows `train` and choose by their log loss on rows `val`.

    Takes correct, confidence, weight (n,); train, val: rows to fit on and to compare on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.random(4000)
    >>> y, half = (rng.random(4000) < f).astype(float), np.arange(2000)
    >>> held_out_global_map(y, f, np.ones(4000), half, half + 2000).name
    'identity'
    """
    maps = {name: CALIBRATORS[name]().learn(correct[train], confidence[train], weight[train]) for name in GLOBAL_MAPS}
    losses = {name: log_losses(correct[val], fitted.apply(confidence[val])) for name, fitted in maps.items()}
    # what was learned from other rows than it is judged on gains by chance alone more often
    return maps[simplest(losses, weight[val])]


def proof_of(rows: int) -> dict[str, float]:
    """How many paired standard errors each map must gain, where so many rows are cross-fitted; infinite: not taken.

    Examples
    --------
    >>> proof_of(1000), proof_of(100)
    ({'shift': 0.75, 'platt': 0.75, 'isotonic': 2.0}, {'shift': 1.0, 'platt': 1.0, 'isotonic': inf})
    """
    few = rows < FEW_ROWS
    one = 1.0 if few else EARNED
    return {"shift": one, "platt": one, "isotonic": np.inf if few else STANDARD_ERRORS}


def simplest(
    losses: Mapping[str, Array],
    weight: Array | None = None,
    standard_errors: Mapping[str, float] | None = None,
    log_odds: Mapping[str, Array] | None = None,
) -> str:
    """Choose the simplest candidate that no later one clearly beats.

    A later one replaces the choice so far if its loss is lower by more than some paired standard errors.

    Takes losses (n,): the loss of each row under each candidate, the simplest candidate first; weight (n,);
    standard_errors: how many a candidate must gain, by its name; log_odds (n,): of each candidate, where outcomes are
    0 or 1: a standard error is then at least what the simpler candidate says that it is (:func:`expected_error`), and
    the rows together gain :data:`LEAST_GAIN`.

    Examples
    --------
    >>> simplest({"plain": np.array([0.5, 0.7]), "a little better": np.array([0.4, 0.7])})
    'plain'
    """
    needed = standard_errors or {}
    chosen, *others = losses
    for name in others:
        gain, error = paired_gain(losses[chosen], losses[name], weight)
        least = 0.0
        if log_odds is not None:
            error = max(error, expected_error(log_odds[chosen], log_odds[name], weight))
            least = LEAST_GAIN / (len(losses[name]) if weight is None else float(np.sum(weight)))
        if gain > max(needed.get(name, STANDARD_ERRORS) * error, least):
            chosen = name
    return chosen


def expected_error(before: Array, after: Array, weight: Array | None = None) -> float:
    """Return the standard error that a gain in log loss has if the confidences before are right.

    Where few of the rarer outcome were seen, or none, rows show a smaller one: what the next costs is not in it.

    Takes before, after (n,): log-odds of the same rows; weight (n,): numbers of rows.

    Examples
    --------
    >>> round(expected_error(np.full(100, -4.0), np.full(100, -6.0)), 3)
    0.027
    """
    w = np.ones(len(before)) if weight is None else weight
    p = expit(before)
    return float(np.sqrt(np.sum(w * (after - before) ** 2 * p * (1 - p))) / np.sum(w))


def paired_gain(before: Array, after: Array, weight: Array | None = None) -> tuple[float, float]:
    """Return how much lower the mean loss is after than before, and the paired standard error of that gain.

    Takes before, after (n,): losses of the same rows under two methods; weight (n,): numbers of rows: a row of weight
    2 counts as two rows. Returns gain, error : float: The gain is positive where `after` is better.

    Examples
    --------
    >>> paired_gain(np.array([1.0, 0.5]), np.array([0.5, 0.0]))
    (0.5, 0.0)
    """
    difference = before - after
    w = np.ones(len(difference)) if weight is None else weight
    gain = float(np.average(difference, weights=w))
    # weights are numbers of rows: the variance of the differences over their number less one
    error = float(np.sqrt(np.sum(w * (difference - gain) ** 2) / np.sum(w) / max(np.sum(w) - 1, 1)))
    return gain, error
