"""The inputs of the scores: scaled columns, leading components, two views of the confidence, and distances.

Squared distances from rows to the points that kernels stand on are computed once; they also tell whether rows are near
enough to those learned from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from miscal.base.arrays import leading_eigenvectors, oriented, row_blocks
from miscal.calibration.calibrators import logit
from miscal.data.triples import InputLayout
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.kernel import median_distance

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


Places = tuple[bytes, NDArray[np.float32]]
"""Rows that kernels stand on, (m, p), after what equal ones have in common."""


def places_of(x: NDArray[np.float32]) -> Places:
    """Return rows with a digest of them, as members that were read back hold a copy each."""
    rows = np.ascontiguousarray(x)
    return hashlib.blake2b(rows.data, digest_size=16).digest(), rows


# distances come from differences of squares in double precision
_DISTANCE_ROUNDING = 1e-6
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

    def holds(
        self, x: Array, distances: Callable[[Places], Array] | None = None, spanning: Places | None = None
    ) -> NDArray[np.bool_]:
        """Tell rows within reach of a landmark, (n,).

        Takes x (n, p); distances: what tells their squared distances to rows; spanning: rows that kernels stand on.
        """
        told = distances or (lambda places: squared_distances(x, places[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            nearest = np.stack([told(part).min(1) for part in self._parts(spanning)], 1).min(1)
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

    def _parts(self, spanning: Places | None) -> tuple[Places, ...]:
        """Return the landmarks, those whose distances are known before the others."""
        parts = self.__dict__.setdefault("parts", {})
        key, rows = (b"", self.landmarks[:0]) if spanning is None else spanning
        if key not in parts:
            m = len(rows)
            shared = spanning is not None and m > 0 and np.array_equal(self.landmarks[:m], rows)
            rest = self.landmarks[m:] if shared else self.landmarks
            parts[key] = (*([spanning] if shared else []), *([places_of(rest)] if len(rest) else []))
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
    rounding = _DISTANCE_ROUNDING * float(np.quantile(np.linalg.norm(different, axis=1), AUTO.support_share))
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


_BLOCK_ROWS = 4_096
_ROUNDING = {"float32": 1e-6, "float64": 1e-14}
"""Standard deviation, relative to the mean, that rounding alone can bring."""


@dataclass(frozen=True)
class ScoreInputs:
    """One set of rows as the scores see them.

    Attributes
    ----------
    x : ndarray of shape (n, p), float32
        Scaled inputs: a random pair of training rows is about 1 apart.
    components : ndarray of shape (n, q), float32
        Leading components of x; the first has unit variance.
    level, rank : ndarray of shape (n,), float32
        Logit of the confidence, standardised; and its rank among the training confidences, in +-1.73.
    numbers : ndarray of shape (n, m), float32
        Columns of a table beside an embedding, scaled like x.
    codes : ndarray of shape (n, c), int32
        Level of each column that has levels; -1 is one that the training rows do not have.
    given : ndarray of shape (n, d)
        All columns but those of codes, as they came; not a copy.
    varying : ndarray of shape (v,), int
        Those of the columns given that may be learned from: neither constant, nor a moment.
    """

    x: NDArray[np.float32]
    components: NDArray[np.float32]
    level: NDArray[np.float32]
    rank: NDArray[np.float32]
    numbers: NDArray[np.float32]
    codes: NDArray[np.int32]
    given: NDArray[np.floating] = field(default_factory=lambda: np.zeros((0, 0)))
    varying: NDArray[np.integer] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def level_counts(self) -> list[int]:
        """Number of levels of each column of `codes`, as far as these rows show."""
        return [int(codes.max(initial=-1)) + 1 for codes in self.codes.T]

    def distances(self, places: Places, of: str = "x") -> Array:
        """Squared distances of x, or of the numbers, to rows that kernels stand on, (n, m); for reading only."""
        key, rows = places
        if (of, key) not in self._distances:
            self._distances[of, key] = squared_distances(getattr(self, of), rows)
        return self._distances[of, key]

    @cached_property
    def _distances(self) -> dict[tuple[str, bytes], Array]:
        """Those computed so far, as several kernels stand on the same rows."""
        return {}


@dataclass(frozen=True)
class Scaler:
    """Learned scaling of inputs and confidences; holds no labels."""

    mean: NDArray[np.floating]  # in the precision of the inputs learned from, which all inputs are then centred in
    inverse_sd: NDArray[np.floating]
    rotation: NDArray[np.float32]  # (d, p) to principal components, or (d, 0) where x is kept
    distance: float
    component_axes: NDArray[np.float32]  # (p, q)
    level: NDArray[np.float64]  # mean and sd of the clipped logit
    sorted_logit: NDArray[np.float64]  # at most 2,001 quantiles
    numbers: NDArray[np.float64]  # (2, m): mean and inverse sd of the numbers beside an embedding

    def __call__(self, X: Array, confidence: Array) -> ScoreInputs:
        """Scale rows.

        Takes X (n, d): as an :class:`~miscal.data.triples.InputLayout` says: places, numbers, codes; confidence (n,).
        """
        places, beside = len(self.mean), len(self.mean) + self.numbers.shape[1]
        x = np.empty((len(X), self.rotation.shape[1] or places), np.float32)
        for i in range(0, len(X), _BLOCK_ROWS):  # a wide X is not copied whole
            near = np.asarray(X[i : i + _BLOCK_ROWS, :places], self.mean.dtype)
            part = _single((near - self.mean) * self.inverse_sd)
            x[i : i + _BLOCK_ROWS] = part @ self.rotation if self.rotation.shape[1] else part
        x /= np.float32(self.distance)
        log_odds = logit(confidence)
        level = (np.clip(log_odds, -AUTO.level_clip, AUTO.level_clip) - self.level[0]) / self.level[1]
        low = np.searchsorted(self.sorted_logit, log_odds, "left")
        high = np.searchsorted(self.sorted_logit, log_odds, "right")
        # the middle rank of ties; sqrt(12) gives a uniform variable unit variance
        rank = ((low + high) / (2 * len(self.sorted_logit)) - 0.5) * np.sqrt(12)
        return ScoreInputs(
            x,
            x @ self.component_axes,
            level.astype(np.float32),
            rank.astype(np.float32),
            _single((np.asarray(X[:, places:beside], np.float64) - self.numbers[0]) * self.numbers[1]),
            X[:, beside:].astype(np.int32),
            X[:, :beside],
            np.flatnonzero(np.append(self.inverse_sd, self.numbers[1])),
        )


def _single(scaled: Array) -> NDArray[np.float32]:
    """Narrow inputs that are centred and scaled; a new row may still be farther off than float32 can say."""
    largest = np.finfo(np.float32).max
    return scaled if scaled.dtype == np.float32 else np.clip(scaled, -largest, largest).astype(np.float32)


def fit_scaler(X: Array, confidence: Array, rng: np.random.Generator, layout: InputLayout | None = None) -> Scaler:
    """Learn the scaling from training rows (no labels).

    Columns are standardised (constant ones, and those that only say when a row was, dropped to 0); more than 384 are
    cut to 384 principal components.

    Takes X (n, d); confidence (n,); layout: what the columns of X are.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> scaler = fit_scaler(X, rng.random(100), rng)
    >>> scaler(X, rng.random(100)).x.shape
    (100, 3)
    """
    X = np.asarray(X)
    layout = layout or InputLayout(X.shape[1])
    seen = np.array([place not in layout.moments for place in range(layout.places + layout.numbers)], bool)
    beside = _standardised(X[:, layout.places : layout.places + layout.numbers], seen[layout.places :], rng)
    X = X[:, : layout.places]
    kind = X.dtype if X.dtype == np.float64 else np.dtype(np.float32)
    n, d = X.shape
    rows = X if n <= AUTO.component_rows else X[rng.choice(n, AUTO.component_rows, replace=False)]
    # summed in double precision: float32 sums over many rows lose digits
    mean = rows.mean(0, dtype=np.float64).astype(kind)
    sd = rows.std(0, dtype=np.float64)
    # A column that varies by rounding alone is constant.
    inverse = (_inverse(mean, sd) * seen[: layout.places]).astype(kind)
    centred = _single((rows - mean) * inverse)
    rotation = _components(centred, AUTO.widest) if d > AUTO.widest else np.zeros((d, 0), np.float32)
    x = centred @ rotation if rotation.shape[1] else centred
    distance = median_distance(x, rng, n_pairs=1_000)
    x = x / np.float32(distance)
    axes = _components(x, AUTO.n_components)
    first = float((x @ axes[:, :1]).std()) if axes.shape[1] else 1.0
    # sorted: ranks are looked up in it by bisection
    log_odds = np.sort(logit(confidence))
    clipped = np.clip(log_odds, -AUTO.level_clip, AUTO.level_clip)
    level = np.array([clipped.mean(), max(clipped.std(), 1e-3)])
    q = AUTO.rank_quantiles
    quantiles = log_odds if n <= q else log_odds[np.linspace(0, n - 1, q).round().astype(int)]
    axes = axes / np.float32(max(first, 1e-6))
    return Scaler(mean, inverse, rotation, distance, axes, level, quantiles, beside)


def _inverse(mean: Array, sd: Array) -> NDArray[np.float64]:
    """Invert standard deviations; 0 for a column that varies by no more than rounding in the precision of its mean."""
    real = sd > _ROUNDING[mean.dtype.name] * np.maximum(np.abs(mean), 1e-30)
    return np.where(real, 1 / np.where(real, sd, 1.0), 0.0)


def _standardised(numbers: Array, seen: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.float64]:
    """Mean and scale of columns, (2, m), by which two random rows are about 1 apart; 0 for one constant or not seen."""
    numbers = numbers.astype(np.float64)
    if not numbers.shape[1]:
        return np.zeros((2, 0))
    mean, sd = numbers.mean(0), numbers.std(0)
    inverse = _inverse(mean, sd) * seen
    return np.stack([mean, inverse / median_distance((numbers - mean) * inverse, rng, n_pairs=1_000)])


def _components(x: Array, k: int) -> NDArray[np.float32]:
    """Leading right singular vectors with a fixed sign, (d, <= k)."""
    # x is centred by its caller; the eigenvectors of x'x are its right singular vectors, at (d, d) instead of (n, d)
    if x.shape[1] > max(len(x), AUTO.most_products):
        # those of xx', at (n, n), are the left ones, and lead to the right ones
        values, left = _leading(_products(x.T), k)
        kept = (x.T @ left) / np.sqrt(values)
    else:
        kept = _leading(_products(x), k)[1]
    return oriented(kept).astype(np.float32)


def _products(x: Array) -> NDArray[np.float64]:
    """Compute x'x, (d, d), in double precision: of alike variances, rounding would choose the directions.

    In blocks of rows, so that no copy of all is made.
    """
    blocks = (x[rows].astype(np.float64) for rows in row_blocks(*x.shape))
    return sum((block.T @ block for block in blocks), np.zeros((x.shape[1],) * 2))


def _leading(products: Array, k: int) -> tuple[Array, Array]:
    """Largest eigenvalues, (<= k,), and their eigenvectors in columns, of a symmetric matrix without negative ones."""
    if len(products) > 2 * AUTO.widest:
        from sklearn.utils.extmath import randomized_svd

        # O(m^2 k); the whole decomposition takes O(m^3)
        vectors, values, _ = randomized_svd(
            products, k, n_oversamples=AUTO.component_oversampling, n_iter=AUTO.component_power_steps, random_state=0
        )
    else:
        values, vectors = leading_eigenvectors(products, k)
    # directions without variance are rounding
    kept = values > 1e-10 * max(values[0], 1e-30)
    return values[kept], vectors[:, kept]
