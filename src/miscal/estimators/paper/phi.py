"""The paper's representation phi: network, loss, and training that can be paused.

phi is a network with two hidden layers and a unit-length output; its loss (arXiv 2605.13484, equation 5) rewards
batches in which the kernel average of the residuals r = y - f is far from zero and punishes rows with fewer than
``M_MIN`` neighbours:

    -mean_i delta_i^2 + lambda mean_i max(0, M_MIN - m_i)^2,   delta and mass m within the batch, self included

The gradient is written out: as K is symmetric, one product and one pass over K replace the several that automatic
differentiation would store and walk. Inputs are taken as they are; the paper does not standardise them either.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from miscal.base.errors import InputError, argument
from miscal.base.folders import State
from miscal.base.process import without_warning
from miscal.estimators.kernel import DOUBLE_BEYOND, EXPONENT_FLOOR, exponent_factors, smooth, weights_from_factors
from miscal.estimators.registry import check_device

_QUERY_ROWS = 4096
"""Rows averaged at a time: with a bank of 20,000 rows their kernel weights are 330 MB."""


def device_of(name: str) -> torch.device:
    """Turn the name of a device into the device.

    Takes name: "auto" is the GPU where there is one, else the CPU.

    Examples
    --------
    >>> device_of("cpu")
    device(type='cpu')
    """
    check_device(name)
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise InputError(
            'device "cuda" asks for a GPU, but torch finds none here: install a build of torch for CUDA and its driver '
            "on a machine with a GPU, or give " + argument("device", "cpu")
        )
    return torch.device("cuda" if there and name != "cpu" else "cpu")


def by_numpy(device: torch.device) -> bool:
    """Whether the kernel is computed by :mod:`miscal.estimators.kernel`, which is faster on a CPU than torch."""
    return device.type == "cpu"


def kernel_weights(query: Tensor, bank: Tensor, sigma: float, floor: float = EXPONENT_FLOOR) -> Tensor:
    """Return exp(-||query - bank||^2 / sigma^2), the exponent held in [floor, 0].

    Takes query (q, k); bank (n, k); sigma: bandwidth, positive. Returns: Tensor of shape (q, n): As
    :func:`miscal.estimators.kernel.weights_from_factors` gives them, up to rounding.

    Examples
    --------
    >>> kernel_weights(torch.tensor([[0.0]]), torch.tensor([[0.5]]), sigma=0.5)
    tensor([[0.3679]])
    """
    squared = torch.addmm(bank.square().sum(1)[None], query, bank.T, alpha=-2.0)
    squared += query.square().sum(1)[:, None]
    # below 0 only by rounding, where two rows are almost equal
    return squared.mul_(-1.0 / sigma**2).clamp_(floor, 0.0).exp_()


def average(query: Tensor, bank: Tensor, values: Tensor, weight: Tensor, sigma: float) -> tuple[Tensor, Tensor]:
    """Average the bank's values around every query row, as :func:`miscal.estimators.kernel.smooth` does.

    Takes query (q, k); bank (n, k); values, weight (n,); sigma: bandwidth, positive. Returns average : Tensor of
    shape (q,), float32: On the device of the query, between the smallest and the largest of the values; mass : Tensor
    of shape (q,), float32: Sum of kernel weights.

    Examples
    --------
    >>> bank, one = torch.tensor([[0.0], [1.0], [9.0]]), torch.ones(3)
    >>> average(torch.tensor([[0.5]]), bank, torch.tensor([1.0, 0.0, 5.0]), one, sigma=0.5)
    (tensor([0.5000]), tensor([0.7358]))
    """
    centre = bank.mean(0)
    q, b = query - centre, bank - centre
    if b.square().sum(1).max() > DOUBLE_BEYOND * sigma**2:
        q, b = q.double(), b.double()
    # of mean 1: times the smallest kernel weight, much smaller ones would leave the range of float32
    share = (weight / weight.mean()).to(b.dtype)
    columns = torch.stack([share * values.to(b.dtype), share], 1)
    sums = torch.cat([kernel_weights(part, b, sigma) @ columns for part in q.split(_QUERY_ROWS)])
    found = (sums[:, 0] / sums[:, 1]).float().clamp(values.min(), values.max())
    return found, (sums[:, 1] * weight.mean()).float()


M_MIN = 20.0
"""Smallest neighbourhood mass within a batch that goes unpunished."""

DROPOUT = 0.1
LEARNING_RATE = 3e-5
WEIGHT_DECAY = 7e-6
BATCH = 1024
CLIP = 1.0
MAX_EPOCHS = 100
PATIENCE = 20

_WIDE = 16
_LOSS_EXPONENT_FLOOR = -40.0
"""Beside a row's own weight of 1, 4e-18 is nothing; smaller ones make products too small for normal float32."""

_EMBED_ROWS = 4096
# purposes of random streams: starting weights, order of the rows, dropout
_INIT, _ORDER, _MASK = 0, 1, 2


def layer_sizes(n_features: int) -> tuple[int, int, int]:
    """Widths (input, hidden, output) of phi: 256 and 64 for up to 16 features, else 512 and 128.

    Examples
    --------
    >>> layer_sizes(2), layer_sizes(4096)
    ((2, 256, 64), (4096, 512, 128))
    """
    return (n_features, 256, 64) if n_features <= _WIDE else (n_features, 512, 128)


class Representation(nn.Module):
    """phi: R^d -> the unit sphere of R^k, two hidden GELU layers with dropout between them.

    Parameters
    ----------
    sizes : (int, int, int)
        Widths of input, hidden layers and output.
    seed : int, optional
        Draws the starting weights, uniform in +-1/sqrt(fan in). Without it they are left unset, to be loaded.

    Examples
    --------
    >>> phi = Representation((2, 8, 4), seed=0)
    >>> phi(torch.zeros(3, 2)).norm(dim=1).round(decimals=5).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, sizes: tuple[int, int, int], seed: int | None = None) -> None:
        super().__init__()
        self.sizes = sizes
        d, hidden, out = sizes
        # weights are drawn by `_draw` or loaded: torch's own draw would be wasted
        self.first = nn.utils.skip_init(nn.Linear, d, hidden)
        self.second = nn.utils.skip_init(nn.Linear, hidden, hidden)
        self.last = nn.utils.skip_init(nn.Linear, hidden, out)
        if seed is not None:
            self._draw(stream(seed, _INIT))

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """Map float32 rows (n, d) to unit rows (n, k); `keep` is the dropout mask (n, hidden) while training."""
        hidden = nn.functional.gelu(self.first(x))
        if keep is not None:
            hidden = hidden * keep
        return nn.functional.normalize(self.last(nn.functional.gelu(self.second(hidden))), dim=1)

    @torch.no_grad()
    def embed(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Map the given rows (all by default) without dropout, a few thousand at a time, to the device of phi."""
        device = self.first.weight.device
        parts = X.split(_EMBED_ROWS) if rows is None else (X[part] for part in rows.split(_EMBED_ROWS))
        return torch.cat([self(part.to(device)) for part in parts])

    def on(self, device: str | torch.device) -> Representation:
        """Return phi on a device: itself where it is there already, else a copy."""
        here = self.first.weight.device.type == torch.device(device).type
        return self if here else copy.deepcopy(self).to(device)

    def state(self) -> State:
        """Return widths and weights."""
        return {"sizes": list(self.sizes)}, {name: value.numpy() for name, value in self.state_dict().items()}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Representation:
        """Rebuild phi from its state."""
        phi = cls(tuple(content["sizes"]))
        phi.load_state_dict({name: torch.tensor(value) for name, value in arrays.items()}, strict=True)
        return phi

    @torch.no_grad()
    def _draw(self, rng: np.random.Generator) -> None:
        for layer in (self.first, self.second, self.last):
            # the bound that torch's default for linear layers comes to
            bound = layer.in_features**-0.5
            for parameter in (layer.weight, layer.bias):
                parameter.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(parameter.shape))))


class DiscoveryLoss(torch.autograd.Function):
    """Loss of a batch with its written-out gradient with respect to z, and the largest shortfall of mass.

    With S = K c, m = K w, c = w r, W = sum w:  a = dL/dS, b = dL/dm,
    P_ij = K_ij (a_i c_j + c_i a_j + b_i w_j + w_i b_j)  and  dL/dz = -2/sigma^2 (P1 * z - P z).
    """

    @staticmethod
    def forward(
        ctx, z: Tensor, residual: Tensor, weight: Tensor, sigma: float, penalty: float, m_min: float
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of places z, (n, k), and the largest shortfall of mass."""
        K = _own_weights(z.detach(), sigma)
        c, total = weight * residual, weight.sum()
        # K is symmetric, so products from the left are those from the right
        S, mass = torch.stack([c, weight]) @ K
        delta, short = S / mass, (m_min - mass).clamp_(min=0.0)
        share = weight / total
        # derivatives of sum share (penalty short^2 - (S / m)^2) by S and by m
        a = share * delta * (-2.0 / mass)
        b = share * (2.0 * delta.square() / mass - 2.0 * penalty * short)
        ctx.save_for_backward(z, K, torch.stack([a, c, b, weight], 1), torch.stack([c, a, weight, b], 1))
        ctx.sigma = sigma
        most_short = short.max()
        ctx.mark_non_differentiable(most_short)
        return (share * (penalty * short.square() - delta.square())).sum(), most_short

    @staticmethod
    def backward(ctx, grad_output: Tensor, _: Tensor):
        """Return the gradient with respect to z."""
        z, K, rows, columns = ctx.saved_tensors
        # the four columns of each factor give the four terms of P at once
        P = (rows @ columns.T).mul_(K)
        # the column of ones gives the row sums P1
        product = P @ torch.cat([z, z.new_ones((len(z), 1))], 1)
        gradient = product[:, -1:] * z - product[:, :-1]
        return grad_output * gradient.mul_(-2.0 / ctx.sigma**2), None, None, None, None, None


def _own_weights(z: Tensor, sigma: float) -> Tensor:
    """Kernel weights (n, n) of every two rows of a batch."""
    if not by_numpy(z.device):
        return kernel_weights(z, z, sigma, _LOSS_EXPONENT_FLOOR)
    coordinates = z.numpy()
    left, right = exponent_factors(coordinates, coordinates, sigma)
    return torch.from_numpy(weights_from_factors(left, right.T, floor=_LOSS_EXPONENT_FLOOR))


@dataclass(frozen=True)
class TrainingData:
    """Rows to train on, rows to choose by, and the training rows that form the bank.

    ``X`` (n, d) and ``X_val`` (v, d) float32; residuals r = y - f and weights float32, one per row; ``bank`` int64
    indices into the training rows. Numpy, so that worker processes can share them.
    """

    X: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    X_val: np.ndarray
    residual_val: np.ndarray
    weight_val: np.ndarray
    bank: np.ndarray

    def tensors(self, device: torch.device) -> tuple[Tensor, ...]:
        """X, residual, weight, X_val and bank as tensors: on the same memory for the CPU, else copied."""
        arrays = (self.X, self.residual, self.weight, self.X_val, self.bank)
        return tuple(_share(array).to(device) for array in arrays)


class Training:
    """Training of phi for one (sigma, lambda): advance it some epochs, look, and advance it again.

    Starting weights, batches and dropout come from `seed` and the epoch's number alone, by generators of numpy, so
    every setting of a grid sees the same ones on every device, and pausing changes nothing.

    Attributes
    ----------
    proxies : list of float
        Validation Brier score of f + delta_hat, unclipped, after each epoch.
    penalised : bool
        Whether a row has lacked mass so far: until then lambda has had no influence.
    best_epoch : int
        Epoch with the smallest proxy, from 1; its weights are in `best_weights`.
    best_errors : array of shape (v,)
        Squared errors (r - delta_hat)^2 of the validation rows at that epoch.
    losses : list of float
        Where they are watched: the loss of the validation rows around the bank after each epoch.
    lowest_epoch : int
        Epoch with the smallest such loss, from 1; its weights are in `lowest_weights`.
    """

    def __init__(
        self,
        sizes: tuple[int, int, int],
        sigma: float,
        penalty: float,
        *,
        seed: int,
        max_epochs: int = MAX_EPOCHS,
        patience: int = PATIENCE,
        device: str = "cpu",
        watch_loss: bool = False,
    ) -> None:
        self.device = torch.device(device)
        self.sizes, self.sigma, self.penalty, self.seed = sizes, sigma, penalty, seed
        self.max_epochs, self.patience = max_epochs, patience
        self.phi: Representation | None = Representation(sizes, seed).to(self.device)
        self.optimizer: torch.optim.Adam | None = torch.optim.Adam(
            self.phi.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True
        )
        self.penalised = False
        self.proxies: list[float] = []
        self.best_epoch = 0
        self.best_errors = np.zeros(0)
        self.best_weights: dict[str, Tensor] = {}
        self.watch_loss = watch_loss
        self.losses: list[float] = []
        self.lowest_epoch = 0
        self.lowest_weights: dict[str, Tensor] = {}

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self.proxies)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done or the proxy has not improved for `patience` epochs."""
        return self.epoch >= self.max_epochs or self.epoch - self.best_epoch >= self.patience

    @property
    def best_proxy(self) -> float:
        """The smallest proxy so far."""
        return self.proxies[self.best_epoch - 1]

    def advance(self, data: TrainingData, until: int) -> Training:
        """Train up to epoch `until`, or until finished."""
        X, residual, weight, X_val, bank = data.tensors(self.device)
        while not self.finished and self.epoch < until:
            self._train_epoch(X, residual, weight)
            # the whole bank again after every epoch, since phi has moved
            around = self.phi.embed(X, bank)
            delta, mass = self._smooth(data, self.phi.embed(X_val), around)
            self._record(np.square(data.residual_val - delta, dtype=np.float64), data.weight_val)
            if self.watch_loss:
                self._record_loss(delta, mass, data.weight_val)
        return self

    def with_penalty(self, penalty: float) -> Training:
        """Return a copy for another lambda: the same training, as long as nothing was penalised."""
        # one copy of all, so that the optimizer's copy holds the copied parameters
        twin = copy.deepcopy(self)
        twin.penalty = penalty
        return twin

    def release(self) -> None:
        """Let go of what only further training needs."""
        self.phi, self.optimizer = None, None

    def best(self) -> Representation:
        """Return phi with the weights of the best epoch."""
        return self._with(self.best_weights)

    def lowest(self) -> Representation:
        """Return phi with the weights of the epoch with the lowest validation loss, where it was watched."""
        return self._with(self.lowest_weights)

    def _with(self, weights: dict[str, Tensor]) -> Representation:
        phi = Representation(self.sizes)
        phi.load_state_dict(weights)
        return phi

    def estimate(self, data: TrainingData, X: np.ndarray, phi: Representation | None = None) -> np.ndarray:
        """Return delta_hat at float32 rows X (q, d), from the bank, float32 (q,); by default that of the best epoch."""
        phi = (self.best() if phi is None else phi).on(self.device)
        return self._smooth(data, phi.embed(_share(X)), phi.embed(_share(data.X), _share(data.bank)))[0]

    def _smooth(self, data: TrainingData, z: Tensor, around: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Average the bank's residuals around represented rows z, whose bank is `around`; the mass too."""
        residual, weight = data.residual[data.bank], data.weight[data.bank]
        if by_numpy(z.device):
            return smooth(z.numpy(), around.numpy(), residual, self.sigma, weight=weight)
        values, shares = (torch.from_numpy(part).to(z.device) for part in (residual, weight))
        found = average(z, around, values, shares, self.sigma)
        return found[0].cpu().numpy(), found[1].cpu().numpy()

    def _train_epoch(self, X: Tensor, residual: Tensor, weight: Tensor) -> None:
        masks = stream(self.seed, _MASK, self.epoch)
        for rows in batches(len(X), stream(self.seed, _ORDER, self.epoch)):
            keep = _dropout_mask(masks, len(rows), self.phi.first.out_features).to(self.device)
            rows = rows.to(self.device)
            z = self.phi(X[rows], keep)
            loss, short = DiscoveryLoss.apply(z, residual[rows], weight[rows], self.sigma, self.penalty, M_MIN)
            self.penalised |= bool(short > 0)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.phi.parameters(), CLIP)
            self.optimizer.step()

    def _record(self, errors: np.ndarray, weight: np.ndarray) -> None:
        self.proxies.append(float(np.average(errors, weights=weight)))
        if self.best_epoch == 0 or self.proxies[-1] < self.best_proxy:
            self.best_epoch, self.best_errors = self.epoch, errors
            self.best_weights = self._weights()

    def _record_loss(self, delta: np.ndarray, mass: np.ndarray, weight: np.ndarray) -> None:
        short = np.maximum(0.0, M_MIN - mass.astype(np.float64))
        # from here on lambda decides which epoch is the lowest, so that no other setting may share this training
        self.penalised |= bool((short > 0).any())
        loss = self.penalty * np.square(short) - np.square(delta, dtype=np.float64)
        self.losses.append(float(np.average(loss, weights=weight)))
        if self.lowest_epoch == 0 or self.losses[-1] < self.losses[self.lowest_epoch - 1]:
            self.lowest_epoch, self.lowest_weights = self.epoch, self._weights()

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.cpu().clone() for name, value in self.phi.state_dict().items()}


def batches(n: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """Yield the rows of an epoch in shuffled batches of 1,024.

    A last batch of fewer than ``M_MIN`` rows, where the target mass is out of reach, is left out.

    Examples
    --------
    >>> [len(rows) for rows in batches(2060, np.random.default_rng(0))]
    [1024, 1024]
    >>> [len(rows) for rows in batches(12, np.random.default_rng(0))]
    [12]
    """
    order = torch.from_numpy(rng.permutation(n))
    return (rows for rows in order.split(BATCH) if len(rows) >= min(n, M_MIN))


def _dropout_mask(rng: np.random.Generator, n: int, width: int) -> Tensor:
    """1 / (1 - p) or 0 with probability p (to 16 bits), a third of the cost of torch's own."""
    kept = rng.integers(0, 2**16, (n, width), dtype=np.uint16) >= round(DROPOUT * 2**16)
    return torch.from_numpy(np.multiply(kept, np.float32(1 / (1 - DROPOUT)), dtype=np.float32))


def stream(seed: int, purpose: int, epoch: int = 0) -> np.random.Generator:
    """Random numbers of one purpose in one epoch, apart from all others of the seed."""
    return np.random.Generator(np.random.SFC64([seed, purpose, epoch]))


def _share(array: np.ndarray) -> Tensor:
    """Wrap an array, which workers hold read-only; nothing here writes to it."""
    with without_warning(UserWarning, "The given NumPy array is not writable"):
        return torch.from_numpy(array)
