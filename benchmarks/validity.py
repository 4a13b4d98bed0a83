"""Are the p-values, limits and intervals that miscal prints as often wrong as they say, and no more often?

    python benchmarks/validity.py [--rows 100 300 1000 5000] [--draws 1000 1000 400 100] [--worlds uniform ...] [--print]

Fields are fixed before the outcomes (_validity_worlds.py): eleven worlds, three kinds of draw. Half of the draws are
judged as a run does where all rows testify (evidence "all": E[y | f] by folds, the certificate fold after fold), half as
with a test split ("test": E[y | f] from three times as many other rows). The world "drifted" has a test split always.

A p-value is counted at 5 % and 1 % where its hypothesis is true, a limit or an interval where it misses the truth: 5 %
is nominal. Findings count as wrong if any is (family-wise), and the intervals of findings, or of all candidates, if any
misses. Missed where a binomial test says that a share is above its level: for a cell at 1 % over the number of cells, and
for a statement over all its cells together at 1 % over their number (Bonferroni: if all held, a hundredth of such
studies would miss anything, and another hundredth over all cells).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from _validity_statements import ALL, CHEAP, DEAREST, OF_EVIDENCE, STATEMENTS, TEST, Asked
from _validity_worlds import KINDS, WORLDS

FIELDS = ("asked", "world", "kind", "rows", "evidence", "part")
LEVELS, LEAST_P = (0.05, 0.01), 0.01
DRAWS_A_PART, DEAREST_A_PART, ONE_IN = 25, 4, 25
NOT_YET = ("weighted",)
"""Worlds that no statement but the scores takes into account."""


def one_part(name: str, world: str, kind: str, n: int, evidence: str, part: int) -> dict:
    """Judge some draws; of each statement, how often it was made, and how often it was wrong."""
    limit_threads()
    start = time.perf_counter()
    sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    misses: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    warned, draws = 0, draws_a_part(name)
    for draw in range(part * draws, (part + 1) * draws):
        asked = Asked(world, kind, n, evidence, draw)
        told = STATEMENTS[name](asked)
        warned += asked.warned
        for statement, p in told.p_values.items():
            add(sizes[statement], 1, *(p <= level for level in LEVELS))
        for statement, wrong in told.misses.items():
            add(misses[statement], 1, wrong)
    key = dict(zip(FIELDS, (name, world, kind, n, evidence, part), strict=True))
    said = {"sizes": dict(sizes), "misses": dict(misses), "warned": warned}
    return {**key, "draws": draws, **said, "seconds": time.perf_counter() - start}


def add(sums: list[int], *more: int) -> None:
    """Add numbers to sums, one to each."""
    sums[:] = [a + int(b) for a, b in zip(sums, more, strict=True)]


def draws_a_part(name: str) -> int:
    """Draws of one record of the store."""
    return DEAREST_A_PART if name in DEAREST else DRAWS_A_PART


def keys_of(args: argparse.Namespace) -> list[tuple]:
    """Keys of all parts, in such an order that a run that is stopped has about as much of each cell."""
    keys = []
    for name in args.statements:
        for n, draws in zip(args.rows, args.draws, strict=True):
            asked = max(args.draws) if name in CHEAP else draws // ONE_IN if name in DEAREST else draws
            parts = -(-asked // draws_a_part(name))
            for part in range(parts):
                keys += [
                    ((part + 0.5) / parts, (name, world, kind, n, evidence_of(name, world, part), part))
                    for world in args.worlds for kind in KINDS
                ]  # fmt: skip
    return [key for _, key in sorted(keys, key=lambda pair: pair[0])]


def evidence_of(name: str, world: str, part: int) -> str:
    """Which rows testify: in turn all and those of a test split, where it matters."""
    if name not in OF_EVIDENCE:
        return "either"
    return TEST if part % 2 or world == "drifted" else ALL


@dataclass(frozen=True)
class Count:
    """How often a statement was wrong in a cell, or in several."""

    statement: str
    cell: tuple
    made: int
    wrong: tuple[int, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """At 5 %, and for a p-value at 1 %."""
        return tuple(wrong / self.made for wrong in self.wrong)

    def above(self, least_p: float) -> list[str]:
        """Levels that it is above, beyond chance."""
        return [
            f"{100 * level:.0f} %"
            for wrong, level in zip(self.wrong, LEVELS, strict=False)
            if binomtest(wrong, self.made, level, alternative="greater").pvalue < least_p
        ]


def counts_of(records: Iterable[dict]) -> Iterator[Count]:
    """Add up the parts of each cell, statement by statement."""
    sums: dict[tuple, np.ndarray] = {}
    for record in records:
        cell = tuple(record[name] for name in FIELDS[1:-1])
        for statement, numbers in (*record["sizes"].items(), *record["misses"].items()):
            sums[statement, cell] = sums.get((statement, cell), 0) + np.array(numbers)
    for (statement, cell), numbers in sums.items():
        yield Count(statement, cell, int(numbers[0]), tuple(numbers[1:].tolist()))


def pooled(counts: Sequence[Count]) -> list[Count]:
    """Add up the cells of each statement."""
    found = []
    for statement in dict.fromkeys(count.statement for count in counts):
        mine = [count for count in counts if count.statement == statement]
        wrong = tuple(np.sum([count.wrong for count in mine], axis=0).tolist())
        found.append(Count(statement, (), sum(count.made for count in mine), wrong))
    return found


def missed(counts: Sequence[Count]) -> list[str]:
    """Statements that are above their level beyond chance: in a cell, or over all of them."""
    every, found = pooled(counts), []
    for family in (counts, every):
        tests = sum(len(count.wrong) for count in family)
        found += [
            f"{count.statement} at {level} ({', '.join(map(str, count.cell)) or 'all cells'}): {share}"
            for count in family
            for level, share in zip(count.above(LEAST_P / tests), shares(count), strict=False)
        ]
    return found


def shares(count: Count, digits: int = 1) -> list[str]:
    """Shares in per cent."""
    return [f"{100 * share:.{digits}f}" for share in count.shares]


def show_statements(args: argparse.Namespace, counts: Sequence[Count]) -> None:
    """Show each statement over all its cells, and where it is wrong most often."""
    rows = []
    for whole in pooled(counts):
        mine = [count for count in counts if count.statement == whole.statement]
        row = [whole.statement, len(mine), whole.made]
        for at in range(len(whole.wrong)):
            worst = max(mine, key=lambda count: (count.shares[at], count.made))
            row += [shares(whole)[at], shares(worst)[at], f"{', '.join(map(str, worst.cell))}; {worst.made} draws"]
        rows.append(row + [""] * (9 - len(row)))
    head = ["statement", "cells", "draws", "wrong at 5 %", "worst cell", "which", "wrong at 1 %", "worst cell", "which"]
    show(args, "validity", "per cent of draws in which a statement is wrong", head, rows)


def show_cells(args: argparse.Namespace, counts: Sequence[Count]) -> None:
    """Write every cell of every statement."""
    for name, many in (("sizes", 2), ("misses", 1)):
        mine = [count for count in counts if len(count.wrong) == many]
        cells = sorted({count.cell for count in mine}, key=lambda cell: (cell[2], *cell))
        statements = list(dict.fromkeys(count.statement for count in mine))
        for at, level in enumerate(LEVELS[:many]):
            known = {(count.cell, count.statement): shares(count)[at] for count in mine}
            draws = {count.cell: max(c.made for c in mine if c.cell == count.cell) for count in mine}
            rows = [[*cell, draws[cell], *(known.get((cell, one), "") for one in statements)] for cell in cells]
            title = f"per cent of draws, {name} at {100 * level:.0f} %"
            show(args, f"validity-{name}-{100 * level:.0f}", title, [*FIELDS[1:-1], "draws", *statements], rows)


def main() -> None:
    """Judge, show, and compare with the target."""
    worlds = [world for world in WORLDS if world not in NOT_YET]
    parser = options(
        __doc__, "validity", rows=[100, 300, 1_000, 5_000], draws=[1_000, 1_000, 400, 100], worlds=worlds,
        statements=list(STATEMENTS),
    )  # fmt: skip
    args = parser.parse_args()
    if len(args.draws) != len(args.rows):
        parser.error(f"--draws needs one number for each of --rows, {len(args.rows)}; got {len(args.draws)}")
    counts = list(counts_of(results(args, FIELDS, keys := keys_of(args), one_part).of(keys)))
    show_cells(args, counts)
    show_statements(args, counts)
    wrong = missed(counts)
    sys.exit(not target(f"above their level, beyond chance: {'; '.join(wrong) or 'nothing'}", not wrong))


if __name__ == "__main__":
    main()
