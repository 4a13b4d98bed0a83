"""Cut rows into blocks of time, so that what is learned of the past can be judged by the future."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCKS = 5
"""Blocks of about equally many rows. The first only teaches: what is learned from less than a fifth of the rows is
hardly worth a test."""


def time_blocks(time: NDArray, group: NDArray | None = None, *, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Tell the block of time that each row lies in.

    Parameters
    ----------
    time : (n,) array of datetime64 or numbers
        Rows of equal time are in one block.
    group : (n,) array, optional
        Rows of one group are in one block, that of the earliest of them.
    blocks : int, default 5
        Wanted; there are fewer where there are fewer times, or one time has very many rows.

    Returns
    -------
    (n,) int64
        From 0, the earliest rows. As even as times allow.

    Examples
    --------
    >>> time_blocks(np.array([3, 1, 2, 2, 5, 4]), blocks=3).tolist()
    [1, 0, 1, 1, 2, 2]
    >>> time_blocks(np.array([1, 2, 3, 4]), np.array(["a", "b", "b", "b"]), blocks=2).tolist()
    [0, 1, 1, 1]
    """
    if group is not None:
        time = _earliest(time, np.unique(group, return_inverse=True)[1])
    times, number, rows = np.unique(time, return_inverse=True, return_counts=True)
    until = np.cumsum(rows)
    wanted = len(time) * np.arange(1, blocks) / blocks
    # the time whose end lies nearest to where a block should end
    ends = np.unique([int(np.argmin(np.abs(until - place))) for place in wanted])
    return np.searchsorted(ends[ends < len(times) - 1], number, side="left").astype(np.int64)


def _earliest(time: NDArray, group: NDArray[np.integer]) -> NDArray:
    """Return the earliest time of each row's group."""
    order = np.lexsort((time, group))
    _, first = np.unique(group[order], return_index=True)
    return time[order][first][group]
