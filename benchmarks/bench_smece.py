"""SmoothECE against relplot and against what reading the data costs, and the bootstrap against a loop.

    python benchmarks/bench_smece.py [--largest 1000000] [--replicates 1000] [--repeats 5] [--skip-bootstrap]

Times are processor time, medians of repeats after one warm-up, so that other work on the machine weighs little; run it
with OMP_NUM_THREADS=1. "floor" is reading both arrays once (their sums), "binning" the one pass that must touch every
row. The loop calls relplot once per resample; it is timed on a few resamples and scaled up to all of them.
Exits with status 1 if a target is missed: 10 times relplot at every size, 20 times the loop.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from _script import options, show, target
from miscal.calibration.metrics import smece, smece_bootstrap, smece_null
from miscal.calibration.metrics.smooth import bin_residuals, cells_of_rows

TARGET, BOOTSTRAP_TARGET = 10, 20

CASES: dict[str, tuple[Callable, Callable]] = {
    "over-confident": (lambda u: u, lambda f: 0.5 + 0.6 * (f - 0.5)),
    "calibrated": (lambda u: u, lambda f: f),
    "saturated, 0.9 to 1": (lambda u: 0.9 + 0.1 * u, lambda f: np.full(len(f), 0.6)),
    "alternating by 0.05": (lambda u: u, lambda f: np.clip(f + 0.05 * np.sign(np.sin(8 * math.pi * f)), 0, 1)),
}


def data(case: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return y and f of a case."""
    rng = np.random.default_rng(n)
    place, chance = CASES[case]
    f = place(rng.random(n))
    return (rng.random(n) < chance(f)).astype(float), f


def seconds(function: Callable[[], object], repeats: int) -> float:
    """Median processor time of one call."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def point_row(case: str, n: int, repeats: int) -> tuple[list[str], float]:
    """Return a row of the first table, and the ratio it shows."""
    import relplot

    y, f = data(case, n)
    few, many = (repeats, 3) if n >= 100_000 else (10 * repeats, 4 * repeats)
    ours = seconds(lambda: smece(y, f), few)
    theirs = seconds(lambda: relplot.smECE(f, y), many)
    floor = seconds(lambda: y.sum() + f.sum(), few)
    binning = seconds(lambda: bin_residuals(f, (y - f) / n, cells_of_rows(n)), few)
    value, other = smece(y, f), relplot.smECE(f, y)
    cells = [case, f"{n:,}", f"{value:.5f}", f"{other - value:+.1e}"]
    cells += [f"{1e3 * t:.3g}" for t in (ours, theirs, binning, floor)] + [f"{theirs / ours:.1f}"]
    return cells, theirs / ours


def bootstrap_row(case: str, n: int, replicates: int) -> tuple[list[str], float]:
    """Return a row of the second table, and the ratio it shows."""
    import relplot

    y, f = data(case, n)
    rng = np.random.default_rng(0)
    few = max(3, min(40, 200_000 // n))

    def loop(statistic: Callable[[np.ndarray, np.ndarray], float]) -> None:
        index = rng.integers(n, size=n)
        statistic(y[index], f[index])

    theirs = replicates * seconds(lambda: loop(lambda a, b: relplot.smECE(b, a)), few)
    own_loop = replicates * seconds(lambda: loop(smece), few)
    batched = seconds(lambda: smece_bootstrap(y, f, n_draws=replicates), 3)
    null = seconds(lambda: smece_null(f, n_draws=replicates), 3)
    cells = [case, f"{n:,}"] + [f"{t:.3g}" for t in (theirs, own_loop, batched, null)] + [f"{theirs / batched:.0f}"]
    return cells, theirs / batched


def main() -> int:
    """Show both tables; return 1 if a target is missed."""
    parser = options(__doc__, largest=1_000_000, replicates=1000, repeats=5)
    parser.add_argument("--skip-bootstrap", action="store_true")
    args = parser.parse_args()
    sizes = [n for n in (1000, 10_000, 100_000, 1_000_000) if n <= args.largest]
    points = [point_row(case, n, args.repeats) for case in CASES for n in sizes]
    heads = ["case", "n", "smECE", "relplot minus it", "ours ms", "relplot ms", "binning ms", "floor ms", "ratio"]
    show(args, "smece", "smECE, processor time", heads, [row for row, _ in points])
    met = min(ratio for _, ratio in points) >= TARGET
    if not args.skip_bootstrap:
        draws = [bootstrap_row(case, n, args.replicates) for case in ("over-confident", "calibrated") for n in sizes]
        heads = ["case", "n", "relplot loop s", "own loop s", "batched s", "null draws s", "ratio"]
        show(args, "smece-bootstrap", f"{args.replicates} bootstraps", heads, [row for row, _ in draws])
        met = met and min(ratio for _, ratio in draws) >= BOOTSTRAP_TARGET
    return int(
        not target(f"{TARGET} times as fast as relplot, {BOOTSTRAP_TARGET} times as fast as a loop over it", met)
    )


if __name__ == "__main__":
    sys.exit(main())
