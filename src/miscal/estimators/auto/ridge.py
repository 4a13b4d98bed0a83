"""Ridge logistic regression with an offset, along a path of penalties.

Every score of the default estimator is a logit shift ``s(x, f) = Phi(x, f) beta`` on top of an offset ``o``,
fitted by penalised maximum likelihood of ``y ~ Bernoulli(sigmoid(o + s))``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit

Array = NDArray[np.floating]

# A weight below this would let saturated rows freeze the chord Newton steps.
_LEAST_VARIANCE = 0.02
_BLOCK_ROWS = 4_096


def negative_log_likelihood(correct: Array, logit: Array) -> Array:
    """Negative log-likelihood of outcomes under log-odds, row by row.

    Parameters
    ----------
    correct : ndarray of shape (n,)
        Outcomes, 0 or 1.
    logit : ndarray of shape (n,) or (n, k)
        Log-odds of y = 1.

    Returns
    -------
    ndarray
        Same shape as `logit`, in nats, never negative.

    Examples
    --------
    >>> import numpy as np
    >>> negative_log_likelihood(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """
    target = correct if logit.ndim == 1 else correct[:, None]
    # log(1 + e^z) - y z, without overflow for large z
    return np.logaddexp(0.0, logit) - target * logit


@dataclass(frozen=True)
class RidgePath:
    """Coefficients along a path of penalties.

    Attributes
    ----------
    penalties : tuple of float
        Decreasing.
    coefficients : ndarray of shape (p, len(penalties)), float32
    """

    penalties: tuple[float, ...]
    coefficients: NDArray[np.float32]


def normal_matrix(features: Array, offset: Array, weight: Array | None = None) -> NDArray[np.float32]:
    """Curvature of the likelihood at the offset, sum_i w_i v_i phi_i phi_i' with v no less than 0.02.

    It adds up over rows, so that one pass serves every fold.

    Parameters
    ----------
    features : ndarray of shape (n, p), float32
    offset : ndarray of shape (n,)
    weight : ndarray of shape (n,), optional

    Returns
    -------
    ndarray of shape (p, p), float32

    Examples
    --------
    >>> import numpy as np
    >>> normal_matrix(np.ones((4, 1), np.float32), np.zeros(4))
    array([[1.]], dtype=float32)
    """
    total = np.zeros((features.shape[1],) * 2, np.float32)
    for i in range(0, len(features), _BLOCK_ROWS):
        part, start = features[i : i + _BLOCK_ROWS], expit(offset[i : i + _BLOCK_ROWS])
        w = 1.0 if weight is None else weight[i : i + _BLOCK_ROWS]
        # the root of the weight goes into both factors, so that the product is symmetric
        root = np.sqrt(w * np.maximum(start * (1 - start), _LEAST_VARIANCE)).astype(np.float32)
        part = part * root[:, None]
        total += part.T @ part
    return total


def ridge_path(
    features: Array,
    correct: Array,
    offset: Array,
    *,
    penalties: tuple[float, ...],
    scale: Array,
    weight: Array | None = None,
    normal: Array | None = None,
    max_steps: int = 8,
) -> RidgePath:
    r"""Minimise  sum_i w_i nll(y_i, o_i + phi_i' b) + penalty / 2 * sum_j (b_j / scale_j)^2  for each penalty.

    One factorisation serves the whole path: the Hessian is taken at the offset and kept (chord Newton with a
    halving line search), so a step costs two products with the features instead of a new factorisation.

    Parameters
    ----------
    features : ndarray of shape (n, p)
    correct : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
        Log-odds that the shift is added to.
    penalties : tuple of float
        Positive; fitted from the largest to the smallest, each started at the one before.
    scale : ndarray of shape (p,)
        Prior scale of each coefficient: a larger one is penalised less.
    weight : ndarray of shape (n,), optional
        Row weights; default 1.
    normal : ndarray of shape (p, p), optional
        From `normal_matrix`, where the caller has it: over folds it is a sum of the other folds' own.
    max_steps : int, default 8
        Steps per penalty.

    Returns
    -------
    RidgePath

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> path = ridge_path(X, np.array([1.0, 1.0, 0.0, 0.0]), np.zeros(4), penalties=(1.0,), scale=np.ones(1))
    >>> bool(path.coefficients[0, 0] > 0)
    True
    """
    if normal is None:
        normal = normal_matrix(features, offset, weight)
    # in coefficients over their prior scale, a penalty is a multiple of the identity and only adds to the eigenvalues
    prior = scale.astype(np.float32)
    values, vectors = eigh(normal * prior * prior[:, None], overwrite_a=True, check_finite=False, driver="evd")
    problem = _Problem(
        A=np.asarray(features, np.float32) * prior,
        correct=correct,
        offset=offset,
        weight=np.ones(len(correct)) if weight is None else weight,
        # rounding can make the least eigenvalues negative
        values=np.maximum(values, 0.0).astype(np.float32),
        vectors=vectors,
    )
    b = np.zeros(features.shape[1], np.float32)
    ordered = tuple(sorted(penalties, reverse=True))
    columns = []
    for penalty in ordered:
        b = problem.descend(b, penalty, max_steps)
        columns.append(b * scale)
    return RidgePath(ordered, np.stack(columns, 1).astype(np.float32))


# nats that a step must gain to be worth another, and the shortest step that is tried
_LEAST_GAIN, _SHORTEST_STEP = 1e-3, 0.03


@dataclass(frozen=True, eq=False)
class _Problem:
    """A penalised likelihood in scaled coefficients, with the decomposed curvature at the offset."""

    A: Array
    correct: Array
    offset: Array
    weight: Array
    values: Array
    vectors: Array

    def objective(self, logit: Array, b: Array, penalty: float) -> float:
        return float(self.weight @ negative_log_likelihood(self.correct, logit)) + 0.5 * penalty * float(b @ b)

    def descend(self, b: Array, penalty: float, max_steps: int) -> Array:
        """Chord Newton from b: the curvature is not taken anew, and the line search makes up for it."""
        logit = self.offset + self.A @ b
        best = self.objective(logit, b, penalty)
        for _ in range(max_steps):
            gradient = self.A.T @ (self.weight * (self.correct - expit(logit))).astype(np.float32) - penalty * b
            step = self.vectors @ ((self.vectors.T @ gradient) / (self.values + penalty))
            # the logits are linear in the step: one product serves every halving
            move = self.A @ step
            size, candidate = 1.0, best
            while size > _SHORTEST_STEP:
                candidate = self.objective(logit + size * move, b + size * step, penalty)
                if candidate <= best:
                    break
                size /= 2
            if candidate > best:
                return b
            b, logit = (b + size * step).astype(np.float32), logit + size * move
            if best - candidate < _LEAST_GAIN:
                return b
            best = candidate
        return b
