"""Counts of wrong statements: kept by part, added up by cell, compared with their levels, shown."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from _script import show

LEVELS, LEAST_P = (0.05, 0.01), 0.01


@dataclass
class Told:
    """What was said of one draw.

    Attributes
    ----------
    p_values : dict of str to float
        Of statements whose hypothesis is true.
    misses : dict of str to bool
        Of limits and intervals: whether the truth lies outside; of other claims: whether they are false.
    counts : dict of str to (int, int)
        Of claims that are made several times in a draw: how often, and how often they are false.
    means : dict of str to float
        What is measured beside them.
    """

    p_values: dict[str, float] = field(default_factory=dict)
    misses: dict[str, bool] = field(default_factory=dict)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)

    def p_value(self, name: str, p: float | None, hypothesis: bool) -> None:
        """Tell a p-value if its hypothesis is true, and it has one."""
        if hypothesis and p is not None:
            self.p_values[name] = p

    def interval(self, name: str, ends: Sequence[float] | None, truth: float) -> None:
        """Tell whether an interval misses the truth, if there is an interval."""
        if ends is not None:
            self.misses[name] = outside(ends, truth)

    def added_to(self, sums: Mapping[str, dict[str, list[int]]]) -> None:
        """Add to the sums of a record: how often each statement was made, and how often it was wrong at each level."""
        for name, p in self.p_values.items():
            _add(sums["sizes"], name, 1, *(p <= level for level in LEVELS))
        for name, wrong in self.misses.items():
            _add(sums["misses"], name, 1, wrong)
        for name, (made, wrong) in self.counts.items():
            if made:
                _add(sums["misses"], name, made, wrong)
        for name, value in self.means.items():
            made, total = sums["means"].get(name, [0, 0.0])
            sums["means"][name] = [made + 1, total + float(value)]


def outside(ends: Sequence[float] | None, truth: float) -> bool:
    """Whether the truth lies outside an interval by more than rounding; where there is none, it does not."""
    return ends is not None and not ends[0] - 1e-9 <= truth <= ends[1] + 1e-9


def _add(sums: dict[str, list[int]], name: str, *more: int) -> None:
    sums[name] = [a + int(b) for a, b in zip(sums.get(name, [0] * len(more)), more, strict=True)]


@dataclass(frozen=True)
class Count:
    """How often a statement was wrong in a cell, or in several."""

    statement: str
    cell: tuple
    made: int
    wrong: tuple[int, ...]
    levels: tuple[float, ...] = LEVELS

    @property
    def shares(self) -> tuple[float, ...]:
        """At the first level, and for a p-value at the second."""
        return tuple(wrong / self.made for wrong in self.wrong)

    @property
    def chances(self) -> list[float]:
        """P-values of its being at most at each level."""
        levels = zip(self.wrong, self.levels, strict=False)
        return [float(binomtest(wrong, self.made, level, alternative="greater").pvalue) for wrong, level in levels]

    def above(self, least_p: float) -> list[str]:
        """Levels that it is above, beyond chance."""
        pairs = zip(self.levels, self.chances, strict=False)
        return [f"{100 * level:g} %" for level, chance in pairs if chance < least_p]


def counts_of(records: Iterable[dict], cell_of: Sequence[str]) -> Iterator[Count]:
    """Add up the parts of each cell, statement by statement; a record names its cell by the keys `cell_of`."""
    sums: dict[tuple, np.ndarray] = {}
    for record in records:
        cell = tuple(record[name] for name in cell_of)
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
        found.append(Count(statement, (), sum(count.made for count in mine), wrong, mine[0].levels))
    return found


def missed(counts: Sequence[Count], promised: Callable[[str], bool] = lambda statement: True) -> list[str]:
    """Statements that are above their level beyond chance: in a cell, or over all of them; those promised alone."""
    counts = [count for count in counts if promised(count.statement)]
    found = []
    for family in (counts, pooled(counts)):
        tests = sum(len(count.wrong) for count in family)
        found += [
            f"{count.statement} at {level} ({', '.join(map(str, count.cell)) or 'all cells'}): {share}"
            for count in family
            for level, share in zip((f"{100 * one:g} %" for one in count.levels), shares(count), strict=False)
            if level in count.above(LEAST_P / tests)
        ]
    return found


def shares(count: Count, digits: int = 1) -> list[str]:
    """Shares in per cent."""
    return [f"{100 * share:.{digits}f}" for share in count.shares]


def show_statements(args: argparse.Namespace, name: str, counts: Sequence[Count], title: str = "") -> None:
    """Show each statement over all its cells, and in the cell that speaks most against it."""
    rows = []
    for whole in pooled(counts):
        mine = [(count.chances, count) for count in counts if count.statement == whole.statement]
        row, where = [whole.statement, len(mine), whole.made], ""
        for at in range(len(whole.wrong)):
            worst = min(mine, key=lambda pair: pair[0][at])[1]
            row += [shares(whole)[at], shares(worst)[at]]
            where = where or f"{', '.join(map(str, worst.cell))}: {worst.made} draws"
        rows.append([*row, *[""] * (7 - len(row)), where])
    head = ["statement", "cells", "draws", "at 5 %", "worst cell", "at 1 %", "worst cell", "worst cell at 5 %"]
    show(args, name, f"{title or 'all'}: per cent of draws in which a statement is wrong", head, rows)
