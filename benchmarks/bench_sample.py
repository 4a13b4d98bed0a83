"""`miscal discover` on more rows than memory holds: a sample is fitted, every row is judged, corrected and tested.

    python benchmarks/bench_sample.py --rows 1000000 [10000000] [--columns 384] [--sample 50000] [--dir DIR]

The rows are made on disk, under DIR, and removed afterwards: standard normal columns with twelve topics, of which one
is over-confident by 0.2 and one under-confident by 0.1; the confidence is uniform. Memory is what the command holds by
itself, summed over its processes: pages of the mapped file are the system's, which takes them back when it needs them.
The run must find both topics, and hold less than the inputs' bytes where these are over 8 GB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from _measure import _tree
from _script import options, results, show, target

FIELDS = ("n", "d", "sample")
TOPICS, OVER, UNDER = 12, 3, 7
BLOCK = 65_536


def write_rows(folder: Path, n: int, d: int) -> None:
    """Make the rows: `x.npy`, written block by block, and `rows.parquet`."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, TOPICS, n)
    centres = rng.normal(size=(TOPICS, d)).astype(np.float32)
    f = rng.uniform(0.3, 0.9, n)
    shift = np.select([topic == OVER, topic == UNDER], [-0.2, 0.1], 0.0)
    y = rng.random(n) < np.clip(f + shift, 0.02, 0.99)
    X = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (n, d))
    for start in range(0, n, BLOCK):
        rows = slice(start, min(n, start + BLOCK))
        X[rows] = centres[topic[rows]] + rng.standard_normal((rows.stop - start, d), np.float32)
    X.flush()
    names = pl.Series("topic", topic).replace_strict(list(range(TOPICS)), [f"topic {k}" for k in range(TOPICS)])
    columns = {"confidence": f, "correct": y.astype(np.int8), "topic": names}
    pl.DataFrame(columns).write_parquet(folder / "rows.parquet")


def run(folder: Path, n: int, d: int, sample: int) -> dict:
    """Write rows and discover them; seconds by stage, and the most memory held."""
    start = time.perf_counter()
    write_rows(folder, n, d)
    written = time.perf_counter() - start
    command = f"-m miscal discover {folder}/rows.parquet --embeddings {folder}/x.npy --names-only topic --map pca"
    command += f" --sample {sample} --out {folder}/run"
    start, busy = time.perf_counter(), os.getloadavg()[0]
    process = subprocess.Popen([sys.executable, *command.split()], stdout=subprocess.DEVNULL)
    peak = 0.0
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        peak = max(peak, sum(map(_held_mb, _tree(process.pid))))
        time.sleep(0.5)
    process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode:
        raise SystemExit(f"miscal {command} ended with {process.returncode}")
    summary = json.loads((folder / "run" / "summary.json").read_text())
    low = summary["certificate"]["lower_bound_hidden"]["interval"][0]
    return {
        "n": n, "d": d, "sample": sample, "seconds": time.perf_counter() - start, "stages": summary["timing"],
        "cpu_seconds": ended[2].ru_utime + ended[2].ru_stime, "held_mb": peak, "inputs_mb": 4e-6 * n * d,
        "written_s": written, "load": busy, "field_mb": (folder / "run" / "field.parquet").stat().st_size * 1e-6,
        "findings": [one["description"] for one in summary["findings"]], "proved": low,
    }  # fmt: skip


def _held_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))


def main() -> None:
    parser = options(__doc__, "sample", rows=[1_000_000], columns=384, sample=50_000)
    parser.add_argument("--dir", type=Path, help="folder for the rows made; default: that of temporary files")
    args = parser.parse_args()

    def work(n: int, d: int, sample: int) -> dict:
        with tempfile.TemporaryDirectory(dir=args.dir) as folder:
            return run(Path(folder), n, d, sample)

    keys = [(n, args.columns, args.sample) for n in args.rows]
    found = list(results(args, FIELDS, keys, work).of(keys))
    stages = list(found[0]["stages"]) if found else []
    rows = [
        [r["n"], r["d"], r["sample"], f"{r['seconds']:.0f}", f"{r['cpu_seconds']:.0f}", f"{r['held_mb']:,.0f}",
         f"{r['inputs_mb']:,.0f}", f"{r['field_mb']:,.0f}", *(f"{r['stages'][s]:.0f}" for s in stages),
         f"{r['load']:.1f}"] for r in found
    ]  # fmt: skip
    head = ["n", "d", "sample", "wall s", "processor s", "held MB", "inputs MB", "field.parquet MB",
            *(f"{s} s" for s in stages), "load before"]  # fmt: skip
    show(args, "sample", "discover on a sample, all rows evaluated", head, rows)
    wanted = {f"topic = topic {k}" for k in (OVER, UNDER)}
    met = [target(f"{r['n']:,} rows: both topics found", wanted <= set(r["findings"])) for r in found]
    large = [r for r in found if r["inputs_mb"] > 8_000]
    met += [target(f"{r['n']:,} rows: less held than the inputs take", r["held_mb"] < r["inputs_mb"]) for r in large]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
