"""Compute how much hidden miscalibration a set of rows could have detected.

A field leads to a claim if shuffling it within strata of near-equal confidence gives a small p-value. The power of
that is by the normal law. It counts what the test loses: centring within a stratum of m rows costs one row in m, and
blocks that learn from few rows count less.

What is presumed: the inputs are wrong in either direction as often, by the same size on every row (less where the rate
leaves less room), and the estimated field has the right sign and, relative to one another, the right sizes on every
row. A field with wrong sizes needs more: the p-value weighs the rows by the sizes that the field gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from miscal.base.checks import check_confidence, check_correct, check_weight
from miscal.calibration.metrics import MIN_SLICE_ROWS, brier, worst_slice
from miscal.evidence.blocks import spend
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Design:
    """What is known of a block before its outcomes.

    Attributes
    ----------
    expected : (n,) float64 in [0, 1]
        E[y | f].
    stratum : (n,) int64
        Of near-equal confidence.
    effect : float >= 1
        Design effect of a field that is alike in all rows of a group: 1 where the rows are independent.
    weight : (n,) float64, or None
        How much each row counts, 1 on average; None: all alike.
    """

    expected: Floats
    stratum: Ints
    effect: float = 1.0
    weight: Floats | None = None

    @property
    def mass(self) -> Floats:
        """How much each row counts, 1 on average."""
        return np.ones_like(self.expected) if self.weight is None else self.weight


def detectable_size(
    blocks: Sequence[Design],
    level: float = EVIDENCE_DEFAULTS.significance,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
) -> float | None:
    """Mean absolute hidden miscalibration that is claimed with 80 % power.

    Takes blocks: in the order in which they are tested; level: what the p-value of the field must be below. Returns
    float or None: None where not even the largest size that the rates leave room for would be detected.

    Examples
    --------
    >>> rows = Design(np.full(800, 0.5), np.arange(800) // 8)
    >>> round(detectable_size([rows]), 3), detectable_size([Design(np.full(3, 0.5), np.zeros(3, dtype=int))])
    (0.047, None)
    """
    low, high = 0.0, 0.5
    if _surplus(blocks, high, level, settings) < 0:
        return None
    for _ in range(settings.halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if _surplus(blocks, middle, level, settings) >= 0 else (middle, high)
    return float(np.mean(np.concatenate([block.mass * _hidden(block.expected, high) for block in blocks])))


def _hidden(expected: Floats, size: float) -> Floats:
    """Size of what is hidden: the same on every row, or what the rate leaves room for in both directions."""
    return np.minimum(size, np.minimum(expected, 1 - expected))


def _surplus(blocks: Sequence[Design], size: float, level: float, settings: EvidenceSettings) -> float:
    """By how many standard deviations the expected sum is above what 80 % power takes."""
    weight = spend([len(block.expected) for block in blocks], [True] * len(blocks)).weight
    mean, spread = _signal(blocks, weight, size)
    return mean + float(ndtri(level)) - settings.z_power * spread


def _signal(blocks: Sequence[Design], weight: Floats, size: float) -> tuple[float, float]:
    """Mean and standard deviation of the combined z."""
    mean, variance = 0.0, 0.0
    for block, w in zip(blocks, weight, strict=True):
        hidden, rows = _hidden(block.expected, size), np.bincount(block.stratum)[block.stratum]
        # a row of m keeps (m - 1) / m of its variance when the stratum is centred
        kept = (block.mass * hidden) ** 2 * (1 - 1 / rows)
        null = block.effect * float(kept @ (block.expected * (1 - block.expected)))
        if null <= 0:
            continue
        mean += w * float((1 - 1 / rows) * block.mass * hidden @ hidden) / np.sqrt(null)
        # what is hidden is no noise
        variance += w**2 * block.effect * float(kept @ (block.expected * (1 - block.expected) - hidden**2)) / null
    return mean, float(np.sqrt(max(variance, 0.0)))


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
