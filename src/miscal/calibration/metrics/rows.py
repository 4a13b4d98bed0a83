"""The rows that every metric takes: outcomes, confidences and weights, checked once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError

_BLOCK = 1 << 20
"""Counts of rows that a block of draws holds, 8 MB each of a few arrays. Not tuned."""


def check_rows(correct: Any, confidence: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check outcomes, confidences and weights, and drop the rows of weight 0.

    Returns
    -------
    y, f, weight : float64 arrays of one length
        Outcomes 0 or 1, confidences in [0, 1], weights that sum to 1.

    Raises
    ------
    InputError
        If an array is empty, not numbers, not finite or out of range, or if lengths differ (see `miscal.base.checks`).

    Examples
    --------
    >>> check_rows([1, 0, 1], [0.5, 0.5, 0.9], [1, 0, 3])
    (array([1., 1.]), array([0.5, 0.9]), array([0.25, 0.75]))
    """
    n = check_lengths(correct=correct, confidence=confidence, sample_weight=sample_weight)
    y, f, weight = check_correct(correct), check_confidence(confidence), check_weight(sample_weight, n)
    if sample_weight is not None:
        keep = weight > 0
        y, f, weight = y[keep], f[keep], weight[keep]
    return y, f, weight / weight.sum()


def check_groups(groups: Any, sample_weight: Any, n: int) -> np.ndarray | None:
    """Check one group per row, and drop those of the rows that `check_rows` drops.

    Parameters
    ----------
    groups : array-like of shape (n,) or None
        Anything that can be sorted; rows of equal value may hang together. None: all rows are independent.
    sample_weight : array-like of shape (n,) or None
    n : int
        Rows that are left.

    Returns
    -------
    numpy.ndarray or None
        int64, shape (n,).

    Raises
    ------
    InputError
        If there is not one group per row.

    Examples
    --------
    >>> check_groups(["a", "b", "a"], [1, 0, 1], 2)
    array([0, 0])
    """
    if groups is None:
        return None
    array = np.asarray(groups)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    check_lengths(groups=array, sample_weight=weight)
    kept = array if weight is None else array[weight > 0]
    if kept.shape != (n,):
        raise InputError(f"groups must have one value per row, {n} in all; its shape is {array.shape}")
    return np.unique(kept, return_inverse=True)[1]


def take_groups(groups: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the groups of some rows, by number or by a boolean mask; None where no groups are named.

    Examples
    --------
    >>> take_groups(np.array([0, 0, 1]), np.array([True, False, True])), take_groups(None, np.array([True]))
    (array([0, 1]), None)
    """
    return None if groups is None else groups[rows]


def drawn_counts(n: int, group: np.ndarray | None, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw rows, or whole groups of them, with replacement, and count how often each row is drawn.

    Parameters
    ----------
    n : int
        Rows.
    group : int array of shape (n,), or None
        Numbers of groups, from 0 without gaps; None: each row is drawn by itself.
    n_draws : int
        B in all.
    rng : numpy.random.Generator

    Yields
    ------
    numpy.ndarray
        float64, shape (b, n), blocks of draws. With groups of several sizes, draws differ in their number of rows.

    Examples
    --------
    >>> [counts] = drawn_counts(4, np.array([0, 0, 1, 1]), 3, np.random.default_rng(1))
    >>> counts.tolist()
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 2.0, 2.0], [2.0, 2.0, 0.0, 0.0]]
    """
    step, units = max(1, _BLOCK // n), n if group is None else int(group.max()) + 1
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        unit = rng.integers(0, units, (size, units)) + units * np.arange(size)[:, None]
        counts = np.bincount(unit.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)
        yield counts if group is None else counts[:, group]


def weighted_residuals(correct: Any, confidence: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the checked confidences, which must not be written to, and w_i r_i with weights that sum to 1.

    Without weights nothing else is copied: fresh memory pages for a copy would cost more than all arithmetic on it.

    Examples
    --------
    >>> weighted_residuals([1, 0], [0.5, 0.5], None)
    (array([0.5, 0.5]), array([ 0.25, -0.25]))
    """
    if sample_weight is not None:
        y, f, weight = check_rows(correct, confidence, sample_weight)
        return f, weight * (y - f)
    n = check_lengths(correct=correct, confidence=confidence)
    f = check_confidence(confidence, copy=False)
    residual = check_correct(correct, copy=False) - f
    residual /= n
    return f, residual
