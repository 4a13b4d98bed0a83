"""Two-dimensional maps of the rows, for the eye only: nothing is computed from them."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np

MAX_ROWS = 20_000
"""Rows that a map shows at most; the page has to stay below 10 MB."""

UMAP_ROWS = 5_000
"""Where auto stops taking UMAP: two maps of 8,000 rows cost it 45 s of one core, compiling included."""

_FIT_VALUES = 1 << 26  # 256 MB of float32: what fitting may copy
_BLOCK_VALUES = 1 << 22
_UMAP_DIMENSIONS = 30

MapMethod = Literal["auto", "pca", "umap"]


@dataclass(frozen=True)
class Layout:
    """Positions of rows on a plane.

    Attributes
    ----------
    positions : ndarray of float64, shape (n, 2)
        Where each row lies; no unit.
    method : str
        What made them: ``pca`` or ``umap``.
    """

    positions: np.ndarray
    method: str


def shown_rows(n: int, *, seed: int, limit: int = MAX_ROWS) -> np.ndarray:
    """Choose the rows a map shows.

    Parameters
    ----------
    n : int
        Rows there are.
    seed : int
        Of the sample.
    limit : int, default 20000
        Rows to show at most.

    Returns
    -------
    ndarray of int64, shape (min(n, limit),)
        Row positions, ascending: all of them, or a uniform sample.

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

    Parameters
    ----------
    X : ndarray of float, shape (n, d)
        Rows, finite.
    method : {"auto", "pca", "umap"}, default "auto"
        UMAP needs the extra ``miscal[interpret]``; auto takes it where it is installed and n is at most 5,000.
    seed : int, default 0
        Of UMAP and of the sample that PCA is fitted on.

    Returns
    -------
    Layout
        The same for the same input and seed; a direction without variance is 0.

    Examples
    --------
    >>> lay_out(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), method="pca").positions.round(6) + 0.0
    array([[-2.,  0.],
           [ 0.,  0.],
           [ 2.,  0.]])
    """
    if method == "auto":
        method = "umap" if len(X) <= UMAP_ROWS and _umap_can(X) else "pca"
    if method == "umap":
        return Layout(_umap(X, seed), "umap")
    return Layout(principal_components(X, 2, seed=seed), "pca")


def _umap_can(X: np.ndarray) -> bool:
    # with hardly more rows than the 15 neighbours that UMAP takes, or all rows equal, there is nothing to lay out
    return find_spec("umap") is not None and len(X) >= 50 and bool(np.ptp(X, axis=0).any())


def _umap(X: np.ndarray, seed: int) -> np.ndarray:
    import umap

    reduced = principal_components(X, min(_UMAP_DIMENSIONS, X.shape[1]), seed=seed)
    # a seed makes UMAP use one job; asked for outright, that brings no warning
    return umap.UMAP(random_state=seed, n_jobs=1).fit_transform(reduced).astype(np.float64)


def principal_components(X: np.ndarray, k: int, *, seed: int = 0) -> np.ndarray:
    """Project rows on their first principal components.

    Parameters
    ----------
    X : ndarray of float, shape (n, d)
        Rows, finite. Columns are centred, not scaled.
    k : int
        Components wanted; those that X does not have are 0.
    seed : int, default 0
        Of the solver, and of the sample that fits the components when there are over 20,000 rows (fewer if wide).

    Returns
    -------
    ndarray of float64, shape (n, k)
        Scores. Each component's largest loading is positive, so that the picture does not flip.
    """
    from sklearn.decomposition import PCA

    scores = np.zeros((len(X), k))
    if not np.ptp(X, axis=0).any():
        return scores
    rows = shown_rows(len(X), seed=seed, limit=min(MAX_ROWS, max(1, _FIT_VALUES // X.shape[1])))
    possible = min(k, X.shape[1], len(rows))
    solver = "randomized" if min(X.shape[1], len(rows)) > 50 else "full"
    model = PCA(possible, svd_solver=solver, random_state=seed).fit(X[rows])
    loadings = model.components_
    loadings = loadings * np.sign(loadings[np.arange(possible), np.abs(loadings).argmax(axis=1)])[:, None]
    step = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, len(X), step):
        scores[start : start + step, :possible] = (X[start : start + step] - model.mean_) @ loadings.T
    return scores
