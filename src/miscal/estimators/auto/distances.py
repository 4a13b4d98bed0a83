"""Squared distances from rows to points that kernels stand on, computed once, and whether rows are near enough."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]


def squared_distances(A: Array, B: Array) -> Array:
    """Squared distances between rows of A (n, p) and of B (m, p), (n, m), not negative, in their precision.

    Examples
    --------
    >>> squared_distances(np.zeros((1, 2), "float32"), np.float32([[3, 4]]))
    array([[25.]], dtype=float32)
    """
    # |a|^2 - 2ab + |b|^2, put together in one buffer; the factor rides on the smaller matrix
    distance = A @ (B * np.float32(-2)).T
    distance += np.einsum("ij,ij->i", A, A)[:, None]
    distance += np.einsum("ij,ij->i", B, B)
    # rounding can leave a distance of almost 0 negative; numpy is three times faster with a row than with a number
    return np.maximum(distance, np.zeros(len(B), np.float32), out=distance)


def gaussian_of(
    distance: NDArray[np.float32], sigma: float, *, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Gaussian kernel exp(-d / sigma^2) of squared distances, float32, into `out` if given.

    Examples
    --------
    >>> gaussian_of(np.float32([0.0, 1e9]), 1.0).round(3)
    array([1., 0.], dtype=float32)
    """
    exponent = np.multiply(distance, np.float32(-1 / sigma**2), out=out)
    # exp of less than -80 is 0 for us and twenty times slower to compute
    np.maximum(exponent, np.full(exponent.shape[-1], -80, np.float32), out=exponent)
    return np.exp(exponent, out=exponent)


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows that kernels stand on.

    Attributes
    ----------
    x : ndarray of shape (m, p), float32
    """

    x: NDArray[np.float32]

    @cached_property
    def key(self) -> bytes:
        """What equal rows have in common: a digest, as members that were read back hold a copy each."""
        return hashlib.blake2b(np.ascontiguousarray(self.x).data, digest_size=16).digest()


@dataclass(frozen=True, eq=False)
class Distances:
    """Squared distances of rows, table by table.

    Attributes
    ----------
    x : ndarray of shape (n, p), float32
    tables : dict
        Those computed so far, by the rows they lead to.
    """

    x: NDArray[np.float32]
    tables: dict[bytes, NDArray[np.float32]] = field(default_factory=dict)

    def to(self, rows: Placed) -> NDArray[np.float32]:
        """Squared distances to some rows, (n, m); for reading only."""
        if rows.key not in self.tables:
            self.tables[rows.key] = squared_distances(self.x, rows.x)
        return self.tables[rows.key]


# distances come from differences of squares in double precision
_ROUNDING = 1e-6
# share of the squared lengths that a squared distance in single precision may be off by
_SINGLE = np.float32(1e-5)
_CHUNK = 4_096


@dataclass(frozen=True)
class Support:
    """Rows learned from that stand for all of them, and how far from the nearest a row may lie.

    Attributes
    ----------
    landmarks : ndarray of shape (m, p), float32
    reach : float
        A row farther than this from all landmarks is unsupported.
    """

    landmarks: NDArray[np.float32]
    reach: float

    def holds(self, x: Array, distances: Distances | None = None, spanning: Placed | None = None) -> NDArray[np.bool_]:
        """Tell rows within reach of a landmark, (n,).

        Takes x (n, p); spanning: rows that kernels stand on.
        """
        distances = Distances(x) if distances is None else distances
        with np.errstate(over="ignore", invalid="ignore"):
            nearest = np.stack([distances.to(part).min(1) for part in self._parts(spanning)], 1).min(1)
            # single precision decides all rows but those about as far as the reach
            rounding = _SINGLE * (np.einsum("ij,ij->i", x, x) + np.float32(self.largest))
            within = nearest < self.reach**2
            unsure = ~(np.abs(nearest - np.float32(self.reach**2)) > rounding)
        if unsure.any():
            within[unsure] = _nearest(x[unsure], self.landmarks) <= self.reach
        return within

    @cached_property
    def largest(self) -> float:
        """Largest squared length of a landmark."""
        return float((self.landmarks.astype(np.float64) ** 2).sum(1).max())

    def _parts(self, spanning: Placed | None) -> tuple[Placed, ...]:
        """Return the landmarks, those whose distances are known before the others."""
        parts = self.__dict__.setdefault("parts", {})
        key = b"" if spanning is None else spanning.key
        if key not in parts:
            m = 0 if spanning is None else len(spanning.x)
            shared = m > 0 and np.array_equal(self.landmarks[:m], spanning.x)
            rest = self.landmarks[m:] if shared else self.landmarks
            parts[key] = (spanning,) * shared + (Placed(rest),) * bool(len(rest))
        return parts[key]


def find_support(x: NDArray[np.float32], drawn: NDArray[np.integer], rng: np.random.Generator) -> Support:
    """Take rows drawn at random for landmarks, and beside them those that cover what they leave out.

    Takes x (n, p): scaled inputs of the rows learned from; drawn (k,): numbers of rows drawn at random; rng: draws
    the rows to be covered, at most 20,000.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(size=(990, 2)), rng.normal(9, 0.1, (10, 2))].astype("float32")
    >>> support = find_support(x, np.arange(100), rng)
    >>> support.holds(np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 9.0]], "float32")).tolist()
    [True, True, False]
    """
    support = Support(x[drawn], _reach(x[drawn]))
    some = x if len(x) <= AUTO.bank_rows else x[rng.choice(len(x), AUTO.bank_rows, replace=False)]
    far = some[~support.holds(some)]
    # greedy cover: a row that is still out of reach becomes a landmark, and covers its neighbours
    chosen = [support.landmarks]
    while len(far):
        chosen.append(far[:1])
        rest = far[1:]
        far = rest[_nearest(rest, far[:1]) > support.reach] if len(rest) else rest
    return Support(np.concatenate(chosen), support.reach)


def _reach(landmarks: Array) -> float:
    """Twice the distance from its nearest other that one landmark in a hundred exceeds; repeats count once.

    New rows lie as far from the landmarks as these from each other: nearly all are within reach. An outlier among the
    landmarks does not stretch it.
    """
    # equal rows are at distance 0 from each other, and would pull the quantile down
    different = np.unique(landmarks, axis=0).astype(np.float64)
    # where all inputs are equal the reach is 0, and rows like them must be within it in spite of rounding
    rounding = _ROUNDING * float(np.quantile(np.linalg.norm(different, axis=1), AUTO.support_share))
    if len(different) == 1:
        return rounding
    squared = squared_distances(different, different)
    np.fill_diagonal(squared, np.inf)
    nearest = np.sqrt(squared.min(1))
    return max(AUTO.support_stretch * float(np.quantile(nearest, AUTO.support_share)), rounding)


def _nearest(x: Array, landmarks: Array) -> NDArray[np.float64]:
    # in chunks: the whole table of distances is never in memory
    chunks = [cdist(x[i : i + _CHUNK], landmarks).min(1) for i in range(0, len(x), _CHUNK)]
    return np.concatenate([np.zeros(0), *chunks])
