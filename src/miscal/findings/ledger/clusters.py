"""Clusters of similar inputs at several scales, fixed before any outcome is seen.

Inputs are centred and taken to their leading principal components. Columns of different units are standardised first;
the columns of an embedding are not, because those of small variance are mostly noise. K-means cuts them at a few
scales; the clusters of the finest one are then joined, two at a time, by the least loss of Ward (1963), so that groups
of every size have a candidate, however many of the small clusters they hold. Outcomes play no part, so clusters stand
in the same scan as named groups.
"""

from __future__ import annotations

import numpy as np

from miscal.base.precision import Standard
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

_MANY_VALUES = 1 << 28  # 1 GB of float32
_BLOCK_VALUES = 1 << 22

Cluster = tuple[np.ndarray, tuple[int, ...]]


def clusters_of(
    X: np.ndarray, *, own_units: bool = False, seed: int = 0, settings: LedgerSettings = LEDGER_DEFAULTS
) -> list[Cluster]:
    """Cluster inputs at several scales.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, finite.
    own_units : bool, default False
        Whether each column is a feature with a unit of its own: columns are then standardised. The coordinates of an
        embedding are only centred (:func:`.groups.readable`).
    seed : int, default 0
        Of the first centres. The order of the rows does not matter.
    settings : LedgerSettings, optional

    Returns
    -------
    list of (bool array of shape (n,), tuple of int)
        The rows of each cluster, and up to two rows nearest to its centre. No cluster twice, none smaller than
        ``settings.cluster_rows`` rows or ``settings.cluster_share`` of them, none larger than half the rows; none at
        all where the inputs are too few or all equal.

    Examples
    --------
    >>> X = np.r_[np.zeros((100, 2)), np.ones((100, 2))] + np.random.default_rng(0).normal(0, 0.1, (200, 2))
    >>> any(rows[:100].all() and not rows[100:].any() for rows, _ in clusters_of(X))
    True
    """
    n = len(X)
    least = max(settings.cluster_rows, int(np.ceil(settings.cluster_share * n)))
    finest = min(max(settings.cluster_scales), n // least)
    if finest < 2:
        return []
    points = _components(np.asarray(X), own_units, settings, seed)
    if points is None:
        return []
    # equal results for rows in another order: centres are drawn from rows in an order of their own
    order = np.lexsort(points.T[:2][::-1])
    sample = order[np.linspace(0, n - 1, min(n, settings.cluster_sample)).round().astype(int)]
    kept: dict[bytes, Cluster] = {}
    for scale in sorted({min(scale, finest) for scale in settings.cluster_scales}):
        codes, centres = _kmeans(points, sample, scale, seed)
        groups = [[code] for code in range(scale)]
        if scale == finest:
            groups += _joined(centres, np.bincount(codes, minlength=scale))
        for members in groups:
            rows = np.isin(codes, members)
            if least <= rows.sum() <= n // 2:
                kept.setdefault(np.packbits(rows).tobytes(), (rows, _typical(points, rows)))
    return list(kept.values())


def _components(X: np.ndarray, own_units: bool, settings: LedgerSettings, seed: int) -> np.ndarray | None:
    """Leading principal components, float32 (n, k); None where all rows are equal."""
    from sklearn.decomposition import PCA

    X = Standard.of(X)(X)
    if X.size > _MANY_VALUES:
        return _components_in_blocks(X, own_units, settings, seed)
    spread = X.std(0)
    telling = spread > 1e-6 * max(1e-12, float(np.abs(X).max()))
    if not telling.any():
        return None
    scaled = X[:, telling] - X[:, telling].mean(0)
    if own_units:
        scaled /= spread[telling]
    kept = min(settings.components, *scaled.shape)
    if kept == scaled.shape[1]:
        return scaled
    some = np.linspace(0, len(X) - 1, min(len(X), settings.cluster_sample)).astype(int)
    solver = "randomized" if kept < 0.5 * min(len(some), scaled.shape[1]) else "full"
    return PCA(kept, svd_solver=solver, random_state=seed).fit(scaled[some]).transform(scaled)


def _components_in_blocks(X: np.ndarray, own_units: bool, settings: LedgerSettings, seed: int) -> np.ndarray | None:
    """Compute the same of inputs that memory may not hold, learned from the rows that clusters are learned from."""
    from sklearn.decomposition import PCA

    some = X[np.linspace(0, len(X) - 1, min(len(X), settings.cluster_sample)).astype(int)]
    spread = some.std(0)
    telling = spread > 1e-6 * max(1e-12, float(np.abs(some).max()))
    if not telling.any():
        return None
    scale = 1 / spread[telling] if own_units else np.ones(int(telling.sum()), np.float32)
    kept = min(settings.components, int(telling.sum()))
    solver = "randomized" if kept < 0.5 * min(len(some), len(scale)) else "full"
    model = PCA(kept, svd_solver=solver, random_state=seed).fit(some[:, telling] * scale)
    points = np.empty((len(X), kept), np.float32)
    step = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, len(X), step):
        points[start : start + step] = model.transform(X[start : start + step][:, telling] * scale)
    return points


def _kmeans(points: np.ndarray, sample: np.ndarray, scale: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cluster of each row, and the centres, learned from a sample."""
    from sklearn.cluster import KMeans

    model = KMeans(scale, n_init=1, max_iter=50, random_state=seed).fit(points[sample])
    return model.predict(points), model.cluster_centers_


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


def _typical(points: np.ndarray, rows: np.ndarray) -> tuple[int, ...]:
    inside = np.flatnonzero(rows)
    far = ((points[inside] - points[inside].mean(0)) ** 2).sum(1)
    return tuple(inside[np.argsort(far, kind="stable")[:2]].tolist())
