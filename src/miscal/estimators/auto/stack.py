"""Non-negative stacking of logit shifts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]


def stack_weights(
    shifts: Array, correct: Array, offset: Array, weight: Array | None = None, prior: Array | None = None
) -> NDArray[np.float64]:
    """Weights >= 0 of the members' logit shifts, by penalised likelihood.

    Takes shifts (n, k): out-of-fold logit shifts of k members; correct (n,); offset (n,): log-odds of the global map,
    out of fold; weight (n,); prior (k,): weights that they are drawn to. Returns ndarray of shape (k,): Non-negative.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=(2000, 2))
    >>> correct = (rng.random(2000) < 1 / (1 + np.exp(-s[:, 0]))).astype(float)
    >>> w = stack_weights(s, correct, np.zeros(2000))
    >>> bool(w[0] > 0.8) and bool(w[1] < 0.2)
    True
    """
    k = shifts.shape[1]
    w = np.ones(len(correct)) if weight is None else weight
    prior = np.full(k, 1 / k) if prior is None else prior

    def loss(beta):
        logit = offset + shifts @ beta
        value = w @ negative_log_likelihood(correct, logit) + AUTO.stack_shrinkage * np.sum((beta - prior) ** 2)
        gradient = shifts.T @ (w * (expit(logit) - correct)) + 2 * AUTO.stack_shrinkage * (beta - prior)
        return value, gradient

    # strictly convex, so the start does not decide; L-BFGS-B because it takes bounds
    return minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=[(0, None)] * k).x


def stack_out_of_fold(
    shifts: Array,
    correct: Array,
    offset: Array,
    folds: NDArray[np.integer],
    weight: Array | None = None,
    prior: Array | None = None,
) -> NDArray[np.float64]:
    """Stacked shift of every row with weights fitted on the other folds.

    Takes shifts (n, k); correct, offset (n,); folds (n,); weight (n,); prior (k,): as in :func:`stack_weights`.
    Returns ndarray of shape (n,): Log-odds to add to `offset`.

    Examples
    --------
    >>> import numpy as np
    >>> out = stack_out_of_fold(np.ones((4, 1)), np.array([1.0, 0, 1, 0]), np.zeros(4), np.array([0, 0, 1, 1]))
    >>> out.shape
    (4,)
    """
    out = np.zeros(len(correct))
    for k in np.unique(folds):
        inside = folds == k
        rest = ~inside
        w = None if weight is None else weight[rest]
        out[inside] = shifts[inside] @ stack_weights(shifts[rest], correct[rest], offset[rest], w, prior)
    return out
