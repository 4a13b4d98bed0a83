"""The paper's range-aware correction of confidences (arXiv 2605.13484, equation 6)."""

from __future__ import annotations

import numpy as np

ALPHAS = np.geomspace(0.01, 100.0, 161)
"""Scales tried for the range-aware map: from no change to a jump to the end of the range, in steps of 6 %."""


def range_aware(confidence: np.ndarray, delta: np.ndarray, alpha: float) -> np.ndarray:
    """Correct confidences by the paper's range-aware map (equation 6).

    f + D with D = -f tanh(alpha |delta|) where delta < 0 and (1 - f) tanh(alpha |delta|) elsewhere.

    Takes confidence (n,); delta (n,): the field, negative where over-confident; alpha: scale, not negative. Returns
    array of shape (n,): In [0, 1], lower than the confidence where delta < 0 and higher where delta > 0.

    Examples
    --------
    >>> range_aware(np.array([0.9, 0.9]), np.array([-0.2, 0.2]), alpha=2.0).round(3)
    array([0.558, 0.938])
    """
    pull = np.tanh(alpha * np.abs(delta))
    room = np.where(delta < 0, -confidence, 1.0 - confidence)
    return np.clip(confidence + room * pull, 0.0, 1.0)


def choose_alpha(
    correct: np.ndarray, confidence: np.ndarray, delta: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Return the scale of :func:`range_aware`, of those in ``ALPHAS``, with the smallest Brier score.

    Takes correct, confidence, delta (n,): of validation rows; weight (n,). Returns float: The smaller of equally good
    ones.

    Examples
    --------
    >>> f, y = np.full(100, 0.5), np.repeat([1.0, 0.0], [75, 25])
    >>> alpha = choose_alpha(y, f, delta=np.full(100, 0.25))
    >>> range_aware(f, np.full(100, 0.25), alpha)[0].round(2)
    np.float64(0.75)
    """
    briers = [
        np.average(np.square(correct - range_aware(confidence, delta, alpha)), weights=weight) for alpha in ALPHAS
    ]
    return float(ALPHAS[int(np.argmin(briers))])
