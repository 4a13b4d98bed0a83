"""Tables of worlds x statements: how often each statement is wrong, or something is found, in draws of each world.

A question is a function of (world, rows, draw) that returns what was :class:`~_validity_counts.Told`, and one line in
the registry of a script. A script's questions, and its duels (_duels.py), share one store and their options.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from _validity_counts import LEAST_P, Count, counts_of, missed, show_statements

FIELDS = ("question", "world", "rows", "part", "of")
"""Parts are of so many draws; of a duel, they are seeds of a method."""
CELL = FIELDS[:3]
UNTOLD, FOUND = ", no target", ", found"
"""Ends of names of statements: one that is shown and not judged, and one whose share is meant to be large."""


@dataclass(frozen=True)
class Question:
    """What is asked of draws of some worlds.

    Attributes
    ----------
    one : callable
        ``one(world, rows, draw)`` tells of one draw. If `at_once`, ``one(world, rows, part, draws)`` returns of those
        of a part how often each statement was made and wrong, by name.
    worlds : sequence of str, or callable
        Or ``worlds(folder)`` returns them.
    rows : sequence of int
        Sizes, where --rows names no others.
    draws : int
        Of each world and size, where --draws names no other number.
    level : float
        Share of draws in which a statement may be wrong; of p-values 0.01 is asked, too.
    least : mapping
        Of a statement, by the start of the name of a world: the share in which it is to be found, at least.
    together : int
        Draws of one record of the store.
    at_once : bool
    data : bool
        Whether the worlds are those of real sets: ``one`` has the folder of --data first.
    """

    one: Callable[..., Any]
    worlds: Sequence[str] | Callable[[Path | None], Sequence[str]]
    rows: Sequence[int]
    draws: int
    level: float = 0.05
    least: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    together: int = 1
    at_once: bool = False
    data: bool = False

    def keys(self, args: argparse.Namespace, name: str) -> list[tuple]:
        """Keys of all parts, in such an order that a run that is stopped has about as much of each world."""
        draws = args.draws or self.draws
        each = min(draws, self.together)
        worlds = self.worlds(args.data) if callable(self.worlds) else self.worlds
        parts = range(args.first, args.first + -(-draws // each))
        return [(name, world, rows, part, each) for part in parts for rows in args.rows or self.rows
                for world in chosen(args, worlds)]  # fmt: skip

    def record(self, data: Path | None, world: str, rows: int, part: int, draws: int) -> dict:
        """Ask of the draws of one record."""
        one = partial(self.one, data) if self.data else self.one
        sums: dict[str, dict[str, Any]] = {"sizes": {}, "misses": {}, "means": {}}
        if self.at_once:
            told = one(world, rows, part, draws)
            sums["misses"] = {said: [made, int(wrong)] for said, (made, wrong) in told.items() if made}
        else:
            for draw in range(part * draws, (part + 1) * draws):
                one(world, rows, draw).added_to(sums)
        return sums

    def shown(self, args: argparse.Namespace, name: str, records: Sequence[dict]) -> list[str]:
        """Show the table; what misses its level or target."""
        counts = [counted(self, one) for one in counts_of(records, CELL)]
        show_statements(args, f"{args.cache.stem}-{name}", counts, title=name)
        show_cells(args, name, counts)
        show_means(args, name, records)
        return [*missed(counts, promised), *short(self, counts)]


def chosen(args: argparse.Namespace, worlds: Sequence[str]) -> list[str]:
    """Worlds, or sets, that --worlds names, or all."""
    return [one for one in worlds if not args.worlds or any(part in one for part in args.worlds)]


def ask(doc: str, name: str, questions: Mapping[str, Any]) -> int:
    """Ask the questions that --only names, or all; print their tables; 1 where a target is missed."""
    parser = options(doc, name, data="folder of real sets; without it the packaged demo data serve")
    parser.add_argument("--only", nargs="+", choices=list(questions), default=list(questions), metavar="NAME",
                        help=f"of {', '.join(questions)}")  # fmt: skip
    parser.add_argument("--worlds", "--sets", nargs="+", help="those whose name contains one of these; default: all")
    parser.add_argument("--methods", nargs="+", help="of a comparison; default: all")
    parser.add_argument("--draws", type=int, help="of each world; default: as each question has it")
    parser.add_argument("--first", type=int, default=0, help="first draw, or part of draws")
    parser.add_argument("--rows", type=int, nargs="+", help="default: as each question has it")
    args = parser.parse_args()
    keys = [key for name in args.only for key in questions[name].keys(args, name)]
    records = results(args, FIELDS, keys, partial(one_record, args.data, questions)).of(keys)
    wrong = []
    for name in args.only:
        if mine := [record for record in records if record["question"] == name]:
            wrong += questions[name].shown(args, name, mine)
    return int(not target(f"beside their level or target, beyond chance: {'; '.join(wrong) or 'nothing'}", not wrong))


def one_record(data: Path | None, questions: Mapping[str, Any], *key: Any) -> dict:
    """Ask a question for a key of the store."""
    limit_threads()
    start, (name, *asked) = time.perf_counter(), key
    told = questions[name].record(data, *asked)
    return {**dict(zip(FIELDS, key, strict=True)), **told, "seconds": time.perf_counter() - start}


def counted(asked: Question, count: Count) -> Count:
    """Give a count the level of its question, 1 % beside it for p-values."""
    return Count(count.statement, count.cell, count.made, count.wrong, (asked.level, asked.level / 5))


def promised(statement: str) -> bool:
    """Whether a run promises it."""
    return not statement.endswith((UNTOLD, FOUND))


def short(asked: Question, counts: Sequence[Count]) -> list[str]:
    """Say what is found less often than it is to be, beyond chance."""
    wanted = [
        (count, least)
        for count in counts
        for start, least in asked.least.get(count.statement, {}).items()
        if count.cell[1].startswith(start)
    ]
    return [
        f"{count.statement} ({', '.join(map(str, count.cell))}): {count.shares[0]:.2f} of {least:g}"
        for count, least in wanted
        if binomtest(count.wrong[0], count.made, least, alternative="less").pvalue < LEAST_P / len(wanted)
    ]


def show_cells(args: argparse.Namespace, name: str, counts: Sequence[Count]) -> None:
    """Write the share of every world and statement."""
    statements = list(dict.fromkeys(count.statement for count in counts))
    rows = []
    for cell in dict.fromkeys(count.cell for count in counts):
        mine = {count.statement: count for count in counts if count.cell == cell}
        shares = [f"{100 * mine[one].shares[0]:.1f}" if one in mine else "" for one in statements]
        rows.append([*cell[1:], max(count.made for count in mine.values()), *shares])
    head = ["world", "rows", "draws", *statements]
    show(args, f"{args.cache.stem}-{name}-worlds", f"{name}: per cent of draws", head, rows)


def show_means(args: argparse.Namespace, name: str, records: Sequence[dict]) -> None:
    """Show the means of what is measured beside the statements, if anything is."""
    sums: dict[tuple, list[float]] = {}
    for record in records:
        for what, (made, total) in record["means"].items():
            have = sums.setdefault((record["world"], record["rows"], what), [0, 0.0])
            have[0], have[1] = have[0] + made, have[1] + total
    if not sums:
        return
    what = list(dict.fromkeys(key[2] for key in sums))
    means = {key: f"{total / made:.4f}" for key, (made, total) in sums.items()}
    cells = dict.fromkeys(key[:2] for key in sums)
    rows = [[*cell, *(means.get((*cell, one), "") for one in what)] for cell in cells]
    show(args, f"{args.cache.stem}-{name}-means", f"{name}: means", ["world", "rows", *what], rows)
