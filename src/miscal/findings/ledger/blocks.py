"""What the scan asks of rows: sums of residuals under permutations within strata of near-equal confidence, and tests.

A column b has a number for each row: 1 for the rows of a group and 0 for others, or the score of a trend. Its sum is
T = sum over rows of w_i b~_i e_i, where e is the residual, w how much a row counts, and b~ is b less its weighted mean
in the stratum.

Rows are one block, in which every group is known of every row. Of cells each column has a block of its own: the rows
that it was counted in, by stratum and value. What two columns have in common is asked for when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import hypergeom

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.conditional import centred, round_numbers
from miscal.findings.ledger.groups import Groups
from miscal.findings.ledger.membership import SideBySide
from miscal.findings.ledger.settings import LedgerSettings

_RAREST = 1e-3
_MOST_PATTERNS = 60
"""Groups distinguished at most: their membership is written in the bits of a 64-bit integer."""


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows, or cells of them, in strata, and how much their residuals vary; arrays of shape (n,).

    `stratum`: number of the stratum, 0, 1, ... `scatter`: of the row's stratum: sum of squares of the centred
    residuals, divided by its rows less one.
    """

    rows: LabelledRows
    stratum: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, rows: LabelledRows, stratum: np.ndarray) -> Strata:
        """Measure how much residuals of rows, or of cells of them, vary within strata.

        Examples
        --------
        >>> half = np.full(4, 0.5)
        >>> Strata.of(LabelledRows(np.array([1.0, 0, 1, 1]), half, half), np.array([0, 0, 1, 1])).scatter.tolist()
        [0.5, 0.5, 0.0, 0.0]
        """
        squares = np.bincount(stratum, rows.counts * centred(rows.residual, stratum, rows.counts) ** 2)
        scatter = squares / np.maximum(np.bincount(stratum, rows.counts) - 1, 1)
        return cls(rows, stratum, scatter[stratum])

    def again(self, rows: LabelledRows) -> Strata:
        """Return the same strata of other cells of the same rows, whose outcomes are not told apart."""
        if rows is self.rows:
            return self
        # how much residuals vary is known of the strata
        scatter = np.zeros(self.many)
        scatter[self.stratum] = self.scatter
        return Strata(rows, rows.stratum, scatter[rows.stratum])

    @cached_property
    def mass(self) -> np.ndarray:
        """How much each row counts, 1 on average, (n,); of cells, summed over their rows, whose residuals are alike."""
        return self.rows.mass

    @cached_property
    def squared(self) -> np.ndarray:
        """The squared mass, (n,), summed alike."""
        return self.rows.squared_mass

    @cached_property
    def total(self) -> np.ndarray:
        """Mass of each stratum, (s,), above 0."""
        return np.maximum(np.bincount(self.stratum, self.mass), np.finfo(float).tiny)

    @cached_property
    def squares(self) -> np.ndarray:
        """Sum of the squared masses of each stratum, (s,)."""
        return np.bincount(self.stratum, self.squared)

    @property
    def many(self) -> int:
        """Number of strata, s."""
        return len(self.total)

    def factors(self, column: np.ndarray) -> np.ndarray:
        """Return what each residual is multiplied by in the sum of a column, (n,)."""
        return self.mass * self.centred(column)

    def squared_factors(self, column: np.ndarray) -> np.ndarray:
        """Return the sums of the squared factors of the rows that each stands for, (n,)."""
        return self.squared * self.centred(column) ** 2

    def centred(self, column: np.ndarray) -> np.ndarray:
        """Subtract from each number of a column the weighted mean of its stratum, (n,)."""
        return centred(column, self.stratum, self.mass)

    def sums(self, columns: SideBySide) -> np.ndarray:
        """Return the sum of each column, (m,)."""
        return columns.sums(self.factors(self.rows.residual))

    def effects(self, columns: SideBySide) -> np.ndarray:
        """Return the design effect of each column, (m,)."""
        if self.rows.design is None:
            return np.ones(len(columns))
        return self.rows.design.design_effects(
            columns, self.mass * self.rows.residual, self.squared * self.rows.variance
        )

    def covariances(self, columns: SideBySide, column: np.ndarray) -> np.ndarray:
        """Return the covariances of the sums of all columns with that of one, (m,)."""
        part = self.scatter * self.squared * self.centred(column)
        return columns.sums(part - self.mass * (np.bincount(self.stratum, part, self.many) / self.total)[self.stratum])

    def variances(self, columns: SideBySide) -> np.ndarray:
        """Return the variance of the sum of each column, (m,).

        With B the weighted sum of a column in a stratum, P and Q the sums of w^2 b and w^2 b^2, and U and V those of w
        and w^2 over all of its rows, the squared factors add up to Q - 2 P B / U + V (B / U)^2; where all count alike
        and b is 0 or 1, to n - n^2 / m.
        """
        scatter, mass, total = np.zeros(self.many), self.mass, self.total
        scatter[self.stratum] = self.scatter
        first = columns.squared_sums(self.scatter * self.squared)
        of_both, of_mass = 2 * scatter / total, scatter * self.squares / total**2
        if np.array_equal(self.squared, mass):  # all count alike
            second = columns.products(self.stratum, mass, mass, of_both - of_mass)
        else:
            second = columns.products(self.stratum, self.squared, mass, of_both)
            second -= columns.products(self.stratum, mass, mass, of_mass)
        return np.maximum(first - second, 0.0)


def cut_into_strata(
    confidence: np.ndarray, rows: int, rng: np.random.Generator, part: np.ndarray | None = None
) -> np.ndarray:
    """Cut rows into strata of `rows` rows of neighbouring confidence; equal ones are put in random order.

    A round number that at least `rows` rows share is not compared with others, nor is any number where all are round:
    accuracy may jump from one stated number to the next.

    `confidence`, (n,). `rows`: of a stratum. `part`, int (n,): no stratum holds rows of two parts. Returns int64 (n,):
    number of the stratum of each row, 0, 1, ..., part by part.

    Examples
    --------
    >>> cut_into_strata(np.array([0.901, 0.101, 0.201, 0.801]), 2, np.random.default_rng(0)).tolist()
    [1, 0, 0, 1]
    >>> cut_into_strata(np.repeat([0.8, 0.9], 3), 2, np.random.default_rng(0)).tolist()
    [0, 0, 0, 1, 1, 1]
    >>> cut_into_strata(np.repeat(0.8, 4), 2, np.random.default_rng(0), np.array([1, 0, 1, 0])).tolist()
    [1, 0, 1, 0]
    """
    if part is None:
        return _cut(confidence, rows, rng)
    strata, start = np.empty(len(part), np.int64), 0
    for number in np.unique(part):
        inside = part == number
        own = _cut(confidence[inside], rows, rng)
        strata[inside] = own + start
        start += own.max() + 1
    return strata


def _cut(confidence: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    values, value, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    stated = round_numbers(values)
    shared = stated & (stated.all() | (counts >= rows))
    # a new run of rows starts with each such number, and after it
    run = np.cumsum(shared | np.r_[False, shared[:-1]])[value]
    # the place of a value and a number below 1 as one key, which sorts ten times as fast as two
    order = np.argsort(value + rng.random(len(confidence)))
    _, start, size = np.unique(run[order], return_index=True, return_counts=True)
    pieces = np.maximum(1, size // rows)
    place = np.arange(len(order)) - np.repeat(start, size)
    stratum = np.empty(len(confidence), np.int64)
    stratum[order] = np.repeat(np.cumsum(pieces) - pieces, size) + np.minimum(
        place // rows, np.repeat(pieces - 1, size)
    )
    return stratum


def strata_within(
    confidence: np.ndarray,
    apart: Sequence[np.ndarray],
    rows: int,
    rng: np.random.Generator,
    part: np.ndarray | None = None,
) -> np.ndarray:
    """Cut rows into strata of near-equal confidence and equal membership of some groups.

    `confidence`, (n,). `apart`, bool (n,): groups whose rows are not compared with others; the last 60 count. `rows`:
    of a stratum. `part`, int (n,): no stratum holds rows of two parts.

    Examples
    --------
    >>> law = np.array([True, False, True, False])
    >>> strata_within(np.array([0.101, 0.201, 0.301, 0.401]), [law], 2, np.random.default_rng(0)).tolist()
    [1, 0, 1, 0]
    """
    pattern = np.zeros(len(confidence), np.int64)
    for place, group in enumerate(apart[-_MOST_PATTERNS:]):
        pattern += group.astype(np.int64) << place
    number = np.unique(pattern, return_inverse=True)[1]
    if part is not None:
        number = number * (int(part.max()) + 1) + part
    return cut_into_strata(confidence, rows, rng, number)


def crossed(stratum: np.ndarray, apart: Sequence[np.ndarray]) -> np.ndarray:
    """Cut strata once more, by membership of some groups, bool (n,); the last 60 count.

    Examples
    --------
    >>> crossed(np.array([0, 0, 1]), [np.array([True, False, False])]).tolist()
    [1, 0, 2]
    """
    pattern = stratum.astype(np.int64)
    for group in apart[-_MOST_PATTERNS:]:
        pattern = np.unique(2 * pattern + group, return_inverse=True)[1]
    return np.unique(pattern, return_inverse=True)[1]


def exact_p_value(
    correct: np.ndarray,
    inside: np.ndarray,
    stratum: np.ndarray,
    expected: np.ndarray | None = None,
    count: np.ndarray | None = None,
) -> float:
    """Exact test of outcome against group within strata, given the margins of each: twice the smaller tail.

    The law of the number of right answers in the group is the convolution of those of the strata. Where all rows of a
    stratum have the same chance it is hypergeometric. Else it is that of independent outcomes of these chances given
    how many are 1: only the ratios of their odds within a stratum matter, so that a shift of the log-odds of a whole
    stratum changes nothing.

    `correct`, (n,). `inside`, bool (n,). `stratum`, int (n,). `expected`, (n,): chance of being right where nothing is
    hidden; equal within each stratum if not given. `count`, (n,): how many rows each stands for. The result is in (0,
    1]; 1 where no stratum holds both outcomes and both sides of the group.

    Examples
    --------
    >>> y, inside = np.array([1.0, 1, 0, 0]), np.array([True, True, False, False])
    >>> round(exact_p_value(y, inside, np.zeros(4, int)), 3)
    0.333
    """
    each = np.ones(len(stratum)) if count is None else count
    rows, right, members = (np.bincount(stratum, each * some) for some in (1.0, correct, inside))
    telling = (right > 0) & (right < rows) & (members > 0) & (members < rows)
    both = np.bincount(stratum, each * correct * inside)[telling]
    margins = [margin[telling].astype(int) for margin in (rows, right, members)]
    if expected is None:
        laws = (_hypergeometric(*map(int, one)) for one in zip(*margins, strict=True))
    else:
        kept = telling[stratum]
        place = (np.cumsum(telling) - 1)[stratum[kept]]
        laws = _conditional(expected[kept], inside[kept], place, margins)
    # probabilities of the least possible number and those after it, and the place of the number seen among them
    law, observed = np.ones(1), 0
    for (low, probabilities), seen in zip(laws, both, strict=True):
        law = np.convolve(law, probabilities)
        observed += int(seen) - low
    return float(min(1.0, 2 * min(law[: observed + 1].sum(), law[observed:].sum())))


@lru_cache(maxsize=4096)
def _hypergeometric(rows: int, right: int, members: int) -> tuple[int, np.ndarray]:
    """Return the least number of right answers among the members of a stratum, and the law from there on."""
    low, high = max(0, members + right - rows), min(members, right)
    return low, hypergeom.pmf(np.arange(low, high + 1), rows, right, members)


def _conditional(
    chance: np.ndarray, inside: np.ndarray, stratum: np.ndarray, margins: Sequence[np.ndarray]
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the same for outcomes of unequal chances: the laws of both sides, met where they add up to the right."""
    many = len(margins[0])
    if many == 0:
        return
    # a chance that other rows found to be 0 or 1 is not known to be
    chance = np.clip(chance, _RAREST, 1 - _RAREST)
    ours, theirs = (_number_right(chance[side], stratum[side], many) for side in (inside, ~inside))
    for k, (m, r, g) in enumerate(zip(*margins, strict=True)):
        low, high = max(0, g + r - m), min(g, r)
        joint = ours[k, low : high + 1] * theirs[k, r - high : r - low + 1][::-1]
        yield int(low), joint / joint.sum()


def _number_right(chance: np.ndarray, stratum: np.ndarray, many: int) -> np.ndarray:
    """Law of the number of right answers of each stratum, (strata, most rows + 1): Poisson's binomial."""
    order = np.argsort(stratum, kind="stable")
    size = np.bincount(stratum, minlength=many)
    first = np.cumsum(size) - size
    padded = np.zeros((many, size.max()))
    padded[stratum[order], np.arange(len(order)) - first[stratum[order]]] = chance[order]
    law = np.zeros((many, size.max() + 1))
    law[:, 0] = 1.0
    for p in padded.T[:, :, None]:
        law[:, 1:] = law[:, 1:] * (1 - p) + law[:, :-1] * p
        law[:, :1] *= 1 - p
    return law


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


class Candidates:
    """The sums that groups are tested by, of all blocks.

    `part, local`, int (m,): the block of each, and its place there. `total, variance`: of its sum where nothing is
    hidden. `effect`: its design effect. `counts`: its rows.
    """

    def __init__(self, table: Table, seed: int, settings: LedgerSettings) -> None:
        self.table, self.groups, self.settings = table, table.groups, settings
        self.rng = np.random.default_rng((seed, 31))
        self.blocks = [(self._strata(rows), own) for rows, own in table.parts]
        sizes = [len(own) for _, own in self.blocks]
        self.part = np.repeat(np.arange(len(sizes)), sizes)
        self.local = np.concatenate([np.arange(size) for size in sizes])
        self.total = np.concatenate([strata.sums(own.tested) for strata, own in self.blocks])
        self.variance = np.concatenate([strata.variances(own.tested) for strata, own in self.blocks])
        self.effect = np.concatenate([strata.effects(own.tested) for strata, own in self.blocks])
        counts = [own.member.sums(strata.rows.counts) for strata, own in self.blocks]
        self.counts = np.concatenate(counts).round().astype(np.int64)

    def _strata(self, rows: LabelledRows) -> Strata:
        stratum = rows.stratum
        if stratum is None:
            stratum = cut_into_strata(rows.confidence, self._width(rows), self.rng, rows.part)
        return Strata.of(rows, stratum)

    def _width(self, rows: LabelledRows) -> int:
        return self.settings.stratum_rows * rows.rows_per_unit

    def _beside(self, group: int) -> list[tuple[Strata, Groups, Split]]:
        """Return every block with a group told from others."""
        found = self.table.beside(int(group))
        known = zip(self.blocks, found, strict=True)
        return [(strata.again(rows), groups, split) for (strata, _), (rows, groups, split) in known]

    def _rows(self, candidates: Sequence[int]) -> tuple[Strata, list[Split]]:
        """Return rows of which the groups of some candidates are known, the first of them in its own block if alone."""
        strata, groups = self.blocks[self.part[candidates[0]]]
        if len(candidates) == 1:
            return strata, [split_of(groups, int(self.local[candidates[0]]))]
        rows, splits = self.table.together([int(one) for one in candidates])
        return strata if rows is strata.rows else Strata.of(rows, rows.stratum), splits

    def _overlaps(self, candidate: int) -> np.ndarray:
        """Jaccard index of the rows of a candidate and those of every other, (m,)."""
        beside = self._beside(candidate)
        shared = np.concatenate([own.member.sums(one.rows.counts * split.inside) for one, own, split in beside])
        return shared / (self.counts + self.counts[candidate] - shared)

    def _covariances(self, candidate: int) -> np.ndarray:
        """Covariance of a candidate with every other, (m,)."""
        return np.concatenate(
            [strata.covariances(own.tested, split.tested) for strata, own, split in self._beside(candidate)]
        )
