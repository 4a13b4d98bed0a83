"""How long one waits for `miscal discover`: until the answer is printed, and until the report is drawn.

    python benchmarks/bench_waiting.py [--data DIR] [--only NAME ...] [--quick] [--before SRC] [--repeats 3]

Whole processes, from the shell to the exit, on all cores: seconds until the first line is printed and until the end,
processor seconds, peak memory; the smallest of the repeats. `numbers` and `embeddings` are planted worlds with a named
column; with --data the flights and the census as they are. `--before` names the src folder of another checkout, which
is run by turns with this one. Beside it the peer on the same numbers: isotonic regression, and LightGBM with the
confidence as its start, 20 settings, each in five folds. And a floor in processor seconds: of what a run imports, of
one LightGBM of 100 trees in place of each fit of the field, and of the page.

    python benchmarks/bench_waiting.py --imports [--before SRC]

Processor seconds of whole processes that import and do nothing else, the least of seven: `import miscal`, help on a
command, LightGBM as a run imports it, and all modules that a small run has imported at its end.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from _measure import apart, measured, write_planted
from miscal.calibration.calibrators import logit

if TYPE_CHECKING:
    import lightgbm

CASES = {
    "embeddings 500 x 384": (500, 384),
    "numbers 2,000 x 16": (2_000, 16),
    "embeddings 2,000 x 384": (2_000, 384),
    "embeddings 12,000 x 384": (12_000, 384),
}
TABLES = {
    "census 30,000 x 16": ("census_dev_2015.parquet", "predicted_probability", "employed"),
    "flights 40,000 x 23": ("flights_dev.parquet", "predicted_delay_risk", "delayed"),
}
SETTINGS = list(product((7, 31), (20, 100), (0.03, 0.1), (1.0, 0.3)))[:16] + [
    (15, 50, 0.05, s) for s in (1, 0.8, 0.5, 0.3)
]
"""Leaves, least rows of a leaf, learning rate and share of the columns of the peer."""
TREES, FOLDS = 100, 5
STARTS = 7
RUN = """
import sys
from miscal.cli import main
main(["discover", sys.argv[1], "--out", sys.argv[2], "--overwrite"])
open(sys.argv[3], "w").write(" ".join(sys.modules))
"""
LIGHTGBM = """
try:
    from miscal.base.process import import_lightly
except ImportError:  # a checkout of before
    from miscal.base.extras import import_lightly
import_lightly()
"""
USED = "import miscal.discovery.discover, miscal.report.page, sklearn.cluster"
"""What a run imports beside LightGBM, as far as it takes time."""
ALL = """
import contextlib, importlib, sys
for name in open(sys.argv[3]).read().split():
    with contextlib.suppress(Exception):
        importlib.import_module(name)
"""
IMPORTS = {
    "python": "pass",
    "import miscal": "import miscal",
    "discover --help": "from miscal.cli import main; main(['discover', '--help'])",
    "LightGBM": LIGHTGBM,
    "a run": LIGHTGBM + ALL,
}
"""What imports, by name; `a run` imports what a run has imported, in the same order."""


def environment(src: Path | None) -> dict[str, str]:
    """Variables of a process that imports from a src folder, and keeps what it compiles, as a user's does."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(src)} if src else kept


def peer(data: Path, x: Path | None, probability: str, event: str, settings: int) -> float:
    """Seconds of isotonic regression, and of LightGBM with settings chosen in folds."""
    from sklearn.isotonic import IsotonicRegression

    X, f, y = _rows(data, x, probability, event)
    start = time.perf_counter()
    fold = np.random.default_rng(0).integers(FOLDS, size=len(y))
    IsotonicRegression(out_of_bounds="clip").fit(f, y)
    for one in SETTINGS[:settings]:
        for k in range(FOLDS):
            _boosted(X, f, y, fold != k, *one, os.cpu_count()).predict(X[fold == k])
    return time.perf_counter() - start


def floor(data: Path, x: Path | None, probability: str, event: str, run: Path) -> tuple[int, float, float]:
    """Fits of the field that a run cannot do without, processor seconds of LightGBM in their place, and of the page."""
    from miscal.report.frame import read_source
    from miscal.report.page import build

    (X, f, y), fold = _rows(data, x, probability, event), pl.read_parquet(run / "field.parquet")["fold"].to_numpy()
    start = time.process_time()
    # one without each fold, and the model
    for k in [*np.unique(fold), -1]:
        _boosted(X, f, y, fold != k, 31, 20, 0.1, 1.0, 1)
    fits, start = time.process_time() - start, time.process_time()
    build(read_source(run))
    return len(np.unique(fold)) + 1, fits, time.process_time() - start


def _rows(data: Path, x: Path | None, probability: str, event: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, confidences and outcomes."""
    table = pl.read_parquet(data)
    X = np.load(x) if x is not None else _numbers(table.drop(probability, event))
    return X, table[probability].to_numpy(), table[event].cast(pl.Float64).to_numpy()


def _boosted(
    X: np.ndarray, f: np.ndarray, y: np.ndarray, rows: np.ndarray, leaves: int, least: int, rate: float, share: float,
    threads: int | None,
) -> lightgbm.Booster:  # fmt: skip
    """Fit 100 trees with the confidence as their start."""
    import lightgbm

    given = lightgbm.Dataset(X[rows], y[rows], init_score=logit(f[rows]))
    chosen = {"objective": "binary", "num_leaves": leaves, "min_data_in_leaf": least, "learning_rate": rate}
    chosen |= {"feature_fraction": share, "verbose": -1, "num_threads": threads, "seed": 0}
    return lightgbm.train(chosen, given, TREES)


def _numbers(table: pl.DataFrame) -> np.ndarray:
    """Columns as numbers, categories by their codes, as a user would give them to LightGBM."""
    columns = [
        one if one.dtype.is_numeric() else one.cast(pl.String).cast(pl.Categorical).to_physical() for one in table
    ]
    return np.column_stack([one.cast(pl.Float32, strict=False).to_numpy() for one in columns])


def cases(folder: Path, data: Path | None, only: list[str] | None) -> Iterator[tuple[str, Path, Path | None, str, str]]:
    """Return the name of each case, its files, and its columns."""
    for name, (n, d) in CASES.items():
        if only is None or any(part in name for part in only):
            rows, x = folder / f"{n}_{d}.parquet", folder / f"{n}_{d}.npy"
            apart(write_planted, rows, x, n, d)
            yield name, rows, x, "confidence", "correct"
    for name, (file, probability, event) in TABLES.items() if data is not None else ():
        if only is None or any(part in name for part in only):
            yield name, data / file, None, probability, event


def imports(src: Path | None) -> Iterator[tuple[str, float]]:
    """Return the processor seconds of each process that imports."""
    with tempfile.TemporaryDirectory() as folder:
        rng, n = np.random.default_rng(0), 300
        f, kind = rng.uniform(0.2, 0.8, n), rng.choice(list("abc"), n)
        rows = {"confidence": f, "correct": (rng.random(n) < f).astype(int), "kind": kind, "x": rng.normal(size=n)}
        files = [str(Path(folder) / name) for name in ("rows.parquet", "run", "modules.txt")]
        pl.DataFrame(rows).write_parquet(files[0])
        measured(sys.executable, "-c", RUN, *files, environment=environment(src))
        for name, program in IMPORTS.items():
            command = (sys.executable, "-c", program, *files)
            yield name, min(measured(*command, environment=environment(src)).cpu_seconds for _ in range(STARTS))


def show_imports(before: Path | None) -> None:
    """Print a line for each thing that is imported."""
    columns = {"now": dict(imports(None))} | ({"before": dict(imports(before))} if before else {})
    print(f"{'cpu s':<24} " + " ".join(f"{name:>8}" for name in columns))
    for name in IMPORTS:
        print(f"{name:<24} " + " ".join(f"{seconds[name]:>8.2f}" for seconds in columns.values()))


def main() -> None:
    """Print a line for each case and checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the flights and the census")
    parser.add_argument("--only", nargs="*", help="cases whose names contain one of these")
    parser.add_argument("--quick", action="store_true", help="with `discover --quick`, too")
    parser.add_argument("--before", type=Path, help="src folder of another checkout, by turns")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="of the peer; 0 leaves it out")
    parser.add_argument("--imports", action="store_true", help="what importing takes, and nothing else")
    asked = parser.parse_args()
    if asked.imports:
        show_imports(asked.before)
        return
    print(f"{'case':<24} {'what':<8} {'first s':>8} {'all s':>8} {'cpu s':>8} {'MB':>7}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, data, x, probability, event in cases(folder, asked.data, asked.only):
            columns = (
                ["--confidence", probability, "--correct", event, "--embeddings", str(x), "--names-only", "topic"]
                if x is not None
                else ["--probability", probability, "--event", event]
            )
            kinds = {"now": (None, [])} | ({"quick": (None, ["--quick"])} if asked.quick else {})
            kinds |= {"before": (asked.before, [])} if asked.before else {}
            told: dict[str, list[tuple[float, ...]]] = {}
            for kind, (src, more) in asked.repeats * list(kinds.items()):
                command = [sys.executable, "-m", "miscal", "discover", str(data), *columns, *more]
                used = measured(*command, "--out", folder / kind, "--overwrite", environment=environment(src))
                told.setdefault(kind, []).append((used.first, used.seconds, used.cpu_seconds, used.peak_mb))
            best = {kind: np.min(several, axis=0) for kind, several in told.items()}
            for kind, (first, whole, cpu, megabytes) in best.items():
                print(f"{name:<24} {kind:<8} {first:>8.1f} {whole:>8.1f} {cpu:>8.1f} {megabytes:>7,.0f}", flush=True)
            count, fits, page = apart(floor, data, x, probability, event, folder / "now")
            start = measured(sys.executable, "-c", LIGHTGBM + USED, environment=environment(None)).cpu_seconds
            parts = f"imports {start:.1f}, {count} fits {fits:.1f}, page {page:.1f}"
            print(f"{name:<24} {'floor':<8} {'':>17} {start + fits + page:>8.1f}   ({parts})", flush=True)
            if asked.settings:
                whole = apart(peer, data, x, probability, event, asked.settings)
                print(
                    f"{name:<24} {'peer':<8} {'':>8} {whole:>8.1f}   (ratio {best['now'][1] / whole:.1f})", flush=True
                )


if __name__ == "__main__":
    main()
