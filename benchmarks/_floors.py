"""Floors of the paper's experiments: operations of the matrix products of a fit, and how fast this machine does them.

A product of (m, k) by (k, n) is 2 m k n operations. Element-wise work (exponentials, activations, the optimiser) is
not counted, so nothing can reach the floor.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import cache

import torch

from miscal.estimators.paper.phi import BATCH, M_MIN, layer_sizes
from miscal.study.synthetic.experiments import Record, Settings, layers

Shape = tuple[int, int, int]
FEATURES = 2


def operations(record: Record, settings: Settings) -> tuple[Counter[Shape], Counter[Shape]]:
    """Operations of a fit by the shape of their products: as done, and one by one, nothing shared; none for auto."""
    n_val = settings.rows // 10
    n_train = settings.rows - 2 * n_val
    if record.cell.capacity:
        epoch = regression_epoch(n_train, n_val, *layers(record.cell.capacity))
        done, alone = record.facts["n_epochs"], settings.resreg_epochs
    elif record.cell.method == "paper":
        epoch = representation_epoch(n_train, n_val, layer_sizes(FEATURES))
        done, alone = record.facts["epochs_trained"], sum(row["n_epochs"] for row in record.candidates)
    else:
        return Counter(), Counter()
    return tuple(Counter({shape: count * epochs for shape, count in epoch.items()}) for epochs in (done, alone))


def representation_epoch(n_train: int, n_val: int, sizes: Shape) -> dict[Shape, float]:
    """One epoch of phi (widths of input, hidden layers and output), and the validation field that follows it.

    >>> representation_epoch(8000, 1000, (2, 256, 64))[1024, 256, 256] / 1e9
    5.432...
    """
    d, hidden, out = sizes
    forward = 2 * (d * hidden + hidden * hidden + hidden * out)
    # the gradient of each layer's weights, and of its input but for the first layer's
    backward = 2 * forward - 2 * d * hidden
    batches = [BATCH] * (n_train // BATCH) + [n_train % BATCH]
    batches = [rows for rows in batches if rows >= min(n_train, M_MIN)]
    # exponent, two sums and their gradient: P = rows of 4 by columns of 4, then P times (z, 1)
    pairs = sum(rows * rows for rows in batches) * 2 * ((out + 2) + 2 + 4 + (out + 1))
    rows = min(BATCH, n_train)
    return {
        (rows, hidden, hidden): float(sum(batches) * (forward + backward) + (n_train + n_val) * forward),
        (rows, out + 2, rows): float(pairs + n_val * n_train * 2 * ((out + 2) + 2)),
    }


def regression_epoch(n_train: int, n_val: int, depth: int, width: int) -> dict[Shape, float]:
    """One epoch of residual regression, validation included.

    >>> regression_epoch(8000, 0, 3, 1024)[1024, 1024, 1024] * 300 * 25 / 1e12
    755...
    """
    forward = 2 * (FEATURES * width + (depth - 1) * width * width + width)
    backward = 2 * forward - 2 * FEATURES * width
    return {(min(BATCH, n_train), width, width): float(n_train * (forward + backward) + n_val * forward)}


@cache
def rate(shape: Shape, seconds: float = 0.3) -> float:
    """Operations of a product per second of one thread; the best of several, as a busy machine interrupts."""
    m, k, n = shape
    a, b = torch.ones(m, k), torch.ones(k, n)
    times, end = [], time.thread_time() + seconds
    while len(times) < 5 or time.thread_time() < end:
        start = time.thread_time()
        torch.mm(a, b)
        times.append(time.thread_time() - start)
    return 2.0 * m * k * n / min(times)
