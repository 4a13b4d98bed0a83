"""Periods of time that dates lie in: hours, days, weeks, months and years."""

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

    Parameters
    ----------
    dates : (n,) datetime64
        NaT stays NaT.
    period : {"hour", "day", "week", "month", "year"}
        Weeks begin on Monday.

    Returns
    -------
    (n,) datetime64[s]

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
