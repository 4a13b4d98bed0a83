"""Reliability curves: accuracy against confidence, in bins and by a kernel as wide as smECE says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Part
from miscal.calibration.labelled_rows import LabelledRows, check_predictions
from miscal.calibration.metrics.confidence_cells import merge
from miscal.calibration.metrics.inference import DRAWS, ErrorEstimate, RandomState, effect_given_confidence, smece_of
from miscal.calibration.metrics.scores import bin_index, wilson
from miscal.calibration.metrics.smooth import expected_floor


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


class CurveNumbers(Part):
    """A reliability curve with its 95 % band, one entry per bin.

    `low, high`: ends of the band.
    """

    confidence: tuple[FiniteFloat, ...]
    accuracy: tuple[FiniteFloat, ...]
    low: tuple[FiniteFloat, ...]
    high: tuple[FiniteFloat, ...]
    n: tuple[NonNegativeInt, ...]


class CurvePair(Part):
    """Reliability before and after the correction.

    `raw`: before; null where the rows are too few for a curve.
    """

    raw: CurveNumbers | None
    corrected: CurveNumbers | None


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
    return ReliabilityCurve(**curve_of(check_predictions(y_true, y_prob, sample_weight, groups), n_bins, strategy))


def curve_of(rows: LabelledRows, n_bins: int, strategy: str = "mass") -> dict[str, np.ndarray]:
    """Return what a curve of rows consists of, by the names of :class:`ReliabilityCurve`."""
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
    confidence = np.clip(sure / mass, 0.0, 1.0)
    return {"confidence": confidence, "accuracy": accuracy, "low": low, "high": high, "n": n[used]}


_POINTS = 101
"""Points of the curve: as many as a drawing of a few inches can tell apart."""

_WIDEST = 0.1
"""Most bandwidth: a tenth of the axis. That of a model which is far off everywhere would leave no shape to see."""

_STIFFNESS = 0.01
"""Draws each line to the level, by a hundredth of the kernel's own variance: where all rows around a point have one
confidence, no slope can be seen. Not tuned."""

_BINS = 20
"""Bins of the histogram at most: five points wide where confidences go from 0 to 1. A convention, not tuned."""


@dataclass(frozen=True)
class SmoothReliabilityCurve:
    """A smooth reliability curve, what its error is, and how the confidences are spread.

    Attributes
    ----------
    confidence : numpy.ndarray
        float64, shape (m,), rising, from the lowest to the highest confidence, in [0, 1].
    accuracy : numpy.ndarray
        float64, shape (m,), in [0, 1]: mean outcome of the rows around each confidence. Above the confidence:
        under-confident there.
    low, high : numpy.ndarray
        float64, shape (m,): Wilson's 95 % interval at each point by itself, by the effective number of rows that the
        kernel averages. It says nothing of the kernel's own bias.
    bandwidth : float
        Standard deviation of the Gaussian kernel, in probability: smECE itself (Blasiok and Nakkiran, 2024), but at
        least its expected floor, and at most 0.1.
    smece : ErrorEstimate
        The error, its 95 % interval, its floor (what a calibrated model would show) and its p-value.
    edges, counts : numpy.ndarray
        Histogram of the confidences: up to 20 bins of a round width that hold all of them, and the rows of each.
    n : int
        Rows of positive weight.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bandwidth: float
    smece: ErrorEstimate
    edges: np.ndarray
    counts: np.ndarray
    n: int


def smooth_reliability_curve(
    y_true: Any, y_prob: Any, *, sample_weight: Any = None, n_draws: int = DRAWS, random_state: RandomState = 0
) -> SmoothReliabilityCurve:
    """Estimate how often the outcome is 1 at each confidence, without bins.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.
    n_draws : int, default 1000
        Draws for floor, interval and p-value of smECE.
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    SmoothReliabilityCurve

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, or lengths differ.

    References
    ----------
    J. Blasiok, P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", ICLR 2024,
    arXiv:2309.12236: a Gaussian kernel with a bandwidth equal to smECE. J. Fan, "Design-adaptive nonparametric
    regression", JASA 87, 1992: a straight line at each point, which has less bias than a mean, at the ends above all.

    Examples
    --------
    >>> curve = smooth_reliability_curve([0, 1, 0, 0] * 25, [0.9] * 100, n_draws=100)
    >>> curve.confidence.tolist(), curve.accuracy.round(2).tolist(), round(curve.smece.value, 2)
    ([0.9], [0.25], 0.65)
    """
    return smooth_curve_of(check_predictions(y_true, y_prob, sample_weight), n_draws, random_state)


def smooth_curve_of(rows: LabelledRows, n_draws: int, random_state: RandomState) -> SmoothReliabilityCurve:
    """Return the smooth curve of rows, as :func:`smooth_reliability_curve` does."""
    error = smece_of(rows, n_draws, random_state)
    width = max(expected_floor(len(rows)), min(error.value, _WIDEST))
    cells = merge(rows)
    at = np.unique(np.linspace(rows.confidence.min(), rows.confidence.max(), _POINTS))
    share = _local_linear(at, cells.location, cells.mass, width)
    accuracy = np.clip(share @ cells.rate, 0.0, 1.0)
    # of the sum of s_i y_i, over cells whose rows share its weight alike
    effective = 1 / (share**2 @ (1 / cells.count))
    low, high = wilson(accuracy, effective)
    counts, edges = np.histogram(rows.confidence, bins=_edges(rows.confidence))
    return SmoothReliabilityCurve(at, accuracy, low, high, float(width), error, edges, counts, len(rows))


def _edges(confidence: np.ndarray) -> np.ndarray:
    """Edges of up to 20 bins that hold all confidences, at multiples of 0.05, 0.02, 0.01, 0.005 and so on."""
    low, high = confidence.min(), confidence.max()
    edges = np.array([0.0, 1.0])
    for width in (factor * 10.0**-power for power in (2, 3, 4) for factor in (5, 2, 1)):
        first, last = math.floor(low / width + 1e-9), max(math.ceil(high / width - 1e-9), 1)
        if last - first > _BINS:
            break
        edges = np.arange(min(first, last - 1), last + 1) * width
    # rounding may leave an end just inside the confidences
    return np.r_[min(edges[0], low), edges[1:-1], max(edges[-1], high)]


def _local_linear(at: np.ndarray, location: np.ndarray, mass: np.ndarray, width: float) -> np.ndarray:
    """Weights (m, G), summing to 1 over cells, of the local straight line at each point (Fan, JASA 87, 1992).

    A local mean would flatten the curve, most of all at its ends.
    """
    apart = (location - at[:, None]) / width
    far = np.square(apart) / 2
    # where cells lie far apart beside the bandwidth all weights would vanish: that of the nearest stays
    kernel = mass * np.exp(far.min(axis=1, keepdims=True) - far)
    kernel /= kernel.sum(axis=1, keepdims=True)
    first = (kernel * apart).sum(axis=1, keepdims=True)
    second = (kernel * apart**2).sum(axis=1, keepdims=True) + _STIFFNESS
    return kernel * (second - first * apart) / (second - first**2)
