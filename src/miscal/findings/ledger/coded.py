"""Columns of candidates that are held by codes of rows: ranges of the bins of a column, and groups of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from miscal.findings.ledger.membership import MOST_GATHERED, Columns, Floats, Ints

_RANGES = 64
"""Groups whose sums within strata, or units, are held at a time."""

_SPARSE = 8
"""Cells of a stratum and a code for each row, beyond which only those that have rows are summed."""


@dataclass(frozen=True, eq=False)
class BinRanges(Columns):
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
        one = self._up_to(stratum, left, len(factor))
        other = one if right is left else self._up_to(stratum, right, len(factor))
        # one product of matrices has all that a pair of ends can ask
        ends, last, low = (one.T * factor) @ other, self.high + 1, self.low
        return ends[last, last] - ends[last, low] - ends[low, last] + ends[low, low]

    def _up_to(self, stratum: Ints, values: Floats, strata: int) -> Floats:
        """Return the sums in each stratum over the bins before each, and over all: (strata, bins + 1)."""
        width = self._count + 1
        sums = np.bincount(stratum * width + self.codes + 1, values, strata * width).reshape(strata, -1)
        sums[:, 0] = 0.0  # of rows in no bin
        return np.cumsum(sums, axis=1)

    def chosen(self, rows: Ints) -> BinRanges:
        """Return the groups of some rows, in rising order, counted by their places."""
        return BinRanges(self.codes[rows], self.low, self.high)

    def by_stratum(self, stratum: Ints, weights: Sequence[Floats]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield places, and their sums of each weight within strata."""
        strata = int(stratum.max()) + 1
        up_to = [self._up_to(stratum, weight, strata) for weight in weights]
        for start in range(0, len(self), _RANGES):
            some = slice(start, start + _RANGES)
            yield some, [one[:, self.high[some] + 1] - one[:, self.low[some]] for one in up_to]


@dataclass(frozen=True, eq=False)
class CodedColumns(Columns):
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

    def stored(self, place: int) -> tuple[Ints, Floats]:
        """Return the rows that a column has a number for, and these numbers."""
        numbers = self.matrix[:, [place]].toarray()[self.at, 0]
        rows = np.flatnonzero(numbers)
        return rows, numbers[rows]

    def chosen(self, rows: Ints) -> CodedColumns:
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
        key = stratum * cells + self.at
        sums = [np.bincount(key, one, strata * cells).reshape(strata, cells) for one in weights]
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
        many = int(np.clip(MOST_GATHERED // strata, 1, _RANGES))
        return (slice(start, min(start + many, len(self))) for start in range(0, len(self), many))

    @cached_property
    def _one_each(self) -> bool:
        """Whether each group is one cell."""
        return bool((np.diff(self.matrix.indptr) == 1).all() and (self.matrix.data == 1).all())
