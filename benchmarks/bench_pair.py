"""What a pair of the paper's study costs at 70,000 x 4,096: an epoch, the bank, the smoothing, and the whole grid.

    python benchmarks/bench_pair.py [--rows 70000] [--columns 4096] [--epochs 2] [--device auto]

Random inputs of the size of the paper's largest pairs: a training split, an eighth of it to choose by and as many test
rows. An epoch is one of miscal's own training, the proxy on the validation rows included, at one setting of (sigma,
lambda). Setting and grid are that epoch times 100, and times 24 settings: bounds from above, because settings stop when
they can no longer win, or after 20 epochs without progress. Beside them stand the times that the paper reports for one
pair on a GPU. One thread on a CPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from _script import limit_threads, options, show
from miscal.estimators.kernel import smooth
from miscal.estimators.paper.device import device_of
from miscal.estimators.paper.field import BANK_SIZE
from miscal.estimators.paper.grid import LAMBDAS, SIGMAS
from miscal.estimators.paper.phi import MAX_EPOCHS, Training, TrainingData, layer_sizes

REPORTED = {"one setting, 100 epochs": "2,400", "bank": "10.2", "phi of the test rows": "4.7", "smoothing": "0.01"}
"""Seconds that the paper reports; it does not say whether its training is one setting or the grid."""


def made(rows: int, columns: int) -> tuple[TrainingData, np.ndarray]:
    """Draw training and validation rows, and inputs of test rows."""
    rng = np.random.default_rng(0)
    held = rows // 8
    X, X_val, X_test = (rng.standard_normal((n, columns), dtype=np.float32) for n in (rows, held, held))
    r, r_val = (rng.uniform(-0.5, 0.5, n).astype(np.float32) for n in (rows, held))
    bank = np.sort(rng.permutation(rows)[:BANK_SIZE])
    return TrainingData(X, r, np.ones_like(r), X_val, r_val, np.ones_like(r_val), bank), X_test


def timed(function: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def main() -> int:
    parser = options(__doc__, rows=70_000, columns=4_096, epochs=2, device="auto")
    args = parser.parse_args()
    limit_threads()
    data, X_test = made(args.rows, args.columns)
    device = device_of(args.device)
    training = Training(layer_sizes(args.columns), 0.1, 1e-3, seed=0, device=str(device))
    # the first epoch also pays for what is made once
    training.advance(data, 1)
    epoch = timed(lambda: training.advance(data, 1 + args.epochs))[0] / args.epochs
    phi = training.best()
    bank_seconds, bank = timed(lambda: embedded(phi, data.X[data.bank]))
    test_seconds, test = timed(lambda: embedded(phi, X_test))
    smoothing = timed(lambda: smooth(test, bank, data.residual[data.bank], 0.1))[0]
    measured = {
        "one epoch": epoch,
        "one setting, 100 epochs": epoch * MAX_EPOCHS,
        "the grid, 24 settings": epoch * MAX_EPOCHS * len(SIGMAS) * len(LAMBDAS),
        "bank": bank_seconds,
        "phi of the test rows": test_seconds,
        "smoothing": smoothing,
    }
    size = f"{args.rows:,} x {args.columns:,}"
    rows = [[name, f"{value:,.2f}", REPORTED.get(name, "")] for name, value in measured.items()]
    show(args, "pair", f"seconds of a pair of {size} on {device}", ["step", "here", "paper, GPU"], rows)
    return 0


def embedded(phi, X: np.ndarray) -> np.ndarray:
    """Map rows by phi where it is."""
    import torch

    return phi.embed(torch.from_numpy(X)).cpu().numpy()


if __name__ == "__main__":
    sys.exit(main())
