"""Observed over expected, calibration intercept and calibration slope, with intervals that count units.

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

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.calibration.calibrators import finest_clip, logit, newton
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import MeanEstimate, mean_of_values

Floats = NDArray[np.float64]


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
        return MeanEstimate(0.0, None, None, None, len(rows))
    scores = constant * (rows.shares * (rows.correct - ratio * rows.confidence))[:, None]
    part, inverse = rows.shares * ratio * rows.confidence, np.array([[1 / observed]])
    found = mean_of_values(rows, np.log(ratio) + _influence(rows, constant, part, inverse, scores))
    if found.interval is None:
        return replace(found, value=ratio)
    low, high = np.exp(found.interval)
    return replace(found, value=ratio, standard_error=ratio * found.standard_error, interval=(float(low), float(high)))


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
