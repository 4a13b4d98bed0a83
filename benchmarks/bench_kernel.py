"""Time of exact smoothing and of an epoch of the paper's training, as ratios to floors measured in the same run.

    python benchmarks/bench_kernel.py [--rounds 5] [--training-rows 8192]

Smoothing, in numpy: 9,103 queries x 20,000 bank rows x 128, per bandwidth. Its floor is one matrix product of that
shape in cache-sized tiles plus one exponential per pair from cache, in numpy too. Targets: <= 1.6 x floor, <= 1.5 x
spread over bandwidths.

Training, in torch: the paper's size is 70,000 x 4,096, network 4096-512-512-128, batch 1,024. A part of an epoch is
run on random inputs (--training-rows) and scaled to 70,000 rows. Its floor is the products of forward and backward
pass, one exponential per pair, reading each batch of X, and one pass of Adam's traffic. Target: <= 1.45 x floor.

One thread. Floor and subject alternate, and the median of the ratios is reported, so that a busy machine counts
against both.
"""

import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch

from _script import limit_threads, options, show, target
from miscal.estimators.kernel import TILE, smooth
from miscal.estimators.paper.phi import BATCH, Training

QUERIES, BANK, WIDTH = 9_103, 20_000, 128
WORST, SPREAD, EPOCH = 1.6, 1.5, 1.45
"""Targets, as multiples of the floor; the spread is that of the ratios over the bandwidths."""
SIGMAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
ROWS, FEATURES, HIDDEN = 70_000, 4_096, 512


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def median_of(rounds: int, *functions: Callable[[], object]) -> list[list[float]]:
    """Times per function, run in turn, the first round thrown away."""
    times = [[seconds(f) for f in functions] for _ in range(rounds + 1)][1:]
    return [list(column) for column in zip(*times, strict=True)]


def exponentials(count: int) -> None:
    x, out = np.linspace(-20, 0, 1 << 16, dtype=np.float32), np.empty(1 << 16, np.float32)
    for _ in range(round(count / (1 << 16))):
        np.exp(x, out=out)


def smoothing_floor(query: np.ndarray, bank: np.ndarray) -> None:
    """The same tiles, products only, then the exponentials."""
    buffer = np.empty(TILE[0] * TILE[1], np.float32)
    for start in range(0, len(query), TILE[0]):
        q = np.ascontiguousarray(query[start : start + TILE[0]].T)
        for first in range(0, len(bank), TILE[1]):
            b = bank[first : first + TILE[1]]
            np.matmul(b, q, out=buffer[: len(b) * q.shape[1]].reshape(len(b), -1))
    exponentials(len(query) * len(bank))


def unit_rows(n: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Random float32 rows of length 1, (n, width)."""
    z = rng.normal(size=(n, width)).astype(np.float32)
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def bench_smoothing(rounds: int) -> list[dict]:
    rng = np.random.default_rng(0)
    query, bank = (unit_rows(n, WIDTH, rng) for n in (QUERIES, BANK))
    residual = rng.uniform(-0.5, 0.5, BANK).astype(np.float32)
    subjects = [lambda s=s: smooth(query, bank, residual, s) for s in SIGMAS]
    floor, *times = median_of(rounds, lambda: smoothing_floor(query, bank), *subjects)
    return [
        {
            "sigma": sigma,
            "seconds": statistics.median(t),
            "floor": statistics.median(floor),
            "ratio": statistics.median(a / b for a, b in zip(t, floor, strict=True)),
        }
        for sigma, t in zip(SIGMAS, times, strict=True)
    ]


def step_products(widths: tuple[int, ...]) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Operands and results of one step: per layer forward, weight gradient, input gradient but for the first."""
    shapes = []
    for i, (d, h) in enumerate(pairwise(widths)):
        shapes += [(BATCH, d, h), (h, BATCH, d)] + ([(BATCH, h, d)] if i > 0 else [])
    shapes += [(BATCH, widths[-1], BATCH), (BATCH, BATCH, widths[-1])]
    return [(torch.ones(m, k), torch.ones(k, n), torch.empty(m, n)) for m, k, n in shapes]


def epoch_floor(X: torch.Tensor, order: torch.Tensor, products: list, state: list[torch.Tensor]) -> None:
    for rows in order.split(BATCH):
        X[rows]
        for left, right, out in products:
            torch.mm(left, right, out=out)
        exponentials(BATCH * BATCH)
        for tensor in state:  # Adam reads and writes parameter and two moments
            tensor.add_(0.0)


def bench_training(rounds: int, n: int) -> dict:
    widths = (FEATURES, HIDDEN, HIDDEN, WIDTH)
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, FEATURES, generator=generator)
    residual, one = torch.rand(n, generator=generator) - 0.5, torch.ones(n)
    order = torch.randperm(n, generator=generator)
    training = Training((FEATURES, HIDDEN, WIDTH), 0.3, 1e-3, seed=0)
    products = step_products(widths)
    state = [torch.zeros(p.shape) for p in training.phi.parameters() for _ in range(3)]
    floor, times = median_of(
        rounds,
        lambda: epoch_floor(X, order, products, state),
        lambda: training._train_epoch(X, residual, one),
    )
    scale = ROWS / n
    return {
        "rows_measured": n,
        "seconds_per_epoch": scale * statistics.median(times),
        "floor": scale * statistics.median(floor),
        "ratio": statistics.median(a / b for a, b in zip(times, floor, strict=True)),
    }


def main() -> int:
    """Show both; return 1 if a target is missed."""
    args = options(__doc__, rounds=5, training_rows=8192).parse_args()
    limit_threads()
    table = bench_smoothing(args.rounds)
    rows = [
        [f"{r['sigma']:g}", *(f"{r[k]:.{d}f}" for k, d in (("seconds", 3), ("floor", 3), ("ratio", 2)))] for r in table
    ]
    title = f"smoothing {QUERIES} x {BANK} x {WIDTH}, float32, one thread"
    show(args, "kernel", title, ["sigma", "seconds", "floor", "ratio"], rows)
    worst = max(row["ratio"] for row in table)
    spread = worst / min(row["ratio"] for row in table)
    met = target(f"worst ratio {worst:.2f} (target {WORST})", worst <= WORST)
    met &= target(f"spread over sigma {spread:.2f} (target {SPREAD})", spread <= SPREAD)
    epoch = bench_training(args.rounds, args.training_rows)
    line = (
        f"training epoch {ROWS} x {FEATURES}, measured on {epoch['rows_measured']} random rows and scaled: "
        f"{epoch['seconds_per_epoch']:.1f} s, floor {epoch['floor']:.1f} s, ratio {epoch['ratio']:.2f} (target {EPOCH})"
    )
    return int(not (target(line, epoch["ratio"] <= EPOCH) and met))


if __name__ == "__main__":
    sys.exit(main())
