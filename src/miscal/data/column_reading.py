"""What a column of a table is read as."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ColumnReading:
    """What a column is read as.

    Attributes
    ----------
    name : str
    read_as : str
        'number', 'category', 'date' or 'list'; 'other' where it is none of them.
    levels : int
        Number of distinct values, blanks aside.
    missing : int
        Number of blanks.
    left_out : str or None
        Why it is no part of x; None where it is one.
    """

    name: str
    read_as: str
    levels: int
    missing: int
    left_out: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)
