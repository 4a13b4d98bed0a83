"""What a change of the estimator costs: log loss of two checkouts on the same rows of real sets, paired.

    python benchmarks/paired_losses.py --data DIR --before SRC [--rows 2000] [--seeds 101 102 103]

Of each set and seed so many rows are learned from, at most three fifths, and up to 6,000 others are corrected, by the
code of SRC (the src folder of another checkout) and by this one. Printed is this less that: the mean over seeds with
its standard error over rows, and one-sided p-values by Holm of those that are worse. Target: a mean of at most +.0003,
none worse at 5 %.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import norm

from _data import read_set, set_names
from miscal import MiscalibrationField
from miscal.calibration.metrics.scores import log_losses

MOST = 6_000


def losses(folder: Path, rows: int, seeds: list[int]) -> dict[str, np.ndarray]:
    """Log loss of every corrected row, by set and seed."""
    found = {}
    for name in set_names(folder):
        one = read_set(folder, name)
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(len(one.correct))
            n = min(rows, int(0.6 * len(order)))
            learned, asked = order[:n], order[n : n + MOST]
            field = MiscalibrationField(random_state=seed, n_jobs=1)
            field.fit(one.X[learned], one.correct[learned], confidence=one.confidence[learned])
            corrected = np.asarray(field.calibrate(one.X[asked], confidence=one.confidence[asked]))
            found[f"{name}|{seed}"] = log_losses(one.correct[asked].astype(float), corrected)
    return found


def compare(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> bool:
    """Print a line for each set; return whether the targets are met."""
    sets: dict[str, list[np.ndarray]] = {}
    for key in before:
        sets.setdefault(key.partition("|")[0], []).append(after[key] - before[key])
    means, p = {}, {}
    for name, apart in sets.items():
        mean = float(np.mean([one.mean() for one in apart]))
        error = float(np.sqrt(sum(one.var() / len(one) for one in apart)) / len(apart))
        means[name], p[name] = mean, float(norm.sf(mean / error)) if error else 1.0
        print(f"{name:<44} {mean:+.5f} +- {error:.5f}")
    order = sorted(p, key=lambda name: p[name])
    worse = [name for place, name in enumerate(order) if p[name] * (len(order) - place) < 0.05]
    values = np.array(list(means.values()))
    error = values.std(ddof=1) / np.sqrt(len(values))
    print(f"mean {values.mean():+.5f} +- {error:.5f} over sets; worse: {worse or 'none'}")
    return values.mean() <= 0.0003 and not worse


def main() -> int:
    """Run both checkouts, side by side, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--before", type=Path, help="src folder of the other checkout")
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 102, 103])
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write:
        np.savez(asked.write, **losses(asked.data, asked.rows, asked.seeds))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("before.npz", "after.npz")]
        given = ["--data", str(asked.data), "--rows", str(asked.rows), "--seeds", *map(str, asked.seeds)]
        runs = []
        for src, file in zip((asked.before, Path(__file__).parent.parent / "src"), files, strict=True):
            environment = {**os.environ, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, __file__, *given, "--write", str(file)]
            runs.append(subprocess.Popen(command, env=environment))
        if any(run.wait() for run in runs):
            return 1
        before, after = ({**np.load(file)} for file in files)
    return 0 if compare(before, after) else 1


if __name__ == "__main__":
    sys.exit(main())
