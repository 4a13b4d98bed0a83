"""Columns of candidates: what each row adds to the sum that a candidate is tested by.

A group has 1 for each of its rows and 0 for others. A table of 200,000 rows and forty columns has thousands of groups
with a hundred million rows in all, so that how they are held decides what a run costs. Groups of a column are unions
of its few cells, values or bins, and those of two columns of pairs of cells: sums over the cells are those of hundreds
of groups. Where no cells make up a group, as of a term, every row is a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

_SPARSE = 8
"""Cells of a stratum for each row, beyond which only those that have rows are summed."""

_MANY_CELLS = 512
"""Of more cells the products of every two would cost more than going column by column."""


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """m columns of n numbers, each the number of the row's cell.

    `matrix`, (cells, m): the number of each cell. `codes`, int (n,) each: the cell of each row; of two codes the cell
    is that of a table of `width` columns. Without codes every row is a cell.

    Examples
    --------
    >>> by_cell = CodedColumns(4, csc_array([[1.0, 0.0], [1.0, 1.0]]), (np.array([0, 1, 1, 0]),))
    >>> by_cell.sums(np.array([1.0, 10.0, 100.0, 1000.0])).tolist()
    [1111.0, 110.0]
    """

    n: int
    matrix: csc_array
    codes: tuple[Ints, ...] = ()
    width: int = 0

    @classmethod
    def of(cls, n: int, lists: Sequence[Ints]) -> CodedColumns:
        """Hold groups of lists of rows, each in rising order.

        >>> CodedColumns.of(4, [np.array([0, 2]), np.array([3])]).sums(np.array([1.0, 10.0, 100.0, 1000.0])).tolist()
        [101.0, 1000.0]
        """
        first = np.r_[0, np.cumsum([len(rows) for rows in lists], dtype=np.int64)]
        rows = np.concatenate(lists) if len(lists) else np.zeros(0, np.int32)
        return cls(n, csc_array((np.ones(len(rows)), rows, first), shape=(n, len(lists))))

    @classmethod
    def unions(cls, codes: Ints, many: int, lists: Sequence[Ints]) -> CodedColumns:
        """Hold groups of lists of cells, of which there are `many`; rows of the code -1 are in none."""
        cells = cls.of(many + 1, [np.asarray(one) + 1 for one in lists])
        return replace(cells, n=len(codes), codes=((codes + 1).astype(np.int32),))

    def __len__(self) -> int:
        return self.matrix.shape[1]

    @property
    def at(self) -> Ints:
        """The cell of each row, (n,)."""
        if len(self.codes) == 2:
            return self.codes[0].astype(np.int64) * self.width + self.codes[1]
        return self.codes[0] if self.codes else np.arange(self.n)

    def by_cell(self, values: Floats) -> Floats:
        """Sum values (n,) over the rows of each cell."""
        return np.bincount(self.at, values, self.matrix.shape[0]) if self.codes else values

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the number of the column, (m,)."""
        return self.matrix.T @ self.by_cell(values)

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the squared number of the column, (m,)."""
        return self._squares.T @ self.by_cell(values)

    def sums_of_each(self, values: Floats) -> Floats:
        """Return the sums of several columns of values (n, k) over the rows, each times the number, (m, k)."""
        return self.matrix.T @ np.stack([self.by_cell(one) for one in values.T], 1)

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        inside = slice(*self.matrix.indptr[place : place + 2])
        cells, numbers = self.matrix.indices[inside], self.matrix.data[inside]
        if not self.codes:
            return cells, numbers
        of_cell = np.zeros(self.matrix.shape[0])
        of_cell[cells] = numbers
        column = of_cell[self.at]
        rows = np.flatnonzero(column)
        return rows, column[rows]

    def chosen(self, rows: Ints) -> CodedColumns:
        """Return the columns of some rows, by their places."""
        if self.codes:
            return replace(self, n=len(rows), codes=tuple(one[rows] for one in self.codes))
        return CodedColumns(len(rows), csc_array(self.matrix[rows]))

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor (s,) times the product of two sums within the stratum, (m,).

        The sums are those of `left` and of `right` (n,) over the rows, each times the number of the column, or its
        square.
        """
        matrix, weights = self._squares if squared else self.matrix, (left,) if right is left else (left, right)
        cells, strata = matrix.shape[0], len(factor)
        one_each = bool(self.codes and (np.diff(matrix.indptr) == 1).all() and (matrix.data == 1).all())
        if not self.codes or (cells > _MANY_CELLS and not one_each):
            found = np.empty(len(self))
            for place in range(len(self)):
                rows, numbers = self.stored(place)
                numbers = numbers**2 if squared else numbers
                sums = [np.bincount(stratum[rows], one[rows] * numbers, strata) for one in weights]
                found[place] = factor @ (sums[0] * sums[-1])
            return found
        key = stratum * cells + self.at
        if one_each and strata * cells > _SPARSE * self.n:
            key, place = np.unique(key, return_inverse=True)
            sums = [np.bincount(place, one) for one in weights]
            return np.bincount(key % cells, factor[key // cells] * sums[0] * sums[-1], cells)[matrix.indices]
        sums = [np.bincount(key, one, strata * cells).reshape(strata, cells) for one in weights]
        if one_each:
            return np.einsum("s,sc,sc->c", factor, sums[0], sums[-1])[matrix.indices]
        # the products of every two cells have all that unions of cells can ask
        every = (sums[0].T * factor) @ sums[-1]
        return np.einsum("cm,cm->m", matrix.toarray(), every @ matrix)

    @cached_property
    def _squares(self) -> csc_array:
        return self.matrix if (self.matrix.data == 1).all() else csc_array(self.matrix.power(2))


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Columns that are held in several ways, in order.

    `n`: rows of the table.

    Examples
    --------
    >>> one, two = CodedColumns.of(4, [np.array([0, 3])]), CodedColumns.of(4, [np.array([0, 1]), np.array([1, 2])])
    >>> both = SideBySide(4, (one, two))
    >>> both.counts().tolist(), both.dense(0).tolist()
    ([2, 2, 2], [1.0, 0.0, 0.0, 1.0])
    >>> both.sparse(np.array([0, 2])).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """

    n: int
    blocks: tuple[CodedColumns, ...] = ()

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        return np.r_[0, np.cumsum([len(one) for one in self.blocks], dtype=np.int64)]

    def __len__(self) -> int:
        return int(self._first[-1])

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows, each times the number of the column, (m,)."""
        return self._joined(lambda one: one.sums(values))

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values over the rows, each times the squared number of the column, (m,)."""
        return self._joined(lambda one: one.squared_sums(values))

    def counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each group, (m,)."""
        return self.sums(np.ones(self.n)).round().astype(np.int64)

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor times the product of two sums within the stratum, (m,)."""
        return self._joined(lambda one: one.products(stratum, left, right, factor, squared=squared))

    def chosen(self, rows: Ints) -> SideBySide:
        """Return the columns of some rows, by their places."""
        return SideBySide(len(rows), tuple(one.chosen(rows) for one in self.blocks))

    def sums_of_each(self, values: Floats, wanted: Ints) -> Floats:
        """Return the sums of several columns of values (n, k), each times the number of the column, (m, k).

        Those of blocks of which no column is wanted are 0.
        """
        many = dict(zip(map(id, self.blocks), np.histogram(wanted, self._first)[0], strict=True))
        nothing = values.shape[1]
        return self._joined(lambda one: one.sums_of_each(values) if many[id(one)] else np.zeros((len(one), nothing)))

    def dense(self, place: int) -> Floats:
        """Return a column, (n,)."""
        column, at = np.zeros(self.n), int(np.searchsorted(self._first, place, "right")) - 1
        rows, numbers = self.blocks[at].stored(place - int(self._first[at]))
        column[rows] = numbers
        return column

    def sparse(self, places: Sequence[int] | Ints) -> csc_array:
        """Return some columns as a sparse array, (n, places)."""
        return csc_array(np.array([self.dense(int(one)) for one in places]).reshape(len(places), self.n).T)

    def replaced(self, place: int, block: CodedColumns) -> SideBySide:
        """Return these columns with another block in place of the one that begins at a place."""
        at = int(np.searchsorted(self._first, place))
        return SideBySide(self.n, (*self.blocks[:at], block, *self.blocks[at + 1 :]))

    def beside(self, *others: CodedColumns) -> SideBySide:
        """Return these columns with others at their right."""
        return SideBySide(self.n, (*self.blocks, *(one for one in others if len(one))))

    def _joined(self, part: Callable[[CodedColumns], Floats]) -> Floats:
        return np.concatenate([part(one) for one in self.blocks]) if self.blocks else np.zeros(0)


Columns = CodedColumns | SideBySide
