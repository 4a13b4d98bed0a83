"""The local logit shift: a learned linear geometry and a kernel readout in it.

At a query the readout finds the shift D that makes its neighbours calibrated in log-odds,

    sum_i K(z, z_i) (y_i - sigmoid(o_i + D)) = ridge * D,        K(z, z') = exp(-|z - z'|^2),

so it stays in range by itself and one D serves inputs of every confidence. The geometry z = x A is learned by the
leave-one-out likelihood of y under sigmoid(o + D): without a self-term, isolating points gains nothing. Rows of one
group (equal inputs, say) are left out together, or a copy would stand in for the row itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch.optim.adam import adam

from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.kernel import exponent_factors, weights_from_factors

Array = NDArray[np.floating]

BANK_ROWS = 20_000
_DIMENSIONS = 6
_BATCH = 1024
_RATE = 0.05
_GRID = 1024
_TILE = 512
_READ_TILE = 64  # three tables of it stay near the processor
_RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0)


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
def _read(z: NDArray[np.float32], local: LocalShift, steps: int = 3) -> LocalReadout:
    bank, o, y, w = (torch.from_numpy(a) for a in (local.bank, local.offset, local.outcome, local.weight))
    queries = torch.from_numpy(np.ascontiguousarray(z))
    target = torch.stack([torch.ones_like(y), y], 1)
    shift, mass, error = [], [], []
    for i in range(0, len(queries), _READ_TILE):
        K = _weights(queries[i : i + _READ_TILE], bank).mul_(w)
        total, right = (K @ target).T
        D = torch.zeros(len(K))
        p, v = torch.empty_like(K), torch.empty_like(K)
        for _ in range(steps):
            torch.add(o, D[:, None], out=p).sigmoid_()
            torch.addcmul(p, p, p, value=-1.0, out=v)
            curvature = _row_dots(K, v) + local.ridge
            D = D + ((right - _row_dots(K, p) - local.ridge * D) / curvature).clamp_(-2, 2)
        shift.append(D)
        mass.append(total)
        # K holds w once; the variance of w copies of a row does too
        error.append(_row_dots(K.square_().div_(w), v).sqrt_() / curvature)
    return LocalReadout(*(torch.cat(a).numpy().astype(np.float64) for a in (shift, mass, error)))


def _row_dots(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vecdot(a, b)


def fit_local(
    x: Array,
    y: Array,
    offset: Array,
    *,
    rng: np.random.Generator,
    weight: Array | None = None,
    groups: NDArray[np.integer] | None = None,
    steps: int = 60,
    loo_rows: int = 10_000,
) -> LocalShift:
    """Learn a geometry and keep a bank.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Inputs with columns of comparable scale, p small (up to about 20).
    y : ndarray of shape (n,), 0 or 1
    offset : ndarray of shape (n,)
        Log-odds that the shift is added to.
    rng : numpy.random.Generator
    weight : ndarray of shape (n,), optional
    groups : ndarray of shape (n,), int, optional
        Rows with the same number are left out together; by default every row alone.
    steps : int, default 60
        Adam steps from the best start.
    loo_rows : int, default 10,000
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
    >>> local = fit_local(x, y, np.zeros(600), rng=rng, steps=30)
    >>> d = local.read(np.array([[-1.0, 0.0], [1.0, 0.0]])).shift
    >>> bool(d[0] < -0.5) and bool(d[1] > 0.5)
    True
    """
    x = np.asarray(x, np.float32)
    w = np.ones(len(y)) if weight is None else weight
    together = None if groups is None or len(np.unique(groups)) == len(groups) else groups
    rows = np.sort(rng.choice(len(x), min(BANK_ROWS, len(x)), replace=False))

    # one sample for all, or its noise would choose
    some = rng.choice(len(rows), min(loo_rows, len(rows)), replace=False)

    def tuned(axes):
        return _tune_ridge(_bank(x, y, offset, w, rows, axes, _RIDGES[0]), some, _of(together, rows))

    best = min((tuned(start) for start in _starts(x, y, offset, w, together, rng)), key=lambda pair: pair[0])
    # steps on random batches can lose what the search over all rows found: the better of the two stays
    trained = tuned(_train(x, y, offset, w, together, best[1].axes, best[1].ridge, rng, steps))
    return min(best, trained, key=lambda pair: pair[0])[1]


def _bank(x, y, offset, w, rows, axes, ridge) -> LocalShift:
    o, outcome, weight = (np.asarray(a[rows], np.float32) for a in (offset, y, w))
    return LocalShift(axes, ridge, x[rows] @ axes, o, outcome, weight, rows.astype(np.int64))


def _of(groups: NDArray[np.integer] | None, rows: NDArray[np.integer]) -> torch.Tensor | None:
    """Group numbers of some rows, (k,); None where every row is alone."""
    return None if groups is None else torch.from_numpy(groups[rows])


def _tune_ridge(local: LocalShift, some: NDArray[np.integer], group: torch.Tensor | None) -> tuple[float, LocalShift]:
    """Choose the ridge by the leave-one-out log loss of bank rows `some`; return that loss and the shift."""
    residual, curvature = _one_step(local, some, group)
    losses = [
        np.average(
            negative_log_likelihood(local.outcome[some], local.offset[some] + residual / (curvature + ridge)),
            weights=local.weight[some],
        )
        for ridge in _RIDGES
    ]
    best = int(np.argmin(losses))
    return float(losses[best]), replace(local, ridge=_RIDGES[best])


@torch.no_grad()
def _one_step(
    local: LocalShift, some: NDArray, group: torch.Tensor | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gradient and curvature of the shift at D = 0 for bank rows `some`, each row and its group left out."""
    bank, o, y, w = (torch.from_numpy(a) for a in (local.bank, local.offset, local.outcome, local.weight))
    p = torch.sigmoid(o)
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


def _starts(x, y, offset, w, groups, rng) -> list[NDArray[np.float32]]:
    """Propose the best single direction, and the whole space at a middling bandwidth; (p, k) each."""
    p = x.shape[1]
    k = min(p, _DIMENSIONS)
    sd = np.maximum(x.std(0), 1e-6)
    whole = np.zeros((p, k), np.float32)
    # leading columns first: callers order columns by importance
    whole[np.arange(k), np.arange(k)] = 1.5 / sd[:k] / np.sqrt(np.minimum(k, 1 + np.arange(k)))
    direction, scale = _best_direction(x / sd, y, offset, w, groups, rng)
    single = np.zeros((p, k), np.float32)
    single[:, 0] = direction * scale / sd
    # the other axes start small, so that the gradient can still find them
    for j in range(1, k):
        single[(np.abs(direction).argmax() + j) % p, j] = 0.1 / sd[(np.abs(direction).argmax() + j) % p]
    return [single, whole]


def _best_direction(x, y, offset, w, groups, rng) -> tuple[NDArray[np.float64], float]:
    """Direction and scale with the best leave-one-out likelihood along one axis (binned, O(n) each)."""
    p = x.shape[1]
    if p == 1:
        directions = np.ones((1, 1))
    elif p == 2:
        angle = np.linspace(0, np.pi, 60, endpoint=False)
        directions = np.stack([np.cos(angle), np.sin(angle)], 1)
    else:
        extra = rng.normal(size=(32, p))
        directions = np.concatenate([np.eye(p), extra / np.linalg.norm(extra, axis=1, keepdims=True)])
    best = (np.inf, directions[0], 1.0)
    variance = w * expit(offset) * (1 - expit(offset))
    residual = w * (y - expit(offset))
    for direction in directions:
        t = x @ direction
        for loss, scale in _binned_losses(t, y, offset, residual, variance, w, groups):
            if loss < best[0]:
                best = (loss, direction, scale)
    return best[1], best[2]


def _binned_losses(t, y, offset, residual, variance, w, groups):
    low, high = np.quantile(t, [0.001, 0.999])
    width = max(high - low, 1e-9) / (_GRID - 1)
    cell = np.clip((t - low) / width + 0.5, 0, _GRID - 1).astype(int)
    size = 2 * _GRID
    moments = np.fft.rfft([np.bincount(cell, residual, _GRID), np.bincount(cell, variance, _GRID)], size, axis=1)
    own = residual, variance
    if groups is not None:
        # what a row's group has in its own cell: all of it where equal inputs are the group
        pair = np.unique(groups.astype(np.int64) * _GRID + cell, return_inverse=True)[1]
        own = tuple(np.bincount(pair, values)[pair] for values in own)
    lag = np.minimum(np.arange(size), size - np.arange(size)) * width
    for bandwidth in (0.04, 0.08, 0.16, 0.32, 0.64):
        kernel = np.exp(-np.minimum((lag / bandwidth) ** 2, 80))
        smooth = np.fft.irfft(moments * np.fft.rfft(kernel), size, axis=1)[:, :_GRID]
        D = (smooth[0][cell] - own[0]) / (np.maximum(smooth[1][cell] - own[1], 0) + 5.0)
        yield float(np.average(negative_log_likelihood(y, offset + D), weights=w)), 1 / bandwidth


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
        rows, columns = torch.cat([grad_output, values], 1), torch.cat([values, grad_output], 1)
        P = (rows @ columns.T).mul_(K)
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


def _train(x, y, offset, w, groups, start, ridge, rng, steps) -> NDArray[np.float32]:
    """Adam on random batches; the kernel sums are scaled up to the size of the bank."""
    n = len(x)
    inputs, outcome, base, mass = (torch.from_numpy(np.asarray(a, np.float32)) for a in (x, y, offset, w))
    batch = min(_BATCH, n)
    # a step changes every start by the same share of its own size
    size = float(np.sqrt((start**2).sum(0).max()))
    axes = torch.from_numpy(start / size).requires_grad_()
    log_ridge = torch.tensor(np.log(ridge), dtype=torch.float32, requires_grad=True)
    descend = _Adam([axes, log_ridge])
    grow = min(n, BANK_ROWS) / batch
    for step in range(steps):
        drawn = rng.choice(n, batch, replace=False)
        rows, group = torch.from_numpy(drawn), _of(groups, drawn)
        z = inputs[rows] @ axes * size
        p, heavy = torch.sigmoid(base[rows]), mass[rows] * grow
        values = torch.stack([heavy * (outcome[rows] - p), heavy * p * (1 - p)], 1)
        residual, curvature = _Sums.apply(z, values, group).T
        D = residual / (curvature + log_ridge.exp())
        losses = torch.nn.functional.binary_cross_entropy_with_logits(base[rows] + D, outcome[rows], reduction="none")
        loss = (losses * mass[rows]).mean()
        descend(loss, _RATE * (1 + math.cos(math.pi * step / steps)) / 2)
    return (axes.detach() * size).numpy()
