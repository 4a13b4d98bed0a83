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


def negative_log_likelihood(y: Array, logit: Array) -> Array:
    """Negative log-likelihood of outcomes under log-odds, row by row.

    Parameters
    ----------
    y : ndarray of shape (n,)
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
    target = y if logit.ndim == 1 else y[:, None]
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
        root = np.sqrt(w * np.maximum(start * (1 - start), _LEAST_VARIANCE)).astype(np.float32)
        part = part * root[:, None]
        total += part.T @ part
    return total


def ridge_path(
    features: Array,
    y: Array,
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
    y : ndarray of shape (n,), 0 or 1
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
    w = np.ones(len(y)) if weight is None else weight
    A = np.asarray(features, np.float32) * scale.astype(np.float32)
    if normal is None:
        normal = normal_matrix(features, offset, weight)
    prior = scale.astype(np.float32)
    values, vectors = eigh(normal * prior * prior[:, None], overwrite_a=True, check_finite=False, driver="evd")
    values = np.maximum(values, 0.0).astype(np.float32)
    b = np.zeros(A.shape[1], np.float32)
    ordered = tuple(sorted(penalties, reverse=True))
    columns = []
    for penalty in ordered:
        b = _descend(A, y, offset, w, penalty, b, values, vectors, max_steps)
        columns.append(b * scale)
    return RidgePath(ordered, np.stack(columns, 1).astype(np.float32))


def _descend(A, y, offset, w, penalty, b, values, vectors, max_steps):
    def objective(logit, c):
        return float(w @ negative_log_likelihood(y, logit)) + 0.5 * penalty * float(c @ c)

    logit = offset + A @ b
    best = objective(logit, b)
    for _ in range(max_steps):
        gradient = A.T @ (w * (y - expit(logit))).astype(np.float32) - penalty * b
        step = vectors @ ((vectors.T @ gradient) / (values + penalty))
        # the logits are linear in the step: one product serves every halving
        move = A @ step
        size, candidate = 1.0, best
        while size > 0.03:
            candidate = objective(logit + size * move, b + size * step)
            if candidate <= best:
                break
            size /= 2
        if candidate > best:
            return b
        b, logit = (b + size * step).astype(np.float32), logit + size * move
        if best - candidate < 1e-3:
            return b
        best = candidate
    return b
