"""A table of sets x methods: losses of every method, and ours against the best other one of each set.

A duel is a function that fits one method to one draw of one set and returns its losses, row by row or in one number,
and what else is measured; and one line in the registry of `real.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from _judge import holm
from _script import cells, show, target
from _shares import FIELDS, chosen
from miscal.calibration.metrics.scores import mean_interval

LEVEL = 0.05


@dataclass(frozen=True)
class Duel:
    """What is compared on some sets.

    Attributes
    ----------
    one : callable
        ``one(folder, set, rows, seed, method)`` returns a dict: ``loss``, of every judged row or of the draw, and
        numbers by name; None where the method does not serve the set. ``units`` says which rows of all that
        judge hang together.
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

    def keys(self, args: argparse.Namespace, name: str) -> list[tuple]:
        """Keys of all fits, seed after seed."""
        methods = [one for one in self.methods if not args.methods or one in args.methods]
        return [(name, one, rows, seed, method) for seed in range(args.first, args.first + (args.draws or self.seeds))
                for rows in args.rows or self.rows for one in chosen(args, self.sets(args.data))
                for method in methods]  # fmt: skip

    def record(self, data: Path | None, *key: Any) -> dict:
        """Fit a method to a draw of a set."""
        told = self.one(data, *key) or {"loss": []}
        return told | {"loss": np.round(np.atleast_1d(told["loss"]), 6).tolist()}

    def shown(self, args: argparse.Namespace, name: str, records: Sequence[dict]) -> list[str]:
        """Show losses, what else was measured, and the duels; where ours is behind, or that it is not ahead."""
        by: dict[tuple, dict[str, list[dict]]] = {}
        for one in records:
            if one["loss"]:
                by.setdefault((one["world"], one["rows"]), {}).setdefault(one["of"], []).append(one)
        methods = [one for one in self.methods if any(one in found for found in by.values())]
        table = np.array([
            [np.mean(np.concatenate([one["loss"] for one in found[m]])) if m in found else np.nan for m in methods]
            for found in by.values()
        ])  # fmt: skip
        rows = [[*at, *cells(row, best=np.nanmin)] for at, row in zip(by, table, strict=True)]
        rows.append(["average", "", *cells(np.nanmean(table, axis=0))])
        show(args, f"{args.cache.stem}-{name}", f"{name}: loss", ["set", "rows", *methods], rows)
        known = [[one for found in by.values() for one in found.get(m, ())] for m in methods]
        numbers = [k for k, v in known[0][0].items() if k not in (*FIELDS, "seconds") and isinstance(v, float)]
        told = [
            [m, *cells([np.mean([r[k] for r in own]) for k in numbers])] for m, own in zip(methods, known, strict=True)
        ]
        if numbers:
            show(args, f"{args.cache.stem}-{name}-numbers", f"{name}: means over the sets", ["method", *numbers], told)
        ours = self.methods[-1]
        if ours in methods and len(by) > 1:
            apart = table[:, [methods.index(ours)]] - table
            # sets of one name are the same rows
            units = np.array([one.partition(":")[0] for one, _ in by])
            told = [(values[known], units[known]) for values in apart.T for known in [~np.isnan(values)]]
            means = [
                [
                    m,
                    len(d),
                    f"{d.mean():+.5f}",
                    f"{mean_interval(d, groups=u).standard_error or 0:.5f}",
                    int(sum(d < 0)),
                ]
                for m, (d, u) in zip(methods, told, strict=True)
                if m != ours and len(d)
            ]
            head = ["method", "sets", "ours less its loss", "standard error", "ours lower on"]
            show(args, f"{args.cache.stem}-{name}-means", f"{name}: ours less each method over the sets", head, means)
        peers = [m for m in methods if m != "raw" and m.split(",")[0] != ours.split(",")[0]]
        if ours not in methods or not peers:
            return []
        duels, chances = [], []
        for (one, size), found in by.items():
            able = [m for m in peers if m in found]
            if ours not in found or not able:
                continue
            best = min(able, key=lambda m: np.mean(np.concatenate([r["loss"] for r in found[m]])))
            seeds = {r["part"]: r["loss"] for r in found[best]}
            pairs = [np.subtract(r["loss"], seeds[r["part"]]) for r in found[ours] if r["part"] in seeds]
            apart = np.concatenate(pairs)
            # rows that judge for several seeds count once for the error; a loss of the draw counts by draws
            units = len(apart) / (len(pairs) if len(pairs[0]) > 1 else 1)
            error = apart.std() / np.sqrt(max(units - (len(pairs[0]) == 1), 1)) or 1e-12
            if unit := [one for r in found[ours] if r["part"] in seeds for one in r.get("units", ())]:
                error = mean_interval(apart, groups=np.array(unit)).standard_error or 1e-12
            least = self.tolerance if one in self.quiet else 0.0
            chances.append(float(norm.sf((apart.mean() - least) / error)))
            low, high = apart.mean() - 1.96 * error, apart.mean() + 1.96 * error
            duels.append([one, size, len(pairs), best, f"{apart.mean():+.4f}", f"{low:+.4f}", f"{high:+.4f}"])
        worse = [
            row[0] for row, bad in zip(duels, holm(np.array(chances), LEVEL), strict=True)
            if bad and float(row[4]) > self.tolerance
        ]  # fmt: skip
        head = ["set", "rows", "draws", "best peer", "ours less its loss", "low", "high"]
        show(args, f"{args.cache.stem}-{name}-duel", f"{name}: ours against the best peer of each set", head, duels)
        gained = [float(row[4]) for row in duels if row[0] not in self.quiet]
        average = float(np.mean(gained)) if gained else 0.0
        line = f"{name}: {average:+.4f} to the best peer on average; worse beyond chance (Holm): {worse or 'nowhere'}"
        return [] if target(line, not worse and (average < 0 or not gained)) else [f"{name}: {worse or 'not ahead'}"]
