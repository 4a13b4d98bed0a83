"""What all members of the portfolio share: the rows they learn from, the two forms of a score, and how it is fitted.

A score that is still to be fitted is a function that cross-fits it on :class:`LearningRows`. What it leaves is a
*member*: it tells the logit shift of new rows, and can be saved. A new score is one module with both, and its two
lines in :mod:`miscal.estimators.auto.model`.

Every score is a logit shift s on top of an offset o, fitted by penalised maximum likelihood of y ~ Bernoulli(sigmoid(o
+ s)). Of those that are linear in their features, s = Phi(x, f) beta, it is a ridge logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from miscal.estimators.auto.inputs import ScoreInputs
from miscal.estimators.auto.readout import LocalReadout
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Query:
    """Rows as a score sees them, the same while it learns and afterwards.

    Attributes
    ----------
    inputs : ScoreInputs
    offset : ndarray of shape (n,)
        Log-odds of the global map: what every shift is added to.
    raw : ndarray of shape (n,)
        Log-odds of the confidence itself.
    first : ndarray of shape (n,), optional
        Shift of the first stack, of unit size, for scores that refine it.
    readout : LocalReadout, optional
        What the kernel readout tells of the rows.
    """

    inputs: ScoreInputs
    offset: Array
    raw: Array
    first: Array | None = None
    readout: LocalReadout | None = None

    def start(self, from_raw: bool) -> Array:
        """Log-odds that a score starts from: the confidence's, or the global map's."""
        return self.raw if from_raw else self.offset


@dataclass(frozen=True, eq=False)
class LearningRows:
    """What every score learns from.

    Attributes
    ----------
    at : Query
        The rows; `at.offset` holds out-of-fold log-odds of the global map.
    correct : ndarray of shape (n,), 0 or 1
    groups : ndarray of shape (n,), int
        Rows with the same number are in one fold.
    folds : ndarray of shape (n,), int
    landmarks : ndarray of shape (m,), int
        Row numbers that span the kernels.
    weight : ndarray of shape (n,) or None
        Numbers of rows.
    seed : int
    table : bool
        Whether the inputs that place rows are the columns of a table, not an embedding.
    centres : tuple of ndarray of shape (k, q), float32
        Of partitions of the rows into clusters, in the leading components.
    """

    at: Query
    correct: Array
    groups: NDArray[np.integer]
    folds: NDArray[np.integer]
    landmarks: NDArray[np.integer]
    weight: Array | None = None
    seed: int = 0
    table: bool = False
    centres: tuple[NDArray[np.float32], ...] = ()

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def few_columns(self) -> bool:
        """Whether every direction of the inputs can be learned."""
        return self.at.inputs.x.shape[1] <= AUTO.few_columns

    @property
    def long_table(self) -> bool:
        """Whether the inputs are the columns of a table, some of which have levels, and the rows are not few."""
        return self.table and self.at.inputs.codes.shape[1] > 0 and not self.few_rows

    @property
    def few_rows(self) -> bool:
        """Whether the rows do not carry a second stage of scores."""
        return len(self) < AUTO.least_refined_rows

    def weight_of(self, rows: Any) -> Array | None:
        """Weights of some rows; None where all are 1."""
        return None if self.weight is None else self.weight[rows]


class Member:
    """A fitted score: a dataclass, whose fields are what is saved of it."""

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Return the logit shift of rows over ``at.offset``, (n,); positive raises the confidence."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """A score with its out-of-fold shifts.

    Attributes
    ----------
    member : Member
        Fitted on all rows.
    shift : ndarray of shape (n,)
        Logit shift of each row it learned from, over the offset, told without the row's fold.
    settings : dict
        What was chosen, for the table of candidates.
    """

    member: Member
    shift: NDArray[np.float64]
    settings: dict[str, Any]


Fit = Callable[[LearningRows], CrossFitted]
"""Fits a score out of fold, and on all rows."""


# A weight below this would let saturated rows freeze the chord Newton steps.
_LEAST_VARIANCE = 0.02
_BLOCK_ROWS = 4_096


def negative_log_likelihood(correct: Array, logit: Array) -> Array:
    """Negative log-likelihood of outcomes under log-odds, row by row.

    Takes correct (n,): outcomes, 0 or 1; logit (n,): log-odds of y = 1. Returns ndarray: Same shape as `logit`, in
    nats, never negative.

    Examples
    --------
    >>> import numpy as np
    >>> negative_log_likelihood(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """
    target = correct if logit.ndim == 1 else correct[:, None]
    # log(1 + e^z) - y z, without overflow for large z; half the time of numpy's logaddexp
    return np.maximum(logit, 0) + np.log1p(np.exp(-np.abs(logit))) - target * logit


def normal_matrix(features: Array, offset: Array, weight: Array | None = None) -> NDArray[np.float32]:
    """Curvature of the likelihood at the offset, sum_i w_i v_i phi_i phi_i' with v no less than 0.02.

    Takes features (p, n); offset (n,); weight (n,). Returns ndarray of shape (p, p), float32.

    Examples
    --------
    >>> import numpy as np
    >>> normal_matrix(np.ones((1, 4), np.float32), np.zeros(4))
    array([[1.]], dtype=float32)
    """
    total = np.zeros((len(features),) * 2, np.float32)
    for i in range(0, len(offset), _BLOCK_ROWS):
        part, start = features[:, i : i + _BLOCK_ROWS], expit(offset[i : i + _BLOCK_ROWS])
        w = 1.0 if weight is None else weight[i : i + _BLOCK_ROWS]
        # the root of the weight goes into both factors, so that the product is symmetric
        part = part * np.sqrt(w * np.maximum(start * (1 - start), _LEAST_VARIANCE)).astype(np.float32)
        total += part @ part.T
    return total


# nats that a step must gain: far less than what tells penalties apart; and the shortest step that is tried
_LEAST_GAIN, _SHORTEST_STEP = 1e-2, 0.03


class RidgeFits:
    """Fits of one model to one set of rows under several weights, side by side: a fit for each fold left out, say.

    Each is descended by Newton steps with a halving line search. All take their steps with one curvature: that of all
    rows at the offset, for the mean total weight. It is factorised once a penalty, where a curvature of its own for
    each fit and step would cost far more than the few steps it saves, and a step of all fits reads the features twice,
    as a step of one would.

    Parameters
    ----------
    features : ndarray of shape (p, n), float32
        In units of the prior scale of their coefficients. A feature's values lie side by side in memory: the products
        with a few rows of weights take two thirds of the time that they take the other way round.
    correct : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
        Log-odds that the shift is added to.
    weights : ndarray of shape (k, n)
        Of every row in each fit; 0 leaves a row out, and its shift is told all the same.

    Attributes
    ----------
    coefficients : ndarray of shape (k, p), float32
    shifts : ndarray of shape (k, n), float32
    """

    def __init__(self, features: NDArray[np.float32], correct: Array, offset: Array, weights: Array) -> None:
        self._features = features
        largest = weights.max(0)
        # y - p and the loss depend on y and z by s z alone, s = 2 y - 1
        self._sign = np.where(correct > 0, 1, -1).astype(np.float32)
        self._offset, self._weights = offset.astype(np.float32), weights.astype(np.float32)
        share = float(weights.sum() / (len(weights) * largest.sum()))
        self._curvature = normal_matrix(features, offset, largest).astype(np.float64) * share
        self.coefficients = np.zeros((len(weights), len(features)), np.float32)
        self.shifts = np.zeros(weights.shape, np.float32)

    def descend(self, penalty: float, max_steps: int = 8) -> RidgeFits:
        """Go on from where the fits are to the minimum for a penalty.

        Returns: RidgeFits: self, whose coefficients and shifts are new arrays.
        """
        # double precision: a curvature of 200,000 rows is 1e6 times the smallest penalty
        factor = cho_factor(
            self._curvature + penalty * np.eye(len(self._curvature)), overwrite_a=True, check_finite=False
        )
        b, z = self.coefficients.copy(), self.shifts.copy()
        going = np.arange(len(b))
        best, residual = self._look(going, b, z, penalty)
        for _ in range(max_steps):
            gradient = (self._features @ residual.T).T - penalty * b[going]
            step = cho_solve(factor, gradient.T, check_finite=False).T.astype(np.float32)
            # what the curvature promises; most fits end here, before the shifts are computed
            worth = np.einsum("kp,kp->k", gradient, step) / 2 >= _LEAST_GAIN
            if not worth.any():
                break
            going, best, step = going[worth], best[worth], step[worth]
            move = step @ self._features
            # the shifts are linear in the step: one product serves every halving
            size, failing = np.ones(len(going), np.float32), np.arange(len(going))
            found, residual = best.copy(), np.empty_like(move)
            while len(failing):
                tried = size[failing, None]
                rows = going[failing]
                loss, left = self._look(rows, b[rows] + tried * step[failing], z[rows] + tried * move[failing], penalty)
                better = loss <= best[failing]
                found[failing[better]], residual[failing[better]] = loss[better], left[better]
                failing = failing[~better]
                size[failing] /= 2
                # no step down is left: such a fit stays where it is
                size[failing[size[failing] <= _SHORTEST_STEP]] = 0
                failing = failing[size[failing] > 0]
            b[going] += size[:, None] * step
            z[going] += size[:, None] * move
            gained = best - found >= _LEAST_GAIN
            going, best, residual = going[gained], found[gained], residual[gained]
            if not len(going):
                break
        self.coefficients, self.shifts = b, z
        return self

    def _look(self, fits: NDArray[np.intp], b: Array, z: Array, penalty: float) -> tuple[Array, NDArray[np.float32]]:
        """Penalised loss of some fits at coefficients b and shifts z, and their weighted residuals y - p."""
        # (fits, n): log(1 + e^u) and s sigmoid(u) at u = -s (o + z) share one exponential
        u = -self._sign * (self._offset + z)
        tail = np.exp(-np.abs(u))
        loss = np.maximum(u, 0) + np.log(1 + tail)
        residual = self._sign * np.where(u >= 0, np.float32(1), tail) / (1 + tail)
        weights = self._weights[fits]
        total = np.einsum("kn,kn->k", weights, loss, dtype=np.float64)
        return total + 0.5 * penalty * np.einsum("kp,kp->k", b, b, dtype=np.float64), weights * residual


class BestOfPath:
    """Keeps the best of the points of a path, and tells when to stop looking.

    Points beyond the minimum are the dearest to compute, those of the least penalties or of the most rounds.

    Attributes
    ----------
    best : object
        What was given with the smallest loss; the earliest of equal ones.

    Examples
    --------
    >>> path = BestOfPath()
    >>> [path.ends(loss, place) for place, loss in enumerate([0.6, 0.5, 0.7])], path.best
    ([False, False, True], 1)
    """

    def __init__(self) -> None:
        self._loss, self._worse = float("inf"), 0
        self.best: Any = None

    def ends(self, loss: float, point: Any) -> bool:
        """Take the next point of the path, and tell whether as many as `AUTO.patience` were no better than the best."""
        if self.best is None or loss < self._loss:
            self._loss, self._worse, self.best = loss, 0, point
        else:
            self._worse += 1
        return self._worse >= AUTO.patience
