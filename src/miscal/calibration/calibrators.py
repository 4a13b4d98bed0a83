"""Global calibration maps: isotonic regression, a shift, temperature and Platt scaling.

Each class maps a confidence f to a probability, and a larger f never to a smaller one. They share one protocol:
``fit(correct, confidence, sample_weight=None)`` returns self, and ``predict(confidence)`` gives (n,) in [0, 1].

A shift and Platt scaling clip f to [1e-4, 1 - 1e-4] (``LOGIT_CLIP``) before they take a logit.
Temperature scaling moves 0 and 1 alone (:class:`Temperature`).
A row of weight 2 counts as two equal rows, so the size of the weights matters; a row of weight 0 counts as absent.
``fit`` raises InputError where rows cannot be used (see :mod:`miscal.base.checks`). A single row, outcomes of one class
and a constant confidence are allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit

from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.base.folders import saved_fields

LOGIT_CLIP = 1e-4
"""Confidences are clipped to [1e-4, 1 - 1e-4] before a logit is taken, except by a temperature: a smaller clip lets a
few rows of confidence 0 or 1 rule the fit, a larger one makes maps blind to differences near the ends. The same as the
clip of the log loss (`metrics.scores.LOG_LOSS_CLIP`), within which all methods are compared. Not tuned."""

_LEAST_TO_ONE = 2.0**-53
"""What a float64 just below 1 leaves to 1."""

SLOPE_RANGE = (0.01, 100.0)
"""Bounds of 1 / T: where outcomes are of one class or the confidence is inverted, no finite optimum exists, and the fit
stops at a bound. A map of slope 0.01 is all but flat, one of slope 100 all but a step. Not tuned."""

_RIDGE = 1e-6
"""Weight of the pull towards the identity, in units of one row: large enough to choose where the data leave a choice,
too small to be seen where they do not. Not tuned."""

_NEWTON_STEPS = 100
"""Newton steps at most. Most fits take fewer than ten; the bound keeps an ill-conditioned one from running on."""

_CONVERGED = 1e-12
"""Newton stops where a step would lower the loss by less than this share: near the rounding of the loss itself."""

_SUFFICIENT, _SMALLEST_STEP = 1e-4, 1e-10
"""A step is halved until the loss falls by this share of what the gradient promises, or the step is this small:
Armijo's rule with its usual constant (Nocedal and Wright, Numerical Optimization, 2006, section 3.1)."""

Floats = NDArray[np.float64]


def logit(confidence: ArrayLike, clip: float = LOGIT_CLIP) -> Floats:
    """Log-odds of confidences clipped to [clip, 1 - clip].

    Takes confidence (n,). Returns (n,) float64: With the default in [-9.21, 9.21].

    Examples
    --------
    >>> logit([0.5, 1.0]).round(2).tolist()
    [0.0, 9.21]
    """
    f = np.clip(np.asarray(confidence, dtype=np.float64), clip, 1 - clip)
    return np.log(f) - np.log1p(-f)


def finest_clip(confidence: Floats) -> float:
    """Half as far from 0 and 1 as the nearest confidence between them: at most LOGIT_CLIP, at least 2^-53."""
    inside = confidence[(confidence > 0) & (confidence < 1)]
    return max(np.minimum(inside, 1 - inside).min(initial=2 * LOGIT_CLIP) / 2, _LEAST_TO_ONE)


def least_slope(gradient: Callable[[float], float]) -> float:
    """Find where a convex loss is least within `SLOPE_RANGE`, by its derivative."""
    low, high = SLOPE_RANGE
    if gradient(low) >= 0 or gradient(high) <= 0:
        # rising already at the lower bound, or still falling at the upper one
        return low if gradient(low) >= 0 else high
    return float(brentq(gradient, low, high, xtol=1e-12))


class Calibrator:
    """A global map; its public doors check rows, which are trusted behind. What it learns it annotates, to be saved."""

    name: ClassVar[str]

    def fit(self, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map. See the module for shapes and ranges; raises InputError on rows that cannot be used."""
        n = check_lengths(correct=correct, confidence=confidence, sample_weight=sample_weight)
        return self.learn(check_correct(correct), check_confidence(confidence), check_weight(sample_weight, n))

    def predict(self, confidence: ArrayLike) -> Floats:
        """Map confidences (n,) to probabilities (n,) in [0, 1]; unlike rows to fit there may be none."""
        if not all(hasattr(self, name) for name in saved_fields(type(self))):
            raise InputError(f"{type(self).__name__} is not fitted: call fit(correct, confidence) first")
        return self.apply(np.empty(0) if np.size(confidence) == 0 else check_confidence(confidence))

    def learn(self, correct: Floats, confidence: Floats, weight: Floats | None = None) -> Self:
        """Learn the map from rows that are checked already; rows of weight 0 are absent."""
        if weight is None:
            return self._learn(correct, confidence, np.ones(len(correct)))
        kept = weight > 0
        return self._learn(correct[kept], confidence[kept], weight[kept])

    def _learn(self, correct: Floats, confidence: Floats, weight: Floats) -> Self:
        raise NotImplementedError

    def apply(self, confidence: Floats) -> Floats:
        """Map confidences (n,) that are checked already to probabilities (n,) in [0, 1]."""
        raise NotImplementedError


class Identity(Calibrator):
    """The map that leaves the confidence as it is.

    Examples
    --------
    >>> Identity().fit([0, 1], [0.2, 0.9]).predict([0.3]).tolist()
    [0.3]
    """

    name: ClassVar[str] = "identity"

    def _learn(self, correct: Floats, confidence: Floats, weight: Floats) -> Self:
        return self

    def apply(self, confidence: Floats) -> Floats:
        """Return the confidences, (n,) in [0, 1], as float64."""
        return confidence


class Temperature(Calibrator):
    """Temperature scaling: p = sigmoid(logit(f) / T), T minimising the log loss (Guo et al., 2017).

    The log loss is convex in 1 / T, so the root of its derivative, found by Brent's method, is the optimum that L-BFGS
    would find. 1 / T is kept in [0.01, 100].

    A float64 holds the log-odds that a softmax gave, log f - log(1 - f), so that they are not clipped. A confidence of
    exactly 0 or 1, which was rounded or stated, counts as 1e-4 away from there, or as half as far as the nearest other
    one that was learned from: no more is known of it.

    Attributes
    ----------
    temperature_ : float
        T. Above 1, the confidence was too far from 0.5 on both sides.
    clip_ : float
        Confidences are taken as at least this far from 0 and 1.

    Examples
    --------
    >>> Temperature().fit([1, 1, 1, 0], [0.9, 0.9, 0.9, 0.9]).predict([0.9]).round(6).tolist()
    [0.75]
    """

    name: ClassVar[str] = "temperature"
    temperature_: float
    clip_: float = LOGIT_CLIP

    def _learn(self, correct: Floats, confidence: Floats, weight: Floats) -> Self:
        self.clip_ = finest_clip(confidence)
        odds = logit(confidence, self.clip_)

        def gradient(slope: float) -> float:
            return float(weight @ ((expit(slope * odds) - correct) * odds))

        # where every confidence is 0.5, all temperatures leave it as it is
        self.temperature_ = 1 / (least_slope(gradient) if np.any(odds) else 1.0)
        return self

    def apply(self, confidence: Floats) -> Floats:
        """Map confidences (n,) to probabilities (n,) in (0, 1)."""
        return expit(logit(confidence, self.clip_) / self.temperature_)


class Shift(Calibrator):
    """A shift of the log-odds: p = sigmoid(logit(f) + b), by which the mean of p is the rate: calibration in the large.

    The targets are Platt's (:class:`Platt`), so that b stays finite where outcomes are of one class.

    Attributes
    ----------
    shift_ : float
        b.

    Examples
    --------
    >>> Shift().fit([1] * 80 + [0] * 20, [0.6] * 100).predict([0.6]).round(3).tolist()
    [0.799]
    """

    name: ClassVar[str] = "shift"
    shift_: float

    def _learn(self, correct: Floats, confidence: Floats, weight: Floats) -> Self:
        odds, target = logit(confidence), platt_targets(correct, weight)
        farthest = 2 * float(np.abs(logit(0.0))) + np.log1p(weight.sum())

        def excess(shift: float) -> float:
            return float(weight @ (expit(odds + shift) - target))

        self.shift_ = float(brentq(excess, -farthest, farthest, xtol=1e-12))
        return self

    def apply(self, confidence: Floats) -> Floats:
        """Map confidences (n,) to probabilities (n,) in (0, 1)."""
        return expit(logit(confidence) + self.shift_)


class Platt(Calibrator):
    """Platt scaling: p = sigmoid(a logit(f) + b) with a >= 0, by maximum likelihood.

    The targets are Platt's (1999), (N1 + 1) / (N1 + 2) and 1 / (N0 + 2) rather than 1 and 0, so that the parameters
    stay finite where outcomes are of one class or separable. A constant confidence gets the mean of these targets.

    Attributes
    ----------
    coefficients_ : (2,) float64
        a and b.

    Examples
    --------
    >>> platt = Platt().fit([1] * 80 + [0] * 20, [0.6] * 100)
    >>> platt.predict([0.6]).round(3).tolist()
    [0.799]
    """

    name: ClassVar[str] = "platt"
    coefficients_: Floats

    def _learn(self, correct: Floats, confidence: Floats, weight: Floats) -> Self:
        design, targets = self._design(confidence), platt_targets(correct, weight)
        self.coefficients_, _ = newton(design, targets, weight, np.array([1.0, 0.0]))
        if self.coefficients_[0] < 0:
            # the ridge makes the loss strictly convex, so that its constrained minimum is then where a is 0
            self.coefficients_ = np.append(0.0, newton(design[:, 1:], targets, weight, np.zeros(1))[0])
        return self

    def apply(self, confidence: Floats) -> Floats:
        """Map confidences (n,) to probabilities (n,) in (0, 1)."""
        return expit(self._design(confidence) @ self.coefficients_)

    @staticmethod
    def _design(confidence: ArrayLike) -> Floats:
        odds = logit(confidence)
        return np.column_stack([odds, np.ones_like(odds)])


class Isotonic(Calibrator):
    """Isotonic regression of y on f, linear between its steps; without smoothing it equals scikit-learn's.

    Plain isotonic regression gives a probability of exactly 0 or 1 to an end block of a few rows that agree.
    ``smoothing`` = s moves each block of weight n with k successes to (k + s / 2) / (n + s) and makes the blocks
    monotone again; s = 1 is the Krichevsky-Trofimov estimate, which bounds the log loss of such rows.

    Parameters
    ----------
    smoothing : float >= 0, default 0
        Pseudo-rows per block; 0 is plain isotonic regression.

    Attributes
    ----------
    knots_, values_ : (k,) float64
        Confidences in rising order and the probabilities there; constant beyond the ends.

    Examples
    --------
    >>> Isotonic().fit([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]).predict([0.0, 0.2, 1.0]).tolist()
    [0.0, 0.0, 1.0]
    >>> Isotonic(smoothing=1).fit([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]).predict([0.0, 1.0]).round(3).tolist()
    [0.167, 0.833]
    """

    name: ClassVar[str] = "isotonic"
    smoothing: float
    knots_: Floats
    values_: Floats

    def __init__(self, smoothing: float = 0.0) -> None:
        if not smoothing >= 0:
            raise InputError(f"smoothing must be a number of at least 0, such as 1.0; got {smoothing!r}")
        self.smoothing = float(smoothing)

    def _learn(self, correct: Floats, confidence: Floats, weight: Floats) -> Self:
        # equal confidences become one weighted point, since a function has one value there
        knots, index = np.unique(confidence, return_inverse=True)
        rows, successes = np.bincount(index, weight), np.bincount(index, weight * correct)
        pooled = isotonic_regression(successes / rows, weights=rows)
        # `blocks` are the bounds of the pooled blocks: each point gets the number of its own
        block = np.repeat(np.arange(len(pooled.weights)), np.diff(pooled.blocks))
        n, k = np.bincount(block, rows), np.bincount(block, successes)
        rate = (k + self.smoothing / 2) / (n + self.smoothing)
        # smoothing pulls small blocks further than large ones, which can undo their order
        values = isotonic_regression(rate, weights=n + self.smoothing).x[block]
        # Between neighbours of the same value a knot changes nothing, so it is left out.
        # the last cut is for a single knot, which is both ends
        ends = np.r_[True, (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:]), True][: len(knots)]
        self.knots_, self.values_ = knots[ends], np.clip(values[ends], 0.0, 1.0)
        return self

    def apply(self, confidence: Floats) -> Floats:
        """Map confidences (n,) to probabilities (n,) in [0, 1]."""
        return np.interp(confidence, self.knots_, self.values_)


CALIBRATORS: dict[str, type[Calibrator]] = {kind.name: kind for kind in (Identity, Shift, Temperature, Platt, Isotonic)}


def platt_targets(correct: Floats, weight: Floats) -> Floats:
    """Return Platt's targets (1999), which stay away from 0 and 1, (n,).

    Examples
    --------
    >>> platt_targets(np.array([1.0, 1.0, 0.0]), np.ones(3)).round(2).tolist()
    [0.75, 0.75, 0.33]
    """
    ones, zeros = weight @ correct, weight @ (1 - correct)
    return np.where(correct > 0.5, (ones + 1) / (ones + 2), 1 / (zeros + 2))


def newton(
    design: Floats, target: Floats, w: Floats, centre: Floats, offset: Floats | float = 0.0
) -> tuple[Floats, float]:
    """Damped Newton on the log loss plus ``_RIDGE / 2 * |theta - centre|^2``; returns theta and the loss."""

    def loss(theta: Floats) -> float:
        z = offset + design @ theta
        return float(w @ (np.logaddexp(0, z) - target * z) + 0.5 * _RIDGE * np.sum((theta - centre) ** 2))

    theta, value = centre.copy(), loss(centre)
    for _ in range(_NEWTON_STEPS):
        p = expit(offset + design @ theta)
        gradient = design.T @ (w * (p - target)) + _RIDGE * (theta - centre)
        curvature = (design.T * (w * p * (1 - p))) @ design + _RIDGE * np.eye(len(theta))
        step = np.linalg.solve(curvature, gradient)
        # Newton's decrement: twice what a step would gain if the loss were quadratic
        decrease = float(gradient @ step)
        if decrease <= _CONVERGED * max(1.0, value):
            break
        size = 1.0
        # "not <=" rather than ">", so that a loss of NaN shortens the step too
        while size > _SMALLEST_STEP and not loss(theta - size * step) <= value - _SUFFICIENT * size * decrease:
            size /= 2
        theta, value = theta - size * step, loss(theta - size * step)
    return theta, value
