"""Columns of candidates: what each row adds to the sum that a candidate is tested by.

A group has 1 for each of its rows and 0 for others. A table of 200,000 rows and forty columns has thousands of groups
with a hundred million rows in all, so that how they are held decides what a run costs. Ranges of the bins of a column
are held by the bin of each row: the sums of a few dozen bins, added up one after the other, are those of hundreds of
ranges; pairs of values by the codes of two columns. Other groups are lists of their rows, in 4 bytes each. Trends and
slopes have numbers of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

_MOST_GATHERED = 1 << 22
"""Numbers gathered at a time, 32 MB."""

_RANGES = 64
"""Groups whose sums within strata, or units, are held at a time."""

_SPARSE = 8
"""Cells of a stratum and a code for each row, beyond which only those that have rows are summed."""

_MOST_CELLS = 1 << 16
"""Cells of a list and a stratum that are summed at a time, 0.5 MB: they stay in the cache."""


class Columns(Protocol):
    """m columns of n numbers, most of which are 0."""

    @property
    def n(self) -> int:
        """Rows of the table."""
        ...

    def __len__(self) -> int: ...

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the number of the column, (m,)."""
        ...

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the squared number of the column, (m,)."""
        ...

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) over the rows, each times the number, (m, k)."""
        ...

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        ...

    def of_rows(self, start: int, stop: int) -> Columns:
        """Return the columns of the rows from `start` to before `stop`, counted from `start`."""
        ...

    def chosen(self, rows: Ints) -> Columns:
        """Return the columns of some rows, in rising order, counted by their places."""
        ...

    def by_stratum(self, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight (n,) within strata: one (strata, places) for each weight."""
        ...

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor (s,) times the product of two sums within the stratum, (m,).

        The sums are those of `left` and of `right` (n,) over the rows, each times the number of the column, or its
        square.
        """
        ...


def _sums_at(at: Ints, values: Floats, many: int) -> Floats:
    return np.bincount(at, values, many)


class _Listed:
    """Sums within strata, column by column."""

    def by_stratum(self: Columns, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight within strata."""
        many = int(stratum.max()) + 1
        for place in range(len(self)):
            rows, numbers = self.stored(place)
            at = stratum[rows]
            sums = [_sums_at(at, weight[rows] * numbers, many)[:, None] for weight in weights]
            yield slice(place, place + 1), sums

    def products(
        self: Columns, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False
    ) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        found = np.empty(len(self))
        for place in range(len(self)):
            rows, numbers = self.stored(place)
            at, numbers = stratum[rows], numbers**2 if squared else numbers
            both = [_sums_at(at, weight[rows] * numbers, len(factor)) for weight in (left, right)]
            found[place] = factor @ (both[0] * both[1])
        return found


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over the rows of each cell, a stratum and a value or bin of a column: all that tests ask of rows.

    `sums`, float64 (strata, values): of how much rows count, of their residuals, of the squares of either. Rows that
    were added up before are the same as a cell of each: sums of sums.

    Examples
    --------
    >>> cells = CellSums.of(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 2.0, 4.0]), 2, 2)
    >>> cells.sums.tolist(), cells.products(cells, np.ones(2), np.array([0, 1]), np.array([1, 1])).tolist()
    ([[1.0, 2.0], [0.0, 4.0]], [25.0, 20.0])
    """

    sums: Floats

    @classmethod
    def of(cls, stratum: Ints, codes: Ints, values: Floats, strata: int, count: int) -> CellSums:
        """Add up values (n,) over the rows of each cell; rows of code -1 are in none."""
        return cls(_sums_at(stratum * (count + 1) + codes + 1, values, strata * (count + 1)).reshape(strata, -1)[:, 1:])

    @cached_property
    def up_to(self) -> Floats:
        """Sums of the values before each, and of all: (strata, values + 1)."""
        return np.cumsum(np.column_stack([np.zeros(len(self.sums)), self.sums]), axis=1)

    def products(self, other: CellSums, factor: Floats, low: Ints, high: Ints) -> Floats:
        """Add up over strata a factor (s,) times the product of both sums of ranges of values, (m,).

        One product of matrices has all that a pair of ends can ask.
        """
        ends, last = (self.up_to.T * factor) @ other.up_to, high + 1
        return ends[last, last] - ends[last, low] - ends[low, last] + ends[low, low]


@dataclass(frozen=True, eq=False)
class RowLists(_Listed):
    """Groups held as lists of their rows.

    `n`: rows of the table. `rows`, int (k,): the rows of the first group, in rising order, then those of the second,
    and so on. `first`, int64 (m + 1,): where the list of each group begins, and k.

    Examples
    --------
    >>> RowLists.of(4, [np.array([0, 2]), np.array([3])]).sums(np.array([1.0, 10.0, 100.0, 1000.0])).tolist()
    [101.0, 1000.0]
    """

    n: int
    rows: Ints
    first: NDArray[np.int64]

    @classmethod
    def of(cls, n: int, lists: Sequence[Ints]) -> RowLists:
        """Put lists of rows one after the other."""
        first = np.r_[0, np.cumsum([len(rows) for rows in lists], dtype=np.int64)]
        return cls(n, np.concatenate(lists) if len(lists) else np.zeros(0, np.int32), first)

    def __len__(self) -> int:
        return len(self.first) - 1

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows of each group, (m,)."""
        found = np.empty(len(self))
        for some in self._blocks():
            begin, end = self.first[some.start], self.first[some.stop]
            # where a list is empty the next one's first number stands, or after the last one this 0
            gathered = np.append(values[self.rows[begin:end]], 0.0)
            found[some] = np.add.reduceat(gathered, self.first[some] - begin)
        found[np.diff(self.first) == 0] = 0.0
        return found

    squared_sums = sums

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows of a group, and 1 for each."""
        rows = self.rows[self.first[place] : self.first[place + 1]]
        return rows, np.ones(len(rows))

    def of_rows(self, start: int, stop: int) -> RowLists:
        """Return the groups of the rows from `start` to before `stop`, counted from `start`."""
        inside = (self.rows >= start) & (self.rows < stop)
        first = np.r_[0, np.cumsum(inside)][self.first]
        return RowLists(stop - start, self.rows[inside] - self.rows.dtype.type(start), first)

    def chosen(self, rows: Ints) -> RowLists:
        """Return the groups of some rows, in rising order, counted by their places."""
        place = np.full(self.n, -1, np.int32)
        place[rows] = np.arange(len(rows))
        place = place[self.rows]
        inside, up_to = place >= 0, np.zeros(len(place) + 1, np.int32)
        np.cumsum(inside, out=up_to[1:])
        return RowLists(len(rows), place[inside], up_to[self.first].astype(np.int64))

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) over the rows of each group, (m, k)."""
        found = np.empty((len(self), values.shape[1]))
        for some in self._blocks():
            begin, end = self.first[some.start], self.first[some.stop]
            first = self.first[some.start : some.stop + 1] - begin
            shape = self.n, some.stop - some.start
            found[some] = csc_array((np.ones(end - begin), self.rows[begin:end], first), shape=shape).T @ values
        return found

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        found, many = np.empty(len(self)), len(factor)
        for some in self._blocks(max(1, _MOST_CELLS // many)):
            rows = self.rows[self.first[some.start] : self.first[some.stop]]
            own = np.repeat(np.arange(some.stop - some.start), np.diff(self.first[some.start : some.stop + 1]))
            cell, size = own * many + stratum[rows], (some.stop - some.start) * many
            sums = [_sums_at(cell, weight[rows], size) for weight in ((left,) if right is left else (left, right))]
            found[some] = (sums[0] * sums[-1]).reshape(-1, many) @ factor
        return found

    def _blocks(self, most: int | None = None) -> Iterator[slice]:
        """Neighbouring groups that have about so many rows together, at most so many groups."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.first, self.first[start] + _MOST_GATHERED, "right")) - 1
            stop = max(start + 1, stop if most is None else min(stop, start + most))
            yield slice(start, stop)
            start = stop


@dataclass(frozen=True, eq=False)
class BinRanges:
    """Groups that are ranges of the bins of one column.

    `codes`, int (n,): the bin of each row, -1 for none. `low, high`, int (m,): the first and the last bin of each
    group.

    Examples
    --------
    >>> ranges = BinRanges(np.array([0, 1, 2, -1]), np.array([0, 1]), np.array([1, 2]))
    >>> ranges.sums(np.array([1.0, 10.0, 100.0, 1000.0])).tolist()
    [11.0, 110.0]
    """

    codes: Ints
    low: Ints
    high: Ints

    @property
    def n(self) -> int:
        """Rows of the table."""
        return len(self.codes)

    def __len__(self) -> int:
        return len(self.low)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows of each group, (m,)."""
        up_to = np.cumsum(np.bincount(self.codes + 1, values, minlength=int(self.high.max()) + 2))
        return up_to[self.high + 1] - up_to[self.low]

    squared_sums = sums

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows of a group, and 1 for each."""
        order, ends = self._in_bins
        rows = np.sort(order[ends[self.low[place]] : ends[self.high[place] + 1]])
        return rows, np.ones(len(rows))

    @cached_property
    def _count(self) -> int:
        return int(max(self.codes.max(initial=-1), self.high.max(initial=-1))) + 1

    @cached_property
    def _in_bins(self) -> tuple[Ints, Ints]:
        """Rows bin by bin, without those in none, and where each bin begins."""
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes + 1, minlength=self._count + 1)
        return order[sizes[0] :], np.r_[0, np.cumsum(sizes[1:])]

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        one = CellSums.of(stratum, self.codes, left, len(factor), self._count)
        other = one if right is left else CellSums.of(stratum, self.codes, right, len(factor), self._count)
        return one.products(other, factor, self.low, self.high)

    def of_rows(self, start: int, stop: int) -> BinRanges:
        """Return the groups of the rows from `start` to before `stop`, counted from `start`."""
        return BinRanges(self.codes[start:stop], self.low, self.high)

    def chosen(self, rows: Ints) -> BinRanges:
        """Return the groups of some rows, in rising order, counted by their places."""
        return BinRanges(self.codes[rows], self.low, self.high)

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) over the rows of each group, (m, k)."""
        return np.stack([self.sums(one) for one in values.T], 1)

    def by_stratum(self, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight within strata."""
        strata = int(stratum.max()) + 1
        up_to = [CellSums.of(stratum, self.codes, weight, strata, self._count).up_to for weight in weights]
        for start in range(0, len(self), _RANGES):
            some = slice(start, start + _RANGES)
            yield some, [one[:, self.high[some] + 1] - one[:, self.low[some]] for one in up_to]


@dataclass(frozen=True, eq=False)
class Numbers(_Listed):
    """Columns with numbers of their own: trends and slopes.

    `matrix`, float64 (n, m).
    """

    matrix: csc_array

    @classmethod
    def of(cls, n: int, columns: Sequence[tuple[Ints, Floats]]) -> Numbers:
        """Put columns side by side, each given by the rows that it has a number for, and these numbers."""
        if not columns:
            return cls(csc_array((n, 0)))
        first = np.r_[0, np.cumsum([len(rows) for rows, _ in columns])]
        rows, numbers = (np.concatenate(some) for some in zip(*columns, strict=True))
        return cls(csc_array((numbers, rows, first), shape=(n, len(columns))))

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.matrix.shape[0]

    def __len__(self) -> int:
        return self.matrix.shape[1]

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values times numbers, (m,)."""
        return self.matrix.T @ values

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values times squared numbers, (m,)."""
        squared = csc_array((self.matrix.data**2, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape)
        return squared.T @ values

    def of_rows(self, start: int, stop: int) -> Numbers:
        """Return the columns of the rows from `start` to before `stop`, counted from `start`."""
        return Numbers(csc_array(self.matrix[start:stop]))

    def chosen(self, rows: Ints) -> Numbers:
        """Return the columns of some rows, in rising order, counted by their places."""
        return Numbers(csc_array(self.matrix[rows]))

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) times numbers, (m, k)."""
        return self.matrix.T @ values

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        inside = slice(self.matrix.indptr[place], self.matrix.indptr[place + 1])
        return self.matrix.indices[inside], self.matrix.data[inside]


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """Groups of which the cell of a row tells whether it is in them.

    `codes`, int (n,): of one column, or of two of which a cell is a pair of codes, those of the second below `width`.
    `matrix`, (cells, m): number of each cell in each group.

    Examples
    --------
    >>> two = CodedColumns((np.array([0, 1, 1]),), csc_array(np.eye(2)))
    >>> two.sums(np.array([1.0, 10.0, 100.0])).tolist(), two.stored(1)[0].tolist()
    ([1.0, 110.0], [1, 2])
    """

    codes: tuple[Ints, ...]
    matrix: csc_array
    width: int = 0

    @property
    def at(self) -> Ints:
        """Cell of each row, (n,)."""
        return self.codes[0] if len(self.codes) == 1 else self.codes[0].astype(np.int64) * self.width + self.codes[1]

    @property
    def n(self) -> int:
        """Rows of the table."""
        return len(self.codes[0])

    def __len__(self) -> int:
        return self.matrix.shape[1]

    def by_cell(self, values: Floats) -> Floats:
        """Return the sum of values over the rows of each cell, (cells,)."""
        return np.bincount(self.at, values, self.matrix.shape[0])

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows, each times the number of the column, (m,)."""
        return self.matrix.T @ self.by_cell(values)

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows, each times the squared number of the column, (m,)."""
        return self.matrix.multiply(self.matrix).T @ self.by_cell(values)

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k), (m, k)."""
        return np.stack([self.sums(one) for one in values.T], 1)

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        numbers = self.matrix[:, [place]].toarray()[self.at, 0]
        rows = np.flatnonzero(numbers)
        return rows, numbers[rows]

    def of_rows(self, start: int, stop: int) -> CodedColumns:
        """Return the columns of the rows from `start` to before `stop`, counted from `start`."""
        return self.chosen(slice(start, stop))

    def chosen(self, rows: Ints | slice) -> CodedColumns:
        """Return the columns of some rows, counted by their places."""
        return CodedColumns(tuple(one[rows] for one in self.codes), self.matrix, self.width)

    def by_stratum(self, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight within strata."""
        strata = int(stratum.max()) + 1
        for some in self._parts(strata):
            cells = np.unique(self.matrix[:, some].indices)
            place = np.full(self.matrix.shape[0], -1)
            place[cells] = np.arange(len(cells))
            at = place[self.at]
            rows = np.flatnonzero(at >= 0)
            key, size, part = stratum[rows] * len(cells) + at[rows], strata * len(cells), self.matrix[cells][:, some]
            sums = (np.bincount(key, one[rows], size).reshape(strata, -1) for one in weights)
            yield some, [part.T.dot(one.T).T for one in sums]

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        cells, strata, weights = self.matrix.shape[0], len(factor), (left,) if right is left else (left, right)
        if self._one_each and strata * cells > _SPARSE * self.n:
            key, place = np.unique(stratum * cells + self.at, return_inverse=True)
            sums = [np.bincount(place, one) for one in weights]
            return np.bincount(key % cells, factor[key // cells] * sums[0] * sums[-1], cells)[self.matrix.indices]
        sums = [self._cells(stratum, one, strata) for one in weights]
        if self._one_each:
            return np.einsum("s,sc,sc->c", factor, sums[0], sums[-1])[self.matrix.indices]
        matrix = csc_array(self.matrix.multiply(self.matrix)) if squared else self.matrix
        found = np.empty(len(self))
        for some in self._parts(strata):
            both = [matrix[:, some].T.dot(one.T).T for one in sums]
            found[some] = factor @ (both[0] * both[-1])
        return found

    def _parts(self, strata: int) -> Iterator[slice]:
        """Neighbouring groups whose sums within strata are held at a time."""
        many = int(np.clip(_MOST_GATHERED // strata, 1, _RANGES))
        return (slice(start, min(start + many, len(self))) for start in range(0, len(self), many))

    @cached_property
    def _one_each(self) -> bool:
        """Whether each group is one cell."""
        return bool((np.diff(self.matrix.indptr) == 1).all() and (self.matrix.data == 1).all())

    def _cells(self, stratum: Ints, values: Floats, strata: int) -> Floats:
        cells = self.matrix.shape[0]
        return np.bincount(stratum * cells + self.at, values, strata * cells).reshape(strata, cells)


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Columns of several kinds, in order.

    `n`: rows of the table.

    Examples
    --------
    >>> ranges = BinRanges(np.array([0, 1, 2, -1]), np.array([0, 1]), np.array([1, 2]))
    >>> both = SideBySide(4, (RowLists.of(4, [np.array([0, 3])]), ranges))
    >>> both.counts().tolist(), both.dense(0).tolist()
    ([2, 2, 2], [1.0, 0.0, 0.0, 1.0])
    >>> both.sparse(np.array([0, 2])).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """

    n: int
    blocks: tuple[Columns, ...] = ()

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        return np.r_[0, np.cumsum([len(one) for one in self.blocks], dtype=np.int64)]

    def __len__(self) -> int:
        return int(self._first[-1])

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows, each times the number of the column, (m,)."""
        return self._joined([one.sums(values) for one in self.blocks])

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows, each times the squared number of the column, (m,)."""
        return self._joined([one.squared_sums(values) for one in self.blocks])

    def counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each group, (m,)."""
        return self.sums(np.ones(self.n)).round().astype(np.int64)

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        at = int(np.searchsorted(self._first, place, "right")) - 1
        return self.blocks[at].stored(place - int(self._first[at]))

    def by_stratum(self, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight within strata."""
        for start, block in zip(self._first.tolist(), self.blocks, strict=False):
            for some, sums in block.by_stratum(stratum, weights):
                yield slice(start + some.start, start + min(some.stop, len(block))), sums

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        return self._joined([one.products(stratum, left, right, factor, squared=squared) for one in self.blocks])

    def of_rows(self, start: int, stop: int) -> SideBySide:
        """Return the columns of the rows from `start` to before `stop`, counted from `start`."""
        return SideBySide(stop - start, tuple(one.of_rows(start, stop) for one in self.blocks))

    def chosen(self, rows: Ints) -> SideBySide:
        """Return the columns of some rows, in rising order, counted by their places."""
        return SideBySide(len(rows), tuple(one.chosen(rows) for one in self.blocks))

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k), each times the number of the column, (m, k)."""
        return np.concatenate([one.sums_of_each(values) for one in self.blocks])

    def dense(self, place: int) -> Floats:
        """Return a column, (n,)."""
        column = np.zeros(self.n)
        rows, numbers = self.stored(place)
        column[rows] = numbers
        return column

    def sparse(self, places: Sequence[int] | Ints) -> csc_array:
        """Return some columns as a sparse array, (n, places)."""
        return Numbers.of(self.n, [self.stored(int(place)) for place in places]).matrix

    def replaced(self, place: int, block: Columns) -> SideBySide:
        """Return these columns with another block in place of the one that begins at a place."""
        at = int(np.searchsorted(self._first, place))
        return SideBySide(self.n, (*self.blocks[:at], block, *self.blocks[at + 1 :]))

    def beside(self, *others: Columns) -> SideBySide:
        """Return these columns with others at their right."""
        return SideBySide(self.n, (*self.blocks, *(one for one in others if len(one))))

    def _joined(self, parts: list[Floats]) -> Floats:
        return np.concatenate(parts) if parts else np.zeros(0)
