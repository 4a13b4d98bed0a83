"""What a column of a table is read as."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from miscal.base.document import Measure

FEATURES, METADATA, NAMES_ONLY = "features", "metadata", "names only"
"""Roles of a column."""
COORDINATE = "embedding"
"""What a number is read as that is one of the many coordinates of an embedding."""


@dataclass(frozen=True)
class ColumnReading:
    """What a column is read as.

    Attributes
    ----------
    name : str
    read_as : str
        'number', 'boolean', 'category', 'ordered', 'date' or 'list'; 'embedding' of a number that is one of many
        coordinates; 'other' where it is none of them.
    levels : int
        Number of distinct values, blanks aside.
    missing : int
        Number of blanks.
    left_out : str or None
        Why it is no part of x; None where it is one, or where it was named for names only.
    leak_with : str or None
        The other column, where the leak is that of a pair.
    role : str or None
        'features', 'metadata' (part of x and names findings) or 'names only'; None in runs of earlier versions.
    needed : bool
        Whether new rows need it to be corrected.
    cost_if_missing : Measure or None
        By how much the log loss of the corrected confidences changes where it is blank in every row; None where this
        was not measured.
    leak : float or None
        How well it tells the outcome, where that is so much that the column may be known only after the outcome: it is
        part of nothing then. What is measured depends on `leak_by`.
    leak_by : str or None
        'ranking' (the area under the ROC curve by this column alone), 'entropy' (the share of the outcome's entropy
        given the confidence that it takes away), 'blanks' (all its blanks have one outcome; the chance of that by the
        confidences), or of a pair with `leak_with` 'equality', 'cells' (the values of both) or 'difference' (the area
        by these). None where `leak` is, and in runs of earlier versions.
    """

    name: str
    read_as: str
    levels: int
    missing: int
    left_out: str | None = None
    leak: float | None = None
    role: str | None = None
    needed: bool = False
    leak_with: str | None = None
    cost_if_missing: Measure | None = None
    leak_by: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)
