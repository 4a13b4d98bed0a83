"""Cut rows into folds that keep equal inputs, or named groups, together, and dates into periods and blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import row_blocks

_RANKED = 1 << 60
"""Largest number that columns of two values make before it is ranked."""
_BLOCK_VALUES = 1 << 18
"""Numbers whose 64-bit copies are made at a time, 2 MB: they stay in the cache, and large inputs on disk."""


def row_groups(X: np.ndarray, groups: Any = None) -> np.ndarray:
    """Give numbers to rows so that equal inputs, or equal named groups, share a number.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    groups : array-like of shape (n,), optional
        Named groups; where given, they alone decide.

    Returns
    -------
    ndarray of shape (n,), int64

    >>> row_groups(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    """
    if groups is not None:
        return named_units(len(X), groups)
    keys = _hashed(X)
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    unlike = _unlike(X, first[number])
    if unlike.any():
        # two inputs of one key: of these few rows, each as one value of bytes tells them apart
        some = np.flatnonzero(np.isin(number, number[unlike]))
        number[some] = len(first) + np.unique(_bytes(X[some]), return_inverse=True)[1]
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
    # number groups by first appearance, so that the deal does not depend on the order of keys
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def named_units(n: int, groups: Any = None) -> NDArray[np.int64]:
    """Give numbers to n rows so that rows of equal named groups share one; each its own where none are named.

    >>> named_units(3).tolist(), named_units(3, ["b", "a", "b"]).tolist()
    ([0, 1, 2], [1, 0, 1])
    """
    return np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)


def content_order(X: np.ndarray, *columns: Any) -> NDArray[np.int64]:
    """Order rows by what they hold, so that the order does not depend on the one that they came in.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    *columns : n values each
        What orders rows that are equal in all before; others stay in the order given.

    Returns
    -------
    ndarray of shape (n,), int64
        Places of the rows: sorted by ranks, so that it does not matter where zero lies, and then shuffled, always in
        the same way, so that the order says nothing of large and small.

    >>> x, kind = np.array([[3.0], [1.0], [2.0]]), np.array(["a", "b", "c"])
    >>> order, other = content_order(x, kind), content_order(x[::-1], kind[::-1])
    >>> bool((kind[order] == kind[::-1][other]).all())
    True
    """
    n = len(X)
    distinct = int(row_groups(X).max(initial=0)) + 1 if X.shape[1] else 1
    # rows lie together in memory: a few columns at a time are read once
    inputs = (column for block in row_blocks(X.shape[1], max(1, n)) for column in np.ascontiguousarray(X[:, block].T))
    number = _ranked(_ranked(np.zeros(n, np.int64), inputs, distinct), columns, n)
    # a number and a place as one key: equal rows stay in the order given, and it sorts in a fifth of the time
    return np.argsort(number * n + np.arange(n))[np.random.default_rng(0).permutation(n)]


def _ranked(number: NDArray[np.int64], columns: Iterable[Any], distinct: int) -> NDArray[np.int64]:
    """Rank rows by a number, and those of equal numbers by columns, until as many are told apart; (n,)."""
    ranks = int(number.max(initial=0)) + 1
    for column in columns:
        if ranks >= distinct:
            break
        # an array of texts would be as wide as the longest
        values = np.asarray(column, None if hasattr(column, "dtype") else object)
        # values of several types are compared as they are written
        values = values if values.dtype.kind in "biufMU" else np.array([str(value) for value in column], dtype=object)
        known, codes = values_of(values)
        number = number * len(known) + codes
        # of columns of two values many are ranked at once
        if len(known) > 2 or number.max() > _RANKED:
            number = np.unique(number, return_inverse=True)[1]
            ranks = int(number.max()) + 1
    return np.unique(number, return_inverse=True)[1]


def values_of(column: np.ndarray) -> tuple[np.ndarray, NDArray[np.int64]]:
    """Return the distinct values of a column, sorted, and the place of each row's value, (n,).

    >>> values_of(np.array([3.0, 1.0, 3.0]))[1].tolist()
    [1, 0, 1]
    """
    # a column of two numbers, as of a level, takes no sort
    if column.dtype.kind in "iuf" and len(column):
        ends = np.array([column.min(), column.max()])
        high = column == ends[1]
        if ends[0] != ends[1] and (high | (column == ends[0])).all():
            return ends, high.astype(np.int64)
    return np.unique(column, return_inverse=True)


def linked(first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int64]:
    """Give one number to what hangs together by two numberings of the same rows, directly or by way of other rows.

    Parameters
    ----------
    first, second : (n,) int
        From 0; the first without gaps.

    Returns
    -------
    (k,) int64
        For each of the k values of `first` the number of what hangs together with it, from 0 without gaps, in the
        order of these values.

    >>> linked(np.array([0, 1, 2, 3]), np.array([7, 8, 7, 9])).tolist()
    [0, 1, 0, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k = int(first.max()) + 1
    nodes = k + int(second.max()) + 1
    # a graph of the values of both, where each row is an edge between its own two
    edges = coo_array((np.ones(len(first)), (first, k + second)), shape=(nodes, nodes))
    return connected_components(edges, directed=False)[1][:k].astype(np.int64)


def _bytes(X: np.ndarray) -> np.ndarray:
    """Return each row as one value of bytes, (n,)."""
    # adding 0.0 turns -0.0 into 0.0, which is the same input and other bytes
    X = np.ascontiguousarray(X) + X.dtype.type(0)
    return X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()


def _hashed(X: np.ndarray) -> NDArray[np.uint64]:
    """Return a number for each row of X, the same for equal rows and nearly always another for others; (n,)."""
    width = X.dtype.itemsize * X.shape[1]
    kind = np.dtype(np.uint32 if width % 4 == 0 else np.uint8)
    # odd factors, the same in every run: a sum of products modulo 2^64
    factors = np.random.default_rng(0).integers(2**63, size=width // kind.itemsize, dtype=np.uint64) * 2 + 1
    keys = np.empty(len(X), np.uint64)
    for block in row_blocks(*X.shape, values=_BLOCK_VALUES):
        part = _bytes(X[block]).view(kind).reshape(-1, len(factors)).astype(np.uint64)
        # small floats and whole numbers differ in few high bits, which products alone would push out
        part += part >> np.uint64(16)
        keys[block] = part @ factors
    return keys


def _unlike(X: np.ndarray, of_key: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which rows differ from the row that has the same key, (n,)."""
    unlike = np.zeros(len(X), bool)
    others = np.flatnonzero(of_key != np.arange(len(X)))
    for block in row_blocks(len(others), X.shape[1], values=_BLOCK_VALUES):
        some = others[block]
        unlike[some] = (X[some] != X[of_key[some]]).any(1)
    return unlike


def assign_folds(groups: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Folds that keep equal groups together, as even as a random deal of groups makes them.

    Of few groups, or where one holds over a fifth of the rows, the largest are dealt first, each to the fold with the
    fewest rows; with fewer groups than folds there are fewer folds. Only a group of over half the rows is broken up,
    as too little would be left to learn from without it: its rows are dealt one by one.

    Parameters
    ----------
    groups : ndarray of shape (n,), int
        Rows with the same number stay together.
    n_folds : int
        At least 2.

    Returns
    -------
    ndarray of shape (n,), int64, in 0..n_folds - 1

    >>> import numpy as np
    >>> folds = assign_folds(np.repeat(np.arange(10), 2), 2, np.random.default_rng(0))
    >>> bool((folds[::2] == folds[1::2]).all())
    True
    >>> assign_folds(np.repeat([0, 1, 2], [5, 3, 2]), 2, np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    number = _whole_or_broken(groups)
    size = np.bincount(number)
    if len(size) < 2 * n_folds or size.max() > len(number) / 5:
        return _evenly(size, min(n_folds, len(size)), rng)[number]
    deal = rng.permutation(len(size)) % n_folds
    return deal[number].astype(np.int64)


def _whole_or_broken(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count groups from 0, (n,); the rows of one that holds over half of them become groups of their own."""
    _, number, size = np.unique(groups, return_inverse=True, return_counts=True)
    broken = (size > len(number) / 2)[number]
    if broken.any():
        number = np.where(broken, len(size) + np.arange(len(number)), number)
        number = np.unique(number, return_inverse=True)[1]
    return number


def _evenly(size: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Fold of each group: the largest first, each to the fold with the fewest rows."""
    fold, rows = np.empty(len(size), np.int64), np.zeros(n_folds, np.int64)
    # shuffled before a stable sort: groups of one size are dealt in random order
    shuffled = rng.permutation(len(size))
    for group in shuffled[np.argsort(-size[shuffled], kind="stable")]:
        fold[group] = rows.argmin()
        rows[fold[group]] += size[group]
    return fold


DAY = "day"
PERIODS = ("hour", DAY, "week", "month", "year")
"""From short to long."""

_UNITS = {"hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}
_THURSDAY = 3
"""Days from a Monday to 1 January 1970, the day that numpy counts from."""


def period_starts(dates: NDArray[np.datetime64], period: str) -> NDArray[np.datetime64]:
    """Return when the period of each date began.

    `dates` (n,): NaT stays NaT; `period`: weeks begin on Monday.

    Examples
    --------
    >>> noon = np.array(["2013-07-04T12:30:00"], dtype="datetime64[s]")
    >>> [str(period_starts(noon, period)[0])[:13] for period in PERIODS]
    ['2013-07-04T12', '2013-07-04T00', '2013-07-01T00', '2013-07-01T00', '2013-01-01T00']
    """
    starts = dates.astype(f"datetime64[{_UNITS[period]}]")
    if period == "week":
        days = starts.astype(np.int64)
        starts = np.where(np.isnat(starts), starts, (days - (days + _THURSDAY) % 7).astype("datetime64[D]"))
    return starts.astype("datetime64[s]")


BLOCKS = 5
"""Blocks of about equally many rows. The first only teaches: what is learned from less than a fifth of the rows is
hardly worth a test."""


def time_blocks(time: NDArray, group: NDArray | None = None, *, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Tell the block of time that each row lies in.

    `time` (n,): rows of equal time are in one block; `group` (n,): rows of one group are in one block, that of the
    earliest of them; `blocks`: wanted; there are fewer where there are fewer times, or one time has very many rows.
    Blocks count from 0, the earliest rows, and are as even as times allow.

    Examples
    --------
    >>> time_blocks(np.array([3, 1, 2, 2, 5, 4]), blocks=3).tolist()
    [1, 0, 1, 1, 2, 2]
    >>> time_blocks(np.array([1, 2, 3, 4]), np.array(["a", "b", "b", "b"]), blocks=2).tolist()
    [0, 1, 1, 1]
    """
    if group is not None:
        # the earliest of each group
        group = np.unique(group, return_inverse=True)[1]
        order = np.lexsort((time, group))
        time = time[order][np.unique(group[order], return_index=True)[1]][group]
    times, number, rows = np.unique(time, return_inverse=True, return_counts=True)
    until = np.cumsum(rows)
    wanted = len(time) * np.arange(1, blocks) / blocks
    # the time whose end lies nearest to where a block should end
    ends = np.unique([int(np.argmin(np.abs(until - place))) for place in wanted])
    return np.searchsorted(ends[ends < len(times) - 1], number, side="left").astype(np.int64)
