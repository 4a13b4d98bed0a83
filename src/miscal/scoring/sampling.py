"""Samples of a task's rows: drawn by a seed, each category in proportion."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

STRATA = ("category", "subject", "subject_name", "subset")
"""Columns that sort the rows of a benchmark into categories; the first that a task has is taken."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How rows were drawn.

    Attributes
    ----------
    rows, of : int
        Rows drawn, and rows of the whole task.
    seed : int
    strata : str or None
        Column whose values are drawn from in proportion to their rows; None where the task has no such column.
    """

    rows: int
    of: int
    seed: int
    strata: str | None

    def sentence(self) -> str:
        """Say it in words.

        >>> Sample(200, 14_042, 0, "subject").sentence()
        'a random sample of 200 of the 14,042 rows was scored, drawn by seed 0 in proportion to subject'
        """
        drawn = f" in proportion to {self.strata}" if self.strata else ""
        return f"a random sample of {self.rows:,} of the {self.of:,} rows was scored, drawn by seed {self.seed}{drawn}"


def draw(
    ids: Sequence[str], columns: Mapping[str, Sequence[object]], limit: int | None, seed: int
) -> tuple[list[int], Sample | None]:
    """Draw rows at random, every row with the same chance, each category in proportion.

    The rows are sorted by category and, within a category, by a hash of seed and id, and every (n / limit)-th of them
    is taken from a random start on. A category with s of the n rows therefore gets s * limit / n rows, rounded up or
    down, and the draw depends neither on the order of the rows nor on a library version.

    Parameters
    ----------
    ids : sequence of str, length n
        Distinct.
    columns : mapping of str to sequence, length n each
        Columns among which the categories are looked for (`STRATA`).
    limit : int, optional
        Rows to draw, at least 1; default: all.

    Returns
    -------
    rows : list of int
        Positions of the rows drawn, in increasing order.
    sample : Sample or None
        How they were drawn; None where all rows are taken.

    >>> rows, sample = draw(list("abcdef"), {"category": ["law"] * 4 + ["art"] * 2}, 3, 0)
    >>> sum(row < 4 for row in rows), sample.strata
    (2, 'category')
    """
    n = len(ids)
    if limit is None or limit >= n:
        return list(range(n)), None
    strata = next((name for name in STRATA if name in columns), None)
    category = [str(value) for value in columns[strata]] if strata else [""] * n
    order = sorted(range(n), key=lambda row: (category[row], _hashed(seed, f"row {ids[row]}"), row))
    # in whole numbers: the start, a fraction of 2**64, is the same on every machine
    start = _hashed(seed, "start")
    taken = [order[((k << 64) + start) * n // (limit << 64)] for k in range(limit)]
    return sorted(taken), Sample(limit, n, seed, strata)


def _hashed(seed: int, text: str) -> int:
    return int.from_bytes(hashlib.sha256(f"sample {seed}: {text}".encode("utf-8", "replace")).digest()[:8], "big")
