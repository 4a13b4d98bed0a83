"""What the scan asks of rows: sums, beside which groups, and membership of several groups together.

Rows are one block, in which every group is known of every row. Of cells each column has a block of its own: the rows
that it was counted in, by stratum and value. What two columns have in common is asked for when it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.ledger.exact import Strata, cut_into_strata
from miscal.findings.ledger.groups import Groups
from miscal.findings.ledger.settings import LedgerSettings


class Split(NamedTuple):
    """A group among some rows: which belong to it, bool (n,), what each adds to its test, and a trend's lower end."""

    inside: np.ndarray
    tested: np.ndarray
    lower: np.ndarray | None = None


class Table:
    """Candidates, and the rows that they are tested by: one by one, in one block.

    `groups`: all candidates, block by block. `pairs`: pairs of values that were looked at, if more than there are among
    these. `parts`: rows of each block with its own groups. `joined`: whether what several groups have in common is
    known without asking.
    """

    joined, pairs = True, 0

    def __init__(self, rows: LabelledRows, groups: Groups) -> None:
        self.groups: Groups = groups
        self.parts: Sequence[tuple[LabelledRows, Groups]] = ((rows, groups),)

    def own(self, group: int) -> tuple[LabelledRows, np.ndarray]:
        """Return the rows of the block of a group, by its place among all, and which of them are in it."""
        return self.parts[0][0], self.groups.rows(group)

    def beside(self, group: int) -> Sequence[tuple[LabelledRows, Groups, Split]]:
        """Return every block with the rows of one group, by its place among all, told from others; not its outcomes."""
        return ((*self.parts[0], split_of(self.groups, group)),)

    def together(self, groups: Sequence[int]) -> tuple[LabelledRows, list[Split]]:
        """Return rows of which the membership of all of these groups is known."""
        return self.parts[0][0], [split_of(self.groups, group) for group in groups]


def split_of(groups: Groups, group: int) -> Split:
    """Return a group among the rows of its own block."""
    inside = groups.rows(group)
    if (trend := groups.trends.get(group)) is not None:
        return Split(inside, trend.score, trend.lower)
    return Split(inside, inside.astype(np.float64))


def value_cells(groups: Groups) -> list[int]:
    """List the groups that are a value or a bin of a column."""
    cells = [cell for part in groups.columns for cell in part.cells]
    places = (place(cell) for cell in cells for place in (groups.places.get, groups.others_than))
    return list(dict.fromkeys(place for place in places if place is not None))


@dataclass(frozen=True, eq=False)
class Block:
    """Rows in strata, with their groups."""

    rows: LabelledRows
    groups: Groups
    strata: Strata

    def again(self, rows: LabelledRows, groups: Groups) -> Block:
        """Return the same candidates among other cells of the same rows, whose outcomes are not told apart."""
        if rows is self.rows:
            return self
        # how much residuals vary is known of the strata
        scatter = np.zeros(self.strata.many)
        scatter[self.strata.stratum] = self.strata.scatter
        strata = Strata(rows.stratum, rows.mass, scatter[rows.stratum], rows.squared_mass)
        return Block(rows, groups, strata)

    def effects(self) -> np.ndarray:
        """Design effect of each candidate."""
        rows, tested = self.rows, self.groups.tested
        if rows.design is None:
            return np.ones(len(tested))
        return rows.design.design_effects(tested, rows.mass * rows.residual, rows.squared_mass * rows.variance)


class Candidates:
    """The sums that groups are tested by, of all blocks.

    `part, local`, int (m,): the block of each, and its place there. `total, variance`: of its sum where nothing is
    hidden. `effect`: its design effect. `counts`: its rows.
    """

    def __init__(self, table: Table, seed: int, settings: LedgerSettings) -> None:
        self.table, self.groups, self.settings = table, table.groups, settings
        self.rng = np.random.default_rng((seed, 31))
        self.blocks = [self._block(rows, own) for rows, own in table.parts]
        sizes = [len(one.groups) for one in self.blocks]
        self.part = np.repeat(np.arange(len(sizes)), sizes)
        self.local = np.concatenate([np.arange(size) for size in sizes])
        self.total = np.concatenate([one.strata.sums(one.groups.tested, one.rows.residual) for one in self.blocks])
        self.variance = np.concatenate([one.strata.variances(one.groups.tested) for one in self.blocks])
        self.effect = np.concatenate([one.effects() for one in self.blocks])
        counts = [one.groups.member.sums(one.rows.counts) for one in self.blocks]
        self.counts = np.concatenate(counts).round().astype(np.int64)

    def _block(self, rows: LabelledRows, groups: Groups) -> Block:
        stratum = rows.stratum
        if stratum is None:
            stratum = cut_into_strata(rows.confidence, self._width(rows), self.rng, rows.part)
        return Block(rows, groups, Strata.of(rows, stratum))

    def _width(self, rows: LabelledRows) -> int:
        return self.settings.stratum_rows * rows.rows_per_unit

    def _beside(self, group: int) -> list[tuple[Block, Split]]:
        """Return every block with a group told from others."""
        found = self.table.beside(int(group))
        return [(own.again(rows, groups), split) for own, (rows, groups, split) in zip(self.blocks, found, strict=True)]

    def _rows(self, candidates: Sequence[int]) -> tuple[LabelledRows, Strata, list[Split]]:
        """Return rows of which the groups of some candidates are known, the first of them in its own block if alone."""
        own = self.blocks[self.part[candidates[0]]]
        if len(candidates) == 1:
            return own.rows, own.strata, [split_of(own.groups, int(self.local[candidates[0]]))]
        rows, splits = self.table.together([int(one) for one in candidates])
        return rows, own.strata if rows is own.rows else Strata.of(rows, rows.stratum), splits

    def _overlaps(self, candidate: int) -> np.ndarray:
        """Jaccard index of the rows of a candidate and those of every other, (m,)."""
        beside = self._beside(candidate)
        shared = np.concatenate([one.groups.member.sums(one.rows.counts * split.inside) for one, split in beside])
        return shared / (self.counts + self.counts[candidate] - shared)

    def _covariances(self, candidate: int) -> np.ndarray:
        """Covariance of a candidate with every other, (m,)."""
        return np.concatenate(
            [block.strata.covariances(block.groups.tested, split.tested) for block, split in self._beside(candidate)]
        )
