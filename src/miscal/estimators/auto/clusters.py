"""Shifts by k-means cluster: edges between groups of inputs that smooth kernels blur.

The clusters, coarser and finer ones, are found without labels, once for all fits of a run. The shifts of one partition
share a prior that the clusters themselves teach (empirical Bayes; Kiefer & Wolfowitz, 1956, fitted by EM as in Laird,
1978), so that a cluster with few rows borrows from the others, and clusters with nothing wrong agree on a shift of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.base.process import without_warning
from miscal.calibration.global_map import paired_gain
from miscal.estimators.auto.member import CrossFitted, Fit, LearningRows, Member, Query, negative_log_likelihood
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]

_BLOCK_ROWS = 4_096
_SHIFTS = np.linspace(-AUTO.shift_reach, AUTO.shift_reach, AUTO.shift_steps)
"""Shifts of a cluster that are weighed, in log-odds."""


@dataclass(frozen=True, eq=False)
class ClusterShifts:
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

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,), wherever it starts."""
        shift = self.shifts[nearest(at.inputs.components, self.centres)]
        return shift + at.raw - at.offset if self.from_raw else shift


@dataclass(frozen=True, eq=False)
class ClusterMember(Member):
    """The average of several partitions.

    Attributes
    ----------
    partitions : tuple of ClusterShifts
    """

    partitions: tuple[ClusterShifts, ...]

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        return np.mean([p.shift(at) for p in self.partitions], axis=0)


def crossfit_clusters(rows: LearningRows) -> CrossFitted:
    """Fit every partition from every start, out of fold, and average those that the best does not beat by an error."""
    at = rows.at
    # a cluster needs so many rows to learn its shift from; a table too small for clusters is one, and has one shift
    fine = [centres for centres in rows.centres if len(centres) <= len(rows) // AUTO.least_cluster_rows]
    partitions = fine or [at.inputs.components.mean(0, keepdims=True)]
    tried: list[tuple[ClusterShifts, Array, Array]] = []
    # clusters whose shifts are all that is wrong bend the global map: the confidence itself is the other start, unless
    # the identity is the global map
    for from_raw in [False] if np.array_equal(at.offset, at.raw) else [False, True]:
        start = at.start(from_raw)
        for centres, (shifts, left_out) in zip(partitions, crossfit_shifts(partitions, rows, start), strict=True):
            loss = negative_log_likelihood(rows.correct, start + left_out)
            tried.append((ClusterShifts(centres, shifts, from_raw), start - at.offset + left_out, loss))
    best = min((loss for *_, loss in tried), key=lambda loss: np.average(loss, weights=rows.weight))
    taken = []
    for partition, shift, loss in tried:
        gain, error = paired_gain(loss, best, rows.weight)
        taken += [(partition, shift)] if gain <= error else []
    member = ClusterMember(tuple(partition for partition, _ in taken))
    sizes = sorted({len(p.centres) for p in member.partitions})
    return CrossFitted(member, np.mean([shift for _, shift in taken], axis=0), {"clusters": sizes})


def nearest(rows: Array, centres: Array) -> NDArray[np.intp]:
    """Find the centre nearest to each row.

    Takes rows (n, q); centres (k, q). Returns ndarray of shape (n,), int; number of the centre.

    Examples
    --------
    >>> nearest(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    # |x - c|^2 / 2 less |x|^2 / 2, which is the same for every centre
    half = (centres**2).sum(1) / 2
    blocks = [(half - rows[i : i + _BLOCK_ROWS] @ centres.T).argmin(1) for i in range(0, len(rows), _BLOCK_ROWS)]
    # the empty array serves a query of no rows, which has no blocks to join
    return np.concatenate([np.zeros(0, np.intp), *blocks])


def posterior_shifts(log_likelihood: Array) -> NDArray[np.float64]:
    """Estimate each cluster's shift: its posterior mean under the prior that makes all clusters together most likely.

    Takes log_likelihood (..., k, 161): of a cluster's rows, for shifts from -4 to 4 by 0.05; partitions and folds, each
    with a prior of its own, side by side. Returns ndarray of shape (..., k).

    Examples
    --------
    >>> grid = np.linspace(-4, 4, 161)
    >>> sure, unsure = -50 * (grid - 1) ** 2, -0.5 * grid**2
    >>> bool(posterior_shifts(np.stack([sure, sure, sure, unsure]))[3] > 0.5)
    True
    """
    # a factor of a cluster cancels in its posterior; without this one, clusters of many rows would underflow to 0
    likelihood = np.exp(log_likelihood - log_likelihood.max(-1, keepdims=True))
    k, steps = likelihood.shape[-2:]
    prior = np.full((*likelihood.shape[:-2], steps, 1), 1 / steps)
    across = likelihood.swapaxes(-1, -2)
    for _ in range(AUTO.em_steps - 1):
        # the mean over clusters of their posteriors, without a table of these
        prior *= across @ (1 / (likelihood @ prior)) / k
    posterior = likelihood * prior.swapaxes(-1, -2)
    return posterior @ _SHIFTS / posterior.sum(-1)


def find_centres(rows: NDArray[np.float32], sizes: Sequence[int], seed: int) -> list[NDArray[np.float32]]:
    """Find the centres of partitions of the rows into so many clusters each, by k-means.

    Takes rows (n, q); sizes: those larger than the number of different rows are left out, and rows that allow none
    are one cluster. Returns list of ndarray of shape (k, q), float32.

    Examples
    --------
    >>> [len(centres) for centres in find_centres(np.arange(6, dtype=np.float32)[:, None], [2, 4, 8], 0)]
    [2, 4]
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    # k-means cannot have more centres than there are distinct rows
    most = len(np.unique(rows, axis=0))
    sizes = [k for k in sizes if k <= most]
    if not sizes:
        # a table too small for clusters is one cluster, and has one shift
        return [rows.mean(0, keepdims=True)]
    # centres of rows that differ by rounding alone coincide; the second of a pair holds no rows, and no shift
    with without_warning(ConvergenceWarning):
        passes = AUTO.centre_passes
        return [KMeans(k, n_init=1, max_iter=passes, random_state=seed).fit(rows).cluster_centers_ for k in sizes]


def crossfit_shifts(
    partitions: Sequence[NDArray[np.float32]], rows: LearningRows, start: Array
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Fit the shifts of given clusters, out of fold.

    Takes partitions (k, q): centres in the leading components; start (n,): log-odds that the shifts start from.
    Returns list of (shifts, left_out): For each partition, the shifts of its clusters, (k,), from all rows, and those
    of the rows, (n,), each from the folds it is not in.
    """
    fold = np.unique(rows.folds, return_inverse=True)[1]
    clusters = [nearest(rows.at.inputs.components, centres) for centres in partitions]
    sizes = [len(centres) for centres in partitions]
    found = []
    for likelihood, cluster in zip(_log_likelihoods(rows, clusters, sizes, start, fold), clusters, strict=True):
        total = likelihood.sum(0)
        # the other folds' likelihood is the total less the fold's own, with no second pass over the rows; the prior is
        # learned anew from it, so that it has not seen the fold either
        *left_out, shifts = posterior_shifts(np.concatenate([total - likelihood, total[None]]))
        found.append((shifts, np.stack(left_out)[fold, cluster]))
    return found


def _log_likelihoods(
    rows: LearningRows, clusters: Sequence[Array], sizes: Sequence[int], start: Array, fold: Array
) -> list[NDArray[np.float64]]:
    """Log-likelihood of every shift of the grid by fold and cluster, (folds, k, 161) for each partition."""
    from scipy.sparse import csr_array

    n_folds, out = int(fold.max()) + 1, 0.0
    # the sums of all partitions stand one below the other, so that a row's likelihood is computed once
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) * n_folds
    place = np.stack([begin + fold * k + c for begin, k, c in zip(first, sizes, clusters, strict=True)])
    for i in range(0, len(rows), _BLOCK_ROWS):
        b = slice(i, i + _BLOCK_ROWS)
        # (block, 161), which for all rows at once would be the largest array of the fit
        likelihood = -negative_log_likelihood(rows.correct[b], start[b, None] + _SHIFTS)
        counted = np.ones(len(likelihood)) if rows.weight is None else rows.weight[b]
        at = (place[:, b].ravel(), np.tile(np.arange(len(likelihood)), len(sizes)))
        # a sparse product sums rows by (fold, cluster) without a copy for each
        sums = csr_array((np.tile(counted, len(sizes)), at), shape=(n_folds * sum(sizes), len(likelihood)))
        out = out + sums @ likelihood
    parts = np.split(out, first[1:])
    return [part.reshape(n_folds, k, AUTO.shift_steps) for part, k in zip(parts, sizes, strict=True)]


def scores(rows: LearningRows) -> dict[str, Fit]:
    """Shifts by cluster, which serve any rows."""
    return {"shift by cluster": crossfit_clusters}
