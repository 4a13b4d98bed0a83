"""Residual regression, the paper's alternative: a network g(x) fitted to r = y - f by least squares.

The paper names mean squared error and 300 epochs, and for its other models Adam with weight decay 7e-6, batches of
1,024 and a gradient norm of at most 1, which are taken over. The learning rate, GELU and the choice of the epoch by
validation error are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from miscal.estimators.paper.phi import BATCH, CLIP, WEIGHT_DECAY, stream

_INIT, _ORDER = 3, 4
"""Purposes of the two random streams of a seed: starting weights, and the order of the rows."""


@dataclass(frozen=True)
class Network:
    """A fitted network: weights (in, out) and biases (1, out) in turn, of epoch `epoch` out of `n_epochs`.

    ``error`` is the mean squared error on the validation rows.
    """

    parameters: tuple[Tensor, ...]
    epoch: int
    n_epochs: int
    error: float

    @torch.no_grad()
    def predict(self, X: np.ndarray) -> np.ndarray:
        """Estimate the field at float32 rows (q, d): float32 (q,), negative where over-confident."""
        return _forward(self.parameters, torch.from_numpy(np.ascontiguousarray(X))).numpy()


def fit_network(
    X: np.ndarray,
    residual: np.ndarray,
    X_val: np.ndarray,
    residual_val: np.ndarray,
    *,
    seed: int,
    depth: int,
    width: int,
    max_epochs: int = 300,
    patience: int = 300,
    learning_rate: float = 1e-3,
) -> Network:
    """Fit a network of `depth` hidden layers of `width`; its weights are those of the best validation epoch.

    Rows are float32: inputs (n, d) and (v, d), residuals r = y - f (n,) and (v,), positive where under-confident. The
    seed draws starting weights and batches.

    300 epochs are the paper's; training stops after `patience` epochs without a smaller validation error. The paper
    gives no learning rate for these networks; see :class:`miscal.study.synthetic.experiments.Settings`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1)).astype("float32")
    >>> network = fit_network(X[:40], X[:40, 0], X[40:], X[40:, 0], seed=0, depth=1, width=8, max_epochs=2)
    >>> network.predict(X).shape, network.n_epochs
    ((60,), 2)
    """
    inputs, r, inputs_val, r_val = map(torch.from_numpy, (X, residual, X_val, residual_val))
    parameters = _starting(seed, X.shape[1], depth, width)
    adam = torch.optim.Adam(parameters, lr=learning_rate, weight_decay=WEIGHT_DECAY, fused=True)
    best, epoch = Network((), 0, 0, float("inf")), 0
    while epoch < max_epochs and epoch - best.epoch < patience:
        order = torch.from_numpy(stream(seed, _ORDER, epoch).permutation(len(r)))
        for rows in order.split(BATCH):
            _step(parameters, adam, inputs[rows], r[rows])
        epoch += 1
        with torch.no_grad():
            error = (_forward(parameters, inputs_val) - r_val).square().mean(dtype=torch.float64).item()
        if error < best.error:
            best = Network(tuple(p.detach().clone() for p in parameters), epoch, epoch, error)
    return Network(best.parameters, best.epoch, epoch, best.error)


def _step(parameters: Sequence[Tensor], adam: torch.optim.Adam, X: Tensor, r: Tensor) -> None:
    """Take one step of Adam, the gradient norm held at ``CLIP``."""
    gradients = torch.autograd.grad((_forward(parameters, X) - r).square().mean(), parameters)
    norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
    scale = (CLIP / (norm + 1e-6)).clamp(max=1.0)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient * scale
    adam.step()


def _forward(parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    """Map inputs (n, d) to outputs (n,)."""
    *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
    for weight, bias in hidden:
        x = nn.functional.gelu(torch.addmm(bias, x, weight))
    return torch.addmm(last[1], x, last[0])[:, 0]


def _starting(seed: int, n_features: int, depth: int, width: int) -> list[Tensor]:
    """Weights (in, out) and biases (1, out), uniform in +-1 / sqrt(fan in)."""
    rng, drawn = stream(seed, _INIT), []
    for fan_in, fan_out in pairwise([n_features, *[width] * depth, 1]):
        for rows in (fan_in, 1):
            values = rng.uniform(-(fan_in**-0.5), fan_in**-0.5, (rows, fan_out))
            drawn.append(torch.from_numpy(values.astype(np.float32)).requires_grad_())
    return drawn
