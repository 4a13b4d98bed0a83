"""The local logit shift: a learned linear geometry and a kernel readout in it.

At a query the readout finds the shift D that makes its neighbours calibrated in log-odds,

    sum_i K(z, z_i) (y_i - sigmoid(o_i + D)) = ridge * D,        K(z, z') = exp(-|z - z'|^2),

so it stays in range by itself and one D serves inputs of every confidence. The geometry z = x A is learned by the
leave-one-out likelihood of y under sigmoid(o + D): without a self-term, isolating points gains nothing. Rows of one
group (equal inputs, say) are left out together, or a copy would stand in for the row itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.typing import NDArray
from scipy.special import expit

from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.kernel import exponent_factors, weights_from_factors

Array = NDArray[np.floating]

# rows of a tile against the whole bank, and queries and bank rows of a tile of the readout: 1 MB, which stays near the
# processor
_TILE = 256
_READ_TILE = (256, 1_024)
# offsets that stand for those of the bank: sums over them are right to 1e-7 for shifts up to 4, to 5e-5 for the largest
_NODES = 32


@dataclass(frozen=True)
class LocalReadout:
    """What a kernel readout tells about queries.

    Attributes
    ----------
    shift : ndarray of shape (n,)
        Logit shift D; positive raises the confidence.
    mass : ndarray of shape (n,)
        Sum of kernel weights: how many neighbours the estimate rests on.
    shift_error : ndarray of shape (n,)
        Standard error of D given the geometry.
    """

    shift: NDArray[np.float64]
    mass: NDArray[np.float64]
    shift_error: NDArray[np.float64]


@dataclass(frozen=True)
class LocalShift:
    """A learned geometry with its bank.

    Attributes
    ----------
    axes : ndarray of shape (p, k), float32
        z = x @ axes; the bandwidth is absorbed in its scale.
    ridge : float
        Prior precision of D.
    bank : ndarray of shape (m, k), float32
        Coordinates of the bank rows.
    offset, outcome, weight : ndarray of shape (m,), float32
    rows : ndarray of shape (m,), int64
        Bank rows as positions in the training data.
    """

    axes: NDArray[np.float32]
    ridge: float
    bank: NDArray[np.float32]
    offset: NDArray[np.float32]
    outcome: NDArray[np.float32]
    weight: NDArray[np.float32]
    rows: NDArray[np.int64]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the ridge, and arrays."""
        arrays = dict(self.__dict__)
        return {"ridge": arrays.pop("ridge")}, arrays

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from :meth:`state`."""
        return cls(ridge=content["ridge"], **arrays)

    def coordinates(self, x: Array) -> NDArray[np.float32]:
        """Place inputs in the learned geometry, (n, k)."""
        return np.asarray(x, np.float32) @ self.axes

    def read(self, x: Array) -> LocalReadout:
        """Read the local shift at inputs x of shape (n, p)."""
        return _read(self.coordinates(x), self)

    def nearest(self, x: Array, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the k heaviest neighbours: training rows (n, k) and kernel weights (n, k), heaviest first."""
        z = self.coordinates(x)
        k = min(k, len(self.bank))
        rows, weights = np.zeros((len(z), k), np.int64), np.zeros((len(z), k))
        for i in range(0, len(z), _TILE):
            K = _weights(z[i : i + _TILE], self.bank)
            heavy = np.argpartition(K, len(self.bank) - k, axis=1)[:, len(self.bank) - k :]
            value = np.take_along_axis(K, heavy, 1)
            order = np.argsort(-value, axis=1, kind="stable")
            rows[i : i + _TILE] = self.rows[np.take_along_axis(heavy, order, 1)]
            weights[i : i + _TILE] = np.take_along_axis(value, order, 1)
        return rows, weights


def _weights(z: Array, bank: Array) -> Array:
    """Kernel weights (q, m) in one buffer: the norms ride along in the product."""
    left, right = exponent_factors(z, bank, 1.0)
    # a copy, since numpy takes another, slower way where a factor is the other one's transpose
    return weights_from_factors(left, np.ascontiguousarray(right.T))


def _read(z: NDArray[np.float32], local: LocalShift, steps: int = AUTO.newton_steps) -> LocalReadout:
    nodes, spread = _offset_nodes(local.offset)
    # a sum over the bank of any smooth function of the offset is one over the nodes, whatever the shift: Newton steps
    # then cost a few dozen operations a query, and not a pass over the bank
    columns = np.concatenate([np.stack([np.ones_like(local.outcome), local.outcome], 1), spread], 1)
    sums, squares = _kernel_sums(z, local.bank, columns * local.weight[:, None])
    mass, right, table = sums[:, 0], sums[:, 1], sums[:, 2:]
    D = np.zeros(len(z))
    for _ in range(steps):
        p = expit(nodes + D[:, None])
        v = p * (1 - p)
        curvature = np.vecdot(table, v) + local.ridge
        step = (right - np.vecdot(table, p) - local.ridge * D) / curvature
        D = D + np.clip(step, -AUTO.newton_limit, AUTO.newton_limit)
    # sandwich: the standard deviation of sum K (y - p), over the curvature; rounding can leave it below 0
    error = np.sqrt(np.maximum(np.vecdot(squares[:, 2:], v), 0)) / curvature
    return LocalReadout(D, mass, error)


def _offset_nodes(offset: Array) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Offsets (k,) that stand for those of the bank, and the share that each row has in each of them, (m, k).

    Polynomials in t = tanh(o / 4) are interpolated exactly. There sigmoid(o + D) has its poles on the unit circle,
    however far the offsets reach, at a distance from them that only D shortens (D = 0: convergence like 2.4^-k; 4:
    1.6^-k).
    """
    t = np.tanh(np.asarray(offset, np.float64) / 4)
    middle, half = (t.max() + t.min()) / 2, max((t.max() - t.min()) / 2, 1e-6)
    points = chebpts1(_NODES)
    # interpolation at the roots of a Chebyshev polynomial, whose first 32 are orthogonal on them
    basis = chebvander(points, _NODES - 1).T * (2 / _NODES)
    basis[0] /= 2
    share = chebvander((t - middle) / half, _NODES - 1) @ basis
    return 4 * np.arctanh(middle + half * points), share.astype(np.float32)


def _kernel_sums(z: Array, bank: Array, columns: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum K columns and K^2 columns over the bank, (q, k) each."""
    left, right = exponent_factors(z, bank, 1.0)
    right = np.ascontiguousarray(right.T)
    height, width = _READ_TILE
    sums, squares = np.zeros((2, len(z), columns.shape[1]))
    buffer = np.empty(height * width, np.float32)
    for j in range(0, len(bank), width):
        part = np.ascontiguousarray(right[:, j : j + width])
        for i in range(0, len(z), height):
            rows = left[i : i + height]
            out = buffer[: len(rows) * part.shape[1]].reshape(len(rows), part.shape[1])
            K = weights_from_factors(rows, part, out)
            sums[i : i + height] += K @ columns[j : j + width]
            squares[i : i + height] += np.square(K, out=K) @ columns[j : j + width]
    return sums, squares


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows that a geometry is learned from.

    Attributes
    ----------
    x : ndarray of shape (n, p), float32
        Inputs with columns of comparable scale, the important ones first; p small (up to about 20).
    correct : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
        Log-odds that the shift is added to.
    weight : ndarray of shape (n,)
        Numbers of rows.
    groups : ndarray of shape (n,), int, or None
        Rows with the same number are left out together; None where every row is left out alone.
    """

    x: NDArray[np.float32]
    correct: Array
    offset: Array
    weight: Array
    groups: NDArray[np.integer] | None = None

    @classmethod
    def of(cls, x: Array, correct: Array, offset: Array, weight: Array | None = None, groups: Any = None) -> PlacedRows:
        """Put rows together; groups that are all of one row are none."""
        # rows left out alone take the diagonal of K, which is cheaper than comparing group numbers
        together = None if groups is None or len(np.unique(groups)) == len(groups) else groups
        w = np.ones(len(correct)) if weight is None else weight
        return cls(np.asarray(x, np.float32), correct, offset, w, together)

    def group_of(self, rows: NDArray[np.integer]) -> NDArray[np.integer] | None:
        """Group numbers of some rows, (k,); None where every row is alone."""
        return None if self.groups is None else self.groups[rows]

    def bank(self, rows: NDArray[np.integer], axes: NDArray[np.float32]) -> LocalShift:
        """Place some rows as the bank of a shift with the first of the ridges."""
        offset, outcome, weight = (np.asarray(a[rows], np.float32) for a in (self.offset, self.correct, self.weight))
        return LocalShift(axes, AUTO.ridges[0], self.x[rows] @ axes, offset, outcome, weight, rows.astype(np.int64))


def fit_local(
    rows: PlacedRows,
    *,
    rng: np.random.Generator,
    steps: int = AUTO.final_steps,
    compared: int = AUTO.compared_rows[0],
) -> LocalShift:
    """Learn a geometry and keep a bank.

    Parameters
    ----------
    rows : PlacedRows
    rng : numpy.random.Generator
    steps : int, default 60
        Adam steps from the best start.
    compared : int, default 10,000
        Rows whose leave-one-out loss compares starts and ridges; a weak signal needs many.

    Returns
    -------
    LocalShift

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 2)).astype("float32")
    >>> y = (rng.random(600) < 1 / (1 + np.exp(-2 * np.sign(x[:, 0])))).astype(float)
    >>> local = fit_local(PlacedRows.of(x, y, np.zeros(600)), rng=rng, steps=30)
    >>> d = local.read(np.array([[-1.0, 0.0], [1.0, 0.0]])).shift
    >>> bool(d[0] < -0.5) and bool(d[1] > 0.5)
    True
    """
    n = len(rows.x)
    bank = np.sort(rng.choice(n, min(AUTO.bank_rows, n), replace=False))
    # one sample for all, or its noise would choose
    some = rng.choice(len(bank), min(compared, len(bank)), replace=False)

    def tuned(axes: NDArray[np.float32]) -> tuple[float, LocalShift]:
        return _tune_ridge(rows.bank(bank, axes), some, rows.group_of(bank))

    best = min((tuned(start) for start in _starts(rows, rng)), key=lambda pair: pair[0])
    # steps on random batches can lose what the search over all rows found: the better of the two stays
    trained = tuned(_train(rows, best[1], rng, steps))
    return min(best, trained, key=lambda pair: pair[0])[1]


def _tune_ridge(local: LocalShift, some: NDArray[np.integer], group: NDArray | None) -> tuple[float, LocalShift]:
    """Choose the ridge by the leave-one-out log loss of bank rows `some`; return that loss and the shift."""
    # one Newton step from D = 0 stands for the solution: its two sums serve every ridge
    residual, curvature = _one_step(local, some, group)
    losses = [
        np.average(
            negative_log_likelihood(local.outcome[some], local.offset[some] + residual / (curvature + ridge)),
            weights=local.weight[some],
        )
        for ridge in AUTO.ridges
    ]
    best = int(np.argmin(losses))
    return float(losses[best]), replace(local, ridge=AUTO.ridges[best])


def _one_step(local: LocalShift, some: NDArray, group: NDArray | None) -> NDArray[np.float64]:
    """Gradient and curvature (2, k) of the shift at D = 0 for bank rows `some`, each row and its group left out."""
    p = expit(local.offset)
    # gradient and curvature of each row's log-likelihood, summed by one product below
    values = np.stack([local.weight * (local.outcome - p), local.weight * p * (1 - p)], 1)
    order, first, last = _own(group, some)
    left, right = exponent_factors(local.bank[some], local.bank[order], 1.0)
    right, values = np.ascontiguousarray(right.T), values[order]
    out = []
    for i in range(0, len(some), _TILE):
        tile = slice(i, i + _TILE)
        K = weights_from_factors(left[tile], right)
        _clear(K, first[tile], last[tile])
        out.append(K @ values)
    return np.concatenate(out).T.astype(np.float64)


def _own(group: NDArray | None, some: NDArray | slice) -> tuple[Any, NDArray[np.intp], NDArray[np.intp]]:
    """Order all rows by group, and tell where in that order the group of each of some rows starts and ends."""
    if group is None:
        return slice(None), some, some + 1
    order = np.argsort(group, kind="stable")
    sides = (np.searchsorted(group[order], group[some], side) for side in ("left", "right"))
    return order, *sides


def _clear(K: Array, first: NDArray[np.intp], last: NDArray[np.intp]) -> None:
    """Set the entries from first to last of each row of K to 0."""
    if (last - first == 1).all():
        K[np.arange(len(K)), first] = 0
        return
    for row, start, stop in zip(K, first.tolist(), last.tolist(), strict=True):
        row[start:stop] = 0


def _starts(rows: PlacedRows, rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Propose the best single direction, and the whole space at a middling bandwidth; (p, k) each."""
    p = rows.x.shape[1]
    k = min(p, AUTO.dimensions)
    sd = np.maximum(rows.x.std(0), 1e-6)
    whole = np.zeros((p, k), np.float32)
    # leading columns first: callers order columns by importance
    whole[np.arange(k), np.arange(k)] = AUTO.whole_start / sd[:k] / np.sqrt(np.minimum(k, 1 + np.arange(k)))
    direction, scale = _best_direction(rows, rows.x / sd, rng)
    single = np.zeros((p, k), np.float32)
    single[:, 0] = direction * scale / sd
    # the other axes start small, so that the gradient can still find them
    for j in range(1, k):
        column = (np.abs(direction).argmax() + j) % p
        single[column, j] = AUTO.idle_axis / sd[column]
    return [single, whole]


def _best_direction(rows: PlacedRows, x: Array, rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    """Direction and scale with the best leave-one-out likelihood along one axis (binned, O(n) each)."""
    directions = _directions(x.shape[1], rng)
    best = (np.inf, directions[0], 1.0)
    rate = expit(rows.offset)
    residual, variance = rows.weight * (rows.correct - rate), rows.weight * rate * (1 - rate)
    for direction in directions:
        for loss, scale in _binned_losses(rows, x @ direction, residual, variance):
            if loss < best[0]:
                best = (loss, direction, scale)
    return best[1], best[2]


def _directions(p: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """List unit directions to try in p dimensions, (k, p): a fan in the plane, else the axes and random ones."""
    if p == 1:
        return np.ones((1, 1))
    if p == 2:
        # half a turn: a direction and its opposite are the same
        angle = np.linspace(0, np.pi, AUTO.plane_angles, endpoint=False)
        return np.stack([np.cos(angle), np.sin(angle)], 1)
    # normal vectors of unit length are uniform on the sphere
    extra = rng.normal(size=(AUTO.random_directions, p))
    return np.concatenate([np.eye(p), extra / np.linalg.norm(extra, axis=1, keepdims=True)])


def _binned_losses(rows: PlacedRows, t: Array, residual: Array, variance: Array) -> Iterator[tuple[float, float]]:
    """Leave-one-out loss of one Newton step along t, and the scale, for each bandwidth.

    Rows are binned on a grid, and the kernel sums over the grid are one convolution (FFT) a bandwidth: O(n), where the
    exact sums would be O(n^2).
    """
    cells = AUTO.direction_cells
    # outliers would stretch the grid; they count in its outermost cells
    low, high = np.quantile(t, [0.001, 0.999])
    width = max(high - low, 1e-9) / (cells - 1)
    # the added half makes truncation round to the nearest cell
    cell = np.clip((t - low) / width + 0.5, 0, cells - 1).astype(int)
    size = 2 * cells  # room for the kernel's tails: a circular convolution would wrap them round
    sums = [np.bincount(cell, residual, cells), np.bincount(cell, variance, cells)]
    moments = np.fft.rfft(sums, size, axis=1)
    own = residual, variance
    if rows.groups is not None:
        # what a row's group has in its own cell: all of it where equal inputs are the group
        pair = np.unique(rows.groups.astype(np.int64) * cells + cell, return_inverse=True)[1]
        own = tuple(np.bincount(pair, values)[pair] for values in own)
    # distances round the circle that the transform takes the grid for
    lag = np.minimum(np.arange(size), size - np.arange(size)) * width
    for bandwidth in AUTO.direction_bandwidths:
        kernel = np.exp(-np.minimum((lag / bandwidth) ** 2, 80))
        smooth = np.fft.irfft(moments * np.fft.rfft(kernel), size, axis=1)[:, :cells]
        # rounding of the transform can leave an empty neighbourhood slightly negative
        curvature = np.maximum(smooth[1][cell] - own[1], 0) + AUTO.direction_ridge
        loss = negative_log_likelihood(rows.correct, rows.offset + (smooth[0][cell] - own[0]) / curvature)
        yield float(np.average(loss, weights=rows.weight)), 1 / bandwidth


@dataclass(frozen=True, eq=False)
class _Batch:
    """Rows of one step, those of one group side by side.

    Attributes
    ----------
    x : ndarray of shape (n, p)
    outcome, base, weight : ndarray of shape (n,)
        Outcomes, log-odds that the shift is added to, and numbers of rows.
    first, last : ndarray of shape (n,), int
        Where the group of each row starts and ends.
    grow : float
        Scales sums over the batch to sums over the bank, so that the ridge means the same in both.
    """

    x: Array
    outcome: Array
    base: Array
    weight: Array
    first: NDArray[np.integer]
    last: NDArray[np.integer]
    grow: float

    def loss(self, axes: Array, log_ridge: float) -> tuple[float, Array, float]:
        """Leave-one-out log loss of one Newton step, and its gradients in the axes (p, k) and in the log ridge.

        With values v (n, 2), gradient and curvature of each row's log-likelihood, and sums S = K v, none of a row's
        own group in its sum, the shift is D = S_1 / (S_2 + ridge). With G = dL/dS and
        P_ij = K_ij (G_i v_j + v_i G_j) the gradient in the coordinates z is dL/dz = -2 (P1 * z - P z).
        """
        p = expit(self.base)
        heavy = self.weight * self.x.dtype.type(self.grow)
        values = np.stack([heavy * (self.outcome - p), heavy * p * (1 - p)], 1)
        z = self.x @ axes
        K = _weights(z, z)
        _clear(K, self.first, self.last)
        # the column of ones gives S itself, and P1
        placed = np.concatenate([z, np.ones((len(z), 1), z.dtype)], 1)
        inner = _products(K, values, placed)
        ridge = math.exp(log_ridge)
        precision = 1 / (inner[:, 1, -1] + ridge)
        D = inner[:, 0, -1] * precision
        logit = self.base + D
        # log(1 + e^l) - y l without overflow, ten times as fast as logaddexp
        losses = np.maximum(logit, 0) + np.log1p(np.exp(-np.abs(logit))) - self.outcome * logit
        pull = self.weight * (expit(logit) - self.outcome) * (precision / len(z))
        G = np.stack([pull, -pull * D], 1)
        # K is symmetric: P (z, 1) = G * (K v) + v * (K G), each with (z, 1) inside
        product = (G[:, :, None] * inner + values[:, :, None] * _products(K, G, placed)).sum(1)
        slope = (product[:, -1:] * z - product[:, :-1]) * -2
        loss = float((self.weight * losses).mean())
        return loss, self.x.T @ slope, -ridge * float(pull @ D)


def _products(K: Array, values: Array, placed: Array) -> Array:
    """Sum K_ij values_jc placed_jk over j, (n, 2, k)."""
    columns = (values[:, :, None] * placed[:, None]).reshape(len(K), -1)
    return (K @ columns).reshape(len(K), 2, -1)


class _Adam:
    """Adam (Kingma & Ba, 2015) with its default decay rates, for several parameters that are changed in place."""

    def __init__(self, parameters: list[Array]) -> None:
        self.parameters = parameters
        self.means, self.squares = ([np.zeros_like(p) for p in parameters] for _ in range(2))
        self.count = 0

    def descend(self, gradients: list[Array], rate: float) -> None:
        """Take a step of a size near `rate` against the gradients."""
        self.count += 1
        for p, g, mean, square in zip(self.parameters, gradients, self.means, self.squares, strict=True):
            mean += 0.1 * (g - mean)
            square += 0.001 * (g * g - square)
            # both start at 0, and are scaled up to what they would be without that
            spread = np.sqrt(square / (1 - 0.999**self.count)) + 1e-8
            p -= rate / (1 - 0.9**self.count) * mean / spread


def _train(rows: PlacedRows, start: LocalShift, rng: np.random.Generator, steps: int) -> NDArray[np.float32]:
    """Adam on random batches, from the axes and the ridge of a start."""
    n = len(rows.x)
    # a step changes every start by the same share of its own size
    size = float(np.sqrt((start.axes**2).sum(0).max()))
    axes = start.axes / size
    # learned as a logarithm, so that it stays positive; dropped at the end, since the caller tunes it on the whole bank
    log_ridge = np.array(math.log(start.ridge))
    adam = _Adam([axes, log_ridge])
    for step in range(steps):
        batch = _batch(rows, rng.choice(n, min(AUTO.batch, n), replace=False))
        _, in_axes, in_ridge = batch.loss(axes * size, float(log_ridge))
        adam.descend([in_axes * size, np.array(in_ridge)], AUTO.rate * (1 + math.cos(math.pi * step / steps)) / 2)
    return axes * size


def _batch(rows: PlacedRows, drawn: NDArray[np.integer]) -> _Batch:
    if rows.groups is not None:
        drawn = drawn[np.argsort(rows.groups[drawn], kind="stable")]
    _, first, last = _own(rows.group_of(drawn), np.arange(len(drawn)))
    x, y, base, w = (np.asarray(a[drawn], np.float32) for a in (rows.x, rows.correct, rows.offset, rows.weight))
    return _Batch(x, y, base, w, first, last, min(len(rows.x), AUTO.bank_rows) / len(drawn))
