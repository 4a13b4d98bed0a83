"""Results as JSON lines, so that a long benchmark can be stopped, resumed and read half-way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import joblib
import numpy as np

from _measure import apart

Key = tuple


class Cache:
    """Records by key in one file; the last record of a key counts."""

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self.path, self.fields = path, fields
        path.parent.mkdir(parents=True, exist_ok=True)
        self.records: dict[Key, dict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._keep(json.loads(line))

    def _keep(self, record: dict) -> None:
        self.records[self.key(record)] = record

    def key(self, record: dict) -> Key:
        """Key of a record."""
        return tuple(record[name] for name in self.fields)

    def add(self, record: dict) -> None:
        """Keep a record and append it to the file."""
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self._keep(record)


def limit_threads() -> None:
    """One thread in this process: the cores are for the processes."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)


def compute(
    cache: Cache,
    keys: Iterable[Key],
    work: Callable[..., dict],
    jobs: int,
    refresh: bool = False,
    *,
    fresh: bool = False,
) -> None:
    """Run `work(*key)` for the keys that are not cached (all, with `refresh`), printing a line for each.

    With `fresh` each runs in a process of its own, so that its peak of memory is its own.
    """
    todo = [key for key in keys if refresh or key not in cache.records]
    for number, record in enumerate(_results(work, todo, jobs, fresh=fresh), 1):
        cache.add(record)
        print(f"{number}/{len(todo)} {' '.join(map(str, cache.key(record)))}: {record['seconds']:.1f} s", flush=True)


def _results(work: Callable[..., dict], todo: list[Key], jobs: int, *, fresh: bool) -> Iterator[dict]:
    if fresh:  # the threads only wait
        parallel = joblib.Parallel(n_jobs=jobs, prefer="threads", return_as="generator")
        return parallel(joblib.delayed(apart)(work, *key) for key in todo)
    if jobs == 1:
        return (work(*key) for key in todo)
    return joblib.Parallel(n_jobs=jobs, return_as="generator")(joblib.delayed(work)(*key) for key in todo)


def print_costs(records: Mapping[str, list[dict]]) -> None:
    """Print the seconds of each method's records, and where it was measured the largest peak of a process's memory.

    The peak includes interpreter and data, which the raw confidences need too.
    """
    measured = any("peak_mb" in row for rows in records.values() for row in rows)
    head = ["method", "median seconds", "longest", *(["largest peak, MB"] if measured else [])]
    print("\n| " + " | ".join(head) + " |\n|---|" + "---:|" * (len(head) - 1))
    for method, rows in records.items():
        if rows:
            seconds, peaks = [r["seconds"] for r in rows], [r["peak_mb"] for r in rows if "peak_mb" in r]
            peak = [f"{max(peaks):.0f}" if peaks else ""] if measured else []
            print("| " + " | ".join([method, f"{np.median(seconds):.1f}", f"{max(seconds):.1f}", *peak]) + " |")
