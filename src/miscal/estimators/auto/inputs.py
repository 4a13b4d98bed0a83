"""The inputs of the scores: scaled columns, leading components, and two views of the confidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import oriented, row_blocks
from miscal.calibration.calibrators import logit
from miscal.data.triples import InputLayout
from miscal.estimators.auto.distances import Distances
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.kernel import median_distance

Array = NDArray[np.floating]

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

    @cached_property
    def distances(self) -> Distances:
        """Squared distances of x to the rows that kernels stand on; each table is computed once."""
        return Distances(self.x)

    @cached_property
    def number_distances(self) -> Distances:
        """The same of the numbers beside an embedding."""
        return Distances(self.numbers)


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
        values, vectors = np.linalg.eigh(products)
    order = np.argsort(values)[::-1][:k]
    # directions without variance are rounding
    order = order[values[order] > 1e-10 * max(values.max(), 1e-30)]
    return values[order], vectors[:, order]
