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
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch.optim.adam import adam

from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.kernel import exponent_factors, weights_from_factors

Array = NDArray[np.floating]

_TILE = 512
_READ_TILE = 64  # three tables of it stay near the processor


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
        z = torch.from_numpy(self.coordinates(x))
        bank = torch.from_numpy(self.bank)
        k = min(k, len(bank))
        rows, weights = [], []
        for i in range(0, len(z), _TILE):
            value, index = _weights(z[i : i + _TILE], bank).topk(k, dim=1)
            rows.append(self.rows[index.numpy()])
            weights.append(value.numpy().astype(np.float64))
        return np.concatenate(rows), np.concatenate(weights)


def _weights(z: torch.Tensor, bank: torch.Tensor) -> torch.Tensor:
    """Kernel weights (q, m) in one buffer: the norms ride along in the product."""
    left, right = exponent_factors(z, bank, 1.0)
    return weights_from_factors(left, right.T)


@torch.no_grad()
def _read(z: NDArray[np.float32], local: LocalShift, steps: int = AUTO.newton_steps) -> LocalReadout:
    bank, o, y, w = (torch.from_numpy(a) for a in (local.bank, local.offset, local.outcome, local.weight))
    queries = torch.from_numpy(np.ascontiguousarray(z))
    # one product gives both the mass and the weighted number of successes
    target = torch.stack([torch.ones_like(y), y], 1)
    shift, mass, error = [], [], []
    for i in range(0, len(queries), _READ_TILE):
        K = _weights(queries[i : i + _READ_TILE], bank).mul_(w)
        total, right = (K @ target).T
        D = torch.zeros(len(K))
        # buffers that every step writes into
        p, v = torch.empty_like(K), torch.empty_like(K)
        for _ in range(steps):
            torch.add(o, D[:, None], out=p).sigmoid_()
            # v = p - p^2, in one pass
            torch.addcmul(p, p, p, value=-1.0, out=v)
            curvature = _row_dots(K, v) + local.ridge
            step = (right - _row_dots(K, p) - local.ridge * D) / curvature
            D = D + step.clamp_(-AUTO.newton_limit, AUTO.newton_limit)
        shift.append(D)
        mass.append(total)
        # K holds w once; the variance of w copies of a row does too
        # sandwich: the standard deviation of sum K (y - p), over the curvature
        error.append(_row_dots(K.square_().div_(w), v).sqrt_() / curvature)
    return LocalReadout(*(torch.cat(a).numpy().astype(np.float64) for a in (shift, mass, error)))


def _row_dots(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vecdot(a, b)


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

    def group_of(self, rows: NDArray[np.integer]) -> torch.Tensor | None:
        """Group numbers of some rows, (k,); None where every row is alone."""
        return None if self.groups is None else torch.from_numpy(self.groups[rows])

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


def _tune_ridge(local: LocalShift, some: NDArray[np.integer], group: torch.Tensor | None) -> tuple[float, LocalShift]:
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


@torch.no_grad()
def _one_step(
    local: LocalShift, some: NDArray, group: torch.Tensor | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gradient and curvature of the shift at D = 0 for bank rows `some`, each row and its group left out."""
    bank, o, y, w = (torch.from_numpy(a) for a in (local.bank, local.offset, local.outcome, local.weight))
    p = torch.sigmoid(o)
    # gradient and curvature of each row's log-likelihood, summed by one product below
    values = torch.stack([w * (y - p), w * p * (1 - p)], 1)
    own = torch.from_numpy(some)
    out = []
    for i in range(0, len(own), _TILE):
        part = own[i : i + _TILE]
        K = _weights(bank[part], bank)
        if group is None:
            K[torch.arange(len(part)), part] = 0
        else:
            K.masked_fill_(group[part, None] == group, 0)
        out.append(K @ values)
    return tuple(torch.cat(out).numpy().astype(np.float64).T)


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


class _Sums(torch.autograd.Function):
    """S = K v over rows z, no row of its own group in a row's sum, with the gradient in z written out.

    With G = dL/dS and P_ij = K_ij (G_i v_j + v_i G_j):  dL/dz = -2 (P1 * z - P z).
    """

    @staticmethod
    def forward(ctx, z: torch.Tensor, values: torch.Tensor, group: torch.Tensor | None = None) -> torch.Tensor:
        K = _weights(z, z)
        K = K.fill_diagonal_(0.0) if group is None else K.masked_fill_(group[:, None] == group, 0.0)
        ctx.save_for_backward(z, values, K)
        return K @ values

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor):
        z, values, K = ctx.saved_tensors
        # one product gives both terms of P, as (G, v) (v, G)'
        rows, columns = torch.cat([grad_output, values], 1), torch.cat([values, grad_output], 1)
        P = (rows @ columns.T).mul_(K)
        # the column of ones gives the row sums P1
        product = P @ torch.cat([z, z.new_ones((len(z), 1))], 1)
        return (product[:, -1:] * z - product[:, :-1]).mul_(-2.0), None, None


class _Adam:
    """torch's Adam without its class, whose first object of a process imports the compiler: two seconds."""

    def __init__(self, parameters: list[torch.Tensor]) -> None:
        self.parameters = parameters
        self.means, self.squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
        self.counts = [torch.tensor(0.0) for _ in parameters]

    def __call__(self, loss: torch.Tensor, rate: float) -> None:
        """Take a step down `loss`."""
        gradients = list(torch.autograd.grad(loss, self.parameters))
        with torch.no_grad():
            adam(
                self.parameters, gradients, self.means, self.squares, [], self.counts, foreach=False, amsgrad=False,
                beta1=0.9, beta2=0.999, lr=rate, weight_decay=0.0, eps=1e-8, maximize=False,
            )  # fmt: skip


def _train(rows: PlacedRows, start: LocalShift, rng: np.random.Generator, steps: int) -> NDArray[np.float32]:
    """Adam on random batches; the kernel sums are scaled up to the size of the bank."""
    n = len(rows.x)
    columns = (rows.x, rows.correct, rows.offset, rows.weight)
    inputs, outcome, base, mass = (torch.from_numpy(np.asarray(a, np.float32)) for a in columns)
    batch = min(AUTO.batch, n)
    # a step changes every start by the same share of its own size
    size = float(np.sqrt((start.axes**2).sum(0).max()))
    axes = torch.from_numpy(start.axes / size).requires_grad_()
    # learned as a logarithm, so that it stays positive; dropped at the end, since the caller tunes it on the whole bank
    log_ridge = torch.tensor(np.log(start.ridge), dtype=torch.float32, requires_grad=True)
    descend = _Adam([axes, log_ridge])
    # sums over a batch are scaled to sums over the bank, so that the ridge means the same in both
    grow = min(n, AUTO.bank_rows) / batch
    for step in range(steps):
        drawn = rng.choice(n, batch, replace=False)
        some, group = torch.from_numpy(drawn), rows.group_of(drawn)
        z = inputs[some] @ axes * size
        p, heavy = torch.sigmoid(base[some]), mass[some] * grow
        values = torch.stack([heavy * (outcome[some] - p), heavy * p * (1 - p)], 1)
        residual, curvature = _Sums.apply(z, values, group).T
        D = residual / (curvature + log_ridge.exp())
        losses = torch.nn.functional.binary_cross_entropy_with_logits(base[some] + D, outcome[some], reduction="none")
        descend((losses * mass[some]).mean(), AUTO.rate * (1 + math.cos(math.pi * step / steps)) / 2)
    return (axes.detach() * size).numpy()
