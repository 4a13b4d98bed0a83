"""Choose the values of named columns that a monitor watches: each value, or quarters where there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.findings.conditions import Condition, Frame
from miscal.findings.conditions.kinds.span import Span
from miscal.findings.ledger import named_groups

MOST_COLUMNS, MOST_VALUES = 16, 24
"""Columns, and values of each, that are watched at most: the most frequent ones. Not tuned."""
_QUARTERS = (0.25, 0.5, 0.75)


def values_of(frame: Frame, named: Sequence[str]) -> Iterator[tuple[str, tuple[Condition, ...], int]]:
    """List what is watched of each column; no row has two values of a column.

    Parameters
    ----------
    frame : Frame
        The rows of the run.
    named : sequence of str
        Columns of metadata; without any, all columns are taken.

    Yields
    ------
    str
        The column.
    tuple of Condition
        Its values, or quarters of its numbers, that at least 30 rows of the run have; none of a column of identifiers.
    int
        How many values of the column are left out.
    """
    columns = [name for name in named if name in frame.columns] or list(frame.columns)
    for name in columns[:MOST_COLUMNS]:
        every = _cells(name, frame)
        sizes = {one: int(one.rows(frame).sum()) for one in every}
        often = sorted((one for one in every if sizes[one] >= MIN_SLICE_ROWS), key=lambda one: -sizes[one])[
            :MOST_VALUES
        ]
        kept = tuple(one for one in every if one in often)
        # one value of all rows says what the line of all rows says
        if len(every) > 1 and kept:
            yield name, kept, sum(size > 0 for size in sizes.values()) - len(kept)


def _cells(name: str, frame: Frame) -> tuple[Condition, ...]:
    parts = named_groups({name: frame.columns[name]}).parts
    if parts:
        return tuple(one for one in parts[0].cells if one.rows(frame).any())
    numbers, dates = frame.numbers(name)
    if numbers is None or dates or not np.isfinite(numbers).any():
        return ()
    cuts = np.unique(np.quantile(numbers[np.isfinite(numbers)], _QUARTERS, method="inverted_cdf")).tolist()
    return tuple(Span(name, low, high) for low, high in zip([None, *cuts], [*cuts, None], strict=True))
