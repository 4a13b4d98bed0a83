"""Scores of confidences that need no smoothing, intervals of means, and what guidelines ask of risk models.

Three questions that guidelines on risk models ask of probabilities f and outcomes y (Cox, Biometrika 45, 1958; Van
Calster et al., Journal of Clinical Epidemiology 74, 2016):

    O/E        how many times as often the outcome is 1 as was said: mean y over mean f; 1 is right
    intercept  a of logit P(y = 1) = a + logit f: by how much all log-odds are too low; 0 is right
    slope      b of logit P(y = 1) = a + b logit f: below 1, probabilities are too far from their mean; 1 is right

Each is the solution of an estimating equation, so that a row moves it by a known amount, its influence (Huber, 1967).
The variance is that of the influences added up by unit (Liang and Zeger, Biometrika 73, 1986), with Student's quantile,
as of a mean: it holds where units hang together, and where the logistic curve is not the right one. The influence of a
unit is divided by what the unit leaves of the information: units that rule the fit, such as the few rows of a high
risk, are nearer to it than others would be (Mancl and DeRouen, Biometrics 57, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri, stdtr, stdtrit

from miscal.base.checks import check_weight
from miscal.base.document import MeasureAgainstNull, Number
from miscal.base.errors import InputError
from miscal.calibration.calibrators import finest_clip, logit, newton
from miscal.calibration.labelled_rows import LabelledRows, check_groups, check_predictions, labelled

Floats = NDArray[np.float64]

LOG_LOSS_CLIP = 1e-4
"""Log loss takes probabilities clipped to [1e-4, 1 - 1e-4], for every method alike: a smaller clip lets a few
rows that were wrongly certain rule the mean, a larger one stops telling 0.999 from 0.9999. A convention, not tuned."""

CONFIDENCE_LEVEL = 0.95
"""Coverage of every interval (two-sided) and of every lower limit (one-sided): a convention."""

_ROUNDING = 1e-9
"""An effective number of rows that exceeds 1 by less than this may do so by rounding alone, and says nothing of the
spread. It takes a row that has all but a billionth of the weight for the only one."""


class MeanEstimate(MeasureAgainstNull):
    """A weighted mean with its uncertainty; all but the value is None where a single row has (nearly) all the weight.

    `interval`: low and high at 95 %. `p_value`: two-sided, against the value under the null hypothesis, 0 by default.
    """

    standard_error: Number = None


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
        return MeanEstimate(value=mean)
    squares = float(np.sum(np.square(parts))) + (unit / n_eff) ** 2
    error = math.sqrt(squares * n_eff / (n_eff - 1)) * rows.factor
    half = float(stdtrit(n_eff - 1, (1 + CONFIDENCE_LEVEL) / 2)) * error
    # without any spread the mean is certain: p is 1 if it is the null's, else 0
    p_value = 2 * float(stdtr(n_eff - 1, -abs(mean - null) / error)) if error > 0 else float(mean == null)
    return MeanEstimate(value=mean, interval=(mean - half, mean + half), p_value=p_value, standard_error=error)


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
    return found.model_copy(update={"interval": interval})


def observed_expected(rows: LabelledRows) -> MeanEstimate | None:
    """Return how many times as often the outcome is 1 as was said; None where nothing is expected.

    Its logarithm is the constant of a Poisson regression with log f as offset; interval and test are by that. Where no
    outcome is 1 there are none.

    Examples
    --------
    >>> y, f = np.repeat([1.0, 0.0], [30, 70]), np.full(100, 0.25)
    >>> found = observed_expected(LabelledRows(y, f, f))
    >>> round(found.value, 2), [round(end, 2) for end in found.interval], round(found.p_value, 2)
    (1.2, [0.88, 1.63], 0.24)
    """
    expected, observed = float(rows.shares @ rows.confidence), float(rows.shares @ rows.correct)
    if expected <= 0:
        return None
    ratio, constant = observed / expected, np.ones((len(rows), 1))
    if observed == 0:
        return MeanEstimate(value=0.0)
    scores = constant * (rows.shares * (rows.correct - ratio * rows.confidence))[:, None]
    part, inverse = rows.shares * ratio * rows.confidence, np.array([[1 / observed]])
    found = mean_of_values(rows, np.log(ratio) + _influence(rows, constant, part, inverse, scores))
    ends = found.interval and tuple(np.exp(found.interval).tolist())
    return MeanEstimate(value=ratio, interval=ends, p_value=found.p_value)


def calibration_intercept(rows: LabelledRows) -> MeanEstimate | None:
    """Return a of logit P(y = 1) = a + logit f; None where all outcomes are alike.

    Examples
    --------
    >>> y, f = np.repeat([1.0, 0.0], [30, 70]), np.full(100, 0.25)
    >>> round(calibration_intercept(LabelledRows(y, f, f)).value, 4), round(float(np.log(3 / 7 / (1 / 3))), 4)
    (0.2513, 0.2513)
    """
    if np.ptp(rows.correct) == 0:
        return None
    return _coefficient(rows, np.ones((len(rows), 1)), _log_odds(rows), 0.0)


def calibration_slope(rows: LabelledRows) -> MeanEstimate | None:
    """Return b of logit P(y = 1) = a + b logit f; None where probabilities are alike or part the outcomes.

    Examples
    --------
    >>> f = np.repeat([0.2, 0.8], 100)
    >>> y = np.tile(np.repeat([1.0, 0.0], 50), 2)
    >>> y[:10], y[100:110] = 0.0, 1.0
    >>> found = calibration_slope(LabelledRows(y, f, f))
    >>> round(found.value, 2), found.p_value < 0.001
    (0.15, True)
    """
    ones, zeros = (np.sort(rows.confidence[rows.correct == one]) for one in (1, 0))
    # no slope is steep enough where these do not overlap, and none is known where nothing varies
    if not len(ones) or not len(zeros) or ones[0] >= zeros[-1] or ones[-1] <= zeros[0]:
        return None
    design = np.column_stack([_log_odds(rows), np.ones(len(rows))])
    return _coefficient(rows, design, np.zeros(len(rows)), 1.0)


def _log_odds(rows: LabelledRows) -> Floats:
    """Log-odds of the confidences; of 0 and 1, of half the least distance that another has from them."""
    return logit(rows.confidence, finest_clip(rows.confidence))


def _coefficient(rows: LabelledRows, design: Floats, offset: Floats, null: float) -> MeanEstimate:
    """Estimate the first coefficient of a logistic regression whose outcomes have these offsets."""
    start = np.zeros(design.shape[1])
    start[0] = null
    theta, _ = newton(design, rows.correct, rows.mass, start, offset)
    rate = expit(offset + design @ theta)
    part = rows.shares * rate * (1 - rate)
    inverse = np.linalg.inv((design.T * part) @ design)
    scores = design * (rows.shares * (rows.correct - rate))[:, None]
    # a last step of Newton's, to the precision of the sums
    value = float(theta[0] + inverse[0] @ scores.sum(axis=0))
    return mean_of_values(rows, value + _influence(rows, design, part, inverse, scores), null=null)


def _influence(rows: LabelledRows, design: Floats, part: Floats, inverse: Floats, scores: Floats) -> Floats:
    """By how much each row moves the first coefficient, allowing for what its unit takes of the information; (n,)."""
    unit, k = np.arange(len(rows)) if rows.group is None else rows.group, design.shape[1]
    taken = np.zeros((int(unit.max()) + 1, k, k))
    np.add.at(taken, unit, part[:, None, None] * design[:, :, None] * design[:, None])
    kept = np.linalg.inv(np.eye(k) - taken @ inverse)
    moved = np.einsum("j,njk,nk->n", inverse[0], kept[unit], scores) / rows.shares
    return moved - rows.shares @ moved
