"""Global maps of the confidence: what can be mended without looking at the input.

Each class maps a confidence f to a probability, never decreasing in f. They share one protocol:
``fit(correct, confidence, sample_weight=None)`` returns self, ``predict(confidence)`` gives (n,) in [0, 1],
``state()`` gives plain arrays and ``from_state(dict)`` rebuilds the map from them.

Where a logit or logarithm of f is taken, f is first clipped to [1e-4, 1 - 1e-4] (``LOGIT_CLIP``).
A row of weight 2 counts as the row repeated, so the size of weights matters; a row of weight 0 as absent.
``fit`` raises InputError on rows that cannot be used (see :mod:`miscal.base.checks`); one row, one class and constant
confidence are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit

from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError

LOGIT_CLIP = 1e-4
SLOPE_RANGE = (0.01, 100.0)  # of 1 / T: an unbounded optimum (one class, or an inverted model) stops here
_RIDGE = 1e-6  # in units of one row: picks the map nearest to the identity where the data leave a choice
_NEWTON_STEPS = 100

Floats = NDArray[np.float64]
State = dict[str, np.ndarray]


class Calibrator(Protocol):
    """What every global map offers."""

    name: ClassVar[str]

    def fit(self, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map from outcomes (n,) in {0, 1} and confidences (n,) in [0, 1]."""
        ...

    def predict(self, confidence: ArrayLike) -> Floats:
        """Map confidences (n,) to probabilities (n,) in [0, 1]."""
        ...

    def state(self) -> State:
        """Everything learned, as arrays."""
        ...

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild a fitted map."""
        ...


def logit(confidence: ArrayLike) -> Floats:
    """Log-odds of confidences clipped to [1e-4, 1 - 1e-4].

    Parameters
    ----------
    confidence : (n,) float in [0, 1]

    Returns
    -------
    (n,) float64 in [-9.21, 9.21]

    Examples
    --------
    >>> logit([0.5, 1.0]).round(2).tolist()
    [0.0, 9.21]
    """
    f = np.clip(np.asarray(confidence, dtype=np.float64), LOGIT_CLIP, 1 - LOGIT_CLIP)
    return np.log(f) - np.log1p(-f)


class Identity:
    """The map that leaves the confidence as it is.

    Examples
    --------
    >>> Identity().fit([0, 1], [0.2, 0.9]).predict([0.3]).tolist()
    [0.3]
    """

    name: ClassVar[str] = "identity"

    def fit(self, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn nothing; the rows are only checked. See the module for shapes and ranges."""
        _rows(correct, confidence, sample_weight)
        return self

    def predict(self, confidence: ArrayLike) -> Floats:
        """Return the confidences, (n,) in [0, 1], as float64."""
        return _query(confidence)

    def state(self) -> State:
        """Nothing is learned: an empty dict."""
        return {}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild the map."""
        return cls()


class Temperature:
    """Temperature scaling: p = sigmoid(logit(f) / T), T minimising the log loss (Guo et al., 2017).

    The log loss is convex in 1 / T, so its derivative's root (Brent) is the optimum that L-BFGS looks for.
    1 / T is kept in [0.01, 100].

    Attributes
    ----------
    temperature_ : float
        T; above 1 the model was over-confident on both sides of 0.5.

    Examples
    --------
    >>> Temperature().fit([1, 1, 1, 0], [0.9, 0.9, 0.9, 0.9]).predict([0.9]).round(6).tolist()
    [0.75]
    """

    name: ClassVar[str] = "temperature"
    temperature_: float

    def fit(self, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn T. See the module for shapes and ranges; raises InputError on rows that cannot be used."""
        y, f, w = _rows(correct, confidence, sample_weight)
        odds = logit(f)

        def gradient(slope: float) -> float:
            return float(w @ ((expit(slope * odds) - y) * odds))

        low, high = SLOPE_RANGE
        if not np.any(odds):
            slope = 1.0
        elif gradient(low) >= 0:
            slope = low
        elif gradient(high) <= 0:
            slope = high
        else:
            slope = brentq(gradient, low, high, xtol=1e-12)
        self.temperature_ = 1 / slope
        return self

    def predict(self, confidence: ArrayLike) -> Floats:
        """Map confidences (n,) to probabilities (n,) in (0, 1)."""
        temperature = _fitted(self, "temperature_")
        return expit(logit(_query(confidence)) / temperature)

    def state(self) -> State:
        """Return ``temperature``, a scalar array."""
        return {"temperature": np.array(_fitted(self, "temperature_"))}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild a fitted map."""
        self = cls()
        self.temperature_ = float(state["temperature"])
        return self


class Platt:
    """Platt scaling: p = sigmoid(a logit(f) + b) with a >= 0, by maximum likelihood.

    Targets are Platt's (1999), (N1 + 1) / (N1 + 2) and 1 / (N0 + 2), so that one class or separable rows leave
    finite parameters. Constant confidence gives the rate of these targets.

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
    _identity: ClassVar[tuple[float, ...]] = (1.0, 0.0)
    _non_negative: ClassVar[tuple[int, ...]] = (0,)

    def fit(self, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the coefficients. See the module for shapes and ranges; raises InputError on unusable rows."""
        y, f, w = _rows(correct, confidence, sample_weight)
        self.coefficients_ = _fit_logistic(
            self._design(f), _platt_targets(y, w), w, np.array(self._identity), self._non_negative
        )
        return self

    def predict(self, confidence: ArrayLike) -> Floats:
        """Map confidences (n,) to probabilities (n,) in (0, 1)."""
        coefficients = _fitted(self, "coefficients_")
        return expit(self._design(_query(confidence)) @ coefficients)

    def state(self) -> State:
        """Return ``coefficients``."""
        return {"coefficients": _fitted(self, "coefficients_")}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild a fitted map."""
        self = cls()
        self.coefficients_ = np.asarray(state["coefficients"], dtype=np.float64)
        return self

    @staticmethod
    def _design(confidence: ArrayLike) -> Floats:
        odds = logit(confidence)
        return np.column_stack([odds, np.ones_like(odds)])


class Beta(Platt):
    """Beta calibration: p = sigmoid(a ln f - b ln(1 - f) + c), a, b >= 0 (Kull, Silva Filho & Flach, 2017).

    With a = b it is Platt's map; the targets are his as well.

    Attributes
    ----------
    coefficients_ : (3,) float64
        a, b and c.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.random(20_000)
    >>> y = rng.random(20_000) < f
    >>> bool(np.abs(Beta().fit(y, f).predict([0.2, 0.8]) - [0.2, 0.8]).max() < 0.02)
    True
    """

    name: ClassVar[str] = "beta"
    _identity: ClassVar[tuple[float, ...]] = (1.0, 1.0, 0.0)
    _non_negative: ClassVar[tuple[int, ...]] = (0, 1)

    @staticmethod
    def _design(confidence: ArrayLike) -> Floats:
        f = np.clip(np.asarray(confidence, dtype=np.float64), LOGIT_CLIP, 1 - LOGIT_CLIP)
        return np.column_stack([np.log(f), -np.log1p(-f), np.ones_like(f)])


class Isotonic:
    """Isotonic regression of y on f, linear between its steps: scikit-learn's, unless smoothed.

    Plain isotonic regression gives exact 0 or 1 to an end block of few rows. ``smoothing`` = s pulls each block
    of weight n with k successes to (k + s / 2) / (n + s) and makes the blocks monotone again;
    s = 1 is the Krichevsky-Trofimov estimate and bounds the loss on such rows.

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
    knots_: Floats
    values_: Floats

    def __init__(self, smoothing: float = 0.0) -> None:
        if not smoothing >= 0:
            raise InputError(f"smoothing must be a number >= 0, not {smoothing!r}")
        self.smoothing = float(smoothing)

    def fit(self, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the steps. See the module for shapes and ranges; raises InputError on rows that cannot be used."""
        y, f, w = _rows(correct, confidence, sample_weight)
        knots, index = np.unique(f, return_inverse=True)
        weight = np.bincount(index, w)
        successes = np.bincount(index, w * y)
        pooled = isotonic_regression(successes / weight, weights=weight)
        block = np.repeat(np.arange(len(pooled.weights)), np.diff(pooled.blocks))
        n, k = np.bincount(block, weight), np.bincount(block, successes)
        rate = (k + self.smoothing / 2) / (n + self.smoothing)
        values = isotonic_regression(rate, weights=n + self.smoothing).x[block]
        # Inside a run of equal values a knot changes nothing.
        ends = np.r_[True, (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:]), True][: len(knots)]
        self.knots_, self.values_ = knots[ends], np.clip(values[ends], 0.0, 1.0)
        return self

    def predict(self, confidence: ArrayLike) -> Floats:
        """Map confidences (n,) to probabilities (n,) in [0, 1]."""
        knots = _fitted(self, "knots_")
        return np.interp(_query(confidence), knots, self.values_)

    def state(self) -> State:
        """Return ``knots``, ``values`` and ``smoothing``."""
        return {"knots": _fitted(self, "knots_"), "values": self.values_, "smoothing": np.array(self.smoothing)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild a fitted map."""
        self = cls(float(state["smoothing"]))
        self.knots_ = np.asarray(state["knots"], dtype=np.float64)
        self.values_ = np.asarray(state["values"], dtype=np.float64)
        return self


CALIBRATORS: dict[str, type[Calibrator]] = {kind.name: kind for kind in (Identity, Temperature, Platt, Beta, Isotonic)}


def _rows(correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """Check the rows and keep those of positive weight."""
    n = check_lengths(correct=correct, confidence=confidence, sample_weight=sample_weight)
    y, f, w = check_correct(correct), check_confidence(confidence), check_weight(sample_weight, n)
    kept = w > 0
    return y[kept], f[kept], w[kept]


def _query(confidence: ArrayLike) -> Floats:
    """Check confidences to map; unlike rows to fit there may be none."""
    return np.empty(0) if np.size(confidence) == 0 else check_confidence(confidence)


def _fitted(calibrator: object, attribute: str):  # float or array, by the attribute
    value = getattr(calibrator, attribute, None)
    if value is None:
        raise InputError(f"{type(calibrator).__name__} is not fitted: call fit first")
    return value


def _platt_targets(y: Floats, w: Floats) -> Floats:
    ones, zeros = w @ y, w @ (1 - y)
    return np.where(y > 0.5, (ones + 1) / (ones + 2), 1 / (zeros + 2))


def _fit_logistic(design: Floats, target: Floats, w: Floats, identity: Floats, non_negative: Sequence[int]) -> Floats:
    """Minimise the weighted log loss with some coefficients >= 0.

    The loss is strictly convex (by the ridge), so its constrained minimum is the best of the feasible minima over
    the faces on which a subset of those coefficients is 0.
    """
    best, best_loss = np.zeros_like(identity), np.inf
    for at_zero in product((False, True), repeat=len(non_negative)):
        free = np.ones(len(identity), dtype=bool)
        free[[j for j, zero in zip(non_negative, at_zero, strict=True) if zero]] = False
        theta = np.zeros_like(identity)
        theta[free], loss = _newton(design[:, free], target, w, identity[free])
        if theta[list(non_negative)].min() >= 0 and loss < best_loss:
            best, best_loss = theta, loss
        if free.all() and np.isfinite(best_loss):
            break
    return best


def _newton(design: Floats, target: Floats, w: Floats, centre: Floats) -> tuple[Floats, float]:
    """Damped Newton on the log loss plus ``_RIDGE / 2 * |theta - centre|^2``; returns theta and the loss."""

    def loss(theta: Floats) -> float:
        z = design @ theta
        return float(w @ (np.logaddexp(0, z) - target * z) + 0.5 * _RIDGE * np.sum((theta - centre) ** 2))

    theta, value = centre.copy(), loss(centre)
    for _ in range(_NEWTON_STEPS):
        p = expit(design @ theta)
        gradient = design.T @ (w * (p - target)) + _RIDGE * (theta - centre)
        curvature = (design.T * (w * p * (1 - p))) @ design + _RIDGE * np.eye(len(theta))
        step = np.linalg.solve(curvature, gradient)
        decrease = float(gradient @ step)
        if decrease <= 1e-12 * max(1.0, value):
            break
        size = 1.0
        while size > 1e-10 and not loss(theta - size * step) <= value - 1e-4 * size * decrease:
            size /= 2
        theta, value = theta - size * step, loss(theta - size * step)
    return theta, value
