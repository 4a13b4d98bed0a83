"""Two-dimensional maps of the rows for the report; nothing else is computed from them.

A layout may cost at most a fifth of the fit. Counts decide what is drawn, never a stopwatch, so that the same seed
gives the same map. Seconds of processor time, on made embeddings of 384 columns, for the two maps of a run together
(``python benchmarks/bench_layout.py``; numba's cache filled):

======  =====  =====  =====  =====
rows      fit   UMAP  t-SNE    PCA
======  =====  =====  =====  =====
   300    3.4    8.7    0.4    0.0
   500    9.5    9.4    0.7    0.0
 1,000   14.4   10.5    1.4    0.0
 5,000   15.5   38.1    1.8    0.1
14,000   39.5   39.4    2.0    0.1
======  =====  =====  =====  =====

UMAP spends 8 s on importing and compiling (28 s from 4,096 rows on, 20 s more where numba's cache is empty): more than
a fifth of every fit above, so it is drawn on request only.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from miscal.base.directions import oriented
from miscal.base.errors import InputError, argument
from miscal.base.extras import need

MAX_ROWS = 20_000
"""Rows that a map shows at most; the page has to stay below 10 MB."""

LANDMARKS = 1_000
"""Distinct rows that t-SNE lays out itself; the others are placed between their nearest landmarks. More make a finer
map and cost more. Chosen on 5,000 texts of 384 dimensions, by trustworthiness (ten neighbours) and seconds for one map:
500 rows 0.87 in 0.4 s, 1,000 rows 0.91 in 0.7 s; principal components 0.79 in no time."""

LEAST_ROWS = 50
"""Distinct rows below which auto draws principal components: with hardly more rows than neighbours, there is nothing to
lay out. Not tuned."""

_ITERATIONS = 300  # of t-SNE; 500 raise the trustworthiness by at most 0.02, and cost two thirds more
_PERPLEXITY = 30.0  # of t-SNE, scikit-learn's default; at most a third of the rows
_NEAREST = 5  # landmarks that place another row
_FIT_VALUES = 1 << 26  # 256 MB of float32: what fitting may copy
_BLOCK_VALUES = 1 << 22
_DIMENSIONS = 30  # principal components that t-SNE and UMAP see

MapMethod = Literal["auto", "pca", "tsne", "umap"]


@dataclass(frozen=True)
class Layout:
    """Positions of rows on a plane.

    `positions`, float64 (n, 2): where each row lies; no unit. `method`: what made them: ``pca``, ``tsne`` or ``umap``.
    """

    positions: np.ndarray
    method: str


def shown_rows(n: int, *, seed: int, limit: int = MAX_ROWS) -> np.ndarray:
    """Choose the rows a map shows.

    `n`: rows there are. `seed`: of the sample. `limit`: rows to show at most. Returns int64 (min(n, limit): row
    positions, ascending: all of them, or a uniform sample.

    Examples
    --------
    >>> shown_rows(4, seed=0), len(shown_rows(100, seed=0, limit=10))
    (array([0, 1, 2, 3]), 10)
    """
    if n <= limit:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size=limit, replace=False))


def lay_out(X: np.ndarray, *, method: MapMethod = "auto", seed: int = 0) -> Layout:
    """Lay rows out on a plane.

    `X`, float (n, d): rows, finite. `method`: auto takes t-SNE, or principal components where fewer than 50 rows
    differ. Above 1,000 distinct rows, t-SNE places the others between those that it laid out. UMAP needs the extra
    ``miscal[interpret]``, and can take longer than the fit. `seed`: of t-SNE, of UMAP, and of the samples that they and
    PCA learn from. Returns the same for the same input and seed; a direction without variance is 0.

    Examples
    --------
    >>> lay_out(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), method="pca").positions.round(6) + 0.0
    array([[-2.,  0.],
           [ 0.,  0.],
           [ 2.,  0.]])
    """
    if method == "umap":
        return Layout(_umap(X, seed), "umap")
    if method != "pca":
        reduced = principal_components(X, min(_DIMENSIONS, X.shape[1]), seed=seed)
        distinct = np.unique(reduced, axis=0, return_index=True)[1]
        if method == "tsne" or len(distinct) >= LEAST_ROWS:
            return Layout(_tsne(reduced, distinct, seed), "tsne")
    return Layout(principal_components(X, 2, seed=seed), "pca")


def _tsne(reduced: np.ndarray, distinct: np.ndarray, seed: int) -> np.ndarray:
    """Lay landmarks out by t-SNE (van der Maaten and Hinton, 2008), and place every other row between its nearest."""
    from sklearn.manifold import TSNE
    from sklearn.neighbors import KNeighborsRegressor

    if len(distinct) < 3:  # too few to have neighbours
        return reduced[:, :2] if reduced.shape[1] > 1 else np.c_[reduced, np.zeros(len(reduced))]
    landmarks = np.sort(distinct)[shown_rows(len(distinct), seed=seed, limit=LANDMARKS)]
    # t-SNE knows no scale; this keeps the squares of very large and very small inputs finite
    scaled = reduced / np.abs(reduced).max()
    perplexity = min(_PERPLEXITY, (len(landmarks) - 1) / 3)
    start = "pca" if scaled.shape[1] > 1 else "random"
    model = TSNE(perplexity=perplexity, max_iter=_ITERATIONS, init=start, random_state=seed, n_jobs=1)
    places = model.fit_transform(scaled[landmarks]).astype(np.float64)
    nearest = min(_NEAREST, len(landmarks))
    between = KNeighborsRegressor(nearest, weights="distance", n_jobs=1).fit(scaled[landmarks], places).predict(scaled)
    # a landmark stays where it is, even where another one lies within rounding of it
    between[landmarks] = places
    return between


def check_layout(method: MapMethod) -> None:
    """Refuse a layout that there is not, and one whose package is not installed."""
    if method not in get_args(MapMethod):
        raise InputError(f"{argument('map')} must be one of {', '.join(get_args(MapMethod))}; got {method!r}")
    if method == "umap":
        need("interpret", argument("map", "umap"), otherwise=', or take "auto"')


def _umap(X: np.ndarray, seed: int) -> np.ndarray:
    check_layout("umap")
    import umap

    reduced = principal_components(X, min(_DIMENSIONS, X.shape[1]), seed=seed)
    # a seed makes UMAP use one job; asked for outright, that brings no warning
    return umap.UMAP(random_state=seed, n_jobs=1).fit_transform(reduced).astype(np.float64)


def principal_components(X: np.ndarray, k: int, *, seed: int = 0) -> np.ndarray:
    """Project rows on their first principal components.

    `X`, float (n, d): rows, finite. Columns are centred, not scaled. `k`: components wanted; those that X does not have
    are 0. `seed`: of the solver, and of the sample that fits the components when there are over 20,000 rows (fewer if
    wide). Returns float64 (n, k): scores. Each component's largest loading is positive, so that the picture does not
    flip.
    """
    from sklearn.decomposition import PCA

    scores = np.zeros((len(X), k))
    if not np.ptp(X, axis=0).any():
        return scores
    rows = shown_rows(len(X), seed=seed, limit=min(MAX_ROWS, max(1, _FIT_VALUES // X.shape[1])))
    possible = min(k, X.shape[1], len(rows))
    solver = "randomized" if min(X.shape[1], len(rows)) > 50 else "full"
    model = PCA(possible, svd_solver=solver, random_state=seed).fit(X[rows])
    loadings = oriented(model.components_.T)
    step = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, len(X), step):
        scores[start : start + step, :possible] = (X[start : start + step] - model.mean_) @ loadings
    return scores
