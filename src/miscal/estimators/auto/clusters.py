"""Shifts by k-means cluster: edges between groups of inputs that smooth kernels blur.

The clusters are found without labels, coarser and finer ones. The shifts of one partition share a prior that the
clusters themselves teach (empirical Bayes; Kiefer & Wolfowitz, 1956, fitted by EM as in Laird, 1978), so that a cluster
with few rows borrows from the others, and clusters with nothing wrong agree on a shift of 0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.global_map import paired_gain
from miscal.estimators.auto.kernels import CrossFitted
from miscal.estimators.auto.ridge import negative_log_likelihood

Array = NDArray[np.floating]

N_CLUSTERS = (4, 8, 16, 32, 64, 128)
# fewer rows to a cluster say nothing beyond the prior
_LEAST_ROWS = 25
# at most this many rows learn the centres
_CENTRE_ROWS = 20_000
# half a step is at most 0.006 in probability
_GRID = np.linspace(-4, 4, 161)
# the prior of most likelihood has a few atoms, approached slowly: after so many steps it is still smooth
_EM_STEPS = 200
_BLOCK_ROWS = 4_096


@dataclass(frozen=True)
class Partition:
    """Clusters with a shift each.

    Attributes
    ----------
    centres : ndarray of shape (k, q), float32
        In the leading components.
    shifts : ndarray of shape (k,), float64
        Logit shift of each cluster; positive raises the confidence.
    from_raw : bool
        The shifts start from the log-odds of the confidence itself, not from those of the global map.
    """

    centres: NDArray[np.float32]
    shifts: NDArray[np.float64]
    from_raw: bool

    def shift(self, components: Array, offset: Array, raw: Array) -> NDArray[np.float64]:
        """Logit shift over `offset` of rows, (n,), wherever it starts."""
        shift = self.shifts[nearest(components, self.centres)]
        return shift + raw - offset if self.from_raw else shift


@dataclass(frozen=True)
class ClusterScore:
    """The average of several partitions.

    Attributes
    ----------
    partitions : tuple of Partition
    """

    partitions: tuple[Partition, ...]

    def shift(self, components: Array, offset: Array, raw: Array) -> NDArray[np.float64]:
        """Logit shift of rows.

        Parameters
        ----------
        components : ndarray of shape (n, q)
            Leading components.
        offset, raw : ndarray of shape (n,)
            Log-odds of the global map and of the confidence.

        Returns
        -------
        ndarray of shape (n,), float64; added to `offset`, positive raises the confidence
        """
        return np.mean([p.shift(components, offset, raw) for p in self.partitions], axis=0)


def nearest(rows: Array, centres: Array) -> NDArray[np.intp]:
    """Find the centre nearest to each row.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
    centres : ndarray of shape (k, q)

    Returns
    -------
    ndarray of shape (n,), int; number of the centre

    Examples
    --------
    >>> nearest(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    half = (centres**2).sum(1) / 2
    blocks = [(half - rows[i : i + _BLOCK_ROWS] @ centres.T).argmin(1) for i in range(0, len(rows), _BLOCK_ROWS)]
    return np.concatenate([np.zeros(0, np.intp), *blocks])


def posterior_shifts(log_likelihood: Array) -> NDArray[np.float64]:
    """Estimate each cluster's shift: its posterior mean under the prior that makes all clusters together most likely.

    Parameters
    ----------
    log_likelihood : ndarray of shape (k, 161)
        Of a cluster's rows, for shifts of -4, -3.95, ... 4 log-odds.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> grid = np.linspace(-4, 4, 161)
    >>> sure, unsure = -50 * (grid - 1) ** 2, -0.5 * grid**2
    >>> bool(posterior_shifts(np.stack([sure, sure, sure, unsure]))[3] > 0.5)
    True
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max(1, keepdims=True))
    prior = np.full(len(_GRID), 1 / len(_GRID))
    for _ in range(_EM_STEPS):
        posterior = likelihood * prior
        posterior /= posterior.sum(1, keepdims=True)
        prior = posterior.mean(0)
    return posterior @ _GRID


def crossfit_clusters(
    components: Array,
    y: Array,
    offset: Array,
    raw: Array,
    folds: NDArray[np.integer],
    rng: np.random.Generator,
    weight: Array | None = None,
) -> CrossFitted:
    """Fit shifts by cluster, out of fold, averaged over all partitions that the best does not beat by a standard error.

    Parameters
    ----------
    components : ndarray of shape (n, q), float32
    y : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
        Out-of-fold log-odds of the global map.
    raw : ndarray of shape (n,)
        Log-odds of the confidence, the other start: clusters whose shifts are all that is wrong bend the global map.
    folds : ndarray of shape (n,), int
    rng : numpy.random.Generator
    weight : ndarray of shape (n,), optional

    Returns
    -------
    CrossFitted
        With a `ClusterScore`; `shift` is told from `offset`, wherever it starts.
    """
    starts = [False] if np.array_equal(offset, raw) else [False, True]
    tried: list[tuple[Partition, Array, Array]] = []
    for centres, from_raw in product(_centres(components, rng), starts):
        start = raw if from_raw else offset
        shifts, left_out = crossfit_shifts(centres, components, y, start, folds, weight)
        loss = negative_log_likelihood(y, start + left_out)
        tried.append((Partition(centres, shifts, from_raw), start - offset + left_out, loss))
    best = min((loss for *_, loss in tried), key=lambda loss: np.average(loss, weights=weight))
    taken = [(partition, shift) for partition, shift, loss in tried if _level(loss, best, weight)]
    score = ClusterScore(tuple(partition for partition, _ in taken))
    sizes = sorted({len(p.centres) for p in score.partitions})
    return CrossFitted(score, np.mean([shift for _, shift in taken], axis=0), {"clusters": sizes})


def _level(loss: Array, best: Array, weight: Array | None) -> bool:
    """Whether the best is no better by more than a standard error."""
    gain, error = paired_gain(loss, best, weight)
    return gain <= error


def _centres(components: Array, rng: np.random.Generator) -> list[NDArray[np.float32]]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    rows = components
    if len(rows) > _CENTRE_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), _CENTRE_ROWS, replace=False))]
    most = min(len(components) // _LEAST_ROWS, len(np.unique(rows, axis=0)))
    sizes = [k for k in N_CLUSTERS if k <= most]
    if not sizes:
        return [rows.mean(0, keepdims=True)]
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        # centres of rows that differ by rounding alone coincide; the second of a pair holds no rows, and no shift
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [KMeans(k, n_init=1, max_iter=50, random_state=seed).fit(rows).cluster_centers_ for k in sizes]


def crossfit_shifts(
    centres: NDArray[np.float32],
    components: Array,
    y: Array,
    offset: Array,
    folds: NDArray[np.integer],
    weight: Array | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the shifts of given clusters, out of fold.

    Parameters
    ----------
    centres : ndarray of shape (k, q), float32
    components : ndarray of shape (n, q), float32
    y, folds, weight
        As in :func:`crossfit_clusters`.
    offset : ndarray of shape (n,)
        Log-odds that the shifts start from.

    Returns
    -------
    shifts : ndarray of shape (k,)
        Of each cluster, from all rows.
    left_out : ndarray of shape (n,)
        Of each row, from the folds it is not in.

    Examples
    --------
    >>> centres, x = np.array([[-1.0], [1.0]], np.float32), np.repeat([[-1.0], [1.0]], 400, axis=0)
    >>> y, folds = np.r_[np.tile([0.0, 0, 0, 1], 100), np.tile([1.0, 1, 1, 0], 100)], np.arange(800) // 4 % 5
    >>> crossfit_shifts(centres, x, y, np.zeros(800), folds)[0].round(1)
    array([-1.1,  1.1])
    """
    fold = np.unique(folds, return_inverse=True)[1]
    cluster = nearest(components, centres)
    likelihood = _log_likelihood(cluster, len(centres), y, offset, fold, weight)
    total = likelihood.sum(0)
    left_out = np.stack([posterior_shifts(total - part) for part in likelihood])
    return posterior_shifts(total), left_out[fold, cluster]


def _log_likelihood(cluster, k, y, offset, fold, weight) -> NDArray[np.float64]:
    """Log-likelihood of every shift of the grid, (folds, k, 161)."""
    from scipy.sparse import csr_array

    n_folds, out = int(fold.max()) + 1, 0.0
    for i in range(0, len(y), _BLOCK_ROWS):
        b = slice(i, i + _BLOCK_ROWS)
        rows = -negative_log_likelihood(y[b], offset[b, None] + _GRID)
        counted = np.ones(len(rows)) if weight is None else weight[b]
        place = (fold[b] * k + cluster[b], np.arange(len(rows)))
        out = out + csr_array((counted, place), shape=(n_folds * k, len(rows))) @ rows
    return out.reshape(n_folds, k, len(_GRID))
