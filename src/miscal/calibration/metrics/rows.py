"""The rows that every metric takes: outcomes, confidences and weights, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight


def check_rows(correct: Any, confidence: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check outcomes, confidences and weights, and drop the rows of weight 0.

    Returns
    -------
    y, f, weight : float64 arrays of one length
        Outcomes 0 or 1, confidences in [0, 1], weights that sum to 1.

    Raises
    ------
    InputError
        If an array is empty, not numbers, not finite or out of range, or if lengths differ (see `miscal.base.checks`).

    Examples
    --------
    >>> check_rows([1, 0, 1], [0.5, 0.5, 0.9], [1, 0, 3])
    (array([1., 1.]), array([0.5, 0.9]), array([0.25, 0.75]))
    """
    n = check_lengths(correct=correct, confidence=confidence, sample_weight=sample_weight)
    y, f, weight = check_correct(correct), check_confidence(confidence), check_weight(sample_weight, n)
    if sample_weight is not None:
        keep = weight > 0
        y, f, weight = y[keep], f[keep], weight[keep]
    return y, f, weight / weight.sum()


def weighted_residuals(correct: Any, confidence: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the checked confidences, which must not be written to, and w_i r_i with weights that sum to 1.

    Without weights nothing else is copied: fresh memory pages for a copy would cost more than all arithmetic on it.

    Examples
    --------
    >>> weighted_residuals([1, 0], [0.5, 0.5], None)
    (array([0.5, 0.5]), array([ 0.25, -0.25]))
    """
    if sample_weight is not None:
        y, f, weight = check_rows(correct, confidence, sample_weight)
        return f, weight * (y - f)
    n = check_lengths(correct=correct, confidence=confidence)
    f = check_confidence(confidence, copy=False)
    residual = check_correct(correct, copy=False) - f
    residual /= n
    return f, residual
