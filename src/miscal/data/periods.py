"""Periods of time that dates lie in (hours, days, weeks, months, years), and blocks of equally many rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
