"""Columns of a matrix of rows by groups, where rows of one cell are in the same groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from miscal.findings.ledger.membership import MOST_GATHERED, RANGES, Floats, Ints

_SPARSE = 8
"""Cells of a stratum and a code for each row, beyond which only those that have rows are summed."""


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
        return self.matrix.T @ np.stack([self.by_cell(one) for one in values.T], 1)

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
        many = int(np.clip(MOST_GATHERED // strata, 1, RANGES))
        return (slice(start, min(start + many, len(self))) for start in range(0, len(self), many))

    @cached_property
    def _one_each(self) -> bool:
        """Whether each group is one cell."""
        return bool((np.diff(self.matrix.indptr) == 1).all() and (self.matrix.data == 1).all())

    def _cells(self, stratum: Ints, values: Floats, strata: int) -> Floats:
        cells = self.matrix.shape[0]
        return np.bincount(stratum * cells + self.at, values, strata * cells).reshape(strata, cells)
