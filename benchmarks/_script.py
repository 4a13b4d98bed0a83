"""What the scripts share: options, the store of results, tables as text and csv, targets, and one fit of a method."""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from _store import Key, Store
from baselines import METHODS


def options(doc: str, cache: str | None = None, *, data: str | None = None, **more: Any) -> argparse.ArgumentParser:
    """Options of a script: those that all share, and its own by their defaults; a list takes several values.

    `cache` names the file of results in bench_cache; without it nothing is stored. `data` describes --data.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--csv", type=Path, metavar="DIR", help="folder to write the printed tables to, as csv")
    if data:
        parser.add_argument("--data", type=Path, metavar="DIR", help=data)
    if cache is not None:
        parser.add_argument("--cache", type=Path, default=Path(f"bench_cache/{cache}.jsonl"), help="file of results")
        parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
        parser.add_argument("--refresh", action="store_true", help="compute again what is stored")
        parser.add_argument("--print", action="store_true", help="print what is stored, compute nothing")
    for name, default in more.items():
        several = isinstance(default, (list, tuple))
        kind = type(default[0] if several else default)
        parser.add_argument(
            f"--{name.replace('_', '-')}", default=default, type=kind, nargs="+" if several else None,
            help=f"default: {default}".replace("%", "%%"),
        )  # fmt: skip
    return parser


def limit_threads() -> None:
    """One thread in this process: the cores are for the processes."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)


def results(args: argparse.Namespace, fields: tuple[str, ...], keys: Sequence[Key], work: Callable[..., dict]) -> Store:
    """Return the store of results, what is missing computed unless --print."""
    store = Store(args.cache, fields)
    if args.refresh:
        for key in keys:
            store.records.pop(key, None)
    if not args.print:
        store.fill(keys, work, args.jobs, partial(_print_progress, store))
    if others := store.other_versions():
        print(f"{args.cache} holds results of other versions of miscal: {', '.join(others)}", file=sys.stderr)
    return store


def _print_progress(store: Store, done: int, missing: int, record: dict[str, Any]) -> None:
    named = " ".join(map(str, store.key(record)))
    print(f"{done}/{missing} {named}: {record['seconds']:.1f} s", file=sys.stderr, flush=True)


def show(args: argparse.Namespace, name: str, title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; with --csv write it to NAME.csv, bold marks and separators of thousands left out."""
    rows = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    numeric = [
        all(re.fullmatch(r"[*+-]*[\d,.]*(e[+-]\d+)?[*]*( of \d+| %)?", row[i]) for row in rows)
        for i in range(len(head))
    ]
    print(f"\n{title}\n\n| " + " | ".join(head) + " |")
    print("|" + "|".join("---:" if number else "---" for number in numeric) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    if args.csv:
        args.csv.mkdir(parents=True, exist_ok=True)
        with (args.csv / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            writer.writerows(
                [re.sub(r"(?<=\d),(?=\d{3}\b)", "", cell.replace("**", "")) for cell in row] for row in rows
            )


def cells(values: Sequence[float], digits: int = 4, best: Callable | None = None) -> list[str]:
    """Numbers of a row as text, empty where undefined; the best (np.nanmax or np.nanmin) in bold."""
    rounded = np.round(np.asarray(values, float), digits) + 0.0  # a value that rounds to zero has no sign
    top = best(rounded) if best and not np.isnan(rounded).all() else None
    return ["" if np.isnan(v) else f"**{v:.{digits}f}**" if v == top else f"{v:.{digits}f}" for v in rounded]


def target(line: str, met: bool) -> bool:
    """Print a target beside what was reached; whether it is met."""
    print(f"\n{line}: {'met' if met else 'MISSED'}")
    return bool(met)


def mean(records: Iterable[Mapping[str, Any]], key: str) -> float:
    """Mean of a number over the records where it is defined, else NaN."""
    values = [record[key] for record in records if record.get(key) is not None]
    return float(np.mean(values)) if values else float("nan")


def fitted(
    method: str,
    X: np.ndarray,
    f: np.ndarray,
    y: np.ndarray,
    known: np.ndarray,
    seed: int,
    split: np.ndarray | None = None,
) -> tuple[Any, float]:
    """Fit a method to the known rows; the model and the seconds it took."""
    start = time.perf_counter()
    rows = {"confidence": f[known], "correct": y[known], "split": None if split is None else split[known]}
    model = METHODS[method]().fit(X[known], **rows, random_state=seed)
    return model, time.perf_counter() - start
