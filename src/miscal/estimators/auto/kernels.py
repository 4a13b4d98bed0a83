"""Kernel logistic scores on Nystrom features: smooth logit shifts over inputs and confidence.

The score is the posterior mode of a Gaussian process on the logit shift, restricted to the span of a few hundred
landmark rows (Williams & Seeger, 2001), with the offset of the global map: y ~ Bernoulli(sigmoid(o + s(x, f))).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from miscal.estimators.auto.distances import Placed, gaussian_of, squared_distances
from miscal.estimators.auto.member import CrossFitted, Family, LearningRows, Query, State
from miscal.estimators.auto.ridge import negative_log_likelihood, normal_matrix, ridge_path
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]

_TILE = 8192


def gaussian_gram(A: Array, B: Array, sigma: float) -> NDArray[np.float32]:
    """Gaussian kernel exp(-|a - b|^2 / sigma^2) between rows (the paper's convention, without a factor 2).

    Parameters
    ----------
    A : ndarray of shape (n, p)
    B : ndarray of shape (m, p)
    sigma : float
        Bandwidth, positive, in units of the columns.

    Returns
    -------
    ndarray of shape (n, m), float32, in [0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> gaussian_gram(np.zeros((1, 2)), np.zeros((1, 2)), 1.0)
    array([[1.]], dtype=float32)
    """
    distance = squared_distances(np.asarray(A, np.float32), np.asarray(B, np.float32))
    return gaussian_of(distance, sigma, out=distance)


@dataclass(frozen=True)
class KernelRecipe:
    """A kernel over (inputs, confidence).

    Attributes
    ----------
    name : str
    bandwidth : float
        sigma of exp(-d^2 / sigma^2) on the scaled inputs, where two random rows are about 1 apart.
    view : {"none", "line", "level", "rank", "refined level", "refined rank"}
        How the confidence enters: not at all, as a straight line in its logit, by its logit or by its rank. With the
        last two, u, the kernel is K(x) (0.3 + K(u)) + 0.3 K(u): a shift of its own for every place, and a reshaped
        confidence curve as well. "refined": one Gaussian kernel over the first stack's shift, leading components, and
        the view of the confidence.
    from_raw : bool, default False
        The score starts from the log-odds of the confidence itself, not from those of the global map.
    """

    name: str
    bandwidth: float
    view: str = "none"
    from_raw: bool = False

    @property
    def refined(self) -> bool:
        """Whether it stands on the first stack."""
        return self.view.startswith("refined")

    def columns(self, at: Query) -> NDArray[np.float32]:
        """Stack what the kernel sees of rows, the view of the confidence last, (n, p + 1)."""
        if self.refined:
            return _refined_columns(self.view.removeprefix("refined "), at)
        return np.concatenate([at.inputs.x, self.seen(at)[:, None]], 1)

    def seen(self, at: Query) -> NDArray[np.float32]:
        """Return the confidence as the kernel sees it, (n,); 0 where it does not."""
        views = {"line": at.inputs.level, "level": at.inputs.level, "rank": at.inputs.rank}
        return views.get(self.view, np.zeros(len(at.inputs.x), np.float32))

    def gram(self, A: Array, B: Array) -> NDArray[np.float32]:
        """Kernel between stacked rows, (n, m)."""
        if self.refined:
            return gaussian_gram(A, B, self.bandwidth)
        K = gaussian_gram(A[:, :-1], B[:, :-1], self.bandwidth)
        if self.view in ("none", "line"):
            return K
        u = gaussian_gram(A[:, -1:], B[:, -1:], AUTO.confidence_bandwidth)
        return K * (AUTO.alone_share + u) + np.float32(AUTO.alone_share) * u

    def linear_columns(self, seen: Array, start: Array) -> NDArray[np.float32]:
        """Unsmoothed columns: 1, the confidence seen, start / 3; a kernel without a view sees 1 alone, (n, 3)."""
        sees = float(self.view != "none")
        parts = [np.ones(len(seen)), sees * seen, sees * start / AUTO.offset_scale]
        return np.stack(parts, 1).astype(np.float32)

    def crossfit(self, rows: LearningRows) -> CrossFitted:
        """Fit with the penalty of the smallest out-of-fold log loss."""
        columns, start = self.columns(rows.at), rows.at.start(self.from_raw)
        base = columns[rows.landmarks]
        whitening = _whitening(self.gram(base, base))
        features = _features(self, columns, start, base, whitening)
        # whitened features have prior variance 1; the last three columns are the unsmoothed ones
        scale = np.r_[np.ones(whitening.shape[1]), np.full(3, np.sqrt(AUTO.linear_variance))]
        fits = _Folded(rows, features, start, scale)
        shifts = fits.out_of_fold()
        losses = negative_log_likelihood(rows.correct, start[:, None] + shifts)
        best = int(np.average(losses, axis=0, weights=rows.weight).argmin())
        # along the penalties that the folds went through, as each fit starts at the one before
        b = fits.on_all_rows(AUTO.penalties[: best + 1])
        # whitening goes into the coefficients, so that new rows need their kernel to the landmarks alone
        member = KernelMember(self, base, whitening @ b[:-3], b[-3:])
        settings = {"penalty": AUTO.penalties[best], "bandwidth": self.bandwidth}
        return CrossFitted(member, start - rows.at.offset + shifts[:, best], settings)


def _refined_columns(view: str, at: Query) -> NDArray[np.float32]:
    u = {"level": at.inputs.level, "rank": at.inputs.rank}[view]
    size = dict(zip(("level", "rank"), AUTO.refined_component_scales, strict=True))[view]
    leading = np.float32(size) * at.inputs.components[:, : AUTO.leading_components]
    return np.concatenate([at.first[:, None].astype(np.float32), leading, u[:, None]], 1)


def _whitening(gram: Array) -> NDArray[np.float32]:
    """Map of kernels to the landmarks to features whose inner product is the kernel, (m, k)."""
    values, vectors = eigh(gram.astype(np.float64), check_finite=False, driver="evd")
    # dividing by the root of a smaller eigenvalue would turn rounding into features
    kept = values > AUTO.least_eigenvalue * values.max()
    return (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)


def _features(recipe: KernelRecipe, columns: Array, start: Array, base: Array, whitening: Array) -> Array:
    # (n, m): the only large array here
    tiles = [recipe.gram(columns[i : i + _TILE], base) @ whitening for i in range(0, len(columns), _TILE)]
    return np.concatenate([np.concatenate(tiles), recipe.linear_columns(columns[:, -1], start)], 1)


class _Folded:
    """Ridge paths over all folds but one, and over all rows: their curvatures are sums of those of the folds."""

    def __init__(self, rows: LearningRows, features: Array, start: Array, scale: Array) -> None:
        self.rows, self.features, self.start, self.scale = rows, features, start, scale
        self.names = np.unique(rows.folds)
        self.normals = {k: self._normal(rows.folds == k) for k in self.names}

    def _normal(self, inside: NDArray[np.bool_]) -> Array:
        return normal_matrix(self.features[inside], self.start[inside], self.rows.weight_of(inside))

    def out_of_fold(self) -> NDArray[np.float64]:
        """Shifts of every row by penalty, (n, penalties)."""
        shifts = np.zeros((len(self.rows), len(AUTO.penalties)))
        for k in self.names:
            rest = self.rows.folds != k
            path = ridge_path(
                self.features[rest],
                self.rows.correct[rest],
                self.start[rest],
                penalties=AUTO.penalties,
                scale=self.scale,
                weight=self.rows.weight_of(rest),
                # sums of the other folds' matrices: every fold's rows are multiplied out once, not once per fold
                normal=sum(self.normals[j] for j in self.names if j != k),
            )
            shifts[~rest] = self.features[~rest] @ path.coefficients
        return shifts

    def on_all_rows(self, penalties: tuple[float, ...]) -> NDArray[np.float32]:
        """Coefficients at the last of the penalties, reached along the path."""
        path = ridge_path(
            self.features,
            self.rows.correct,
            self.start,
            penalties=penalties,
            scale=self.scale,
            weight=self.rows.weight,
            normal=sum(self.normals.values()),
        )
        return path.coefficients[:, -1]


@dataclass(frozen=True, eq=False)
class KernelMember:
    """A fitted kernel logistic score.

    Attributes
    ----------
    recipe : KernelRecipe
    landmarks : ndarray of shape (m, p + 1), float32
    coefficients : ndarray of shape (m,), float32
        On the kernel to each landmark.
    linear : ndarray of shape (3,), float32
        On 1, the confidence view and start / 3.
    """

    kind: ClassVar[str] = "kernel"

    recipe: KernelRecipe
    landmarks: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    linear: NDArray[np.float32]

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        recipe, start = self.recipe, at.start(self.recipe.from_raw)
        if recipe.refined:
            columns = recipe.columns(at)
            seen, smooth = columns[:, -1], recipe.gram(columns, self.landmarks) @ self.coefficients
        else:
            seen = recipe.seen(at)
            smooth = self._smooth(at.inputs.distances.to(self.places), seen)
        return start - at.offset + (smooth + recipe.linear_columns(seen, start) @ self.linear).astype(np.float64)

    @cached_property
    def places(self) -> Placed:
        """The landmarks without the confidence they see."""
        return Placed(np.ascontiguousarray(self.landmarks[:, :-1]))

    def _smooth(self, distance: NDArray[np.float32], seen: NDArray[np.float32]) -> NDArray[np.float32]:
        """Kernel sums over the landmarks, (n,), from squared distances (n, m), which are not written to."""
        K = gaussian_of(distance, self.recipe.bandwidth)
        if self.recipe.view in ("none", "line"):
            return K @ self.coefficients
        u = gaussian_gram(seen[:, None], self.landmarks[:, -1:], AUTO.confidence_bandwidth)
        alone = u @ (np.float32(AUTO.alone_share) * self.coefficients)
        u += np.float32(AUTO.alone_share)
        K *= u
        return K @ self.coefficients + alone

    def state(self) -> State:
        """Recipe, and arrays."""
        names = ("landmarks", "coefficients", "linear")
        return asdict(self.recipe), {name: getattr(self, name) for name in names}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        return cls(KernelRecipe(**content), **arrays)


WIDE = "kernel of x, wide"
"""Of many columns, the score of x alone that also places rows in the learned geometry."""


def first_recipes(rows: LearningRows) -> tuple[KernelRecipe, ...]:
    """Kernels of the first stack."""
    if rows.few_columns:
        narrow, middle, wide = AUTO.few_columns_bandwidths
        return (
            KernelRecipe("kernel of x, narrow", narrow),
            KernelRecipe("kernel of x, middle", middle),
            KernelRecipe(WIDE, wide),
            KernelRecipe("kernel of x and confidence", AUTO.few_columns_joint_bandwidth, "level"),
        )
    narrow, wide = AUTO.many_columns_bandwidths
    many = (
        KernelRecipe("kernel of x, narrow", narrow),
        KernelRecipe(WIDE, wide),
        KernelRecipe("kernel of x and confidence, narrow", narrow, "level"),
        KernelRecipe("kernel of x and confidence, wide", wide, "rank"),
    )
    # with few rows the global map is noisy, and a score that does without it is worth having
    raw = KernelRecipe("kernel of x from the raw confidence, wide", wide, "line", from_raw=True)
    return (*many, raw) if rows.few_rows else many


def refined_recipes(rows: LearningRows) -> tuple[KernelRecipe, ...]:
    """Kernels that stand on the first stack.

    With few columns the local shift does their work, and better: rows lie so dense that the first stack's out-of-fold
    values tell a refined kernel about the labels around them.
    """
    if rows.few_columns or rows.few_rows:
        return ()
    narrow = AUTO.many_columns_bandwidths[0]
    return (
        KernelRecipe("refined kernel, confidence level", narrow, "refined level"),
        KernelRecipe("refined kernel, confidence rank", narrow, "refined rank"),
    )


FAMILY = Family(KernelMember, first_recipes)
