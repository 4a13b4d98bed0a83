"""Choose the simplest global calibration map that no other clearly beats.

What it corrects is the visible miscalibration, which a reliability diagram shows; what it leaves is hidden.

Calibration in the large comes first: a shift and Platt's map, of which the mean is the rate, replace the confidence as
it is where an interval shows it (:data:`EARNED`). ``benchmarks/small_maps.py`` compares rules by their log
loss, and by how often the mean of what they choose is the rate, on real sets and on calibrated outcomes.

Of several classes there are temperature, vector and matrix scaling, and isotonic regression of each. They map the
probabilities of a row (K classes) to others that sum to 1, and look at nothing else of the row. Those that scale act
on log-probabilities, clipped at `LEAST_PROBABILITY`: ``softmax(z / T)``; ``softmax(a z + b)`` with a and b
for each class; ``softmax(z / T + W z + b)`` (Guo, Pleiss, Sun and Weinberger, ICML 2017), with W and b drawn to 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from miscal.calibration.calibrators import CALIBRATORS, Calibrator, Isotonic, least_slope, logit
from miscal.calibration.metrics.scores import LOG_LOSS_CLIP, log_losses

Array = NDArray[np.floating]

GLOBAL_MAPS = ("identity", "shift", "platt", "isotonic")
"""The maps to choose from, in order from the simplest to the most flexible."""

STANDARD_ERRORS = 2.0
"""A more flexible model must gain this many paired standard errors of the log loss. Fewer would take noise for
structure, more would overlook faint structure: at 2, a map that is exactly as good is taken in about 2 % of choices. It
is the one-standard-error rule (Breiman et al., CART, 1984), made stricter. Not tuned."""

EARNED = 0.75
"""Paired standard errors that a map of one number more must gain. With z the standard score of that number, its gain
out of fold is about (z^2 - 2) / 2 log-likelihoods with a standard error of z: 0.75 are gained where z is beyond 2.4. Of
0.5, 0.75 and 1, the first loses 0.0005 on calibrated outcomes of 300 rows, the last leaves means off on real sets."""

LEAST_GAIN = 1.0
"""Log-likelihood that a map must gain in all: where next to none of the rarer outcome was seen, or promised, a standard
error is not to be trusted."""

FEW_ROWS = 200
"""With fewer rows to learn from, isotonic regression is not taken: its ends are blocks of a few rows that are all right
or all wrong, and one new row that is otherwise costs more log loss than the others gain. A number more must gain one
standard error: less would lose on calibrated outcomes what it gains on others."""


def crossfit_global_map(
    correct: Array, confidence: Array, folds: NDArray[np.integer], weight: Array | None = None
) -> tuple[Calibrator, dict[str, NDArray[np.float64]]]:
    """Choose the global map by its out-of-fold log loss, and fit it to all rows.

    Takes correct (n,); confidence (n,); folds (n,): the fold of each row; weight (n,): numbers of rows, all 1 by
    default. Returns the map chosen, and the log-odds of each row under every map, by its name, (n,): learned from the
    folds that the row is not in.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.random(4000)
    >>> y = (rng.random(4000) < f).astype(float)
    >>> crossfit_global_map(y, f, np.arange(4000) % 5)[0].name
    'identity'
    """
    p = {name: np.zeros(len(correct)) for name in GLOBAL_MAPS}
    for k in np.unique(folds):
        inside, rest = folds == k, folds != k
        w = None if weight is None else weight[rest]
        for name in GLOBAL_MAPS:
            p[name][inside] = CALIBRATORS[name]().learn(correct[rest], confidence[rest], w).apply(confidence[inside])
    losses = {name: log_losses(correct, values) for name, values in p.items()}
    log_odds = {name: logit(values) for name, values in p.items()}
    chosen = simplest(losses, weight, proof_of(len(correct)), log_odds)
    return CALIBRATORS[chosen]().learn(correct, confidence, weight), log_odds


def held_out_global_map(correct: Array, confidence: Array, weight: Array, train: Array, val: Array) -> Calibrator:
    """Fit the global maps to rows `train` and choose by their log loss on rows `val`.

    Takes correct, confidence, weight (n,); train, val: rows to fit on and to compare on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = rng.random(4000)
    >>> y, half = (rng.random(4000) < f).astype(float), np.arange(2000)
    >>> held_out_global_map(y, f, np.ones(4000), half, half + 2000).name
    'identity'
    """
    maps = {name: CALIBRATORS[name]().learn(correct[train], confidence[train], weight[train]) for name in GLOBAL_MAPS}
    losses = {name: log_losses(correct[val], fitted.apply(confidence[val])) for name, fitted in maps.items()}
    # what was learned from other rows than it is judged on gains by chance alone more often
    return maps[simplest(losses, weight[val])]


def proof_of(rows: int) -> dict[str, float]:
    """How many paired standard errors each map must gain, where so many rows are cross-fitted; infinite: not taken.

    Examples
    --------
    >>> proof_of(1000), proof_of(100)
    ({'shift': 0.75, 'platt': 0.75, 'isotonic': 2.0}, {'shift': 1.0, 'platt': 1.0, 'isotonic': inf})
    """
    few = rows < FEW_ROWS
    one = 1.0 if few else EARNED
    return {"shift": one, "platt": one, "isotonic": np.inf if few else STANDARD_ERRORS}


def simplest(
    losses: Mapping[str, Array],
    weight: Array | None = None,
    standard_errors: Mapping[str, float] | None = None,
    log_odds: Mapping[str, Array] | None = None,
) -> str:
    """Choose the simplest candidate that no later one clearly beats.

    A later one replaces the choice so far if its loss is lower by more than some paired standard errors.

    Takes losses (n,): the loss of each row under each candidate, the simplest candidate first; weight (n,);
    standard_errors: how many a candidate must gain, by its name; log_odds (n,): of each candidate, where outcomes are
    0 or 1: a standard error is then at least what the simpler candidate says that it is (:func:`expected_error`), and
    the rows together gain :data:`LEAST_GAIN`.

    Examples
    --------
    >>> simplest({"plain": np.array([0.5, 0.7]), "a little better": np.array([0.4, 0.7])})
    'plain'
    """
    needed = standard_errors or {}
    chosen, *others = losses
    for name in others:
        gain, error = paired_gain(losses[chosen], losses[name], weight)
        least = 0.0
        if log_odds is not None:
            error = max(error, expected_error(log_odds[chosen], log_odds[name], weight))
            least = LEAST_GAIN / (len(losses[name]) if weight is None else float(np.sum(weight)))
        if gain > max(needed.get(name, STANDARD_ERRORS) * error, least):
            chosen = name
    return chosen


def expected_error(before: Array, after: Array, weight: Array | None = None) -> float:
    """Return the standard error that a gain in log loss has if the confidences before are right.

    Where few of the rarer outcome were seen, or none, rows show a smaller one: what the next costs is not in it.

    Takes before, after (n,): log-odds of the same rows; weight (n,): numbers of rows.

    Examples
    --------
    >>> round(expected_error(np.full(100, -4.0), np.full(100, -6.0)), 3)
    0.027
    """
    w = np.ones(len(before)) if weight is None else weight
    p = expit(before)
    return float(np.sqrt(np.sum(w * (after - before) ** 2 * p * (1 - p))) / np.sum(w))


def paired_gain(before: Array, after: Array, weight: Array | None = None) -> tuple[float, float]:
    """Return how much lower the mean loss is after than before, and the paired standard error of that gain.

    Takes before, after (n,): losses of the same rows under two methods; weight (n,): numbers of rows: a row of weight
    2 counts as two rows. Returns gain, error : float: The gain is positive where `after` is better.

    Examples
    --------
    >>> paired_gain(np.array([1.0, 0.5]), np.array([0.5, 0.0]))
    (0.5, 0.0)
    """
    difference = before - after
    w = np.ones(len(difference)) if weight is None else weight
    gain = float(np.average(difference, weights=w))
    # weights are numbers of rows: the variance of the differences over their number less one
    error = float(np.sqrt(np.sum(w * (difference - gain) ** 2) / np.sum(w) / max(np.sum(w) - 1, 1)))
    return gain, error


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_PROBABILITY = 1e-8
"""Probabilities are at least this before a logarithm is taken: one of 0 could never be raised again."""

_TOLERANCE = 1e-7
"""Where the search for coefficients ends: the largest gradient, per row. It decides digits that no score shows."""

_STEPS = 200
"""Steps of L-BFGS at most: most fits take fewer than fifty."""

_VECTOR_RIDGE = 1.0
"""Pull of vector scaling towards the temperature, in rows: it chooses where a class has hardly any. Not tuned."""

_MATRIX_RIDGES = (1000.0, 100.0, 10.0)
"""Pulls of matrix scaling towards the temperature, in rows; the best is chosen by rows that were left out."""


def log_probabilities(probability: Floats) -> Floats:
    """Logarithms of probabilities (n, K), each taken as at least 1e-8, of rows that sum to 1 again.

    Examples
    --------
    >>> log_probabilities(np.array([[0.5, 0.5]])).round(3).tolist()
    [[-0.693, -0.693]]
    """
    return log_softmax(np.log(np.maximum(probability, LEAST_PROBABILITY)), axis=1)


def class_log_losses(code: Ints, log_probability: Floats) -> Floats:
    """Return each row's log loss, in nats: minus the log-probability of its class, clipped as everywhere.

    Takes code (n,) int: place of each row's class; log_probability (n, K).

    Examples
    --------
    >>> class_log_losses(np.array([0, 1]), np.log([[0.5, 0.5], [1.0 - 1e-9, 1e-9]])).round(3).tolist()
    [0.693, 9.21]
    """
    own = log_probability[np.arange(len(code)), code]
    return -np.clip(own, np.log(LOG_LOSS_CLIP), np.log1p(-LOG_LOSS_CLIP))


class SimplexMap:
    """A global map of several classes."""

    name: ClassVar[str]

    def learn(self, code: Ints, z: Floats, weight: Floats) -> Self:
        """Learn from classes (n,), log-probabilities (n, K), and numbers of rows (n,)."""
        raise NotImplementedError

    def apply(self, z: Floats) -> Floats:
        """Map log-probabilities (n, K) to others."""
        raise NotImplementedError


@dataclass
class IdentityOfClasses(SimplexMap):
    """The map that leaves probabilities as they are."""

    name: ClassVar[str] = "identity"

    def learn(self, code: Ints, z: Floats, weight: Floats) -> Self:
        """Learn nothing."""
        return self

    def apply(self, z: Floats) -> Floats:
        """Return the log-probabilities."""
        return z


@dataclass
class TemperatureOfClasses(SimplexMap):
    """Temperature scaling: softmax(z / T), T minimising the log loss.

    Examples
    --------
    >>> z = np.log(np.tile([0.8, 0.1, 0.1], (10, 1)))
    >>> fitted = TemperatureOfClasses().learn(np.array([0] * 5 + [1] * 3 + [2] * 2), z, np.ones(10))
    >>> np.exp(fitted.apply(z[:1])).round(2).tolist()
    [[0.5, 0.25, 0.25]]
    """

    name: ClassVar[str] = "temperature"
    slope: float = 1.0

    def learn(self, code: Ints, z: Floats, weight: Floats) -> Self:
        """Find 1 / T, kept in [0.01, 100]: the log loss is convex in it."""
        own = z[np.arange(len(code)), code]

        def gradient(slope: float) -> float:
            return float(weight @ ((np.exp(log_softmax(slope * z, axis=1)) * z).sum(axis=1) - own))

        self.slope = 1.0 if np.ptp(z, axis=1).max(initial=0.0) < 1e-12 else least_slope(gradient)
        return self

    def apply(self, z: Floats) -> Floats:
        """Scale."""
        return log_softmax(self.slope * z, axis=1)


@dataclass
class VectorScaling(SimplexMap):
    """Vector scaling: softmax(a z + b), a slope and a shift for each class, drawn to the temperature."""

    name: ClassVar[str] = "vector"
    slopes: Floats = field(default_factory=lambda: np.ones(1))
    shifts: Floats = field(default_factory=lambda: np.zeros(1))

    def learn(self, code: Ints, z: Floats, weight: Floats) -> Self:
        """Minimise the penalised log loss."""
        start, k = TemperatureOfClasses().learn(code, z, weight).slope, z.shape[1]
        hot = np.eye(k)[code]

        def loss(both: Floats) -> tuple[float, Floats]:
            slopes, shifts = both[:k], both[k:]
            fitted = log_softmax(slopes * z + shifts, axis=1)
            left = weight[:, None] * (np.exp(fitted) - hot)
            apart = np.concatenate([slopes - start, shifts])
            value = -weight @ (fitted * hot).sum(axis=1) + _VECTOR_RIDGE / 2 * apart @ apart
            return float(value), np.concatenate([(left * z).sum(axis=0), left.sum(axis=0)]) + _VECTOR_RIDGE * apart

        found = least(loss, np.concatenate([np.full(k, start), np.zeros(k)]), weight.sum())
        self.slopes, self.shifts = found[:k], found[k:]
        return self

    def apply(self, z: Floats) -> Floats:
        """Scale and shift."""
        return log_softmax(self.slopes * z + self.shifts, axis=1)


@dataclass
class MatrixScaling(SimplexMap):
    """Matrix scaling: softmax(z / T + W z + b), W and b drawn to 0 by a ridge that left-out rows choose."""

    name: ClassVar[str] = "matrix"
    slope: float = 1.0
    matrix: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    centre: Floats = field(default_factory=lambda: np.zeros(1))

    def learn(self, code: Ints, z: Floats, weight: Floats) -> Self:
        """Minimise the penalised log loss, by every ridge on two thirds of the rows, and by the best on all."""
        self.slope = TemperatureOfClasses().learn(code, z, weight).slope
        self.centre = np.average(z, axis=0, weights=weight)
        design, offset = self._design(z), self.slope * z
        # every third row is left out; rows come in an order that says nothing of them
        told = np.arange(len(code)) % 3 == 0
        path = softmax_path(design[~told], offset[~told], code[~told], weight[~told], _MATRIX_RIDGES)
        losses = [
            np.average(class_log_losses(code[told], log_softmax(offset[told] + design[told] @ b, axis=1)),
                       weights=weight[told])
            for b in path
        ]  # fmt: skip
        (self.matrix,) = softmax_path(design, offset, code, weight, (_MATRIX_RIDGES[int(np.argmin(losses))],))
        return self

    def apply(self, z: Floats) -> Floats:
        """Scale and mix."""
        return log_softmax(self.slope * z + self._design(z) @ self.matrix, axis=1)

    def _design(self, z: Floats) -> Floats:
        return np.column_stack([np.ones(len(z)), z - self.centre])


@dataclass
class IsotonicOfClasses(SimplexMap):
    """Isotonic regression of each class against the others (Zadrozny and Elkan, 2002), then normalised.

    Its steps are smoothed, so that no class is given a probability of 0.
    """

    name: ClassVar[str] = "isotonic"
    maps: list[Isotonic] = field(default_factory=list)

    def learn(self, code: Ints, z: Floats, weight: Floats) -> Self:
        """Fit a map for each class."""
        self.maps = [
            Isotonic(smoothing=1.0).learn((code == k).astype(np.float64), np.exp(z[:, k]), weight)
            for k in range(z.shape[1])
        ]
        return self

    def apply(self, z: Floats) -> Floats:
        """Map each class, and normalise."""
        return log_probabilities(np.column_stack([one.apply(np.exp(z[:, k])) for k, one in enumerate(self.maps)]))


SIMPLEX_MAPS: Mapping[str, type[SimplexMap]] = {
    one.name: one for one in (IdentityOfClasses, TemperatureOfClasses, VectorScaling, IsotonicOfClasses, MatrixScaling)
}
"""Every global map of several classes, the simplest first."""

FEW_MAPS, LEAST_ROWS = (IdentityOfClasses.name, TemperatureOfClasses.name), 200
"""The maps that are tried with fewer rows than this: the others learn as many numbers as there are classes, or more. As
many rows as isotonic regression needs for two classes."""


def crossfit_simplex_map(
    code: Ints, z: Floats, folds: Ints, weight: Floats
) -> tuple[SimplexMap, Floats, dict[str, float]]:
    """Choose the simplest global map that no other clearly beats out of fold, and fit it to all rows.

    Takes code (n,) int: place of each row's class; z (n, K): log-probabilities; folds (n,) int; weight (n,): numbers
    of rows. Returns the map chosen; log-probabilities (n, K) of each row, by a fit that has not seen it; and the mean
    log loss of each candidate out of fold, by its name.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = log_probabilities(rng.dirichlet(np.ones(3), 3000))
    >>> code = np.array([rng.choice(3, p=row) for row in np.exp(z / 2) / np.exp(z / 2).sum(1, keepdims=True)])
    >>> found = crossfit_simplex_map(code, z, np.arange(3000) % 5, np.ones(3000))
    >>> found[0].name, abs(found[0].slope - 0.5) < 0.06
    ('temperature', True)
    """
    tried = {name: kind for name, kind in SIMPLEX_MAPS.items() if name in FEW_MAPS or weight.sum() >= LEAST_ROWS}
    left_out = {name: np.empty_like(z) for name in tried}
    for k in np.unique(folds):
        inside, rest = folds == k, folds != k
        for name, kind in tried.items():
            left_out[name][inside] = kind().learn(code[rest], z[rest], weight[rest]).apply(z[inside])
    losses = {name: class_log_losses(code, values) for name, values in left_out.items()}
    chosen = simplest(losses, weight)
    means = {name: float(np.average(values, weights=weight)) for name, values in losses.items()}
    return SIMPLEX_MAPS[chosen]().learn(code, z, weight), left_out[chosen], means


def softmax_path(design: Floats, offset: Floats, code: Ints, weight: Floats, ridges: tuple[float, ...]) -> list[Floats]:
    """Fit shifts of log-probabilities that are linear in a design, by falling ridges.

    Takes design (n, p); offset (n, K): log-probabilities that are shifted; code (n,) int: place of each row's class;
    weight (n,): numbers of rows; ridges: penalty of half the sum of squared coefficients, falling. Returns list of
    (p, K) float64: For each ridge the B that minimises the penalised log loss of softmax(offset + design B).

    Examples
    --------
    >>> design, offset = np.array([[-1.0], [1.0]] * 50), np.zeros((100, 2))
    >>> strong, weak = softmax_path(design, offset, np.array([0, 1] * 50), np.ones(100), (1e6, 1.0))
    >>> bool(abs(strong).max() < 1e-3), bool(weak[0, 1] > 1)
    (True, True)
    """
    k, hot = offset.shape[1], np.eye(offset.shape[1])[code]
    found, start = [], np.zeros(design.shape[1] * k)
    for ridge in ridges:

        def loss(flat: Floats, ridge: float = ridge) -> tuple[float, Floats]:
            b = flat.reshape(-1, k)
            fitted = log_softmax(offset + design @ b, axis=1)
            left = weight[:, None] * (np.exp(fitted) - hot)
            value = -weight @ (fitted * hot).sum(axis=1) + ridge / 2 * flat @ flat
            return float(value), (design.T @ left).ravel() + ridge * flat

        start = least(loss, start, weight.sum())
        found.append(start.reshape(-1, k))
    return found


def least(loss, start: Floats, rows: float) -> Floats:
    """Minimise a convex loss by L-BFGS, from its value and gradient; divided by the rows, so that it ends alike."""
    found = minimize(
        lambda x: tuple(part / rows for part in loss(x)), start, jac=True, method="L-BFGS-B",
        options={"maxiter": _STEPS, "gtol": _TOLERANCE, "ftol": 1e-12},
    )  # fmt: skip
    return found.x
