"""Measure how much of what is found depends on epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from miscal.base.checks import check_confidence, check_correct, check_weight
from miscal.calibration.metrics import MIN_SLICE_ROWS, brier, worst_slice
from miscal.evidence.settings import EVIDENCE_DEFAULTS


@dataclass(frozen=True)
class Threshold:
    """The regimes at one epsilon, on test rows.

    Attributes
    ----------
    epsilon : float
    share_over, share_under : float
        Shares of all rows, in [0, 1].
    gap : float or None
        smECE of the worst slice less that of all rows; None where both slices are too small.
    worst : str or None
        "over" or "under", the slice with the larger score.
    share_worst : float or None
        Share of all rows in that slice.
    brier_gap : float or None
        Brier score of that slice less that of all rows.
    """

    epsilon: float
    share_over: float
    share_under: float
    gap: float | None
    worst: str | None
    share_worst: float | None
    brier_gap: float | None


def threshold_sensitivity(
    correct: ArrayLike,
    confidence: ArrayLike,
    cut: Callable[[float], ArrayLike],
    *,
    epsilons: Sequence[float] = EVIDENCE_DEFAULTS.epsilons,
    min_rows: int = MIN_SLICE_ROWS,
    by: Literal["smece", "brier"] = "smece",
    weights: ArrayLike | None = None,
) -> tuple[Threshold, ...]:
    """Cut the same field at several epsilons.

    Takes correct (n,); confidence (n,); cut: takes an epsilon and returns the regime of each row, (n,): "over",
    "under", anything else or None; min_rows: rows that a slice needs; by: the score that says which slice is worst;
    weights (n,): how much each row counts. Returns tuple of Threshold: One for each epsilon, in order.

    Examples
    --------
    >>> y, f, delta = [1, 0] * 50, [0.5] * 100, np.array([0.3, -0.08] * 50)
    >>> def cut(epsilon):
    ...     return np.select([delta < -epsilon, delta > epsilon], ["over", "under"], "good")
    >>> [(t.share_over, t.share_under) for t in threshold_sensitivity(y, f, cut, epsilons=(0.05, 0.1))]
    [(0.5, 0.5), (0.0, 0.5)]
    """
    y, f = check_correct(correct), check_confidence(confidence)
    weight = check_weight(weights, len(y), name="weights")
    return tuple(_at(y, f, weight, np.asarray(cut(one), dtype=object), one, min_rows, by) for one in epsilons)


def _at(
    correct: np.ndarray,
    confidence: np.ndarray,
    weight: np.ndarray,
    regime: np.ndarray,
    epsilon: float,
    min_rows: int,
    by: str,
) -> Threshold:
    shares = {f"share_{name}": float(np.average(regime == name, weights=weight)) for name in ("over", "under")}
    found = worst_slice(correct, confidence, regime, min_rows=min_rows, sample_weight=weight)
    if not found.slices:
        return Threshold(float(epsilon), **shares, gap=None, worst=None, share_worst=None, brier_gap=None)
    inside = {name: regime == name for name in found.slices}
    briers = {name: brier(correct[rows], confidence[rows], sample_weight=weight[rows]) for name, rows in inside.items()}
    score = briers if by == "brier" else found.slices
    worst = max(score, key=lambda name: score[name])
    return Threshold(
        float(epsilon),
        **shares,
        gap=found.slices[worst] - found.smece,
        worst=worst,
        share_worst=shares[f"share_{worst}"],
        brier_gap=briers[worst] - brier(correct, confidence, sample_weight=weight),
    )
