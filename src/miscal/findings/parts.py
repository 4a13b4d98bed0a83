"""Cut the rows of one regime into parts that would be found again.

Formulas only: arrays in, arrays out. Rows are expected in an order of their own (see :func:`canonical_order`), so that
the order in which they arrived changes nothing.
"""

from itertools import combinations

import numpy as np

from miscal.findings.settings import SETTINGS

_KEYS = 16
# separation and two labels that say "nothing to join": no threshold is above 1
_NO_PAIR = (1.0, 0, 0)


def canonical_order(coordinates: np.ndarray, features: np.ndarray | None, row: np.ndarray) -> np.ndarray:
    """Order rows by what they are, not by where they stand.

    `coordinates`, (n, k): first keys (at most sixteen columns). `features`, (n, d): next keys (at most sixteen
    columns). `row`, (n,): row numbers, the last key. Returns int (n,): the permutation that sorts the rows.

    Examples
    --------
    >>> canonical_order(np.array([[2.0], [1.0], [1.0]]), None, np.array([0, 5, 4]))
    array([2, 1, 0])
    """
    columns = [*coordinates.T[:_KEYS]] if features is None else [*coordinates.T[:_KEYS], *features.T[:_KEYS]]
    # lexsort takes its first key last
    return np.lexsort((row, *columns[::-1]))


def _total_spread(values: np.ndarray) -> float:
    spread = float(np.sqrt(values.var(axis=0, dtype=np.float64).sum()))
    return spread if spread > 0 else 1.0


def place_rows(
    coordinates: np.ndarray, features: np.ndarray | None, rows: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Place rows in the space in which parts are cut; Euclidean distance is meant.

    Learned coordinates alone put inputs together that are wrong to the same degree, whatever they are about: a
    person sees no common subject. The inputs alone ignore the field. So the leading principal components of the
    standardised inputs (at most eight) and the learned coordinates are put side by side, each scaled to total
    variance one, the latter then by `coordinates_weight` of the settings.

    `coordinates`, (n, k): learned coordinates, finite. `features`, (n, d): inputs, finite. None, or all rows equal: the
    positions are the learned coordinates. `rows`, int (m,): the rows to fit on, in canonical order. `rng`: draws the
    rows that the components are fitted on. Returns float64 (n, p + k).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> place_rows(X[:, :2], X, np.arange(100), rng).shape
    (100, 5)
    """
    scale, learned = 1.0 / _total_spread(coordinates[rows]), np.asarray(coordinates, np.float64)
    if features is None:
        return scale * learned
    from sklearn.decomposition import PCA

    some = features[rows[_sample(len(rows), SETTINGS.component_rows, rng)]]
    centre, spread = some.mean(axis=0, dtype=np.float64), some.std(axis=0, dtype=np.float64)
    # a column that varies by rounding alone is constant
    spread = np.where(spread > 1e-12 * (1.0 + np.abs(centre)), spread, 1.0)
    # narrowed only when centred and scaled
    standard = ((some - centre.astype(some.dtype)) / spread.astype(some.dtype)).astype(np.float32, copy=False)
    if not standard.any():
        return scale * learned
    pca = PCA(min(SETTINGS.n_components, *standard.shape), random_state=int(rng.integers(2**31))).fit(standard)
    axes = pca.components_.T.astype(np.float64) / spread[:, None]
    axes /= _total_spread(some @ axes)
    # centre @ axes as an offset: no centred copy of all inputs is made
    return np.column_stack(
        [features @ axes.astype(some.dtype) - centre @ axes, SETTINGS.coordinates_weight * scale * learned]
    )


def _sample(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))


def nearest(positions: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Index of the nearest centre of every row (the first of equals).

    `positions`, (n, p): rows. `centres`, (c, p): centres.

    Examples
    --------
    >>> nearest(np.array([[0.0], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    # |x|^2 is the same for every centre and is left out
    return np.argmin((centres**2).sum(axis=1) - 2.0 * positions @ centres.T, axis=1)


def _centres(positions: np.ndarray, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    if n_parts == 1:
        return positions.mean(axis=0, keepdims=True)
    from sklearn.cluster import KMeans

    means = KMeans(n_parts, n_init=SETTINGS.starts, random_state=int(rng.integers(2**31)))
    return means.fit(positions).cluster_centers_


def prediction_strength(positions: np.ndarray, n_parts: int, rng: np.random.Generator) -> float:
    """Whether `n_parts` parts found in one half of the rows are found again in the other.

    For each part of one half, the share of its pairs that the centres of the other half keep together; the least
    over the parts, averaged over both directions and four random halvings (Tibshirani & Walther, "Cluster
    validation by prediction strength", JCGS 2005).

    `positions`, (n, p): rows, with at least `n_parts` distinct ones in each half. `n_parts`: number of parts. `rng`:
    draws the halves and the starts of k-means. The result is in [0, 1]; 1 for ``n_parts=1``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(0, 1, 200), rng.normal(20, 1, 200)][:, None]
    >>> prediction_strength(x, 2, rng) > 0.99, prediction_strength(x, 3, rng) < 0.8
    (True, True)
    """
    found = []
    for _ in range(SETTINGS.halvings):
        halves = [positions[np.sort(half)] for half in np.array_split(rng.permutation(len(positions)), 2)]
        centres = [_centres(half, n_parts, rng) for half in halves]
        found.append(np.mean([_kept_together(halves[i], centres[i], centres[1 - i]) for i in (0, 1)]))
    return float(np.mean(found))


def _kept_together(positions: np.ndarray, own: np.ndarray, other: np.ndarray) -> float:
    table = np.zeros((len(own), len(other)))
    np.add.at(table, (nearest(positions, own), nearest(positions, other)), 1.0)
    size = table.sum(axis=1)
    # ordered pairs of an own part's rows that the other half's centres keep together
    pairs = (table * (table - 1.0)).sum(axis=1)
    # a part of one row has no pairs, and counts as not found again
    return float(np.min(np.where(size > 1, pairs / np.maximum(size * (size - 1.0), 1.0), 0.0)))


def cut_parts(
    positions: np.ndarray, delta: np.ndarray, rng: np.random.Generator, *, min_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows into as many parts as would be found again, and join those that are alike.

    The number of clusters is the largest whose prediction strength is at least 0.8 (of the settings). A cluster of
    fewer than `min_rows` rows loses its centre, and its rows go to the nearest that remains. Clusters that run into
    each other and have nearly the same mean field become one part (:func:`join_alike`).

    `positions`, (n, p): rows, in canonical order. `delta`, (n,): their field. `rng`: draws samples, halves and starts.
    `min_rows`: least size of a part. Returns `centres`, (c, p), none where there are too few rows: a row belongs to the
    part of its nearest; `part`, int (c,): of each centre, from 0, that of the largest absolute mean field first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(0, 1, 200), rng.normal(20, 1, 200)][:, None]
    >>> cut_parts(x, np.repeat([-0.1, -0.3], 200), rng, min_rows=30)[0].round().tolist()
    [[20.0], [0.0]]
    """
    if len(positions) < min_rows:
        return np.empty((0, positions.shape[1])), np.empty(0, int)
    some = _sample(len(positions), SETTINGS.sample_rows, rng)
    n_clusters = _reproducible_number(positions[some], rng, len(positions) // min_rows)
    centres = _centres(positions[some], n_clusters, rng)
    # sizes are of all rows, not of the sample
    centres = _without_small(positions, centres, min_rows)
    cluster = nearest(positions[some], centres)
    part = join_alike(positions[some], cluster, delta[some], len(centres))
    part_of_row = part[nearest(positions, centres)]
    mean = np.bincount(part_of_row, delta) / np.bincount(part_of_row)
    # sorting twice turns an order into ranks
    part = np.argsort(np.argsort(-np.abs(mean), kind="stable"), kind="stable")[part]
    order = np.argsort(part, kind="stable")
    return centres[order], part[order]


def separation(first: np.ndarray, second: np.ndarray) -> float:
    """How far two groups of rows stand apart along the line through their means.

    `first, second`, (n, p): rows. Returns share of the variance along that line that lies between the groups, in [0,
    1]: 2 / pi (0.64) for the halves of one normal cloud, 0.75 for those of a uniform one, 0.8 for two normal clouds
    four standard deviations apart.

    Examples
    --------
    >>> x = np.linspace(0, 1, 1000)[:, None]
    >>> round(separation(x[:500], x[500:]), 2)
    0.75
    """
    line = second.mean(axis=0) - first.mean(axis=0)
    along = [first @ line, second @ line]
    both = np.concatenate(along)
    total = float(((both - both.mean()) ** 2).sum())
    between = sum(len(values) * float(values.mean() - both.mean()) ** 2 for values in along)
    return between / total if total > 0 else 0.0


def join_alike(positions: np.ndarray, cluster: np.ndarray, delta: np.ndarray, n_clusters: int) -> np.ndarray:
    """Join clusters that run into each other and are miscalibrated alike, the least separated first.

    The halves of one long cloud would be found again in other rows, but tell nobody anything unless the field differs.

    `positions`, (n, p): rows. `cluster`, int (n,): cluster of every row; each of the `n_clusters` has one. `delta`,
    (n,): field of every row. `n_clusters`: number of clusters. Returns int (n_clusters,): part of every cluster, 0 to
    the number of parts less one.

    Examples
    --------
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> half = np.repeat([0, 1], 50)
    >>> join_alike(x, half, np.full(100, 0.2), 2), join_alike(x, half, 0.2 * half, 2)
    (array([0, 0]), array([0, 1]))
    """
    part = np.arange(n_clusters)
    while True:
        rows = {label: part[cluster] == label for label in np.unique(part).tolist()}
        mean = {label: delta[inside].mean() for label, inside in rows.items() if inside.any()}
        near = [(a, b) for a, b in combinations(mean, 2) if abs(mean[a] - mean[b]) < SETTINGS.delta_step]
        apart, a, b = min(
            ((separation(positions[rows[a]], positions[rows[b]]), a, b) for a, b in near), default=_NO_PAIR
        )
        if apart >= SETTINGS.separation:
            return np.unique(part, return_inverse=True)[1]
        part[part == b] = a


def _reproducible_number(positions: np.ndarray, rng: np.random.Generator, most: int) -> int:
    # each half must have as many distinct rows as parts; rows in canonical order: equal rows are neighbours
    distinct = 1 + int(np.count_nonzero((np.diff(positions, axis=0) != 0).any(axis=1)))
    candidates = range(2, min(SETTINGS.max_parts, most, distinct // 4) + 1)
    strengths = ((k, prediction_strength(positions, k, rng)) for k in candidates)
    # the largest number that passes, also where a smaller one does not (Tibshirani & Walther, 2005)
    return max([1, *(k for k, strength in strengths if strength >= SETTINGS.prediction_strength)])


def _without_small(positions: np.ndarray, centres: np.ndarray, min_rows: int) -> np.ndarray:
    while len(centres) > 1:
        size = np.bincount(nearest(positions, centres), minlength=len(centres))
        if size.min() >= min_rows:
            break
        # one at a time: the rows of a centre that goes can make another large enough
        centres = np.delete(centres, int(np.argmin(size)), axis=0)
    return centres
