"""Rows a second of corrections, their memory over millions of rows, and how soon the first answer comes.

    python benchmarks/bench_calibrate.py [--rounds 3] [--full] [--memory-rows 10000000] [--csv benchmarks/notes]

Rates are of `MiscalibrationField.correct`, which `field.calibrate` and `miscal calibrate` call, on one thread, in
processor seconds. Every score of the stack has a weight, which is the dearest case; the local shift has one or none.
The bank is filled up to its size with random rows, since its cost depends on its size alone. The floor is the products
and exponentials of the same shapes: inputs against 500 landmarks, one exponential for each of five kernels, and with
the local shift rows against bank, one exponential a pair, and 18 sums over the bank. Whole: `estimate`, which computes
everything that the report shows. Target: 20,000 rows a second at 384 columns, whatever the bank.

Memory is the largest peak of `miscal calibrate`, in a process of its own, over --memory-rows rows of 384 columns (a
million; with --full ten million, which needs 16 GB of disk in --folder), local shift of weight 0. Target: 2 GB. Cold
start is that command on 500 rows, from starting Python to its end; target 1.5 s, and 0.5 s from the end of the imports
to the first answer. Digests are those of what was read, by which a correction that is resumed notices files that were
replaced: their processor seconds for the same rows, of those of the command; target 5 %.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from _script import limit_threads, options, show, target
from miscal.data.readers import read_triples
from miscal.data.readers.provenance import content_digest
from miscal.discovery.saved_model import SavedModel
from miscal.estimators.auto.local import LOCAL, LocalMember
from miscal.estimators.auto.model import AutoModel
from miscal.estimators.auto.portfolio import FIRST_STACK
from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.field import MiscalibrationField

COLUMNS, BANKS, MIDDLE = (16, 384, 1_024), (2_500, 5_000, 10_000, 20_000), 384
FITTED, QUERIES, LANDMARKS, KERNELS = 2_500, 8_192, 500, 5
RATE, MEGABYTES, COLD, WARM, DIGESTS = 20_000, 2_000, 1.5, 0.5, 0.05

ANSWER = """
import sys, time
import numpy, miscal.runs.correct, miscal.estimators.auto.estimator
start = time.perf_counter()
from miscal.discovery.saved_model import load_model
saved = load_model(sys.argv[1]).estimator
saved.fitted.correct(numpy.zeros((1, saved.n_features), "float32"), numpy.array([0.5]))
print(time.perf_counter() - start)
"""

# started by a small process: a peak of memory begins with that of the process which starts it
WATCH = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"wall": wall, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}))
"""


def world(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, confidences, and outcomes that the first column shifts."""
    rng = np.random.default_rng(seed)
    X, f = rng.standard_normal((n, d), np.float32), rng.uniform(0.05, 0.95, n)
    return X, f, (rng.random(n) < np.clip(f + 0.2 * np.sign(X[:, 0]), 0, 1)).astype(int)


def heavy(model: AutoModel, bank: int, local: bool) -> AutoModel:
    """The field with a weight on every score, a bank of another size, and the local shift in the stack or not."""
    rng, shift, portfolio = np.random.default_rng(1), model.local, model.portfolio
    rows = rng.integers(0, len(shift.bank), bank)
    near = shift.bank[rows] + 0.01 * rng.standard_normal((bank, shift.bank.shape[1]), np.float32)
    fuller = LocalShift(
        shift.axes, shift.ridge, near, shift.offset[rows], shift.outcome[rows], shift.weight[rows], rows
    )
    first = {name: 1 / len(portfolio.first) for name in portfolio.first}
    later = {**portfolio.later, LOCAL: LocalMember()}
    weights = {FIRST_STACK: 0.5} | {name: 0.2 * (local or name != LOCAL) for name in later}
    stack = replace(portfolio, first_weights=first, later=later, weights=weights)
    return replace(model, local=fuller, portfolio=stack)


def processor_seconds(rounds: int, *functions: Callable[[], object]) -> list[float]:
    """Least processor seconds of each, run in turn."""
    times = []
    for _ in range(rounds):
        times.append([])
        for function in functions:
            start = time.process_time()
            function()
            times[-1].append(time.process_time() - start)
    return np.min(times, axis=0).tolist()


def exponentials(count: int) -> None:
    x, out = np.linspace(-20, 0, 1 << 16, dtype=np.float32), np.empty(1 << 16, np.float32)
    for _ in range(round(count / (1 << 16))):
        np.exp(x, out=out)


def floor(n: int, d: int, bank: int) -> None:
    """Products and exponentials of n corrections, in tiles that a cache holds."""
    rng = np.random.default_rng(0)
    x, landmarks = rng.standard_normal((512, d), np.float32), rng.standard_normal((d, LANDMARKS), np.float32)
    place, rows = rng.standard_normal((256, 8), np.float32), rng.standard_normal((8, 512), np.float32)
    weights, sums = np.empty((256, 512), np.float32), rng.standard_normal((512, 18), np.float32)
    for _ in range(0, n, 512):
        np.matmul(x, landmarks)
    for _ in range(round(n / 256 * bank / 512)):
        np.matmul(place, rows, out=weights)
        np.matmul(weights, sums)
    exponentials(n * (KERNELS * LANDMARKS + bank))


def rate(field: MiscalibrationField, bank: int, local: bool, rounds: int) -> dict:
    """Rows a second of a field at new rows, over the floor and with everything computed."""
    d = field.n_features_in_
    Q, g, _ = world(QUERIES, d, seed=1)
    field.correct(Q[:512], g[:512])
    quick, least, whole = processor_seconds(
        rounds,
        lambda: field.correct(Q, g),
        lambda: floor(QUERIES, min(d, MIDDLE), bank * local),
        lambda: field.estimate(Q[:1024], g[:1024]),
    )
    times = {"rate": QUERIES / quick, "ratio": quick / least, "whole": 1024 / whole}
    return {"d": d, "bank": bank, "local": local} | times


def rates(rounds: int, banks: tuple[int, ...]) -> list[dict]:
    found = []
    for d in COLUMNS:
        X, f, y = world(FITTED, d)
        field = MiscalibrationField().fit(X, y, confidence=f)
        fitted = field.fitted_.model_
        for bank, local in product(banks, (False, True)):
            field.fitted_.model_ = heavy(fitted, bank, local)
            found.append(rate(field, bank, local, rounds))
            print(found[-1], file=sys.stderr, flush=True)
    return found


def measured(*command: str) -> dict:
    """Run a command: wall and processor seconds, peak of its memory in MB, and what it printed."""
    done = subprocess.run([sys.executable, "-c", WATCH, *command], stdout=subprocess.PIPE, text=True, check=True)
    said, told = done.stdout.rstrip().rsplit("\n", 1)
    return json.loads(told) | {"said": said}


def many_rows(folder: Path, n: int) -> Path:
    """Write n rows of 384 columns, a block at a time; blocks repeat, which costs a correction nothing."""
    X, f, _ = world(100_000, MIDDLE, seed=2)
    matrix = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (n, MIDDLE))
    for i in range(0, n, len(X)):
        part = X[: min(len(X), n - i)]
        matrix[i : i + len(part)] = part
    matrix.flush()
    pl.DataFrame({"confidence": np.resize(f, n)}).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def saved_model(folder: Path, local: bool) -> Path:
    X, f, y = world(FITTED, MIDDLE)
    data = read_triples(pl.DataFrame({"confidence": f, "correct": y}), embeddings=X)
    field = MiscalibrationField().fit_triples(data)
    field.fitted_.model_ = heavy(field.fitted_.model_, 20_000, local)
    SavedModel(field.to_saved(), data.encoder, "confidence").save(folder)
    return folder


def digest_seconds(rows: Path, rounds: int) -> float:
    """Processor seconds for digests of all rows, by those of some."""
    n, matrix = pl.scan_parquet(rows).select(pl.len()).collect().item(), np.load(rows.parent / "x.npy", mmap_mode="r")
    frame, X = pl.read_parquet(rows, n_rows=QUERIES), np.array(matrix[:QUERIES])
    return n / len(X) * processor_seconds(rounds, lambda: content_digest(frame, X))[0]


def calibrate(model: Path, rows: Path, out: Path) -> dict:
    command = (sys.executable, "-m", "miscal", "calibrate", str(model), str(rows))
    return measured(*command, "--embeddings", str(rows.parent / "x.npy"), "--out", str(out))


def main() -> int:
    parser = options(__doc__, rounds=3, memory_rows=0, folder="")
    parser.add_argument("--full", action="store_true", help="all banks, and ten million rows")
    args = parser.parse_args()
    limit_threads()
    banks = BANKS if args.full else BANKS[::3]
    found = rates(args.rounds, banks)
    head = ["columns", "bank", "local shift", "rows a second", "time / floor", "rows a second, whole"]
    show(args, "calibrate-rates", "Corrections on one core, every score with a weight", head, [
        [r["d"], r["bank"], "in the stack" if r["local"] else "weight 0", f"{r['rate']:,.0f}", f"{r['ratio']:.2f}",
         f"{r['whole']:,.0f}"]
        for r in found
    ])  # fmt: skip
    slowest = min(r["rate"] for r in found if r["d"] == MIDDLE)
    met = target(f"{MIDDLE} columns, slowest: {slowest:,.0f} rows a second (target {RATE:,})", slowest >= RATE)

    folder = Path(tempfile.mkdtemp(dir=args.folder or None))
    try:
        n = args.memory_rows or (10_000_000 if args.full else 1_000_000)
        model, rows = saved_model(folder / "model", False), many_rows(folder, n)
        long, digests = calibrate(model, rows, folder / "out.parquet"), digest_seconds(rows, args.rounds)
        (folder / "small").mkdir()
        small = many_rows(folder / "small", 500)
        cold = min((calibrate(model, small, folder / f"{i}.csv") for i in range(args.rounds)), key=lambda r: r["wall"])
        answer = min(float(measured(sys.executable, "-c", ANSWER, str(model))["said"]) for _ in range(args.rounds))
        size = (folder / "out.parquet").stat().st_size / 1e6
    finally:
        shutil.rmtree(folder)
    head = ["rows", "wall s", "processor s", "rows a second of processor", "peak MB", "table MB"]
    row = [
        n,
        f"{long['wall']:.0f}",
        f"{long['cpu']:.0f}",
        f"{n / long['cpu']:,.0f}",
        f"{long['mb']:,.0f}",
        f"{size:.0f}",
    ]
    show(
        args,
        "calibrate-memory",
        f"miscal calibrate, {MIDDLE} columns, bank 20,000, local shift in the stack",
        head,
        [row],
    )
    met &= target(f"peak over {n:,} rows: {long['mb']:,.0f} MB (target {MEGABYTES:,})", long["mb"] <= MEGABYTES)
    share = digests / long["cpu"]
    met &= target(
        f"digests of what was read: {long['cpu']:.2f} s of processor with them, {long['cpu'] - digests:.2f} s without, "
        f"{share:.1%} (target {DIGESTS:.0%})",
        share <= DIGESTS,
    )
    met &= target(f"cold start, 500 rows: {cold['wall']:.2f} s (target {COLD})", cold["wall"] <= COLD)
    met &= target(f"from the imports' end to the first answer: {answer:.2f} s (target {WARM})", answer <= WARM)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
