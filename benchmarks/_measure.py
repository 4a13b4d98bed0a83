"""Wall seconds, processor seconds and peak memory of a command with all its processes; Linux only."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
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
    seconds : float
        Wall clock, interpreter start to exit.
    cpu_seconds : float
        Processor time of all its processes that were waited for.
    peak_mb : float
        Largest sum over its processes of the proportional set size, so that shared pages count once; sampled.
    largest_mb : float
        ``ru_maxrss`` of the largest of its processes, kept by the kernel.
    """

    seconds: float
    cpu_seconds: float
    peak_mb: float
    largest_mb: float


def measured(command: Sequence[str]) -> Usage:
    """Run a command to its end; its output is dropped, and a failure ends the benchmark."""
    start, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        peak = max(peak, sum(map(_proportional_mb, _tree(process.pid))))
        time.sleep(INTERVAL)
    seconds = time.perf_counter() - start
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {process.stderr.read().decode()}")
    return Usage(seconds, used.ru_utime + used.ru_stime, peak, used.ru_maxrss / 1024)


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


def gemm_rate(shape: tuple[int, int, int], repeats: int = 9) -> float:
    """Single-precision products (m, k) by (k, n) on all threads: median GFLOP/s."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    left, right = (rng.random(s, dtype=np.float32) for s in ((m, k), (k, n)))
    out = np.empty((m, n), np.float32)
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        np.matmul(left, right, out=out)
        times.append(time.perf_counter() - start)
    return 2e-9 * m * k * n / float(np.median(times[1:]))
