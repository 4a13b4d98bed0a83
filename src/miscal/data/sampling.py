"""Draw a sample of rows to learn from where there are more than needed."""

from __future__ import annotations

import numpy as np

from miscal.base.errors import InputError
from miscal.data.splits import MIN_FIT_ROWS

SAMPLED_ABOVE = 500_000
"""Rows above which a field is learned from a sample, unless a size is asked for."""

SAMPLE_ROWS = 200_000
"""Rows of that sample: a score has some 500 coefficients, so that more rows would hardly make it better."""

# stream of the draw
_STREAM = 62


def sample_size(n: int, asked: int | None) -> int | None:
    """Say how many of n rows a field is learned from; None for all of them.

    Parameters
    ----------
    n : int
        Rows there are.
    asked : int, optional
        Rows to learn from; by default all, or 200,000 of more than 500,000.

    Raises
    ------
    InputError
        If so few rows are asked for that no field could be learned.

    Examples
    --------
    >>> sample_size(10_000, None), sample_size(10_000, 2_000), sample_size(10_000, 20_000), sample_size(10**7, None)
    (None, 2000, None, 200000)
    """
    if asked is None:
        return SAMPLE_ROWS if n > SAMPLED_ABOVE else None
    if asked < MIN_FIT_ROWS:
        raise InputError(f"sample must be at least {MIN_FIT_ROWS} rows, which a field needs to be learned; got {asked}")
    return asked if asked < n else None


def draw_rows(groups: np.ndarray, size: int, *, named: bool, seed: int) -> np.ndarray:
    """Draw rows at random, groups whole.

    Parameters
    ----------
    groups : ndarray of shape (n,), int
        Numbers from 0; rows with the same number are all drawn or none.
    size : int
        Rows wanted; of groups of several rows a few less may be drawn.
    named : bool
        Whether the user named the groups. Otherwise (equal inputs) one that holds over a fifth of the sample is broken
        up.
    seed : int

    Returns
    -------
    ndarray of shape (n,), bool

    Raises
    ------
    InputError
        If a named group holds over a fifth of the sample: it could be neither in it nor left out.

    Examples
    --------
    >>> draw_rows(np.arange(10), 4, named=False, seed=0).sum()
    np.int64(4)
    """
    rows = np.bincount(groups)
    if rows.max() > size / 5:
        if named:
            raise InputError(
                f"sample is {size:,} rows, but the largest group alone holds {rows.max():,}, and groups are never "
                f"broken up: learn from at least {5 * rows.max():,} rows"
            )
        broken = (rows > size / 5)[groups]
        groups = np.unique(np.where(broken, len(rows) + np.arange(len(groups)), groups), return_inverse=True)[1]
        rows = np.bincount(groups)
    order = np.random.default_rng((seed, _STREAM)).permutation(len(rows))
    taken = np.zeros(len(rows), dtype=bool)
    taken[order[np.cumsum(rows[order]) <= size]] = True
    return taken[groups]
