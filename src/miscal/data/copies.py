"""Rows that were put into a file several times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.data.triples import Triples

LEAST_ROWS = 20
"""Different rows, at least, before their counts say that all were copied: of so many, chance alone gives each an even
count in one table of a million."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows that all occur several times.

    Attributes
    ----------
    times : int
        How many times each occurs, at least: the greatest common divisor of their counts.
    row : int64 array of shape (n,)
        Number of each row, the same for copies.
    """

    times: int
    row: np.ndarray


def copies(triples: Triples) -> Copies | None:
    """Find out whether a file holds every row several times, as one that was put together from copies of itself does.

    Rows are copies where inputs, confidence, outcome, texts and metadata agree. That some rows agree is usual, in
    tables of few categories above all; that the counts of all of them have a common divisor is not.

    Returns
    -------
    Copies or None
        None where any row occurs once, or the counts have no common divisor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(40, 2)), confidence=rng.random(40), correct=np.arange(40) % 2)
    >>> copies(rows) is None, copies(rows.take(np.tile(np.arange(40), 3))).times
    (True, 3)
    """
    row = triples.equal_inputs
    beside = (triples.confidence, triples.correct, *triples.metadata.values())
    for values in (*beside, *(() if triples.text is None else (np.array(triples.text, dtype=object),))):
        if np.bincount(row).min() < 2:
            return None
        # as text, numbers and missing values can be told apart side by side
        codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]
        row = np.unique(row * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    counts = np.bincount(row)
    times = int(np.gcd.reduce(counts))
    return Copies(times, row) if times > 1 and len(counts) >= LEAST_ROWS else None
