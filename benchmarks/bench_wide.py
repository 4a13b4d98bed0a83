"""What `miscal discover` costs on 200 rows of ever more columns of numbers: a screen of genes, or of pixels.

    python benchmarks/bench_wide.py [--columns 200 800 2000 5000] [--jobs 1]

Each run is a process of its own from file to report, with the default settings and one thread; one of the columns says
where probabilities are too low. Target: processor time grows no faster than the columns.
"""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from _measure import apart, measured
from _script import options, results, show, target

FIELDS = ("columns", "rows")
ROWS, SHIFT = 200, 0.3


def write_rows(folder: Path, columns: int) -> None:
    """Write a table of numbers, which are right more often where the first is large."""
    import polars as pl

    rng = np.random.default_rng(columns)
    X, p = rng.normal(size=(ROWS, columns)), rng.uniform(0.2, 0.9, ROWS)
    y = (rng.random(ROWS) < np.clip(p + SHIFT * (X[:, 0] > 0.5), 0, 1)).astype(int)
    numbers = {f"x{j}": X[:, j] for j in range(columns)}
    pl.DataFrame({"probability": p, "event": y} | numbers).write_parquet(folder / "rows.parquet")


def one_run(columns: int, rows: int) -> dict:
    """Run `miscal discover` on so many columns."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        apart(write_rows, Path(folder), columns)
        named = ["--probability", "probability", "--event", "event", "--out", str(Path(folder) / "run")]
        used = measured([sys.executable, "-m", "miscal", "discover", str(Path(folder) / "rows.parquet"), *named])
    return {"columns": columns, "rows": rows, **used.__dict__}


def main() -> int:
    """Measure, and show the table."""
    args = options(__doc__, "bench_wide", columns=[200, 800, 2_000, 5_000]).parse_args()
    keys = [(columns, ROWS) for columns in args.columns]
    store = results(args, FIELDS, keys, one_run)
    runs = [store.records[key] for key in keys if key in store.records]
    per_column = [run["cpu_seconds"] / run["columns"] for run in runs]
    shown = [
        [run["columns"], f"{run['cpu_seconds']:.0f}", f"{1000 * each:.0f}", f"{run['peak_mb']:,.0f}"]
        for run, each in zip(runs, per_column, strict=True)
    ]
    show(args, "bench_wide", f"{ROWS} rows", ["columns", "processor s", "ms a column", "peak MB"], shown)
    grows = any(after > before for before, after in pairwise(per_column))
    return 0 if target("processor time grows no faster than the columns", not grows) else 1


if __name__ == "__main__":
    sys.exit(main())
