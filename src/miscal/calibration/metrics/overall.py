"""All global numbers of a set of rows, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from miscal.calibration.metrics.inference import ErrorEstimate, RandomState, measure_ece, measure_smece
from miscal.calibration.metrics.rows import check_rows
from miscal.calibration.metrics.scores import MeanEstimate, log_losses, mean_interval, wilson


@dataclass(frozen=True)
class GlobalScores:
    """What is said about all rows.

    Attributes
    ----------
    accuracy, confidence : MeanEstimate
        Mean outcome (Wilson interval) and mean confidence (Student interval), in [0, 1].
    brier, log_loss : MeanEstimate
        Mean scores (Student intervals); lower is better.
    smece, ece : ErrorEstimate
        SmoothECE, and binned ECE over 15 bins of equal width, with floor and p-value against "calibrated".
    """

    accuracy: MeanEstimate
    confidence: MeanEstimate
    smece: ErrorEstimate
    ece: ErrorEstimate
    brier: MeanEstimate
    log_loss: MeanEstimate


def global_scores(
    correct: Any,
    confidence: Any,
    *,
    sample_weight: Any = None,
    n_draws: int = 1000,
    random_state: RandomState = 0,
) -> GlobalScores:
    """Measure all rows.

    Parameters
    ----------
    correct : array-like of shape (n,)
        Outcomes, 0 or 1.
    confidence : array-like of shape (n,)
        Confidences in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default. Means take them as the importance of independent rows.
    n_draws : int, default 1000
        Draws for the floors and p-values of smECE and ECE.
    random_state : int or numpy.random.Generator, default 0
        Source of randomness.

    Returns
    -------
    GlobalScores

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, or lengths differ.

    Examples
    --------
    >>> scores = global_scores([1, 0, 0, 0] * 25, [0.5] * 100, n_draws=100)
    >>> round(scores.accuracy.value, 4), [round(v, 2) for v in scores.accuracy.interval], round(scores.brier.value, 4)
    (0.25, [0.18, 0.34], 0.25)
    """
    y, f, weight = check_rows(correct, confidence, sample_weight)
    options: dict[str, Any] = {"sample_weight": weight, "n_draws": n_draws, "random_state": random_state}
    return GlobalScores(
        accuracy=_accuracy(y, weight),
        confidence=_within_unit(mean_interval(f, sample_weight=weight)),
        smece=measure_smece(y, f, **options),
        ece=measure_ece(y, f, **options),
        brier=_within_unit(mean_interval(np.square(y - f), sample_weight=weight)),
        log_loss=mean_interval(log_losses(y, f), sample_weight=weight),
    )


def _accuracy(y: np.ndarray, weight: np.ndarray) -> MeanEstimate:
    found = mean_interval(y, sample_weight=weight)
    low, high = wilson(np.clip(found.value, 0.0, 1.0), 1 / np.square(weight).sum())
    return replace(found, interval=(float(low), float(high)))


def _within_unit(found: MeanEstimate) -> MeanEstimate:
    if found.interval is None:
        return found
    return replace(found, interval=(max(found.interval[0], 0.0), min(found.interval[1], 1.0)))
