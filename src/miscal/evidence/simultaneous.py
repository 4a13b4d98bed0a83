"""Intervals of many estimates that hold all at once, from what each cluster adds to the error of each.

Errors are drawn anew by giving each cluster's row of influences a random sign and size (multiplier bootstrap:
Chernozhukov, Chetverikov and Kato, Annals of Statistics 41, 2013). The largest of the absolute t values of a draw is
what one critical value for all has to exceed in 95 % of draws.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import fewness

Floats = NDArray[np.float64]

DRAWS = 1_999
"""Draws of the errors: the critical value is known to about 0.02. Not tuned."""
IN_MEMORY = 1 << 22
"""Numbers that a block of draws holds (memory against calls). Not tuned."""


def standard_errors(influence: Floats) -> Floats:
    """Return the standard error of each estimate, larger where few clusters carry it; 0 where all clusters are alike.

    Parameters
    ----------
    influence : (c, k) float64
        What each of c clusters adds to the error of each of k estimates. A column's squares sum to its variance.

    Examples
    --------
    >>> standard_errors(np.full((100, 1), 0.01)).round(2).tolist()
    [0.1]
    """
    squares = influence**2
    variance = squares.sum(0)
    carried = variance**2 / np.maximum(np.sum(squares**2, axis=0), np.finfo(float).tiny)
    # clusters of equal parts count 1 each; a t quantile of their number in place of the normal one
    return np.sqrt(variance * fewness(np.maximum(carried, 2.0)))


def error_draws(
    influence: Floats | csr_array, n_draws: int, rng: np.random.Generator, width: int = 1
) -> Iterator[Floats]:
    """Draw the errors of all estimates together, in blocks of shape (some draws, k).

    Parameters
    ----------
    influence : (c, k) float64
        As for :func:`standard_errors`, or a sparse array of it.
    n_draws : int
    rng : numpy.random.Generator
    width : int, default 1
        Numbers that the caller makes of each draw, which the size of a block allows for.

    Examples
    --------
    >>> drawn = np.concatenate(list(error_draws(np.full((100, 1), 0.01), 5000, np.random.default_rng(0))))
    >>> drawn.shape, bool(abs(drawn.std() - 0.1) < 0.005)
    ((5000, 1), True)
    """
    step = max(1, IN_MEMORY // max(influence.shape[0], width, 1))
    for start in range(0, n_draws, step):
        yield rng.standard_normal((min(step, n_draws - start), influence.shape[0])) @ influence


def simultaneous_margins(
    influence: Floats, *, n_draws: int = DRAWS, random_state: int | np.random.Generator = 0
) -> Floats:
    """Half-widths of intervals that hold for all estimates at once in 95 % of tables.

    Parameters
    ----------
    influence : (c, k) float64
        As for :func:`standard_errors`.
    n_draws : int, default 1999
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    (k,) float64
        0 where all clusters are alike.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(400, 20)) / 400
    >>> margins = simultaneous_margins(noise)
    >>> bool(np.all(margins > 2.5 * standard_errors(noise)))  # one estimate alone would take 1.96
    True
    """
    error = standard_errors(influence)
    moving = error > 0
    if not moving.any():
        return error
    # the inflation for few clusters is in the errors: the draws are told the plain ones
    plain = np.sqrt(np.sum(influence[:, moving] ** 2, axis=0))
    rng = np.random.default_rng(random_state)
    largest = [np.max(np.abs(drawn) / plain, axis=1) for drawn in error_draws(influence[:, moving], n_draws, rng)]
    return critical_value(largest) * error


def critical_value(largest: list[Floats]) -> float:
    """Return the 95 % quantile of the largest absolute t values of blocks of draws.

    Examples
    --------
    >>> critical_value([np.arange(0, 51), np.arange(51, 101)])
    95.0
    """
    return float(np.quantile(np.concatenate(largest), CONFIDENCE_LEVEL))
