"""Kernel logistic scores on Nystrom features: smooth logit shifts over inputs and confidence.

The score is the posterior mode of a Gaussian process on the logit shift, restricted to the span of a few hundred
landmark rows (Williams & Seeger, 2001), with the offset of the global map: y ~ Bernoulli(sigmoid(o + s(x, f))).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack

from miscal.estimators.auto.inputs import Places, gaussian_of, places_of, squared_distances
from miscal.estimators.auto.member import (
    BestOfPath,
    CrossFitted,
    Fit,
    LearningRows,
    Member,
    Query,
    RidgeFits,
    negative_log_likelihood,
)
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]

# rows of a tile, and distances that several kernels share, 32 MB: beyond, each computes its own
_TILE = 2048
_SHARED = 1 << 23


def gaussian_gram(A: Array, B: Array, sigma: float) -> NDArray[np.float32]:
    """Gaussian kernel exp(-|a - b|^2 / sigma^2) between rows (the paper's convention, without a factor 2).

    Takes A (n, p); B (m, p); sigma: bandwidth, positive, in units of the columns. Returns ndarray of shape (n, m),
    float32, in [0, 1].

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
    of : {"x", "numbers"}
        The inputs that it sees: those that place rows, or the columns of a table beside an embedding.
    """

    name: str
    bandwidth: float
    view: str = "none"
    from_raw: bool = False
    of: str = "x"

    @property
    def refined(self) -> bool:
        """Whether it stands on the first stack."""
        return self.view.startswith("refined")

    def columns(self, at: Query) -> NDArray[np.float32]:
        """Stack what the kernel sees of rows, the view of the confidence last, (n, p + 1)."""
        inputs = at.inputs.numbers if self.of == "numbers" else at.inputs.x
        if self.refined:
            size = AUTO.refined_component_scales[self.view == "refined rank"]
            leading = np.float32(size) * at.inputs.components[:, : AUTO.leading_components]
            inputs = np.concatenate([at.first[:, None].astype(np.float32), leading], 1)
        return np.concatenate([inputs, self.seen(at)[:, None]], 1)

    def seen(self, at: Query) -> NDArray[np.float32]:
        """Return the confidence as the kernel sees it, (n,); 0 where it does not."""
        views = {"line": at.inputs.level, "level": at.inputs.level, "rank": at.inputs.rank}
        return views.get(self.view.removeprefix("refined "), np.zeros(len(at.inputs.x), np.float32))

    def gram(self, A: Array, B: Array, distances: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Kernel between stacked rows, (n, m), whose squared distances without the confidence may be known."""
        if self.refined:
            return gaussian_gram(A, B, self.bandwidth)
        if distances is None:
            K = gaussian_gram(A[:, :-1], B[:, :-1], self.bandwidth)
        else:
            K = gaussian_of(distances, self.bandwidth)
        if self.view not in ("none", "line"):
            u = gaussian_gram(A[:, -1:], B[:, -1:], AUTO.confidence_bandwidth)
            K *= AUTO.alone_share + u
            K += np.multiply(u, np.float32(AUTO.alone_share), out=u)
        return K

    def linear_columns(self, seen: Array, start: Array) -> NDArray[np.float32]:
        """Unsmoothed columns: 1, the confidence seen, start / 3; a kernel without a view sees 1 alone, (n, 3)."""
        sees = float(self.view != "none")
        parts = [np.ones(len(seen)), sees * seen, sees * start / AUTO.offset_scale]
        return np.stack(parts, 1).astype(np.float32)

    def crossfit(self, rows: LearningRows, distances: NDArray[np.float32] | None = None) -> CrossFitted:
        """Fit with the penalty of the smallest out-of-fold log loss.

        Takes distances (n, m): of all rows to the landmarks, squared, which several kernels share.
        """
        columns, start = self.columns(rows.at), rows.at.start(self.from_raw)
        base = columns[rows.landmarks]
        whitening = _whitening(self.gram(base, base))
        features = self._features(columns, start, base, whitening, distances)
        fold = np.unique(rows.folds, return_inverse=True)[1]
        # a fit without each fold, and one of all rows
        weights = np.concatenate([fold != np.arange(fold.max() + 1)[:, None], np.ones((1, len(fold)))])
        fits = RidgeFits(features, rows.correct, start, weights if rows.weight is None else weights * rows.weight)
        path = BestOfPath()
        for penalty in AUTO.penalties:
            fits.descend(penalty)
            shift = fits.shifts[fold, np.arange(len(fold))].astype(np.float64)
            loss = np.average(negative_log_likelihood(rows.correct, start + shift), weights=rows.weight)
            if path.ends(float(loss), (penalty, shift, fits.coefficients[-1])):
                break
        penalty, shift, b = path.best
        # whitening goes into the coefficients, so that new rows need their kernel to the landmarks alone
        member = KernelMember(self, base, whitening @ b[:-3], b[-3:] * _LINEAR_SCALE)
        settings = {"penalty": penalty, "bandwidth": self.bandwidth}
        return CrossFitted(member, start - rows.at.offset + shift, settings)

    def _features(
        self, columns: Array, start: Array, base: Array, whitening: Array, distances: Array | None
    ) -> NDArray[np.float32]:
        """Whitened kernels to the landmarks and the unsmoothed columns, (m + 3, n)."""
        m, across = len(base), np.ascontiguousarray(whitening.T)
        features = np.empty((m + 3, len(columns)), np.float32)
        for i in range(0, len(columns), _TILE):
            tile = slice(i, i + _TILE)
            K = self.gram(columns[tile], base, None if distances is None else distances[tile])
            np.matmul(across, K.T, out=features[:m, tile])
        features[m:] = (self.linear_columns(columns[:, -1], start) * _LINEAR_SCALE).T
        return features


def _whitening(gram: Array) -> NDArray[np.float32]:
    """Map of kernels to the landmarks to features whose inner product is the kernel, upper triangular (m, m)."""
    gram = gram.astype(np.float64)
    # the largest row sum bounds the largest eigenvalue; without this the smallest would turn rounding into features
    gram[np.diag_indices_from(gram)] += AUTO.least_eigenvalue * gram.sum(1).max()
    root = cholesky(gram, overwrite_a=True, check_finite=False)
    return lapack.dtrtri(root)[0].astype(np.float32)


# whitened features have prior variance 1; the unsmoothed columns are scaled to that
_LINEAR_SCALE = np.float32(np.sqrt(AUTO.linear_variance))


@dataclass(frozen=True, eq=False)
class KernelMember(Member):
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
            smooth = self._smooth(at.inputs.distances(self.places, recipe.of), seen)
        return start - at.offset + (smooth + recipe.linear_columns(seen, start) @ self.linear).astype(np.float64)

    @cached_property
    def places(self) -> Places:
        """The landmarks without the confidence they see."""
        return places_of(self.landmarks[:, :-1])

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


WIDE = "kernel of x, wide"
"""Of many columns, the score of x alone that also places rows in the learned geometry."""


def first_scores(rows: LearningRows) -> dict[str, Fit]:
    """Kernels of the first stack."""
    if rows.few_columns:
        middle, wide = AUTO.few_columns_bandwidths
        recipes = [
            KernelRecipe("kernel of x, middle", middle),
            KernelRecipe(WIDE, wide),
            KernelRecipe("kernel of x and confidence", AUTO.few_columns_joint_bandwidth, "level"),
        ]
    else:
        narrow, wide = AUTO.many_columns_bandwidths
        recipes = [KernelRecipe(WIDE, wide)]
        # in a long table with levels they earn nothing beside groups and trees (`benchmarks/notes/answered.md`)
        if not rows.long_table:
            recipes.append(KernelRecipe("kernel of x and confidence, narrow", narrow, "level"))
            recipes.append(KernelRecipe("kernel of x and confidence, wide", wide, "rank"))
        # with few rows the global map is noisy, and a score that does without it is worth having
        if rows.few_rows:
            recipes.append(KernelRecipe("kernel of x from the raw confidence, wide", wide, "line", from_raw=True))
    if rows.at.inputs.numbers.shape[1]:
        middle, joint = AUTO.few_columns_bandwidths[0], AUTO.few_columns_joint_bandwidth
        recipes.append(KernelRecipe("kernel of columns", middle, of="numbers"))
        recipes.append(KernelRecipe("kernel of columns and confidence", joint, "level", of="numbers"))
    x, few = rows.at.inputs.x, len(rows) * len(rows.landmarks) <= _SHARED
    shared = squared_distances(x, x[rows.landmarks]) if few else None
    return {one.name: partial(one.crossfit, distances=shared if one.of == "x" else None) for one in recipes}


def refined_scores(rows: LearningRows) -> dict[str, Fit]:
    """Kernels that stand on the first stack.

    With few columns the local shift does their work, and better: rows lie so dense that the first stack's out-of-fold
    values tell a refined kernel about the labels around them. So they do where columns have levels, whose rows share
    labels: without refined kernels, five sets with columns beside embeddings had a log loss 0.0007 lower, left out.
    """
    if rows.few_columns or rows.few_rows or rows.at.inputs.codes.shape[1]:
        return {}
    narrow = AUTO.many_columns_bandwidths[0]
    return {
        name: KernelRecipe(name, narrow, view).crossfit
        for name, view in (
            ("refined kernel, confidence level", "refined level"),
            ("refined kernel, confidence rank", "refined rank"),
        )
    }
