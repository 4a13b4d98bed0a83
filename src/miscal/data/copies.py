"""Rows that were put into a file several times, or are nearly copies of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.base.folds import row_groups
from miscal.data.triples import Triples

LEAST_ROWS = 20
"""Different rows, at least, before their counts say that all were copied: of so many, chance alone gives each an even
count in one table of a million."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows that all occur several times.

    Attributes
    ----------
    times : int
        How many times each occurs, at least: the greatest common divisor of their counts.
    row : int64 array of shape (n,)
        Number of each row, the same for copies.
    """

    times: int
    row: np.ndarray


def copies(triples: Triples) -> Copies | None:
    """Find out whether a file holds every row several times, as one that was put together from copies of itself does.

    Rows are copies where inputs, confidence, outcome, texts and metadata agree. That some rows agree is usual, in
    tables of few categories above all; that the counts of all of them have a common divisor is not.

    There is none where any row occurs once, or the counts have no common divisor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(40, 2)), confidence=rng.random(40), correct=np.arange(40) % 2)
    >>> copies(rows) is None, copies(rows.take(np.tile(np.arange(40), 3))).times
    (True, 3)
    """
    row = triples.equal_inputs
    beside = (triples.confidence, triples.correct, *triples.metadata.values())
    for values in (*beside, *(() if triples.text is None else (np.array(triples.text, dtype=object),))):
        if np.bincount(row).min() < 2:
            return None
        # as text, numbers and missing values can be told apart side by side
        codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]
        row = np.unique(row * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    counts = np.bincount(row)
    times = int(np.gcd.reduce(counts))
    return Copies(times, row) if times > 1 and len(counts) >= LEAST_ROWS else None


MOST_NEIGHBOURS = 20
"""Copies of one row that are looked for: neighbours of neighbours are linked, too, so there may be more."""
CHANCE = 0.001
"""Of a row, where there are no copies, to be taken for one, by all numbers of neighbours together."""
FEW_COPIES = 0.01
"""Of the rows of a first few strips, where there are many: no others are looked at."""
CONTINUOUS = 0.9
"""Values of a column, as a share of the different rows, from which it is no lattice."""
MUCH_NEARER = 1 / 3
"""Copies are nearer than this part of the median distance to the last neighbour looked at."""
LARGEST_UNIT, LARGEST_UNIT_ROWS = 0.05, 50
"""Rows that hang together are no more than this share of all rows, or so many: more are a usual input or a cluster."""
_STRIP_ROWS = 4_096
"""Rows within which neighbours are looked for, so that the time grows with the rows: strips across one direction, whose
width is large against the distance of copies."""
_ASKED_STRIPS = 6
"""Strips that are looked at first: where they hold no copies, no others are looked at."""
_MOST_PLACES = 64
"""Wider inputs are projected on so many random directions: copies lie near in all of them."""


def near_copies(places: np.ndarray, *, table: bool = True) -> np.ndarray:
    """Find rows that lie much nearer to each other than independent rows of that density would.

    Of independent rows (r_k / r_{k+1})^{k d} is uniform, r_k the distance to the k-th neighbour and d the dimension: so
    it is of a Poisson process. A row is linked to its k nearest where that is least, if it is below 0.001 / 20 there
    and r_k is far below the usual distance. Equal rows are looked at once. Where fewer than two columns of a table
    take nearly as many values as there are different rows, inputs lie on a lattice, of which nothing can be said in
    this way.

    `places` (n, d): inputs; each column is standardised; `table`: whether they are columns that a person reads, and no
    embedding. Returns the same number for rows that are copies of each other, from 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> asked = np.repeat(rng.normal(size=(200, 4)), 3, axis=0)
    >>> len(np.unique(near_copies(asked + rng.normal(scale=0.001, size=asked.shape))))
    200
    >>> len(np.unique(near_copies(rng.normal(size=(600, 6)))))
    600
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = row_groups(places)
    points = places[np.unique(number, return_index=True)[1]].astype(np.float64)
    points = points[:, points.std(0) > 0]
    n, d = points.shape
    # along one such number alone, what heaps at round values looks like copies
    lattice = table and sum(len(np.unique(column)) > CONTINUOUS * n for column in points.T) < min(2, d)
    if n <= 2 * MOST_NEIGHBOURS or lattice:
        return np.arange(len(places))
    points = (points - points.mean(0)) / points.std(0)
    if d > _MOST_PLACES:
        points = points @ np.random.default_rng(0).normal(size=(d, _MOST_PLACES))
    along = np.argsort(points @ np.random.default_rng(1).normal(size=points.shape[1]), kind="stable")
    strips = np.array_split(along, -(-n // _STRIP_ROWS))
    if len(strips) > 2 * _ASKED_STRIPS:
        some = strips[:: len(strips) // _ASKED_STRIPS]
        # so few copies among so many rows would widen no interval
        if len(np.unique(_links(points, some)[0])) <= FEW_COPIES * sum(map(len, some)):
            return np.arange(len(places))
    one, other = _links(points, strips)
    edges = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    return no_larger_than_a_unit(connected_components(edges, directed=False)[1][number])


def _links(points: np.ndarray, strips: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some strips that are much nearer to others of theirs than chance has it, and these."""
    distance, neighbour = _neighbours(points, strips)
    with np.errstate(divide="ignore"):
        steps = np.diff(np.log(distance), axis=1)
    # the dimension by the steps to the second neighbour, which are exponential: of the shorter ones, as copies are far
    cut = np.quantile(steps[:, 0], 0.9)
    dimension = min(np.sum(steps[:, 0] <= cut) / np.minimum(steps[:, 0], cut).sum(), points.shape[1])
    k = np.arange(1, MOST_NEIGHBOURS + 1)
    near = distance[:, :-1] < MUCH_NEARER * np.median(distance[:, -2])
    chance = np.where(near, -k * dimension * steps, 0.0)
    linked_to = np.where(chance.min(1) < np.log(CHANCE / MOST_NEIGHBOURS), k[chance.argmin(1)], 0)
    one, other = np.nonzero(k <= linked_to[:, None])
    return np.concatenate(strips)[one], neighbour[one, other]


def no_larger_than_a_unit(number: np.ndarray) -> np.ndarray:
    """Give rows numbers of their own whose unit holds so many that it is a usual input, or a cluster; int64 (n,).

    Examples
    --------
    >>> len(np.unique(no_larger_than_a_unit(np.zeros(60, int)))), no_larger_than_a_unit(np.array([0, 0])).tolist()
    (60, [0, 0])
    """
    n, size = len(number), np.bincount(number)[number]
    large = size > max(LARGEST_UNIT * n, LARGEST_UNIT_ROWS)
    return np.unique(np.where(large, number.max() + 1 + np.arange(n), number), return_inverse=True)[1].astype(np.int64)


def _neighbours(points: np.ndarray, strips: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Distances of the rows of strips to the nearest others of theirs, in rising order, and which they are; (n, 21)."""
    from sklearn.neighbors import NearestNeighbors

    found = [(NearestNeighbors(n_neighbors=MOST_NEIGHBOURS + 1).fit(points[one]).kneighbors(), one) for one in strips]
    return (
        np.concatenate([distance for (distance, _), _ in found]),
        np.concatenate([strip[at] for (_, at), strip in found]),
    )
