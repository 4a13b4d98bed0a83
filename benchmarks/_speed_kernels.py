"""Parts of `speed.py` beside the floor of their products and exponentials: smoothing, training, corrections."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl

from _measure import Usage, exponentials, in_turn, measured
from _script import limit_threads, show, target
from miscal.data.readers.opening import content_digest
from miscal.data.readers.read import read_triples
from miscal.discovery.saved_model import SavedModel
from miscal.estimators.auto.geometry import LOCAL, LocalMember
from miscal.estimators.auto.model import FIRST_STACK, AutoModel
from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.kernel import TILE, smooth

# --- smoothing in numpy, and training in torch ---------------------------------------------------------------------

QUERIES, BANK, WIDTH = 9_103, 20_000, 128
SIGMAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
ROWS, TRAINED, FEATURES, HIDDEN = 70_000, 8_192, 4_096, 512
WORST, SPREAD, EPOCH = 1.6, 1.5, 1.45
"""Targets, as multiples of the floor; the spread is that of the ratios over the bandwidths."""


def kernel(args: argparse.Namespace) -> bool:
    """Time exact smoothing by bandwidth, and an epoch of the paper's training, in ratios to floors of the same run."""
    limit_threads()
    rng, bank_rows = np.random.default_rng(0), (args.rows or [BANK])[0]
    query, bank = (_unit_rows(n, WIDTH, rng) for n in (QUERIES, bank_rows))
    residual = rng.uniform(-0.5, 0.5, bank_rows).astype(np.float32)
    subjects = [lambda s=s: smooth(query, bank, residual, s) for s in SIGMAS]
    floor, *times = in_turn(args.rounds, lambda: _smoothing_floor(query, bank), *subjects)
    ratios = [float(np.median(one / floor)) for one in times]
    rows = [[f"{sigma:g}", f"{np.median(one):.3f}", f"{np.median(floor):.3f}", f"{ratio:.2f}"]
            for sigma, one, ratio in zip(SIGMAS, times, ratios, strict=True)]  # fmt: skip
    title = f"smoothing {QUERIES} x {bank_rows} x {WIDTH}, float32, one thread"
    show(args, "kernel", title, ["sigma", "seconds", "floor", "ratio"], rows)
    worst, spread = max(ratios), max(ratios) / min(ratios)
    met = target(f"worst ratio {worst:.2f} (target {WORST})", worst <= WORST)
    met &= target(f"spread over sigma {spread:.2f} (target {SPREAD})", spread <= SPREAD)
    n = min(TRAINED, bank_rows)
    least, epoch = _epochs(args.rounds, n)
    ratio = float(np.median(epoch / least))
    least, epoch = (ROWS / n * float(np.median(one)) for one in (least, epoch))
    line = (
        f"training epoch {ROWS} x {FEATURES}, measured on {n} random rows and scaled: {epoch:.1f} s, floor {least:.1f}"
    )
    return target(f"{line} s, ratio {ratio:.2f} (target {EPOCH})", ratio <= EPOCH) and met


def _unit_rows(n: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Random float32 rows of length 1, (n, width)."""
    z = rng.normal(size=(n, width)).astype(np.float32)
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def _smoothing_floor(query: np.ndarray, bank: np.ndarray) -> None:
    """The same tiles, products only, then the exponentials."""
    buffer = np.empty(TILE[0] * TILE[1], np.float32)
    for start in range(0, len(query), TILE[0]):
        q = np.ascontiguousarray(query[start : start + TILE[0]].T)
        for first in range(0, len(bank), TILE[1]):
            b = bank[first : first + TILE[1]]
            np.matmul(b, q, out=buffer[: len(b) * q.shape[1]].reshape(len(b), -1))
    exponentials(len(query) * len(bank))


def _epochs(rounds: int, n: int) -> np.ndarray:
    """Seconds of the floor of an epoch and of an epoch: products of forward and backward pass, one exponential per
    pair, reading each batch of X, and one pass of Adam's traffic."""
    import torch

    from miscal.estimators.paper.phi import BATCH, Training

    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, FEATURES, generator=generator)
    residual, one = torch.rand(n, generator=generator) - 0.5, torch.ones(n)
    order = torch.randperm(n, generator=generator)
    training = Training((FEATURES, HIDDEN, WIDTH), 0.3, 1e-3, seed=0)
    shapes = []
    # per layer forward, weight gradient, input gradient but for the first; then the pairs of a batch
    for i, (d, h) in enumerate(pairwise((FEATURES, HIDDEN, HIDDEN, WIDTH))):
        shapes += [(BATCH, d, h), (h, BATCH, d)] + ([(BATCH, h, d)] if i > 0 else [])
    shapes += [(BATCH, WIDTH, BATCH), (BATCH, BATCH, WIDTH)]
    products = [(torch.ones(m, k), torch.ones(k, n), torch.empty(m, n)) for m, k, n in shapes]
    state = [torch.zeros(p.shape) for p in training.phi.parameters() for _ in range(3)]

    def floor() -> None:
        for rows in order.split(BATCH):
            X[rows]
            for left, right, out in products:
                torch.mm(left, right, out=out)
            exponentials(BATCH * BATCH)
            for tensor in state:  # Adam reads and writes parameter and two moments
                tensor.add_(0.0)

    return in_turn(rounds, floor, lambda: training._train_epoch(X, residual, one))


# --- corrections of new rows ---------------------------------------------------------------------------------------

COLUMNS, BANKS, MIDDLE = (16, 384, 1_024), (2_500, 5_000, 10_000, 20_000), 384
FITTED, NEW, LANDMARKS, KERNELS = 2_500, 8_192, 300, 5
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


def corrections(args: argparse.Namespace) -> bool:
    """Rows a second on one core, then whole commands: over many rows, over 500, and from the imports to an answer.

    Every score has a weight, which is the dearest case; the local shift has one or none, and its bank random rows. The
    floor has inputs against 300 landmarks, one exponential for each of five kernels, and with the local shift rows
    against bank, one exponential a pair, and 18 sums over the bank. Whole: `estimate`, all that a report shows. Digests
    are those of what was read, by which a correction that is resumed notices files that were replaced.
    """
    limit_threads()
    found = [row for d in COLUMNS for row in _rates(d, BANKS if args.full else BANKS[::3], args.rounds)]
    shown = [[d, bank, shift, f"{rate:,.0f}", f"{ratio:.2f}", f"{whole:,.0f}"]
             for d, bank, shift, rate, ratio, whole in found]  # fmt: skip
    slowest = min(rate for d, _, _, rate, *_ in found if d == MIDDLE)
    head = ["columns", "bank", "local shift", "rows a second", "time / floor", "rows a second, whole"]
    show(args, "calibrate-rates", "Corrections on one core, every score with a weight", head, shown)
    met = target(f"{MIDDLE} columns, slowest: {slowest:,.0f} rows a second (target {RATE:,})", slowest >= RATE)

    n = (args.rows or [10_000_000 if args.full else 1_000_000])[0]
    with tempfile.TemporaryDirectory(dir=args.folder) as place:
        folder = Path(place)
        (folder / "small").mkdir()
        model, rows = _saved_model(folder / "model"), _many_rows(folder, n)
        small = _many_rows(folder / "small", 500)
        long, digests = _calibrate(model, rows, folder / "out.parquet"), _digest_seconds(rows, n, args.rounds)
        cold = min(_calibrate(model, small, folder / f"{i}.csv").seconds for i in range(args.rounds))
        answer = min(float(measured(sys.executable, "-c", ANSWER, model).said) for _ in range(args.rounds))
        size = (folder / "out.parquet").stat().st_size / 1e6
    head = ["rows", "wall s", "processor s", "rows a second of processor", "peak MB", "table MB"]
    row = [n, f"{long.seconds:.0f}", f"{long.cpu_seconds:.0f}", f"{n / long.cpu_seconds:,.0f}", f"{long.peak_mb:,.0f}",
           f"{size:.0f}"]  # fmt: skip
    show(args, "calibrate-memory", f"miscal calibrate, {MIDDLE} columns, bank 20,000, weight 0", head, [row])
    share = digests / long.cpu_seconds
    return all([
        met,
        target(f"peak over {n:,} rows: {long.peak_mb:,.0f} MB (target {MEGABYTES:,})", long.peak_mb <= MEGABYTES),
        target(f"digests of what was read: {share:.1%} of the processor time (target {DIGESTS:.0%})", share <= DIGESTS),
        target(f"cold start, 500 rows: {cold:.2f} s (target {COLD})", cold <= COLD),
        target(f"from the imports' end to the first answer: {answer:.2f} s (target {WARM})", answer <= WARM),
    ])  # fmt: skip


def _rates(d: int, banks: tuple[int, ...], rounds: int) -> list[tuple]:
    """Rows a second of a field of d columns, its time over the floor, and rows a second with everything computed."""
    X, f, y = _world(FITTED, d)
    field = MiscalibrationField().fit(X, y, confidence=f)
    fitted, (Q, g, _), found = field.fitted_.model_, _world(NEW, d, seed=1), []
    for bank, local in product(banks, (False, True)):
        field.fitted_.model_ = _heavy(fitted, bank, local)
        floor = partial(_floor, NEW, min(d, MIDDLE), bank * local)
        ways = (lambda: field.correct(Q, g), floor, lambda: field.estimate(Q[:1024], g[:1024]))
        quick, least, whole = in_turn(rounds, *ways).min(axis=1)
        found.append((d, bank, "in the stack" if local else "weight 0", NEW / quick, quick / least, 1024 / whole))
    return found


def _world(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, confidences, and outcomes that the first column shifts."""
    rng = np.random.default_rng(seed)
    X, f = rng.standard_normal((n, d), np.float32), rng.uniform(0.05, 0.95, n)
    return X, f, (rng.random(n) < np.clip(f + 0.2 * np.sign(X[:, 0]), 0, 1)).astype(int)


def _heavy(model: AutoModel, bank: int, local: bool) -> AutoModel:
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


def _floor(n: int, d: int, bank: int) -> None:
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


def _many_rows(folder: Path, n: int) -> Path:
    """Write n rows of 384 columns, a block at a time; blocks repeat, which costs a correction nothing."""
    X, f, _ = _world(min(n, 100_000), MIDDLE, seed=2)
    matrix = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (n, MIDDLE))
    for i in range(0, n, len(X)):
        matrix[i : i + len(X)] = X[: n - i]
    matrix.flush()
    pl.DataFrame({"confidence": np.resize(f, n)}).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def _saved_model(folder: Path) -> Path:
    X, f, y = _world(FITTED, MIDDLE)
    data = read_triples(pl.DataFrame({"confidence": f, "correct": y}), embeddings=X)
    field = MiscalibrationField().fit_triples(data)
    field.fitted_.model_ = _heavy(field.fitted_.model_, 20_000, local=False)
    SavedModel(field.to_saved(), data.encoder, "confidence").save(folder)
    return folder


def _calibrate(model: Path, rows: Path, out: Path) -> Usage:
    command = (sys.executable, "-m", "miscal", "calibrate", model, rows, "--embeddings", rows.parent / "x.npy")
    return measured(*command, "--out", out)


def _digest_seconds(rows: Path, n: int, rounds: int) -> float:
    """Processor seconds for digests of all rows, by those of some."""
    matrix = np.load(rows.parent / "x.npy", mmap_mode="r")
    frame, X = pl.read_parquet(rows, n_rows=NEW), np.array(matrix[:NEW])
    return n / len(X) * float(in_turn(rounds, lambda: content_digest(frame, X)).min())
