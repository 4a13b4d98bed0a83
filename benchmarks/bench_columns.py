"""What the columns of a table cost in `miscal discover`, beside a matrix of numbers of the same width.

    python benchmarks/bench_columns.py [--cells "200,000 x 40"] [--jobs 1]

    200,000 x 40     twelve columns of `_shapes.py` (categories of 3 to 4,000 levels, numbers, blanks, a date) and 28
                     more, half of them categories, beside a matrix of 40 numbers
    14,000 x 384     an embedding with five columns (two categories, two numbers, a date), beside the embedding alone

Each run is a process of its own from file to report, with the default settings and one thread. Target: processor time
and memory at most 1.5 times of the matrix. Processor time is compared, because it depends less on what else runs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.special import expit

from _measure import apart, measured
from _script import options, results, show, target
from _shapes import table

FIELDS = ("cell", "inputs")
CELLS = {"200,000 x 40": (200_000, 40), "14,000 x 384": (14_000, 384)}
MATRIX, COLUMNS = "matrix", "columns"
FIVE = ("region", "product", "income", "age", "opened")
OWN = 12
"""Columns of a table of `_shapes.py`."""
MOST = 1.5
SHIFT = 0.5


def write_rows(folder: Path, n: int, d: int, inputs: str) -> list[str]:
    """Write a table of rows, one product of which is right more often, and return the arguments that name it."""
    import polars as pl

    rng = np.random.default_rng((n, d))
    wide = d > OWN + 40
    columns, score = table(n, rng, 0 if wide else d - OWN)
    columns["opened"] = columns["opened"].astype("datetime64[ms]")
    correct = rng.random(n) < expit(score + SHIFT * (columns["product"] == "p1"))
    shown = {name: columns[name] for name in (FIVE if wide else columns)} if inputs == COLUMNS else {}
    data, x = folder / "rows.parquet", folder / "x.npy"
    pl.DataFrame({"confidence": expit(score), "correct": correct.astype(np.int8), **shown}).write_parquet(data)
    if inputs == COLUMNS and not wide:
        return [str(data)]
    np.save(x, rng.normal(size=(n, d)).astype(np.float32))
    return [str(data), "--embeddings", str(x)]


def one_run(cell: str, inputs: str) -> dict:
    """Run `miscal discover` on one kind of inputs."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        given = apart(write_rows, Path(folder), *CELLS[cell], inputs)
        used = measured([sys.executable, "-m", "miscal", "discover", *given, "--out", str(Path(folder) / "run")])
    return {"cell": cell, "inputs": inputs, **used.__dict__}


def main() -> int:
    """Measure, and show the table."""
    args = options(__doc__, "bench_columns", cells=list(CELLS)).parse_args()
    keys = [(cell, inputs) for cell in args.cells for inputs in (MATRIX, COLUMNS)]
    store = results(args, FIELDS, keys, one_run)
    shown, met = [], True
    for cell in args.cells:
        runs = [store.records.get((cell, inputs)) for inputs in (MATRIX, COLUMNS)]
        if None in runs:
            continue
        numbers = [[run[name] for run in runs] for name in ("cpu_seconds", "peak_mb")]
        ratios = [after / before for before, after in numbers]
        met &= max(ratios) <= MOST
        row = [f"{number:,.0f}" for pair in numbers for number in pair]
        shown.append([cell, *row, *(f"{ratio:.2f}" for ratio in ratios)])
    head = ["rows x inputs"] + [f"{name} {what}" for what in ("processor s", "peak MB") for name in (MATRIX, COLUMNS)]
    show(args, "bench_columns", "a table of columns beside a matrix", [*head, "time", "memory"], shown)
    return 0 if target(f"time and memory at most {MOST} times", met and bool(shown)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
