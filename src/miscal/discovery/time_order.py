"""Check that rows can be judged by what was learned of earlier ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from miscal.base.errors import InputError, argument
from miscal.data.splits import MIN_SPLIT
from miscal.data.triples import Triples


def refuse_no_order(triples: Triples) -> None:
    """Refuse rows without times, of one time, or in groups that span blocks of time.

    Examples
    --------
    >>> refuse_no_order(Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0]))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: evidence 'time' judges rows by earlier ones: name the column of times (`time`)
    """
    if triples.time is None:
        raise InputError(
            f"evidence 'time' judges rows by earlier ones: name the column of times ({argument('time', takes='COL')})"
        )
    block = triples.time_block
    if block.max() == 0:
        raise InputError(
            "evidence 'time' judges rows by earlier ones, but nearly all rows have one time: name another column with "
            f"{argument('time')}, or use evidence 'all'"
        )
    if _overlap(triples.time, block):
        raise InputError(
            "evidence 'time' judges rows by strictly earlier ones, but the groups reach so far in time that no five "
            f"blocks of time keep each of them together: group by time ({argument('group', 'COL:day')}), leave the "
            "groups out, or use evidence 'all'"
        )


def check_first_block(triples: Triples) -> None:
    """Refuse rows whose first block of time is too small to teach."""
    first = triples.correct[triples.time_block == 0]
    if len(first) < MIN_SPLIT["train"] or first.min() == first.max():
        raise InputError(
            f"evidence 'time': the first block of time only teaches, and needs at least {MIN_SPLIT['train']} rows with "
            f"both outcomes; it has {len(first)} rows, {int(first.sum())} of them with outcome 1: give more rows, or "
            "use evidence 'all'"
        )


def _overlap(time: np.ndarray, block: np.ndarray) -> bool:
    """Tell whether a block holds rows that are not later than all rows of the block before."""
    parts = [time[block == number] for number in np.unique(block)]
    return any(one.max() >= two.min() for one, two in pairwise(parts))
