"""A table of sets x methods: losses of every method, and ours against the best other one of each set.

A question is a function that fits one method to one draw of one set and returns its losses, row by row or in one
number, and what else is measured; and one line in the registry of `real.py`. All share one store and their options.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from _judge import holm
from _script import cells, limit_threads, options, results, show, target

FIELDS = ("question", "set", "rows", "seed", "method")
LEVEL = 0.05


@dataclass(frozen=True)
class Duel:
    """What is compared on some sets.

    Attributes
    ----------
    one : callable
        ``one(folder, set, rows, seed, method)`` returns a dict: ``loss``, of every judged row or of the draw, and
        numbers by name; None where the method does not serve the set.
    sets : callable
        ``sets(folder)`` returns their names.
    methods : sequence of str
        The first is "raw", nothing corrected, and the last is ours.
    rows : sequence of int
        How many are learned from, where --rows names no others; 0: all but those that judge.
    seeds : int
    tolerance : float
        Loss by which a set may be worse than its best peer.
    quiet : sequence of str
        Sets on which nothing is to be gained: there ours may be behind by the tolerance, and need not be ahead.
    """

    one: Callable[..., dict | None]
    sets: Callable[[Path | None], Sequence[str]]
    methods: Sequence[str]
    rows: Sequence[int] = (0,)
    seeds: int = 1
    tolerance: float = 0.0
    quiet: Sequence[str] = ()


def compare(doc: str, name: str, duels: Mapping[str, Duel]) -> int:
    """Compare what --only names, or all; print the tables; 1 where a target is missed."""
    parser = options(doc, name, data="folder of real sets; without it the packaged demo data serve")
    parser.add_argument("--only", nargs="+", choices=list(duels), default=list(duels), metavar="NAME",
                        help=f"of {', '.join(duels)}")  # fmt: skip
    parser.add_argument("--sets", nargs="+", help="those whose name contains one of these; default: all")
    parser.add_argument("--methods", nargs="+", help="default: all")
    parser.add_argument("--rows", type=int, nargs="+", help="to learn from; default: as each has it")
    parser.add_argument("--draws", type=int, help="seeds; default: as each has it")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    args = parser.parse_args()
    keys = [key for name in args.only for key in keys_of(args, name, duels[name])]
    store = results(args, FIELDS, keys, partial(one_fit, args.data, duels))
    met = [shown(args, name, duels[name], store.of(keys)) for name in args.only]
    return int(not all(met))


def keys_of(args: argparse.Namespace, name: str, duel: Duel) -> list[tuple]:
    """Keys of all fits, seed after seed."""
    sets = [one for one in duel.sets(args.data) if not args.sets or any(part in one for part in args.sets)]
    methods = [one for one in duel.methods if not args.methods or one in args.methods]
    return [(name, one, rows, seed, method) for seed in range(args.first, args.first + (args.draws or duel.seeds))
            for rows in args.rows or duel.rows for one in sets for method in methods]  # fmt: skip


def one_fit(data: Path | None, duels: Mapping[str, Duel], *key: Any) -> dict:
    """Fit a method to a draw of a set."""
    limit_threads()
    start, (name, *asked) = time.perf_counter(), key
    told = duels[name].one(data, *asked) or {"loss": []}
    told["loss"] = np.round(np.atleast_1d(told["loss"]), 6).tolist()
    return {**dict(zip(FIELDS, key, strict=True)), **told, "seconds": time.perf_counter() - start}


def shown(args: argparse.Namespace, name: str, duel: Duel, records: Sequence[dict]) -> bool:
    """Show losses, what else was measured, and the duels; whether ours is ahead on average and nowhere behind."""
    by: dict[tuple, dict[str, list[dict]]] = {}
    for one in records:
        if one["question"] == name and one["loss"]:
            by.setdefault((one["set"], one["rows"]), {}).setdefault(one["method"], []).append(one)
    methods = [one for one in duel.methods if any(one in found for found in by.values())]
    table = np.array([
        [np.mean(np.concatenate([one["loss"] for one in found[m]])) if m in found else np.nan for m in methods]
        for found in by.values()
    ])  # fmt: skip
    rows = [[*at, *cells(row, best=np.nanmin)] for at, row in zip(by, table, strict=True)]
    rows.append(["average", "", *cells(np.nanmean(table, axis=0))])
    show(args, f"{args.cache.stem}-{name}", f"{name}: loss", ["set", "rows", *methods], rows)
    known = [[one for found in by.values() for one in found.get(m, ())] for m in methods]
    numbers = [k for k, v in known[0][0].items() if k not in (*FIELDS, "loss", "miscal") and isinstance(v, float)]
    told = [[m, *cells([np.mean([r[k] for r in own]) for k in numbers])] for m, own in zip(methods, known, strict=True)]
    show(args, f"{args.cache.stem}-{name}-numbers", f"{name}: means over the sets", ["method", *numbers], told)
    ours, peers = (
        duel.methods[-1],
        [m for m in methods if m != "raw" and m.split(",")[0] != duel.methods[-1].split(",")[0]],
    )
    if ours not in methods or not peers:
        return True
    duels, chances = [], []
    for (one, size), found in by.items():
        able = [m for m in peers if m in found]
        if ours not in found or not able:
            continue
        best = min(able, key=lambda m: np.mean(np.concatenate([r["loss"] for r in found[m]])))
        seeds = {r["seed"]: r["loss"] for r in found[best]}
        pairs = [np.subtract(r["loss"], seeds[r["seed"]]) for r in found[ours] if r["seed"] in seeds]
        apart = np.concatenate(pairs)
        # rows that judge for several seeds count once for the error; a loss of the draw counts by draws
        units = len(apart) / (len(pairs) if len(pairs[0]) > 1 else 1)
        error = apart.std() / np.sqrt(max(units - (len(pairs[0]) == 1), 1)) or 1e-12
        least = duel.tolerance if one in duel.quiet else 0.0
        chances.append(float(norm.sf((apart.mean() - least) / error)))
        low, high = apart.mean() - 1.96 * error, apart.mean() + 1.96 * error
        duels.append([one, size, len(pairs), best, f"{apart.mean():+.4f}", f"{low:+.4f}", f"{high:+.4f}"])
    worse = [
        row[0] for row, bad in zip(duels, holm(np.array(chances), LEVEL), strict=True)
        if bad and float(row[4]) > duel.tolerance
    ]  # fmt: skip
    head = ["set", "rows", "draws", "best peer", "ours less its loss", "low", "high"]
    show(args, f"{args.cache.stem}-{name}-duel", f"{name}: ours against the best peer of each set", head, duels)
    gained = [float(row[4]) for row in duels if row[0] not in duel.quiet]
    average = float(np.mean(gained)) if gained else 0.0
    line = f"{name}: {average:+.4f} to the best peer on average; worse beyond chance (Holm): {worse or 'nowhere'}"
    return target(line, not worse and (average < 0 or not gained))
