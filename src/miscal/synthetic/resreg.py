"""Residual regression, the paper's alternative: a network g(x) fitted to r = y - f by least squares.

Networks of one capacity that are fitted to many data sets are stacked and trained together: every layer is one
batched matrix product. Each has its own weights, batches, gradient norm and end, so that it comes out as if it were
alone. The paper names mean squared error and 300 epochs, and for its models Adam with weight decay 7e-6, batches of
1,024 and a gradient norm of at most 1, which are taken over; the learning rate, GELU and the choice of the epoch by
validation error are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from miscal.estimators.paper.phi import BATCH, CLIP, WEIGHT_DECAY

_INIT, _ORDER = 3, 4
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Problem:
    """Rows to fit and rows to choose the epoch by.

    ``X`` (n, d), ``X_val`` (v, d) and the residuals r = y - f (n,), (v,), positive where under-confident; float32.
    ``seed`` draws starting weights and batches.
    """

    X: np.ndarray
    residual: np.ndarray
    X_val: np.ndarray
    residual_val: np.ndarray
    seed: int


@dataclass(frozen=True)
class Network:
    """A fitted network: weights (in, out) and biases (1, out) by layer, of epoch `epoch` out of `n_epochs`."""

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    epoch: int
    n_epochs: int
    error: float

    @torch.no_grad()
    def predict(self, X: np.ndarray) -> np.ndarray:
        """Estimate the field at float32 rows (q, d): float32 (q,), negative where over-confident."""
        stacked = [w[None] for w in self.weights], [b[None] for b in self.biases]
        return _forward(*stacked, torch.from_numpy(np.ascontiguousarray(X))[None])[0].numpy()


def fit_networks(
    problems: Sequence[Problem],
    *,
    depth: int,
    width: int,
    max_epochs: int = 300,
    patience: int = 300,
    learning_rate: float = 1e-3,
) -> list[Network]:
    """Fit one network to each problem, all together.

    Parameters
    ----------
    problems : sequence of Problem
        Of equal shapes.
    depth, width : int
        Hidden layers and their width.
    max_epochs : int, default 300
    patience : int, default 300
        Epochs without a smaller validation error after which a network is done.
    learning_rate : float
        Adam's.

    Returns
    -------
    list of Network
        With the weights of the epoch of smallest validation error.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1)).astype("float32")
    >>> problem = Problem(X[:40], X[:40, 0], X[40:], X[40:, 0], seed=0)
    >>> one, two = fit_networks([problem, problem], depth=1, width=8, max_epochs=2)
    >>> bool(np.allclose(one.predict(X), two.predict(X))), one.n_epochs
    (True, 2)
    """
    stack = _Stack(problems, depth, width, learning_rate)
    while stack.active and stack.epoch < max_epochs:
        stack.train_epoch()
        stack.look()
        stack.drop(patience)
    return stack.networks()


class _Stack:
    """Networks in training: parameters (m, in, out) and (m, 1, out), m the networks that still run."""

    def __init__(self, problems: Sequence[Problem], depth: int, width: int, learning_rate: float) -> None:
        self.problems, self.learning_rate = problems, learning_rate
        self.active = list(range(len(problems)))
        self.epoch = 0
        self.best = [(float("inf"), 0) for _ in problems]
        self.kept: list[list[Tensor]] = [[] for _ in problems]
        self.ended = [0] * len(problems)
        self._gather()
        drawn = [_starting(p.seed, p.X.shape[1], depth, width) for p in problems]
        self._keep_parameters([torch.stack(layer) for layer in zip(*drawn, strict=True)], None)

    def _gather(self) -> None:
        chosen = [self.problems[i] for i in self.active]
        names = ("X", "residual", "X_val", "residual_val")
        self.X, self.r, self.X_val, self.r_val = (
            torch.from_numpy(np.stack([getattr(p, name) for p in chosen])) for name in names
        )

    def _keep_parameters(self, values: list[Tensor], state: list[dict] | None) -> None:
        self.parameters = [value.requires_grad_() for value in values]
        self.optimizer = torch.optim.Adam(self.parameters, lr=self.learning_rate, weight_decay=WEIGHT_DECAY, fused=True)
        for parameter, moments in zip(self.parameters, state or (), strict=False):
            self.optimizer.state[parameter] = moments

    def train_epoch(self) -> None:
        orders = np.stack([_stream(self.problems[i].seed, _ORDER, self.epoch).permutation(self.r.shape[1])
                           for i in self.active])  # fmt: skip
        each = torch.arange(len(self.active))[:, None]
        for rows in torch.from_numpy(orders).split(BATCH, dim=1):
            error = _forward(self.parameters[::2], self.parameters[1::2], self.X[each, rows]) - self.r[each, rows]
            # the sum over networks: each gets the gradient of its own mean
            gradients = torch.autograd.grad(error.square().mean(1).sum(), self.parameters)
            _clip_each(gradients)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient
            self.optimizer.step()
        self.epoch += 1

    @torch.no_grad()
    def look(self) -> None:
        predicted = _forward(self.parameters[::2], self.parameters[1::2], self.X_val)
        errors = (predicted - self.r_val).square().mean(1, dtype=torch.float64).tolist()
        for place, (i, error) in enumerate(zip(self.active, errors, strict=True)):
            self.ended[i] = self.epoch
            if error < self.best[i][0]:
                self.best[i] = (error, self.epoch)
                self.kept[i] = [parameter[place].clone() for parameter in self.parameters]

    @torch.no_grad()
    def drop(self, patience: int) -> None:
        """Take out networks that are done, so that the others no longer pay for them."""
        going = [place for place, i in enumerate(self.active) if self.epoch - self.best[i][1] < patience]
        if len(going) == len(self.active):
            return
        self.active = [self.active[place] for place in going]
        if self.active:
            self._gather()
            states = [self.optimizer.state[parameter] for parameter in self.parameters]
            rest = [{"step": s["step"], **{name: s[name][going].clone() for name in _MOMENTS}} for s in states]
            self._keep_parameters([parameter.detach()[going].clone() for parameter in self.parameters], rest)

    def networks(self) -> list[Network]:
        return [
            Network(tuple(kept[::2]), tuple(kept[1::2]), epoch, ended, error)
            for kept, (error, epoch), ended in zip(self.kept, self.best, self.ended, strict=True)
        ]


def _forward(weights: Sequence[Tensor], biases: Sequence[Tensor], x: Tensor) -> Tensor:
    """Map inputs (m, n, d) to outputs (m, n)."""
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        x = nn.functional.gelu(torch.baddbmm(bias, x, weight))
    return torch.baddbmm(biases[-1], x, weights[-1])[..., 0]


def _clip_each(gradients: Sequence[Tensor]) -> None:
    """Hold the gradient norm of every network at ``CLIP``."""
    squares = torch.stack([gradient.flatten(1).square().sum(1) for gradient in gradients])
    scale = (CLIP / (squares.sum(0).sqrt() + 1e-6)).clamp(max=1.0)
    if bool((scale < 1).any()):
        for gradient in gradients:
            gradient.mul_(scale[:, None, None])


def _starting(seed: int, n_features: int, depth: int, width: int) -> list[Tensor]:
    """Weights (in, out) and biases (1, out), uniform in +-1 / sqrt(fan in)."""
    rng, drawn = _stream(seed, _INIT), []
    widths = [n_features, *[width] * depth, 1]
    for fan_in, fan_out in pairwise(widths):
        for rows in (fan_in, 1):
            values = rng.uniform(-(fan_in**-0.5), fan_in**-0.5, (rows, fan_out))
            drawn.append(torch.from_numpy(values.astype(np.float32)))
    return drawn


def _stream(seed: int, purpose: int, epoch: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64([seed, purpose, epoch]))
