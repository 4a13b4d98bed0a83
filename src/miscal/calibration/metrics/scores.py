"""Scores of confidences that need no smoothing, and intervals of means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.base.checks import check_weight
from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows, check_groups, check_predictions, labelled

LOG_LOSS_CLIP = 1e-4
"""Log loss takes probabilities clipped to [1e-4, 1 - 1e-4], for every method alike: a smaller clip lets a few
rows that were wrongly certain rule the mean, a larger one stops telling 0.999 from 0.9999. A convention, not tuned."""

CONFIDENCE_LEVEL = 0.95
"""Coverage of every interval (two-sided) and of every lower limit (one-sided): a convention."""

_ROUNDING = 1e-9
"""An effective number of rows that exceeds 1 by less than this may do so by rounding alone, and says nothing of the
spread. It takes a row that has all but a billionth of the weight for the only one."""


@dataclass(frozen=True)
class MeanEstimate:
    """A mean with its uncertainty.

    Attributes
    ----------
    value : float
        The weighted mean.
    standard_error : float or None
        None where it is undefined: of a single row, or where a single row has all the weight up to rounding.
    interval : (float, float) or None
        Low and high at 95 %; None where the standard error is.
    p_value : float or None
        Two-sided, against the value under the null hypothesis, which is 0 by default; None where the standard error is.
    n : int
        Rows of positive weight.
    """

    value: float
    standard_error: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    n: int


def brier(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
    """Brier score: the mean of (y - f)^2.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.

    Returns
    -------
    float
        In [0, 1]; lower is better.

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, or lengths differ.

    Examples
    --------
    >>> brier([1, 0], [0.5, 0.5])
    0.25
    """
    return mean_value(check_predictions(y_true, y_prob, sample_weight), squared_errors)


def mean_value(rows: LabelledRows, values: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """Return the weighted mean of a value that outcome and confidence give each row."""
    return float(rows.shares @ values(rows.correct, rows.confidence))


def squared_errors(correct: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return each row's squared error, of checked float64 arrays of one shape.

    Examples
    --------
    >>> squared_errors(np.array([1.0]), np.array([0.5]))
    array([0.25])
    """
    return np.square(correct - confidence)


def log_loss(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
    """Mean of -log(probability given to the outcome), natural logarithm, with f clipped to [1e-4, 1 - 1e-4].

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.

    Returns
    -------
    float
        In [1e-4, 9.21], in nats; lower is better.

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, or lengths differ.

    Examples
    --------
    >>> round(log_loss([1, 0], [0.5, 1.0]), 4)
    4.9517
    """
    return mean_value(check_predictions(y_true, y_prob, sample_weight), log_losses)


def log_losses(correct: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return each row's clipped log loss, in nats, of checked float64 arrays of one shape.

    Examples
    --------
    >>> log_losses(np.array([1.0]), np.array([0.0])).round(3)
    array([9.21])
    """
    clipped = np.clip(confidence, LOG_LOSS_CLIP, 1 - LOG_LOSS_CLIP)
    return -np.log(np.where(correct == 1, clipped, 1 - clipped))


def bin_index(confidence: np.ndarray, n_bins: int, strategy: str, weight: np.ndarray) -> np.ndarray:
    """Return the bin of each row.

    Takes confidence (n,): in [0, 1]; n_bins: at least 1; strategy: "width": bins [i, i + 1) / n_bins, the last one
    closed, so f = 1 belongs to it; weight (n,): positive, summing to 1. Returns numpy.ndarray: int64, shape (n,), in
    0 to n_bins - 1.

    Examples
    --------
    >>> bin_index(np.array([0.0, 0.5, 1.0]), 2, "width", np.full(3, 1 / 3))
    array([0, 1, 1])
    """
    if n_bins != int(n_bins) or n_bins < 1:
        raise InputError(f"n_bins must be a whole number of at least 1; got {n_bins!r}")
    if strategy == "width":
        edges = np.arange(1, n_bins) / n_bins
        return np.searchsorted(edges, confidence, side="right")
    if strategy == "mass":
        _, inverse = np.unique(confidence, return_inverse=True)
        mass = np.bincount(inverse, weight)
        middle = np.cumsum(mass) - mass / 2
        # a value belongs where the middle of its weight lies; 1e-9 keeps rounding from moving it across an edge
        return np.clip(np.floor(middle * n_bins + 1e-9).astype(np.int64), 0, n_bins - 1)[inverse]
    raise InputError(f"strategy must be 'width' or 'mass'; got {strategy!r}")


def ece(y_true: Any, y_prob: Any, n_bins: int = 15, strategy: str = "width", *, sample_weight: Any = None) -> float:
    """Binned expected calibration error: the sum over bins of |weighted sum of residuals|.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    n_bins : int, default 15
        Number of bins.
    strategy : {"width", "mass"}, default "width"
        Bins of equal width, or of equal weight; see `bin_index`.
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.

    Returns
    -------
    float
        In [0, 1], unsigned.

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, lengths differ, or an option is not allowed.

    Examples
    --------
    >>> ece([1, 0, 1, 1], [0.9, 0.9, 1.0, 1.0], n_bins=10)
    0.2
    """
    return ece_of(check_predictions(y_true, y_prob, sample_weight), n_bins, strategy)


def ece_of(rows: LabelledRows, n_bins: int = 15, strategy: str = "width") -> float:
    """Return the binned error of rows, as :func:`ece` does."""
    index = bin_index(rows.confidence, n_bins, strategy, rows.shares)
    return float(np.abs(np.bincount(index, rows.shares * (rows.correct - rows.confidence))).sum())


def wilson(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson score interval of a share, at 95 % (E. B. Wilson, JASA 22, 1927).

    Takes share: observed shares in [0, 1]; n: rows behind each (effective rows if weighted), > 0. Returns low, high :
    numpy.ndarray: In [0, 1].

    Examples
    --------
    >>> [round(float(v), 3) for v in wilson(np.array(1.0), np.array(10))]
    [0.722, 1.0]
    """
    from scipy.special import ndtri

    z2 = float(ndtri((1 + CONFIDENCE_LEVEL) / 2)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) * math.sqrt(z2) / (1 + z2 / n)
    # rounding must not exclude the share itself
    return np.maximum(np.minimum(centre - half, share), 0.0), np.minimum(np.maximum(centre + half, share), 1.0)


def mean_interval(
    values: Any, *, sample_weight: Any = None, groups: Any = None, null: float = 0.0, unit: float = 0.0
) -> MeanEstimate:
    """Mean with Student interval and p-value; rows, or groups of them, are independent, weights belong to rows.

    The variance of a weighted mean is sum w^2 (v - mean)^2 n_eff / (n_eff - 1), with weights summing to 1 and
    n_eff = 1 / sum w^2. Weights say how much a row matters, not that it was seen so often: repeat rows for that.
    Where n_eff is 1 up to rounding, as with a single row, there is no interval and no p-value. With groups the sums of
    w (v - mean) over each group, and the groups' weights, take the place of those of rows (Liang and Zeger, 1986).

    Takes values (n,): finite numbers; sample_weight (n,): non-negative; groups (n,): rows of equal value may hang
    together; null: the mean under the null hypothesis of `p_value`; unit: how much a value changes when its outcome
    flips.

    Examples
    --------
    >>> estimate = mean_interval([0.0, 1.0, 2.0])
    >>> estimate.value, round(estimate.standard_error, 3), [round(v, 2) for v in estimate.interval]
    (1.0, 0.577, [-1.48, 3.48])
    """
    v = _check_values(values, "values")
    # the values stand in for outcomes, which nothing here looks at
    weight = None if sample_weight is None else check_weight(sample_weight, len(v))
    rows = labelled(v, v, check_groups(groups, len(v)), weight)
    return mean_of_values(rows, rows.correct, null=null, unit=unit)


def mean_of_values(rows: LabelledRows, values: np.ndarray, *, null: float = 0.0, unit: float = 0.0) -> MeanEstimate:
    """Return the mean of a value of each row with interval and p-value, as :func:`mean_interval` says."""
    v, weight, group = values, rows.shares, rows.group
    mean = float(weight @ v)
    parts, shares = weight * (v - mean), weight
    if group is not None:
        parts, shares = np.bincount(group, parts), np.bincount(group, weight)
    n_eff = 1 / float(shares @ shares)
    if n_eff < 1 + _ROUNDING:
        return MeanEstimate(mean, None, None, None, len(v))
    squares = float(np.sum(np.square(parts))) + (unit / n_eff) ** 2
    error = math.sqrt(squares * n_eff / (n_eff - 1)) * rows.factor
    return _student(mean, error, n_eff - 1, null, len(v))


def _student(mean: float, error: float, freedom: float, null: float, n: int) -> MeanEstimate:
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(freedom, (1 + CONFIDENCE_LEVEL) / 2)) * error
    # without any spread the mean is certain: p is 1 if it is the null's, else 0
    p_value = 2 * float(stdtr(freedom, -abs(mean - null) / error)) if error > 0 else float(mean == null)
    return MeanEstimate(mean, error, (mean - half, mean + half), p_value, n)


def _check_values(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be of shape (n,), with at least one row; its shape is {array.shape}")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold numbers (float, int or bool); its dtype is {array.dtype}")
    array = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"{name} must be finite; {len(bad)} of {len(array)} values are NaN or infinite (rows {bad[:5].tolist()}): "
            "correct or drop them"
        )
    return array


def mean_residual(rows: LabelledRows) -> MeanEstimate:
    """Mean residual y - f of rows with Student's interval and p-value against 0; positive is under-confident.

    An approximation for many rows, cheap and with weights. Whether a slice of few rows is off is told exactly by the
    binomial test of :mod:`miscal.findings.residuals`. The interval is that of `mean_interval` with ``unit=1``, cut to
    what these confidences allow: -mean f (all wrong) to 1 - mean f.

    Examples
    --------
    >>> mean_residual(check_predictions([0, 1, 0, 0], [0.75, 0.75, 0.75, 0.75])).value
    -0.5
    """
    found = mean_of_values(rows, rows.correct - rows.confidence, unit=1.0)
    if found.interval is None:
        return found
    (low, high), mean = found.interval, float(rows.shares @ rows.confidence)
    interval = max(low, min(-mean, found.value)), min(high, max(1 - mean, found.value))
    return MeanEstimate(found.value, found.standard_error, interval, found.p_value, found.n)
