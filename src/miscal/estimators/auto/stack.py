"""Non-negative stacking of logit shifts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from miscal.calibration.global_map import STANDARD_ERRORS, expected_error, paired_gain
from miscal.estimators.auto.member import negative_log_likelihood
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


# a smaller variance is rounding: nothing varies within any stratum
_NO_SPREAD = 1e-18


@dataclass(frozen=True)
class StructureEvidence:
    """What speaks for local structure, from rows that a shift has not seen.

    Attributes
    ----------
    gain : float
        Log loss of the global map minus that with the shift, mean over rows, in nats.
    gain_error : float
        Its standard error (:func:`gain_in_log_loss`).
    score : float
        Of the shift among rows of like confidence, :func:`score_test`.
    pairs : bool
        Whether a pair of levels stands out beyond chance among all pairs.
    """

    gain: float
    gain_error: float
    score: float
    pairs: bool = False

    @property
    def structure(self) -> bool:
        """Whether local structure is claimed: a pair beyond chance, a gain beyond noise, or a gain with such a score.

        A score of exactly 0 says that outcome or shift is the same throughout each level of the confidence: what is
        gained all the same, with no noise where all outcomes agree, is the global map's, or the clipping's.
        """
        beyond_noise = self.gain > STANDARD_ERRORS * self.gain_error or self.score > AUTO.least_score
        return self.pairs or (self.gain > 0 and self.score != 0 and beyond_noise)


def weigh(
    correct: Array,
    offset: Array,
    shift: Array,
    confidence: Array,
    folds: NDArray[np.integer],
    weight: Array | None = None,
) -> StructureEvidence:
    """Weigh the evidence of an out-of-fold shift.

    Takes correct (n,); offset (n,): log-odds of the global map, out of fold; shift (n,): added to the offset;
    confidence (n,): or any increasing function of it: only its order counts; folds (n,): the folds that the shift was
    learned in; weight (n,): numbers of rows: a row of weight 2 counts as two rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shift, offset = rng.normal(size=2000), np.zeros(2000)
    >>> correct = (rng.random(2000) < expit(shift)).astype(float)
    >>> folds = np.arange(2000) % 5
    >>> weigh(correct, offset, shift, offset, folds).structure, weigh(correct, offset, -shift, offset, folds).structure
    (True, False)
    """
    gain, error = gain_in_log_loss(correct, offset, offset + shift, weight)
    return StructureEvidence(gain, error, score_test(correct, offset, shift, confidence, folds, weight))


def gain_in_log_loss(correct: Array, before: Array, after: Array, weight: Array | None = None) -> tuple[float, float]:
    """Mean log loss of `before` less that of `after`, both log-odds, and its standard error.

    The error is the paired one, or that expected if `before` is right, if that is more.

    Examples
    --------
    >>> gain_in_log_loss(np.array([1.0, 0.0]), np.zeros(2), np.zeros(2))
    (0.0, 0.0)
    """
    gain, error = paired_gain(negative_log_likelihood(correct, before), negative_log_likelihood(correct, after), weight)
    return gain, max(error, expected_error(before, after, weight))


def score_test(
    correct: Array,
    offset: Array,
    shift: Array,
    confidence: Array,
    folds: NDArray[np.integer],
    weight: Array | None = None,
) -> float:
    """Test by strata whether the shift tells the residuals apart that the global map leaves.

    sum t r / sqrt(V): t and r are the shift and the residual y - sigmoid(offset), each less its mean within a stratum,
    and V is the variance of the sum under permutations within strata (a Cochran-Mantel-Haenszel test with a
    continuous score). Strata are levels of the confidence within a fold, so that a global map which is a little wrong,
    on all rows or in one fold, is not taken for hidden structure. The size of the shift does not matter: a weak shift
    of the right form is seen where the gain in log loss, which pays for a wrong size, does not show it.

    Returns float: About standard normal where nothing is hidden.

    Examples
    --------
    >>> correct, shift, alike = np.array([0.0, 0, 1, 1]), np.array([-1.0, -1, 1, 1]), np.zeros(4)
    >>> round(score_test(correct, alike, shift, alike, alike.astype(int)), 3)
    1.732
    """
    w = np.ones(len(correct)) if weight is None else weight
    # one number for each pair of level and fold
    stratum = np.unique(_levels(confidence, folds, w) * (folds.max() + 1) + folds, return_inverse=True)[1]
    rows = np.bincount(stratum, w)
    t = shift - (np.bincount(stratum, w * shift) / rows)[stratum]
    residual = correct - expit(offset)
    r = residual - (np.bincount(stratum, w * residual) / rows)[stratum]
    # permuting m rows gives sum t r the variance sum t^2 sum r^2 / (m - 1); a single row cannot be permuted
    spread = np.bincount(stratum, w * t**2) * np.bincount(stratum, w * r**2)
    variance = np.sum(spread[rows > 1] / (rows[rows > 1] - 1))
    return float(np.sum(w * t * r) / np.sqrt(variance)) if variance > _NO_SPREAD else 0.0


def _levels(confidence: Array, folds: NDArray[np.integer], weight: Array) -> NDArray[np.int64]:
    """Cut the confidence into levels, of equal weight where ties allow."""
    rows = weight.sum() / len(np.unique(folds))
    count = max(1, int(min(rows / AUTO.least_stratum_rows, max(AUTO.least_levels, rows / AUTO.stratum_rows))))
    # inverted_cdf is the one method of numpy that takes weights
    edges = np.quantile(confidence, np.arange(1, count) / count, weights=weight, method="inverted_cdf")
    # tied confidences can make edges coincide: then there are fewer levels
    return np.searchsorted(np.unique(edges), confidence)
