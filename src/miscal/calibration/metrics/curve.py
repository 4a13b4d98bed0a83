"""The reliability curve: accuracy against confidence, in bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.checked_rows import check_predictions
from miscal.calibration.metrics.inference import effect_given_confidence
from miscal.calibration.metrics.scores import bin_index, wilson


@dataclass(frozen=True)
class ReliabilityCurve:
    """One entry per bin that holds rows, by increasing confidence.

    Attributes
    ----------
    confidence, accuracy : numpy.ndarray
        float64, shape (m,), in [0, 1]: weighted means over the bin. accuracy - confidence is the mean residual of the
        bin; positive is under-confident.
    low, high : numpy.ndarray
        float64, shape (m,): Wilson interval of the accuracy at 95 %, by the effective number of rows if these are
        weighted or grouped.
    n : numpy.ndarray
        int64, shape (m,): rows in the bin.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray


def reliability_curve(
    y_true: Any,
    y_prob: Any,
    n_bins: int = 15,
    strategy: str = "mass",
    *,
    sample_weight: Any = None,
    groups: Any = None,
) -> ReliabilityCurve:
    """Accuracy, with interval, in bins of confidence.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    n_bins : int, default 15
        Largest number of bins; empty ones are left out.
    strategy : {"mass", "width"}, default "mass"
        Bins of equal weight (equal confidences stay together), or of equal width; see `bin_index`.
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.
    groups : array-like of shape (n,), optional
        Rows of equal value may hang together; by default all rows are independent. Their design effect over all rows
        is that of every bin.

    Returns
    -------
    ReliabilityCurve

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, lengths differ, or an option is not allowed.

    Examples
    --------
    >>> curve = reliability_curve([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9], n_bins=2)
    >>> curve.accuracy.tolist(), curve.n.tolist()
    ([0.5, 1.0], [2, 2])
    """
    return curve_of(check_predictions(y_true, y_prob, sample_weight, groups), n_bins, strategy)


def curve_of(rows: LabelledRows, n_bins: int, strategy: str = "mass") -> ReliabilityCurve:
    """Return the curve of rows, as :func:`reliability_curve` does."""
    y, f, weight = rows.correct, rows.confidence, rows.shares
    index = bin_index(f, n_bins, strategy, weight)
    n = np.bincount(index, minlength=n_bins)
    used = n > 0
    mass, squares, right, sure = (
        np.bincount(index, v, n_bins)[used] for v in (weight, weight * weight, weight * y, weight * f)
    )
    accuracy = np.clip(right / mass, 0.0, 1.0)
    effect = effect_given_confidence(rows)
    # effective number of rows, (sum w)^2 / sum w^2 (Kish, Survey Sampling, 1965)
    low, high = wilson(accuracy, mass * mass / squares / effect)
    return ReliabilityCurve(np.clip(sure / mass, 0.0, 1.0), accuracy, low, high, n[used])
