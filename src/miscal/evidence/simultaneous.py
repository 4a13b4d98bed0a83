"""Intervals of many estimates that hold all at once, from what each cluster adds to the error of each.

Errors are drawn anew by giving each cluster's row of influences a random sign and size (multiplier bootstrap:
Chernozhukov, Chetverikov and Kato, Annals of Statistics 41, 2013). The largest of the absolute t values of a draw is
what one critical value for all has to exceed in 95 % of draws. Where few clusters carry an estimate, Student's quantile
of the same level takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import equal_parts

Floats = NDArray[np.float64]

DRAWS = 1_999
"""Draws of the errors: the critical value is known to about 0.02. Not tuned."""
IN_MEMORY = 1 << 22
"""Numbers that a block of draws holds (memory against calls). Not tuned."""


def standard_errors(influence: Floats) -> tuple[Floats, Floats]:
    """Return the standard error of each estimate, and of how many equal clusters it is as well known as by these.

    Takes influence (c, k): what each of c clusters adds to the error of each of k estimates.

    Examples
    --------
    >>> error, clusters = standard_errors(np.full((100, 1), 0.01))
    >>> error.round(2).tolist(), clusters.round().tolist()
    ([0.1], [100.0])
    """
    squares = influence**2
    return np.sqrt(squares.sum(0)), equal_parts(squares)


def student(critical: float, clusters: Floats) -> Floats:
    """Return Student's quantiles in place of a normal one, at the same level: what few clusters cost.

    The ratio of the two grows with the level: an allowance at 95 % is too small for the largest of many t values.

    Takes critical: critical value if errors were known; clusters (k,): as :func:`standard_errors` counts them.

    Examples
    --------
    >>> student(1.96, np.array([15.0, 1e9])).round(2).tolist(), student(3.4, np.array([15.0, 1e9])).round(2).tolist()
    ([2.14, 1.96], [4.34, 3.4])
    """
    return -stdtrit(np.maximum(clusters - 1.0, 1.0), ndtr(-critical))


def error_draws(
    influence: Floats | csr_array, n_draws: int, rng: np.random.Generator, width: int = 1
) -> Iterator[Floats]:
    """Draw the errors of all estimates together, in blocks of shape (some draws, k).

    Takes influence (c, k): as for :func:`standard_errors`, or a sparse array of it; width: numbers that the caller
    makes of each draw, which the size of a block allows for.

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

    Takes influence (c, k): as for :func:`standard_errors`. Returns (k,) float64: 0 where all clusters are alike.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(400, 20)) / 400
    >>> margins = simultaneous_margins(noise)
    >>> bool(np.all(margins > 2.5 * standard_errors(noise)[0]))  # one estimate alone would take 1.96
    True
    """
    error, clusters = standard_errors(influence)
    moving = error > 0
    if not moving.any():
        return error
    rng, own = np.random.default_rng(random_state), error[moving]
    largest = [np.max(np.abs(drawn) / own, axis=1) for drawn in error_draws(influence[:, moving], n_draws, rng)]
    return student(critical_value(largest), clusters) * error


def critical_value(largest: list[Floats]) -> float:
    """Return the 95 % quantile of the largest absolute t values of blocks of draws.

    Examples
    --------
    >>> critical_value([np.arange(0, 51), np.arange(51, 101)])
    95.0
    """
    return float(np.quantile(np.concatenate(largest), CONFIDENCE_LEVEL))
