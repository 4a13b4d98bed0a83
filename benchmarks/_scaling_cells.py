"""What bench_scaling measures, one record a cell; each cell runs in processes of its own."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from _measure import apart, gemm_rate, measured

SEED = 0
QUERIES, WIDTH = 9_103, 128
GRID_ROWS, GRID_VAL, GRID_FEATURES, GRID_EPOCHS = 4_096, 512, 64, 10
NEIGHBOUR_QUERIES, NEIGHBOURS = 512, (64, 256, 1024)
PLAIN_STEPS = 55
LANDMARKS = 500  # of every kernel score of auto
TILE = 8_192


# --- miscal discover -----------------------------------------------------------------------------------------------


def discover_cell(n: int, d: int, setting: str) -> dict:
    """`miscal discover` from file to report, with the rate of products measured right after it."""
    with tempfile.TemporaryDirectory() as folder:
        data, x, out = (Path(folder) / name for name in ("rows.parquet", "x.npy", "run"))
        apart(_write_world, data, x, n, d)
        busy = os.getloadavg()[0]
        given = f"--names-only topic --method {setting} --seed {SEED}".split()
        command = [sys.executable, "-m", "miscal", "discover", str(data), "--embeddings", str(x), *given]
        used = measured([*command, "--out", str(out)])
        summary = json.loads((out / "summary.json").read_text())
    rate = apart(gemm_rate, (TILE, LANDMARKS, LANDMARKS))
    flops = nystrom_flops(n, d)
    return {
        **used.__dict__, "stages": summary["timing"],
        "load": busy, "cores": os.cpu_count(), "gflop": flops * 1e-9, "rate": rate, "floor": flops * 1e-9 / rate,
    }  # fmt: skip


def _write_world(data: Path, x: Path, n: int, d: int) -> None:
    import polars as pl

    from miscal.study.synthetic.worlds import planted

    world = planted(n, d, random_state=SEED)
    np.save(x, world.X)
    columns = {"confidence": world.confidence, "correct": world.correct.astype(np.int8)}
    pl.DataFrame({**columns, "topic": [f"topic {k}" for k in np.asarray(world.regime)]}).write_parquet(data)


def nystrom_flops(n: int, d: int) -> float:
    """Multiplications and additions of the products that the Nystrom features of `discover` need.

    Per fit: covariance and rotation to 384 components where d > 384; per kernel score the kernel between rows and
    landmarks, the whitening, and one normal matrix (the folds' are sums of its parts); the kernel at the rows
    estimated. Fits, where every row is evaluated: one on all rows, one on all folds but each, and one on the folds
    before each but the first and the last.
    """
    folds = 10 if n < 1_000 else 4 if n <= 50_000 else 3
    fold = n / folds
    forward = sum(_fit_flops(k * fold, fold, d) for k in range(1, folds - 1))
    return _fit_flops(n, 0.0, d) + folds * _fit_flops(n - fold, fold, d) + forward


def _fit_flops(rows: float, queries: float, d: int) -> float:
    p, m = min(d, 384), LANDMARKS
    widths = [p] * 4 if d <= 16 else [p] * 4 + ([14, 14] if rows >= 2_000 else [p])
    scores = sum(2 * rows * (w * m + 2 * m * m) + 2 * queries * w * m for w in widths)
    wide = d > 384
    return scores + wide * (2 * min(rows, 20_000) * d * d + 2 * (rows + queries) * d * 384)


def _stream(n: int, d: int, setting: str) -> dict:
    """Estimates at new rows by a field fitted to n rows, one thread: what a pass over streamed rows costs."""
    from miscal.base.threads import one_thread
    from miscal.estimators.field import MiscalibrationField
    from miscal.study.synthetic.worlds import planted

    world = planted(n + int(setting), d, random_state=SEED)
    X, f = world.X, world.confidence
    with one_thread():
        field = MiscalibrationField(n_jobs=1, random_state=SEED).fit(X[:n], world.correct[:n], confidence=f[:n])
        start, cpu = time.perf_counter(), time.process_time()
        for i in range(n, len(f), TILE):
            field.estimate(X[i : i + TILE], f[i : i + TILE])
    return {
        "seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu,
        "bank": len(field.fitted_.model_.local.bank),
    }  # fmt: skip


# --- the paper's smoother and grid -----------------------------------------------------------------------------------


def _smoothing(n: int, d: int, setting: str) -> dict:
    """Smoothing of the test rows against a bank of n rows, one thread."""
    from _script import limit_threads
    from bench_kernel import median_of, smoothing_floor, unit_rows
    from miscal.estimators.kernel import smooth

    limit_threads()
    rng = np.random.default_rng(SEED)
    query, bank = (unit_rows(k, d, rng) for k in (QUERIES, n))
    residual = rng.uniform(-0.5, 0.5, n).astype(np.float32)
    floor, times = median_of(
        5, lambda: smoothing_floor(query, bank), lambda: smooth(query, bank, residual, float(setting))
    )
    return {"seconds": float(np.median(times)), "floor": float(np.median(floor))}


def _grid(n: int, d: int, setting: str) -> dict:
    """Training of a grid of (sigma, lambda) for some epochs, one process of one thread."""
    import torch

    from bench_kernel import epoch_floor, seconds, step_products
    from miscal.estimators.paper.grid import LAMBDAS, SIGMAS, search
    from miscal.estimators.paper.phi import TrainingData, layer_sizes
    from miscal.study.synthetic.worlds import planted

    torch.set_num_threads(1)
    n_sigmas, n_lambdas = map(int, setting.split(" x "))
    world = planted(n + GRID_VAL, d, random_state=SEED)
    X, r, one = world.X, world.residual.astype(np.float32), np.ones(len(world), np.float32)
    data = TrainingData(X[:n], r[:n], one[:n], X[n:], r[n:], one[n:], np.arange(n))
    settings = {"sigmas": SIGMAS[-n_sigmas:], "penalties": LAMBDAS[-n_lambdas:], "max_epochs": GRID_EPOCHS}
    taken = seconds(lambda: search(data, **settings, n_jobs=1))
    widths = layer_sizes(d)
    products = step_products((d, widths[1], widths[1], widths[2]))
    state = [torch.zeros(len(right), right.shape[1]) for _, right, _ in products[::3] for _ in range(3)]
    rows, order = torch.from_numpy(X[:n]), torch.randperm(n)
    epoch = np.median([seconds(lambda: epoch_floor(rows, order, products, state)) for _ in range(6)][1:])
    floor = float(epoch) * GRID_EPOCHS * n_sigmas * n_lambdas
    return {"seconds": taken, "floor": floor}


# --- nearest neighbours against the whole bank -----------------------------------------------------------------------


def _neighbours(n: int, d: int, setting: str) -> dict:
    """Smoothing over the k nearest rows of the bank against smoothing over all of it, one thread."""
    from _script import limit_threads
    from bench_kernel import median_of
    from miscal.estimators.kernel import smooth
    from miscal.study.synthetic.worlds import planted

    limit_threads()
    sigma = float(setting)
    world = planted(n + NEIGHBOUR_QUERIES, d, contrast=2.0, random_state=SEED)
    z = world.X / np.linalg.norm(world.X, axis=1, keepdims=True)
    bank, query, residual = z[:n], z[n:], world.residual[:n].astype(np.float32)
    exact, mass = smooth(query, bank, residual, sigma)
    methods = {"exact": lambda k: smooth(query, bank, residual, sigma, neighbours=k)[0]}
    methods |= _faiss_methods(query, bank, residual, sigma) if find_spec("faiss") else {}
    rows = []
    for k in NEIGHBOURS:
        for name, method in methods.items():
            whole, times = median_of(3, lambda: smooth(query, bank, residual, sigma), lambda m=method, k=k: m(k))
            error = np.abs(np.asarray(method(k)) - exact)
            rows.append({
                "k": k, "method": name, "seconds": float(np.median(times)), "whole": float(np.median(whole)),
                "max": float(error.max()), "rms": float(np.sqrt(np.mean(error**2))),
            })  # fmt: skip
    return {"seconds": rows[0]["whole"], "mass": float(np.median(mass)), "rows": rows}


def _faiss_methods(query: np.ndarray, bank: np.ndarray, residual: np.ndarray, sigma: float) -> dict:
    """The same average over what faiss finds; building an index is not timed, as one serves all bandwidths and k."""
    import faiss

    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(bank.shape[1])
    cells = round(np.sqrt(len(bank)))
    inverted = faiss.IndexIVFFlat(faiss.IndexFlatL2(bank.shape[1]), bank.shape[1], cells)
    inverted.cp.seed = SEED
    inverted.train(bank)
    inverted.nprobe = max(1, cells // 16)
    flat.add(bank)
    inverted.add(bank)

    def averaged(index):
        def method(k: int) -> np.ndarray:
            square, found = index.search(query, k)
            # faiss fills up with row -1 at the largest float
            weight = np.exp(-np.minimum(square.astype(np.float64) / sigma**2, 80)) * (found >= 0)
            return (weight * residual[found]).sum(1) / weight.sum(1)

        return method

    return {"faiss flat": averaged(flat), f"faiss IVF, {inverted.nprobe} of {cells} cells": averaged(inverted)}


# --- the paper's training as a plain loop ----------------------------------------------------------------------------


def plain_cell(n: int, d: int, setting: str) -> dict:
    """Steps of the plain loop, on one thread or on all, whichever is faster, and what its epochs would take."""
    found = min((apart(_plain_steps, d, PLAIN_STEPS, k) for k in (1, os.cpu_count())), key=lambda r: r["per_step"])
    steps = int(np.ceil(0.8 * n / 1024))
    epochs = int(setting.split()[0])
    return {
        **found, "steps": PLAIN_STEPS, "steps_per_epoch": steps,
        "seconds": found["per_step"] * steps * epochs,
    }  # fmt: skip


def _plain_steps(
    d: int, steps: int, threads: int, sigma: float = 0.5, penalty: float = 1e-3, batch: int = 1024
) -> dict:
    """Autograd, float32, one product and one exponential per pair; sigma is one where no weight is subnormal."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(SEED)
    phi = nn.Sequential(
        nn.Linear(d, 512), nn.GELU(), nn.Dropout(0.1), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, WIDTH)
    )
    adam = torch.optim.Adam(phi.parameters(), lr=3e-5, weight_decay=7e-6)
    X, r = torch.randn(20 * batch, d), torch.rand(20 * batch) - 0.5

    def step() -> None:
        rows = torch.randperm(len(X))[:batch]
        z = nn.functional.normalize(phi(X[rows]), dim=1)
        square = z.square().sum(1)
        K = torch.exp(-(square[:, None] + square - 2 * z @ z.T) / sigma**2)
        mass = K.sum(1)
        delta = K @ r[rows] / mass
        loss = -delta.square().mean() + penalty * (20.0 - mass).clamp(min=0).square().mean()
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(phi.parameters(), 1.0)
        adam.step()

    for _ in range(3):
        step()
    start, before = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    taken, cpu = time.perf_counter() - start, time.process_time() - before
    return {
        "per_step": taken / steps, "cpu_per_step": cpu / steps, "threads": torch.get_num_threads(),
    }  # fmt: skip


PARTS = {"stream": _stream, "bank": _smoothing, "grid": _grid, "neighbours": _neighbours}
CELLS = {"discover": discover_cell, "plain": plain_cell, **PARTS}
"""Parts that need other processes than one of their own, and those that do not."""


def cell(part: str, n: int, d: int, setting: str) -> dict:
    """Measure one cell."""
    found = apart(PARTS[part], n, d, setting) if part in PARTS else CELLS[part](n, d, setting)
    return {"part": part, "n": n, "d": d, "setting": setting, "load": os.getloadavg()[0], **found}
