"""Clusters of similar inputs at several scales, fixed before any outcome is seen.

Inputs are centred and taken to their leading principal components. Columns of different units are standardised first;
the columns of an embedding are not, because those of small variance are mostly noise. K-means cuts them at a few
scales; the clusters of the finest one are then joined, two at a time, by the least loss of Ward (1963), so that groups
of every size have a candidate, however many of the small clusters they hold. Outcomes play no part, so clusters stand
in the same scan as named groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.findings.conditions.other_kinds import Cluster
from miscal.findings.input_clusters import MANY_VALUES, InputClusters
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """A cluster: its condition, its rows (bool, (n,)), and the positions of up to two rows nearest to its centre."""

    condition: Cluster
    rows: np.ndarray
    typical: tuple[int, ...]


def clusters_of(
    X: np.ndarray, *, own_units: bool = False, seed: int = 0, settings: LedgerSettings = LEDGER_DEFAULTS
) -> tuple[tuple[ClusterRows, ...], InputClusters | None]:
    """Cluster inputs at several scales.

    `X`, (n, d): inputs, finite. `own_units`: whether each column is a feature with a unit of its own: columns are then
    standardised. The coordinates of an embedding are only centred. `seed`: of the first
    centres. The order of the rows does not matter. Returns no cluster twice, none smaller than
    ``settings.cluster_rows`` rows or ``settings.cluster_share`` of them, none larger than half the rows; none at all
    where the inputs are too few or all equal. Beside them, the space in which they and new rows are placed.

    Examples
    --------
    >>> X = np.r_[np.zeros((100, 2)), np.ones((100, 2))] + np.random.default_rng(0).normal(0, 0.1, (200, 2))
    >>> any(one.rows[:100].all() and not one.rows[100:].any() for one in clusters_of(X)[0])
    True
    """
    from sklearn.cluster import KMeans

    n = len(X)
    least = max(settings.cluster_rows, int(np.ceil(settings.cluster_share * n)))
    finest = min(max(settings.cluster_scales), n // least)
    if finest < 2:
        return (), None
    space = _space(np.asarray(X), own_units, settings, seed)
    if space is None:
        return (), None
    points = space.positions(X)
    # equal results for rows in another order: centres are drawn from rows in an order of their own
    order = np.lexsort(points.T[:2][::-1])
    sample = order[np.linspace(0, n - 1, min(n, settings.cluster_sample)).round().astype(int)]
    # k-means cannot have more centres than there are distinct rows
    finest = min(finest, len(np.unique(points[sample], axis=0)))
    found: dict[bytes, ClusterRows] = {}
    for scale in sorted({min(scale, finest) for scale in settings.cluster_scales}):
        means = KMeans(scale, n_init=1, max_iter=50, random_state=seed)
        space.centres[scale] = means.fit(points[sample]).cluster_centers_
        codes = space.nearest(points, scale)
        groups, sizes = [[code] for code in range(scale)], np.bincount(codes, minlength=scale)
        if scale == finest:
            groups += _joined(space.centres[scale], sizes)
        for members in groups:
            size = int(sizes[members].sum())
            if least <= size <= n // 2:
                rows = np.isin(np.arange(scale), members)[codes]
                condition, inside = Cluster(size, scale, tuple(sorted(members))), np.flatnonzero(rows)
                apart = points[inside]
                apart -= apart.mean(0)
                far = np.einsum("ij,ij->i", apart, apart)
                nearest = np.flatnonzero(far <= np.partition(far, 1)[1]) if size > 1 else np.array([0])
                typical = tuple(inside[nearest[np.argsort(far[nearest], kind="stable")[:2]]].tolist())
                found.setdefault(np.packbits(rows).tobytes(), ClusterRows(condition, rows, typical))
    return tuple(found.values()), space


def _space(X: np.ndarray, own_units: bool, settings: LedgerSettings, seed: int) -> InputClusters | None:
    """Leading principal components of the inputs, without centres; None where all rows are equal."""
    from sklearn.decomposition import PCA

    some = np.linspace(0, len(X) - 1, min(len(X), settings.cluster_sample)).astype(int)
    # of inputs that memory may not hold twice, the rows that components are learned from stand for all
    known = X[some] if X.size > MANY_VALUES else X
    spread = known.std(0)
    single = X.dtype == np.float32
    # what is left of constant columns in single precision is rounding
    columns = np.flatnonzero(spread > (1e-6 * max(1e-12, float(np.abs(known).max())) if single else 0.0))
    if not len(columns):
        return None
    mean = known[:, columns].mean(0)
    # inputs in double precision are numbers of very different size
    scale = spread[columns] if own_units or not single else np.ones_like(mean)
    space = InputClusters(columns, mean, scale, None, None, {})
    kept = min(settings.components, len(X), len(columns))
    if kept == len(columns):
        return space
    # rounding in the fit depends on how values lie in memory: taking rows puts them row by row
    standard = space.standard(X)[some] if known is X else space.standard(known)
    solver = "randomized" if kept < 0.5 * min(standard.shape) else "full"
    model = PCA(kept, svd_solver=solver, random_state=seed).fit(standard)
    axes, origin = np.ascontiguousarray(model.components_), model.mean_
    return InputClusters(columns, mean, scale, axes, origin, {})


def _joined(centres: np.ndarray, rows: np.ndarray) -> list[list[int]]:
    """Clusters that Ward's joining passes through, each as a list of the small clusters that it holds."""
    held = {code: [code] for code in np.flatnonzero(rows).tolist()}
    centre = {code: centres[code].astype(np.float64) for code in held}
    weight = {code: float(rows[code]) for code in held}
    joins: list[list[int]] = []
    while len(held) > 2:
        codes = list(held)
        where, w = np.stack([centre[c] for c in codes]), np.array([weight[c] for c in codes])
        loss = ((where[:, None] - where[None]) ** 2).sum(2) * w[:, None] * w / (w[:, None] + w)
        np.fill_diagonal(loss, np.inf)
        one, two = (codes[place] for place in divmod(int(np.argmin(loss)), len(codes)))
        together = weight[one] + weight[two]
        centre[one] = (weight[one] * centre[one] + weight[two] * centre[two]) / together
        weight[one] = together
        held[one] = held[one] + held.pop(two)
        joins.append(held[one])
    return joins
