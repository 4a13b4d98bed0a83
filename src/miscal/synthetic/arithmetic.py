"""Floors: floating-point operations of the matrix products of a training, and how fast this machine does them.

A product of (m, k) by (k, n) is 2 m k n operations. Element-wise work (exponentials, activations, the optimiser) is
not counted, so nothing can reach the floor.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import count

import torch

from miscal.estimators.paper.grid import ROUND
from miscal.estimators.paper.phi import BATCH, M_MIN

NETWORK, KERNEL = "network", "kernel"
_LEAST_TRIES = 5


def representation_epoch(
    n_train: int, n_val: int, sizes: tuple[int, int, int], n_bank: int | None = None
) -> dict[str, float]:
    """Operations of one epoch of phi: training, and the validation field that follows it.

    Parameters
    ----------
    n_train, n_val : int
        Rows trained on, and rows chosen by.
    sizes : (int, int, int)
        Widths of input, hidden layers and output.
    n_bank : int, optional
        Rows of the bank; by default all that are trained on.

    Returns
    -------
    dict
        By the shape of the products: "network" (layers) and "kernel" (all pairs).

    Examples
    --------
    >>> representation_epoch(8000, 1000, (2, 256, 64))["network"] / 1e9
    5.432...
    """
    d, hidden, out = sizes
    n_bank = n_train if n_bank is None else n_bank
    forward = 2 * (d * hidden + hidden * hidden + hidden * out)
    # the gradient of each layer's weights, and of its input but for the first layer's
    backward = 2 * forward - 2 * d * hidden
    trained = sum(_batches(n_train))
    # exponent, two sums and their gradient: P = rows of 4 by columns of 4, then P times (z, 1)
    pairs = sum(rows * rows for rows in _batches(n_train)) * 2 * ((out + 2) + 2 + 4 + (out + 1))
    return {
        NETWORK: float(trained * (forward + backward) + (n_bank + n_val) * forward),
        KERNEL: float(pairs + n_val * n_bank * 2 * ((out + 2) + 2)),
    }


def regression_epoch(n_train: int, n_val: int, depth: int, width: int, n_features: int = 2) -> float:
    """Operations of one epoch of residual regression, validation included.

    Examples
    --------
    >>> regression_epoch(8000, 0, 3, 1024) * 300 * 25 / 1e12
    755...
    """
    inner = (depth - 1) * width * width
    forward = 2 * (n_features * width + inner + width)
    backward = 2 * forward - 2 * n_features * width
    return float(n_train * (forward + backward) + n_val * forward)


def epochs_trained(proxies: Sequence[Sequence[float]]) -> int:
    """Epochs really trained for candidates that shared a run while their histories were the same.

    Parameters
    ----------
    proxies : sequence of sequences of float
        Proxy after each epoch, of the candidates of one bandwidth.

    Returns
    -------
    int
        Every round of epochs counts once for each different history.

    Examples
    --------
    >>> epochs_trained([[0.3] * 10 + [0.2] * 5, [0.3] * 10 + [0.1] * 5])
    20
    """
    longest = max(len(history) for history in proxies)
    total = 0
    for start in range(0, longest, ROUND):
        different = {tuple(history[: start + ROUND]) for history in proxies if len(history) > start}
        total += sum(len(history) - start for history in different)
    return total


def scaled(flops: dict[str, float], factor: float) -> dict[str, float]:
    """Multiply counts."""
    return {shape: count * factor for shape, count in flops.items()}


def gemm_rate(m: int, k: int, n: int, *, stack: int = 1, seconds: float = 0.06) -> float:
    """Measure matrix products (m, k) by (k, n) on one thread, operations per processor second; the best of several.

    Parameters
    ----------
    m, k, n : int
    stack : int, default 1
        Products done at once.
    seconds : float
        How long to try; five products at least.

    Returns
    -------
    float

    Examples
    --------
    >>> gemm_rate(64, 64, 64, seconds=0.001) > 1e6
    True
    """
    a, b = torch.ones(stack, m, k), torch.ones(stack, k, n)
    # of this thread: a busy machine interrupts it
    best, end = float("inf"), time.thread_time() + seconds
    for tried in count():
        if tried >= _LEAST_TRIES and time.thread_time() > end:
            break
        start = time.thread_time()
        torch.bmm(a, b)
        best = min(best, time.thread_time() - start)
    return 2.0 * stack * m * k * n / best


def representation_rates(n_train: int, sizes: tuple[int, int, int]) -> dict[str, float]:
    """Measure products of the shapes that :func:`representation_epoch` counts, operations per second."""
    rows = min(BATCH, n_train)
    return {NETWORK: gemm_rate(rows, sizes[1], sizes[1]), KERNEL: gemm_rate(rows, sizes[2] + 2, rows)}


def _batches(n: int) -> Iterable[int]:
    sizes = [BATCH] * (n // BATCH) + ([n % BATCH] if n % BATCH else [])
    return [rows for rows in sizes if rows >= min(n, M_MIN)]
