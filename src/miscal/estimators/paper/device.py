"""Where phi is trained: on the CPU by numpy's kernel, or on a GPU by the same formulas in torch."""

from __future__ import annotations

import torch
from torch import Tensor

from miscal.base.errors import InputError, argument
from miscal.estimators.kernel import DOUBLE_BEYOND, EXPONENT_FLOOR
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
