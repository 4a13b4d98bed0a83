"""Columns of candidates: what each row adds to the sum that a candidate is tested by.

A group has 1 for each of its rows and 0 for others. A table of 200,000 rows and forty columns has thousands of groups
with a hundred million rows in all, so that how they are held decides what a run costs. Ranges of the bins of a column
are held by the bin of each row: the sums of a few dozen bins, added up one after the other, are those of hundreds of
ranges; pairs of values by the codes of two columns (`coded`). Other groups are lists of their rows, in 4 bytes each,
with numbers of their own where they are trends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

MOST_GATHERED = 1 << 22
"""Numbers gathered at a time, 32 MB."""

_MOST_CELLS = 1 << 16
"""Cells of a list and a stratum that are summed at a time, 0.5 MB: they stay in the cache."""


class Columns:
    """m columns of n numbers, most of which are 0: what every way of holding them answers.

    What is written here goes column by column; a way that knows better says so. Sums within strata go over the rows,
    each times the number of the column.
    """

    n: int

    def __len__(self) -> int:
        """Return the number of columns, m."""
        raise NotImplementedError

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the number of the column, (m,)."""
        raise NotImplementedError

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        raise NotImplementedError

    def chosen(self, rows: Ints) -> Columns:
        """Return the columns of some rows, in rising order, counted by their places."""
        raise NotImplementedError

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the squared number of the column, (m,)."""
        return self.sums(values)

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) over the rows, each times the number, (m, k)."""
        return np.stack([self.sums(one) for one in values.T], 1)

    def by_stratum(self, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight (n,) within strata: one (strata, places) for each weight."""
        many = int(stratum.max()) + 1
        for place in range(len(self)):
            rows, numbers = self.stored(place)
            at = stratum[rows]
            sums = [np.asarray(np.bincount(at, one[rows] * numbers, many), np.float64)[:, None] for one in weights]
            yield slice(place, place + 1), sums

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor (s,) times the product of two sums within the stratum, (m,).

        The sums are those of `left` and of `right` (n,) over the rows, each times the number of the column, or its
        square.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RowLists(Columns):
    """Groups held as lists of their rows, or trends as such lists with the number of each row.

    `n`: rows of the table. `rows`, int (k,): the rows of the first group, in rising order, then those of the second,
    and so on. `first`, int64 (m + 1,): where the list of each group begins, and k. `numbers`, float64 (k,): of these
    rows; None where each is 1.

    Examples
    --------
    >>> RowLists.of(4, [np.array([0, 2]), np.array([3])]).sums(np.array([1.0, 10.0, 100.0, 1000.0])).tolist()
    [101.0, 1000.0]
    """

    n: int
    rows: Ints
    first: NDArray[np.int64]
    numbers: Floats | None = None

    @classmethod
    def of(cls, n: int, lists: Sequence[Ints], numbers: Sequence[Floats] | None = None) -> RowLists:
        """Put lists of rows one after the other, and their numbers, if they have some."""
        first = np.r_[0, np.cumsum([len(rows) for rows in lists], dtype=np.int64)]
        rows = np.concatenate(lists) if len(lists) else np.zeros(0, np.int32)
        return cls(n, rows, first, np.concatenate(numbers) if numbers else None)

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def matrix(self) -> csc_array:
        """The same as a sparse array, (n, m)."""
        numbers = np.ones(len(self.rows)) if self.numbers is None else self.numbers
        return csc_array((numbers, self.rows, self.first), shape=(self.n, len(self)))

    def _weighted(self, values: Floats, begin: int, end: int) -> Floats:
        """Values of the rows from one place in the lists to another, each times its number."""
        gathered = values[self.rows[begin:end]]
        return gathered if self.numbers is None else gathered * self.numbers[begin:end]

    def _squared(self) -> RowLists:
        return self if self.numbers is None else replace(self, numbers=self.numbers**2)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows of each group, (m,)."""
        found = np.empty(len(self))
        for some in self._blocks():
            begin, end = self.first[some.start], self.first[some.stop]
            # where a list is empty the next one's first number stands, or after the last one this 0
            gathered = np.append(self._weighted(values, begin, end), 0.0)
            found[some] = np.add.reduceat(gathered, self.first[some] - begin)
        found[np.diff(self.first) == 0] = 0.0
        return found

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values times squared numbers, (m,)."""
        return self._squared().sums(values)

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows of a group, and the number of each."""
        inside = slice(self.first[place], self.first[place + 1])
        rows = self.rows[inside]
        return rows, np.ones(len(rows)) if self.numbers is None else self.numbers[inside]

    def chosen(self, rows: Ints) -> RowLists:
        """Return the groups of some rows, in rising order, counted by their places."""
        place = np.full(self.n, -1, np.int32)
        place[rows] = np.arange(len(rows))
        place = place[self.rows]
        inside, up_to = place >= 0, np.zeros(len(place) + 1, np.int32)
        np.cumsum(inside, out=up_to[1:])
        numbers = None if self.numbers is None else self.numbers[inside]
        return RowLists(len(rows), place[inside], up_to[self.first].astype(np.int64), numbers)

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) over the rows of each group, (m, k)."""
        found, matrix = np.empty((len(self), values.shape[1])), self.matrix
        for some in self._blocks():
            found[some] = matrix[:, some].T @ values
        return found

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        if squared:
            return self._squared().products(stratum, left, right, factor)
        found, many = np.empty(len(self)), len(factor)
        for some in self._blocks(max(1, _MOST_CELLS // many)):
            begin, end = self.first[some.start], self.first[some.stop]
            own = np.repeat(np.arange(some.stop - some.start), np.diff(self.first[some.start : some.stop + 1]))
            cell, size = own * many + stratum[self.rows[begin:end]], (some.stop - some.start) * many
            weights = (left,) if right is left else (left, right)
            sums = [np.bincount(cell, self._weighted(weight, begin, end), size) for weight in weights]
            found[some] = (sums[0] * sums[-1]).reshape(-1, many) @ factor
        return found

    def _blocks(self, most: int | None = None) -> Iterator[slice]:
        """Neighbouring groups that have about so many rows together, at most so many groups."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.first, self.first[start] + MOST_GATHERED, "right")) - 1
            stop = max(start + 1, stop if most is None else min(stop, start + most))
            yield slice(start, stop)
            start = stop


@dataclass(frozen=True, eq=False)
class SideBySide(Columns):
    """Columns of several kinds, in order.

    `n`: rows of the table.

    Examples
    --------
    >>> one, two = RowLists.of(4, [np.array([0, 3])]), RowLists.of(4, [np.array([0, 1]), np.array([1, 2])])
    >>> both = SideBySide(4, (one, two))
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

    def chosen(self, rows: Ints) -> SideBySide:
        """Return the columns of some rows, in rising order, counted by their places."""
        return SideBySide(len(rows), tuple(one.chosen(rows) for one in self.blocks))

    def sums_of_each(self, values: Floats, wanted: Ints) -> Floats:
        """Return the sums of several columns of values (n, k), each times the number of the column, (m, k).

        Those of blocks of which no column is wanted are 0.
        """
        many = np.histogram(wanted, self._first)[0]
        return np.concatenate(
            [
                one.sums_of_each(values) if some else np.zeros((len(one), values.shape[1]))
                for one, some in zip(self.blocks, many, strict=True)
            ]
        )

    def dense(self, place: int) -> Floats:
        """Return a column, (n,)."""
        column = np.zeros(self.n)
        rows, numbers = self.stored(place)
        column[rows] = numbers
        return column

    def sparse(self, places: Sequence[int] | Ints) -> csc_array:
        """Return some columns as a sparse array, (n, places)."""
        rows, numbers = zip(*(self.stored(int(place)) for place in places), strict=True) if len(places) else ((), ())
        return RowLists.of(self.n, rows, numbers).matrix

    def replaced(self, place: int, block: Columns) -> SideBySide:
        """Return these columns with another block in place of the one that begins at a place."""
        at = int(np.searchsorted(self._first, place))
        return SideBySide(self.n, (*self.blocks[:at], block, *self.blocks[at + 1 :]))

    def beside(self, *others: Columns) -> SideBySide:
        """Return these columns with others at their right."""
        return SideBySide(self.n, (*self.blocks, *(one for one in others if len(one))))

    def _joined(self, parts: list[Floats]) -> Floats:
        return np.concatenate(parts) if parts else np.zeros(0)
