"""Time and memory: of a command with all its processes (Linux only), of functions in turn, and of what is a floor."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

INTERVAL = 0.05
"""Seconds between looks at the memory, and the most that a time is too long by; a look reads one small file per
process."""


@dataclass(frozen=True)
class Usage:
    """What a command took.

    Attributes
    ----------
    first, seconds : float
        Wall clock from the start of the interpreter until something was printed, and until its end.
    cpu_seconds : float
        Processor time of all its processes that were waited for.
    peak_mb : float
        Largest sum over its processes of the proportional set size, so that shared pages count once; sampled.
    said : str
    """

    first: float
    seconds: float
    cpu_seconds: float
    peak_mb: float
    said: str


def measured(*command: str | Path, environment: dict[str, str] | None = None) -> Usage:
    """Run a command to its end; a failure ends the benchmark."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start, peak, first = time.perf_counter(), 0.0, None
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if first is None and os.fstat(out.fileno()).st_size:
                first = time.perf_counter() - start
            peak = max(peak, sum(map(_proportional_mb, _tree(process.pid))))
            time.sleep(INTERVAL)
        seconds = time.perf_counter() - start
        _, status, used = ended
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}: {err.read()}")
        return Usage(first or seconds, seconds, used.ru_utime + used.ru_stime, peak, out.read())


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))
    except OSError:  # it ended while we looked
        return


def _proportional_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fresh process, which takes its memory with it when it ends."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def in_turn(rounds: int, *functions: Callable[[], object], clock: Callable[[], float] = time.process_time) -> Any:
    """Seconds of each function in each round, (functions, rounds), one more round thrown away before."""
    times = np.empty((len(functions), rounds + 1))
    for k in range(rounds + 1):
        for i, function in enumerate(functions):
            start = clock()
            function()
            times[i, k] = clock() - start
    return times[:, 1:]


def exponentials(count: int) -> None:
    """So many exponentials of numbers that a cache holds."""
    x, out = np.linspace(-20, 0, 1 << 16, dtype=np.float32), np.empty(1 << 16, np.float32)
    for _ in range(round(count / (1 << 16))):
        np.exp(x, out=out)


def gemm_rate(m: int, k: int, n: int) -> float:
    """Single-precision products (m, k) by (k, n) on all threads: median GFLOP/s."""
    rng = np.random.default_rng(0)
    left, right = (rng.random(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    out = np.empty((m, n), np.float32)
    times = in_turn(9, lambda: np.matmul(left, right, out=out), clock=time.perf_counter)
    return 2e-9 * m * k * n / float(np.median(times))


def write_planted(rows: Path, x: Path, n: int, d: int) -> None:
    """Write a planted world of n rows: embeddings of d columns, and a table with the topic of each row."""
    import polars as pl

    from miscal.study.synthetic.worlds import planted

    world = planted(n, d, random_state=0)
    np.save(x, world.X)
    columns = {"confidence": world.confidence, "correct": world.correct.astype(np.int8)}
    pl.DataFrame({**columns, "topic": [f"topic {k}" for k in np.asarray(world.regime)]}).write_parquet(rows)
