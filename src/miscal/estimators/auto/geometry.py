"""The geometry of the local shift, learned by the leave-one-out likelihood of its readout.

The geometry z = x A is learned by the likelihood of y under sigmoid(o + D), D being the shift of a row read without the
row itself: without a self-term, isolating points gains nothing. Rows of one group (equal inputs, say) are left out
together, or a copy would stand in for the row itself.

As a member of the portfolio the local shift is cross-fitted, and joined to the stack where it earns its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.estimators.auto.member import CrossFitted, LearningRows, Member, Query, negative_log_likelihood
from miscal.estimators.auto.readout import READ_TILE, LocalShift, kernel_weights
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.auto.stack import gain_in_log_loss, stack_weights
from miscal.estimators.kernel import exponent_factors, weights_from_factors

Array = NDArray[np.floating]


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

    def batch(self, drawn: NDArray[np.integer]) -> PlacedRows:
        """Return some rows in single precision, those of one group side by side."""
        if self.groups is not None:
            drawn = drawn[np.argsort(self.groups[drawn], kind="stable")]
        x, y, start, w = (np.asarray(a[drawn], np.float32) for a in (self.x, self.correct, self.offset, self.weight))
        return PlacedRows(x, y, start, w, self.group_of(drawn))

    def loss(self, axes: Array, log_ridge: float, grow: float = 1.0) -> tuple[float, Array, float]:
        """Leave-one-out log loss of one Newton step, and its gradients in the axes (p, k) and in the log ridge.

        With values v (n, 2), gradient and curvature of each row's log-likelihood, and sums S = K v, none of a row's
        own group in its sum, the shift is D = S_1 / (S_2 + ridge). With G = dL/dS and
        P_ij = K_ij (G_i v_j + v_i G_j) the gradient in the coordinates z is dL/dz = -2 (P1 * z - P z).

        Rows of one group lie side by side. `grow` scales sums over these rows to sums over the bank, so that the ridge
        means the same in both.
        """
        p = expit(self.offset)
        heavy = self.weight * self.x.dtype.type(grow)
        values = np.stack([heavy * (self.correct - p), heavy * p * (1 - p)], 1)
        z = self.x @ axes
        K = kernel_weights(z, z)
        _clear(K, *_own(self.groups, np.arange(len(z)))[1:])
        # the column of ones gives S itself, and P1
        placed = np.concatenate([z, np.ones((len(z), 1), z.dtype)], 1)
        inner = _products(K, values, placed)
        ridge = math.exp(log_ridge)
        precision = 1 / (inner[:, 1, -1] + ridge)
        D = inner[:, 0, -1] * precision
        logit = self.offset + D
        pull = self.weight * (expit(logit) - self.correct) * (precision / len(z))
        G = np.stack([pull, -pull * D], 1)
        # K is symmetric: P (z, 1) = G * (K v) + v * (K G), each with (z, 1) inside
        product = (G[:, :, None] * inner + values[:, :, None] * _products(K, G, placed)).sum(1)
        slope = (product[:, -1:] * z - product[:, :-1]) * -2
        loss = float((self.weight * negative_log_likelihood(self.correct, logit)).mean())
        return loss, self.x.T @ slope, -ridge * float(pull @ D)

    def bank(self, rows: NDArray[np.integer], axes: NDArray[np.float32]) -> LocalShift:
        """Place some rows as the bank of a shift with the first of the ridges."""
        offset, outcome, weight = (np.asarray(a[rows], np.float32) for a in (self.offset, self.correct, self.weight))
        return LocalShift(axes, AUTO.ridges[0], self.x[rows] @ axes, offset, outcome, weight, rows.astype(np.int64))


def fit_local(
    rows: PlacedRows,
    *,
    rng: np.random.Generator,
    steps: int = AUTO.final_steps[0],
    compared: int = AUTO.compared_rows[0],
) -> LocalShift:
    """Learn a geometry and keep a bank.

    Takes steps: adam steps from the best start; compared: rows whose leave-one-out loss compares starts and ridges.

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
    out, values = np.zeros((len(some), 2)), values[order]
    for j in range(0, len(right), READ_TILE[1]):
        part = np.ascontiguousarray(right[j : j + READ_TILE[1]].T)
        for i in range(0, len(some), READ_TILE[0]):
            tile = slice(i, i + READ_TILE[0])
            K = weights_from_factors(left[tile], part)
            _clear(K, first[tile] - j, last[tile] - j)
            out[tile] += K @ values[j : j + READ_TILE[1]]
    return out.T


def _own(group: NDArray | None, some: NDArray | slice) -> tuple[Any, NDArray[np.intp], NDArray[np.intp]]:
    """Order all rows by group, and tell where in that order the group of each of some rows starts and ends."""
    if group is None:
        return slice(None), some, some + 1
    order = np.argsort(group, kind="stable")
    sides = (np.searchsorted(group[order], group[some], side) for side in ("left", "right"))
    return order, *sides


def _clear(K: Array, first: NDArray[np.intp], last: NDArray[np.intp]) -> None:
    """Set the entries from first to last of each row of K to 0, as far as K has them."""
    first, last = np.clip(first, 0, K.shape[1]), np.clip(last, 0, K.shape[1])
    there = np.flatnonzero(first < last)
    if (last - first <= 1).all():
        K[there, first[there]] = 0
        return
    for row in there:
        K[row, first[row] : last[row]] = 0


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
    rate = expit(rows.offset)
    residual, variance = rows.weight * (rows.correct - rate), rows.weight * rate * (1 - rate)
    moments = np.stack([residual, variance])
    places = directions @ x.T
    # outliers would stretch the grid; they count in its outermost cells
    low, high = np.quantile(places, [0.001, 0.999], axis=1)
    # cells of one width for all directions, so that kernels are transformed once
    width = max((high - low).max(), 1e-9) / (AUTO.direction_cells - 1)
    # the added half makes truncation round to the nearest cell
    cells = np.clip((places - low[:, None]) / width + 0.5, 0, AUTO.direction_cells - 1).astype(int)
    kernels = _kernel_transforms(width)
    losses = np.stack([_binned_losses(rows, one, moments, kernels) for one in cells])
    best, bandwidth = np.unravel_index(losses.argmin(), losses.shape)
    return directions[best], 1 / AUTO.direction_bandwidths[bandwidth]


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


def _kernel_transforms(width: float) -> NDArray[np.complex128]:
    """Fourier transforms of the kernels of all bandwidths over cells of some width, (b, cells + 1)."""
    size = 2 * AUTO.direction_cells  # room for the kernels' tails: a circular convolution would wrap them round
    # distances round the circle that the transform takes the grid for
    lag = np.minimum(np.arange(size), size - np.arange(size)) * width
    return np.fft.rfft(np.exp(-np.minimum((lag / np.array(AUTO.direction_bandwidths)[:, None]) ** 2, 80)))


def _binned_losses(rows: PlacedRows, cell: NDArray[np.integer], moments: Array, kernels: Array) -> NDArray[np.float64]:
    """Leave-one-out loss of one Newton step of rows in cells, for each bandwidth; moments (2, n) are summed.

    Rows are binned on a grid, and the kernel sums over the grid are one convolution (FFT) for all bandwidths: O(n),
    where the exact sums would be O(n^2).
    """
    cells = AUTO.direction_cells
    own = moments
    if rows.groups is not None:
        # what a row's group has in its own cell: all of it where equal inputs are the group
        pair = np.unique(rows.groups.astype(np.int64) * cells + cell, return_inverse=True)[1]
        own = np.stack([np.bincount(pair, values)[pair] for values in moments])
    binned = np.fft.rfft([np.bincount(cell, values, cells) for values in moments], 2 * cells)
    smooth = np.fft.irfft(binned[:, None] * kernels, 2 * cells)[:, :, :cells]
    left = np.take(smooth, cell, axis=2) - own[:, None]
    # rounding of the transform can leave an empty neighbourhood slightly negative
    shift = left[0] / (np.maximum(left[1], 0) + AUTO.direction_ridge)
    # in single precision, which tells directions apart at a third of the time
    z = (rows.offset + shift).astype(np.float32)
    losses = np.maximum(z, 0) + np.log(1 + np.exp(-np.abs(z))) - rows.correct.astype(np.float32) * z
    return losses @ (rows.weight / rows.weight.sum())


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
    size_of_batch, size_of_bank = min(AUTO.batch, n), min(AUTO.bank_rows, n)
    # a step changes every start by the same share of its own size
    size = float(np.sqrt((start.axes**2).sum(0).max()))
    axes = start.axes / size
    # learned as a logarithm, so that it stays positive; dropped at the end, since the caller tunes it on the whole bank
    log_ridge = np.array(math.log(start.ridge))
    adam = _Adam([axes, log_ridge])
    for step in range(steps):
        batch = rows.batch(rng.choice(n, size_of_batch, replace=False))
        _, in_axes, in_ridge = batch.loss(axes * size, float(log_ridge), size_of_bank / size_of_batch)
        adam.descend([in_axes * size, np.array(in_ridge)], AUTO.rate * (1 + math.cos(math.pi * step / steps)) / 2)
    return axes * size


LOCAL = "local shift"

# stream of the geometry that is fitted on all rows; folds use 0, 1, ...
_FINAL = 99


@dataclass(frozen=True)
class LocalMember(Member):
    """The kernel readout over the offset. The geometry itself is kept by the model, in the stack or not.

    Attributes
    ----------
    from_raw : bool
        Whether it starts from the log-odds of the confidence itself, not from those of the global map.
    """

    from_raw: bool = False

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,), read at ``at.readout``; positive raises the confidence."""
        return at.readout.shift + (at.raw - at.offset if self.from_raw else 0)


def crossfit_local(rows: LearningRows, place: Array, parts: Array) -> tuple[CrossFitted | None, LocalShift]:
    """Cross-fit the local shift beside the other parts of the stack, and learn its geometry from all rows.

    The first fold chooses where it starts; with many columns it also leaves the local shift out of the stack where that
    adds nothing to the other parts.

    Takes place (n, p): inputs of the geometry; parts (n, k): out-of-fold shifts of the other parts. Returns None
    beside the geometry where the local shift stays out of the stack.
    """
    # judged on one fold alone, because every trial is a whole fit
    first = rows.folds == 0
    # it may start from the global map, and of few columns from the raw confidence, where that differs
    starts = [False, True] if rows.few_columns and not np.array_equal(rows.at.raw, rows.at.offset) else [False]
    trials = {raw: _held_out(rows, place, 0, raw) for raw in starts}
    losses = {
        raw: negative_log_likelihood(rows.correct[first], rows.at.offset[first] + trial)
        for raw, trial in trials.items()
    }
    from_raw = min(trials, key=lambda raw: np.average(losses[raw], weights=rows.weight_of(first)))
    geometry = _fit(rows, place, from_raw, np.full(len(rows), True), _FINAL, AUTO.final_steps)
    if not (rows.few_columns or worth_adding(rows, parts, first, trials[from_raw])):
        return None, geometry
    shift = np.zeros(len(rows))
    shift[first] = trials[from_raw]
    # the first fold's shift is its trial, which is at hand
    for k in np.unique(rows.folds)[1:]:
        shift[rows.folds == k] = _held_out(rows, place, int(k), from_raw)
    return CrossFitted(LocalMember(from_raw), shift, {"ridge": geometry.ridge}), geometry


def _fit(
    rows: LearningRows, place: Array, from_raw: bool, kept: NDArray[np.bool_], stream: int, steps: tuple[int, int]
) -> LocalShift:
    base, many = rows.at.start(from_raw), int(not rows.few_columns)
    placed = PlacedRows.of(place[kept], rows.correct[kept], base[kept], rows.weight_of(kept), rows.groups[kept])
    rng = np.random.default_rng((rows.seed, stream))
    return fit_local(placed, rng=rng, steps=steps[many], compared=AUTO.compared_rows[many])


def _held_out(rows: LearningRows, place: Array, k: int, from_raw: bool) -> NDArray[np.float64]:
    """Shift of the rows of fold k over the offset, learned from the other folds."""
    inside = rows.folds == k
    geometry = _fit(rows, place, from_raw, ~inside, k, AUTO.fold_steps)
    start = rows.at.start(from_raw)[inside] - rows.at.offset[inside]
    return start + geometry.read(place[inside], errors=False).shift


def worth_adding(rows: LearningRows, parts: Array, first: NDArray[np.bool_], trial: Array) -> bool:
    """Whether a fifth of a trial on the first fold improves the other parts' stack there by a standard error."""
    offset, y, share = rows.at.offset, rows.correct, AUTO.trial_share
    others = parts[first] @ stack_weights(parts[~first], y[~first], offset[~first], rows.weight_of(~first))
    base = offset[first]
    joined = base + (1 - share) * others + share * trial
    gain, error = gain_in_log_loss(y[first], base + others, joined, rows.weight_of(first))
    return gain >= error
