"""Kernel logistic scores on Nystrom features: smooth logit shifts over inputs and confidence.

The score is the posterior mode of a Gaussian process on the logit shift, restricted to the span of a few hundred
landmark rows (Williams & Seeger, 2001), with the offset of the global map: y ~ Bernoulli(sigmoid(o + s(x, f))).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from miscal.estimators.auto.inputs import Inputs
from miscal.estimators.auto.ridge import negative_log_likelihood, normal_matrix, ridge_path

Array = NDArray[np.floating]

PENALTIES = (1000.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
_EXTRAS_SCALE = np.sqrt(1 / 0.3)
_TILE = 8192


def gaussian_gram(A: Array, B: Array, scale: float) -> NDArray[np.float32]:
    """Gaussian kernel exp(-|a - b|^2 / (2 scale^2)) between rows.

    Parameters
    ----------
    A : ndarray of shape (n, p)
    B : ndarray of shape (m, p)
    scale : float

    Returns
    -------
    ndarray of shape (n, m), float32, in [0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> gaussian_gram(np.zeros((1, 2)), np.zeros((1, 2)), 1.0)
    array([[1.]], dtype=float32)
    """
    A, B = np.asarray(A, np.float32), np.asarray(B, np.float32)
    distance = (A @ B.T) * np.float32(-2)
    distance += (A**2).sum(1)[:, None]
    distance += (B**2).sum(1)
    np.maximum(distance, 0, out=distance)
    distance *= np.float32(-1 / (2 * scale**2))
    # exp of less than -80 is 0 for us and twenty times slower to compute
    np.maximum(distance, -80, out=distance)
    return np.exp(distance, out=distance)


@dataclass(frozen=True)
class KernelSpec:
    """A kernel over (inputs, confidence).

    Attributes
    ----------
    name : str
    scale : float
        Bandwidth on the scaled inputs, where two random rows are about 1 apart.
    view : {"none", "line", "level", "rank", "joint"}
        How the confidence enters: not at all, as a straight line in its logit, by its logit or by its rank. With the
        last two, u, the kernel is K(x) (0.3 + K(u)) + 0.3 K(u): a shift of its own for every place, and a reshaped
        confidence curve as well. "joint": one Gaussian kernel over all columns the caller stacked.
    from_raw : bool, default False
        The score starts from the log-odds of the confidence itself, not from those of the global map.
    """

    name: str
    scale: float
    view: str = "none"
    from_raw: bool = False

    def columns(self, inputs: Inputs) -> NDArray[np.float32]:
        """Stack what the kernel needs, the confidence last, (n, p + 1)."""
        views = {"line": inputs.level, "level": inputs.level, "rank": inputs.rank}
        u = views.get(self.view, np.zeros(len(inputs.x), np.float32))
        return np.concatenate([inputs.x, u[:, None]], 1)

    def gram(self, A: Array, B: Array) -> NDArray[np.float32]:
        """Kernel between stacked rows, (n, m)."""
        if self.view == "joint":
            return gaussian_gram(A, B, self.scale)
        K = gaussian_gram(A[:, :-1], B[:, :-1], self.scale)
        if self.view in ("none", "line"):
            return K
        u = gaussian_gram(A[:, -1:], B[:, -1:], 0.7)
        return K * (0.3 + u) + np.float32(0.3) * u


@dataclass(frozen=True)
class KernelScore:
    """A fitted kernel logistic score.

    Attributes
    ----------
    spec : KernelSpec
    landmarks : ndarray of shape (m, p + 1), float32
    coefficients : ndarray of shape (m,), float32
        On the kernel to each landmark.
    linear : ndarray of shape (3,), float32
        On 1, the confidence view and offset / 3.
    """

    spec: KernelSpec
    landmarks: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    linear: NDArray[np.float32]

    def shift(self, columns: Array, offset: Array) -> NDArray[np.float64]:
        """Logit shift of rows.

        Parameters
        ----------
        columns : ndarray of shape (n, p + 1)
            From ``spec.columns``.
        offset : ndarray of shape (n,)
            Log-odds of the global map.

        Returns
        -------
        ndarray of shape (n,), float64; positive raises the confidence
        """
        out = np.empty(len(columns))
        for i in range(0, len(columns), _TILE):
            part = columns[i : i + _TILE]
            out[i : i + _TILE] = self.spec.gram(part, self.landmarks) @ self.coefficients
        return out + _extras(self.spec, columns, offset) @ self.linear


def _extras(spec: KernelSpec, columns: Array, offset: Array) -> NDArray[np.float32]:
    """Unsmoothed columns: 1, confidence view, offset / 3; a score without a view sees 1 alone."""
    sees = float(spec.view != "none")
    return np.stack([np.ones(len(columns)), sees * columns[:, -1], sees * offset / 3], 1).astype(np.float32)


@dataclass(frozen=True)
class CrossFitted:
    """A score with its out-of-fold shifts.

    Attributes
    ----------
    score : object
        Fitted on all rows.
    shift : ndarray of shape (n,)
        Out-of-fold logit shift of each training row.
    settings : dict
        What was chosen, for the table of candidates.
    """

    score: object
    shift: NDArray[np.float64]
    settings: dict


def crossfit_kernel(
    spec: KernelSpec,
    columns: Array,
    y: Array,
    offset: Array,
    folds: NDArray[np.integer],
    landmarks: NDArray[np.integer],
    weight: Array | None = None,
) -> CrossFitted:
    """Fit a kernel score with its penalty chosen by out-of-fold log loss.

    Parameters
    ----------
    spec : KernelSpec
    columns : ndarray of shape (n, p + 1), float32
    y : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
        Out-of-fold log-odds of the global map.
    folds : ndarray of shape (n,), int
    landmarks : ndarray of shape (m,), int
        Rows that span the function space.
    weight : ndarray of shape (n,), optional

    Returns
    -------
    CrossFitted
        With a `KernelScore`.
    """
    base = columns[landmarks]
    values, vectors = eigh(spec.gram(base, base).astype(np.float64), check_finite=False, driver="evd")
    kept = values > 1e-6 * values.max()
    whitening = (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)
    # (n, m): the only large array here
    features = np.concatenate(
        [
            np.concatenate(
                [spec.gram(columns[i : i + _TILE], base) @ whitening for i in range(0, len(columns), _TILE)]
            ),
            _extras(spec, columns, offset),
        ],
        1,
    )
    scale = np.r_[np.ones(whitening.shape[1]), np.full(3, _EXTRAS_SCALE)]
    shifts = np.zeros((len(y), len(PENALTIES)))
    names = np.unique(folds)
    normals = {k: normal_matrix(features[folds == k], offset[folds == k], _take(weight, folds == k)) for k in names}
    for k in names:
        rest = folds != k
        path = ridge_path(
            features[rest], y[rest], offset[rest], penalties=PENALTIES, scale=scale, weight=_take(weight, rest),
            normal=sum(normals[j] for j in names if j != k),
        )  # fmt: skip
        shifts[~rest] = features[~rest] @ path.coefficients
    losses = np.average(negative_log_likelihood(y, offset[:, None] + shifts), axis=0, weights=weight)
    best = int(losses.argmin())
    normal = sum(normals.values())
    path = ridge_path(features, y, offset, penalties=PENALTIES[: best + 1], scale=scale, weight=weight, normal=normal)
    b = path.coefficients[:, best]
    score = KernelScore(spec, base, whitening @ b[:-3], b[-3:])
    return CrossFitted(score, shifts[:, best], {"penalty": PENALTIES[best], "bandwidth": spec.scale})


def _take(weight: Array | None, rows) -> Array | None:
    return None if weight is None else weight[rows]
