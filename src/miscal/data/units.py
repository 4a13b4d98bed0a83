"""What rows are counted by, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UnitSource = Literal["rows", "equal inputs", "near copies", "column", "named"]


@dataclass(frozen=True)
class FoundUnits:
    """What is counted once.

    Attributes
    ----------
    source : {"rows", "equal inputs", "near copies", "column", "named"}
        What makes a unit: a row; rows of equal inputs; rows that are nearly copies of each other, or equal; a column
        that the run chose, or one that the user named. What a column joins is joined with equal inputs and copies.
    column : str, optional
        The column, with a colon and the period where it holds dates.
    factor : float, default 1.0
        Of every standard error: where a coarser period than the one chosen widens intervals further.
    coarser : str, optional
        That period.
    others : tuple of (str, float)
        Columns that rows could also be counted by, and how many times as wide intervals would be.

    Examples
    --------
    >>> FoundUnits().source
    'rows'
    """

    source: UnitSource = "rows"
    column: str | None = None
    factor: float = 1.0
    coarser: str | None = None
    others: tuple[tuple[str, float], ...] = ()
