"""SmoothECE, exactly: no grid of bandwidths, no cut kernel.

The Gaussian kernel reflected at 0 and 1 is the heat kernel of [0, 1] with insulated ends, so cosines diagonalise it::

    K_sigma(t, v) = 1 + 2 sum_k exp(-(pi k sigma)^2 / 2) cos(pi k t) cos(pi k v)
    g_sigma(t)    = sum_i w_i r_i K_sigma(t, f_i) = A_0 + 2 sum_k exp(-(pi k sigma)^2 / 2) A_k cos(pi k t)

with the moments A_k = sum_i w_i r_i cos(pi k f_i), which no bandwidth enters. Every step works on many residual
vectors at once, because the bootstrap and the draws of a calibrated model need that.

smECE is the bandwidth sigma at which smECE_sigma equals sigma.
S(sigma) = smECE_sigma does not increase with sigma and lies between |mean residual| and mean |residual|, so S(sigma)
= sigma has one root. The search converges because

- a trial x and its value S(x) always have the root between them, so every trial narrows the
  bracket or leaves it as it is;
- a proposal lies between x and S(x), and is taken only inside the bracket (`_power_law_step`);
- every fourth trial is followed by the middle of the bracket if it shrank the distance |S(x) - x| less than tenfold;
- |S(x) - x| is at least the distance of x from the root, as S(sigma) - sigma falls with a slope of at most -1, and
  bounds the error of every point between x and S(x): the search cannot stop far from the root.

One row alone mostly takes two to four trials, and seldom more than ten (`test_the_search_takes_few_trials`).

With the residuals r_i = y_i - f_i, normalised weights w_i and the Gaussian kernel reflected at 0 and 1
(Blasiok & Nakkiran, "Smooth ECE", arXiv:2309.12236)::

    g_sigma(t)    = sum_i w_i r_i K_sigma(t, f_i)
    smECE_sigma   = integral_0^1 |g_sigma(t)| dt              does not increase with sigma
    smECE         = the sigma at which smECE_sigma = sigma    exists and is unique
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows, check_predictions, weighted_residuals

BINNING_ERROR = 5e-6
"""Largest change of a value by linear binning. A smaller one costs cells; half of the 1e-5 that `smece` promises."""

SMALLEST_SIGMA = 1e-5
"""No kernel narrower than this is evaluated, so a smaller smECE is only right to about this much. It bounds the number
of cells; it equals the accuracy that `smece` promises."""

_MODES_PER_SIGMA = 2.2
"""Cosines kept per 1 / sigma: those beyond are damped by exp(-(pi * 2.2)^2 / 2) = 4e-11, far below any tolerance."""

INTEGRATION_ERROR, _POINTS_PER_SIGMA, _LEAST_INTERVALS = 1.2e-7, 6, 256
"""Allowed error of the integral of |g|, which is about (h / sigma)^3 sigma / 50 on a grid of step h (checked against
grids 16 times as fine), and the coarsest grids that may be asked for. A smaller error costs longer transforms; this one
is far below the tolerance of the search, which would otherwise follow the error."""

DRAW_ERROR = 2e-6
"""The same for one of many random draws: below the tolerance of the search, and a fraction of a thousandth of the noise
that the draws are made to show. Their grids are two to four times as coarse."""

_BIN_BLOCK = 1 << 15
"""Rows binned at a time. Temporaries of 256 KB are used again, larger ones are fresh memory pages each time: the column
"binning" of `benchmarks/speed.py` shows it."""

LEAST_CELLS, _MAX_CELLS = 512, 1 << 22
"""Fewer cells would save no time; more would take over 32 MB, and 2^21 are 16 for each `SMALLEST_SIGMA` already."""


def power_of_two(x: float) -> int:
    """Return the smallest power of two that is at least `x`, and at least 1.

    Examples
    --------
    >>> power_of_two(5.0), power_of_two(0.1)
    (8, 1)
    """
    return 1 << max(0, math.ceil(math.log2(x)))


def cells_needed(sigma: float, absolute: float = 0.5) -> int:
    """Return the number of cells of [0, 1] that linear binning needs at bandwidth `sigma`.

    Linear binning keeps sum and first moment of what it moves, and adds a variance of at most h^2 / 4. That changes
    the integral of |g| by at most ``absolute`` h^2 / 8 times the integral of |K''|, which is 0.97 / sigma^2. Residuals
    that cancel inside a cell are missing from ``absolute``: hence at least 16 cells per sigma.

    Takes sigma: bandwidth, > 0; absolute: sum of absolute binned residuals, or a guess of it. Returns int: A power of
    two, from 512 to 2^22.

    Examples
    --------
    >>> cells_needed(0.1), cells_needed(0.001), cells_needed(0.001, 0.01)
    (2048, 131072, 16384)
    """
    per_sigma = max(16.0, math.sqrt(0.97 * absolute / (8 * BINNING_ERROR)))
    return min(max(LEAST_CELLS, power_of_two(per_sigma / max(sigma, SMALLEST_SIGMA))), _MAX_CELLS)


def _intervals_needed(sigma: float, error: float) -> int:
    """Return the size of the grid on which |g| is integrated, by the error that `_integral_of_absolute` leaves."""
    h = min(sigma / _POINTS_PER_SIGMA, sigma * (50 * error / sigma) ** (1 / 3))
    return max(_LEAST_INTERVALS, power_of_two(1 / h))


def bin_residuals(location: np.ndarray, value: np.ndarray, n_cells: int) -> np.ndarray:
    """Spread each value linearly over the two nodes around its location.

    Takes location (n,): in [0, 1]; value (n,): what is spread: w_i r_i, any sign; n_cells: cells of [0, 1]. Returns
    numpy.ndarray: float64, shape (n_cells + 1,).

    Examples
    --------
    >>> bin_residuals(np.array([0.25, 1.0]), np.array([1.0, -2.0]), 2)
    array([ 0.5,  0.5, -2. ])
    """
    # one node too many: a location of exactly 1 falls into a cell beyond the last, with nothing to its right
    total = np.zeros(n_cells + 2)
    offset = np.zeros(n_cells + 2)
    for start in range(0, len(location), _BIN_BLOCK):
        place = location[start : start + _BIN_BLOCK] * n_cells
        cell = place.astype(np.intp)
        part = value[start : start + _BIN_BLOCK]
        total += np.bincount(cell, part, n_cells + 2)
        offset += np.bincount(cell, part * (place - cell), n_cells + 2)
    # of each value the share place - cell belongs to the node on the right
    total -= offset
    total[1:] += offset[:-1]
    return total[:-1]


def cosine_moments(nodes: np.ndarray) -> np.ndarray:
    """Return A_k = sum_j b_j cos(pi k j / M) of binned residuals b.

    Takes nodes: residual mass at the nodes j / M, one row per problem. Returns numpy.ndarray: float64, shape (B, M +
    1), k = 0 to M.

    Examples
    --------
    >>> cosine_moments(np.array([[1.0, 0.0, 0.0]]))
    array([[1., 1., 1.]])
    """
    from scipy.fft import dct

    halved = 0.5 * nodes  # the type-1 transform counts inner nodes twice
    halved[:, [0, -1]] = nodes[:, [0, -1]]
    return dct(halved, type=1, axis=1, overwrite_x=True)


def _integral_of_absolute(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integrate |g| over [0, 1] from values on an even grid with both ends; and sum |g'| over the crossings of 0.

    The trapezoid rule is spectrally accurate for g itself, which is smooth and even about both ends; what |g| adds is
    a corner at each crossing. By the Euler-Maclaurin sum a corner of slope -s to s, a share q into its interval, costs
    s h^2 (q (1 - q) - 1/6), where s h = a + b and q = a / (a + b) for the absolute values a, b on its two sides.
    """
    size, n = np.abs(g), g.shape[1] - 1
    total = size.sum(axis=1) - 0.5 * (size[:, 0] + size[:, -1])
    # crossings: the sign changes strictly inside an interval
    row, at = np.nonzero(g[:, :-1] * g[:, 1:] < 0)
    a, b = size[row, at], size[row, at + 1]
    rise = a + b
    corner = a * b / rise - rise / 6
    return (total - np.bincount(row, corner, len(g))) / n, np.bincount(row, rise, len(g)) * n


def smoothed(
    moments: np.ndarray, sigma: np.ndarray, integration_error: float = INTEGRATION_ERROR
) -> tuple[np.ndarray, np.ndarray]:
    """Return smECE_sigma and its derivative by sigma, one bandwidth per row of moments.

    The smoothed residuals obey the heat equation, dg / dsigma = sigma g'', and g' is 0 at both ends: the integral of
    sign(g) g'' over the stretches between the crossings is -2 times the sum of |g'| at the crossings.

    Takes moments: A_0 to A_{K-1} of each problem; sigma: bandwidths, at least `SMALLEST_SIGMA`; integration_error:
    allowed error of the value. Returns value : numpy.ndarray: float64, shape (B,): the integral of |g_sigma|, between
    |A_0| and the mean absolute residual; derivative : numpy.ndarray: float64, shape (B,), at most 0; to a few parts
    in a hundred.

    Examples
    --------
    >>> smoothed(np.array([[0.2, 0.0, 0.0]]), np.array([0.5]))
    (array([0.2]), array([-0.]))
    """
    value, crossings = _integral_of_absolute(smoothed_density(moments, sigma, integration_error))
    return value, -2 * sigma * crossings


def smoothed_density(
    moments: np.ndarray, sigma: np.ndarray | float, integration_error: float = INTEGRATION_ERROR
) -> np.ndarray:
    """Return g_sigma on an even grid of [0, 1], both ends included, fine enough for the smallest sigma.

    Takes moments: A_0 to A_{K-1} of each problem; sigma: bandwidths, at least `SMALLEST_SIGMA`; integration_error:
    allowed error of the integral of |g_sigma| over the grid. Returns numpy.ndarray: float64, shape (B, T + 1).

    Examples
    --------
    >>> smoothed_density(np.array([[0.2, 0.0]]), 0.5)[0, :2]
    array([0.2, 0.2])
    """
    from scipy.fft import dct

    smallest = float(np.min(sigma))
    n_modes = min(moments.shape[1], math.ceil(_MODES_PER_SIGMA / smallest))
    exponent = np.square(np.arange(n_modes) * (math.pi / math.sqrt(2)))
    # zeros for the modes left out: one transform then gives g on a grid of any fineness, which holds all modes kept as
    # it has 6 points per sigma for their 2.2
    padded = np.zeros((len(moments), _intervals_needed(smallest, integration_error) + 1))
    damping = np.maximum(-exponent * np.reshape(np.square(sigma), (-1, 1)), -200.0)  # denormal numbers are slow
    np.multiply(moments[:, :n_modes], np.exp(damping, out=damping), out=padded[:, :n_modes])
    return dct(padded, type=1, axis=1, overwrite_x=True)


TOLERANCE = 4e-6
"""Where the search stops: the distance |smECE_sigma - sigma| that the next step would leave, forecast from the last
two steps. A smaller one costs trials; with `heat.BINNING_ERROR` it stays within the 1e-5 that `smece` promises, which
the tests check against dense quadrature."""

ONE_SIGN = 1e-9
"""Where the sum and the sum of absolute values of the residuals agree to this share, they have one sign up to rounding;
smECE is then |mean residual| and needs no search."""

_BEST_RATIO = 0.02
"""A step is forecast to shrink the distance as the step before did, but by no more than this. A smaller ratio saves a
trial here and there and stops too early where one step was lucky. Not tuned."""

_SLOW_RATIO, _SLOW_STEPS = 0.1, 4
"""Every fourth trial is followed by the middle of the bracket if it shrank the distance less than tenfold. More
middles waste trials where proposals do well, fewer trust them longer where they do not. Not tuned: few are slow."""

_MAX_STEPS = 60
"""Trials at most, so that no input can hang; see the module for why far fewer do."""

_ROUNDING = SMALLEST_SIGMA**2
"""Stands in for a distance or an error of 0, by which nothing can be divided."""

_BLOCK = 1 << 18
"""Numbers per temporary: small enough for the cache, large enough to hide the overhead of numpy calls."""

_COARSE_BINS = 8
"""Bins of the first guess. It need only be of the right size; at 8 it is not yet mostly noise. Not tuned."""


def solve(nodes: np.ndarray, noise: float, *, integration_error: float = INTEGRATION_ERROR) -> np.ndarray:
    """Find the sigma with smECE_sigma = sigma for each row of binned residuals.

    Takes nodes: binned residuals, weights summing to 1 in each row; noise: least value to expect, > 0, such as
    `expected_floor`: where the search starts if nothing coarser shows; integration_error: allowed error of each
    smECE_sigma. Returns numpy.ndarray: float64, shape (B,), each between the row's |sum| and its sum of absolute
    values.

    Examples
    --------
    >>> solve(np.array([[0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), 0.1)
    array([0.2])
    """
    step = max(1, _BLOCK // nodes.shape[1])
    blocks = [nodes[i : i + step] for i in range(0, len(nodes), step)]
    return np.concatenate([_solve_block(block, noise, integration_error) for block in blocks])


def _solve_block(nodes: np.ndarray, noise: float, integration_error: float) -> np.ndarray:
    """Solve a few rows together; those of one sign need no search."""
    mean, absolute = np.abs(nodes.sum(axis=1)), np.abs(nodes).sum(axis=1)
    mixed = absolute - mean > ONE_SIGN * absolute
    if not mixed.all():
        mean[mixed] = _solve_block(nodes[mixed], noise, integration_error) if mixed.any() else 0.0
        return mean
    smallest = max(SMALLEST_SIGMA, 0.25 / nodes.shape[1])  # a narrower kernel would see single cells
    lower, upper = np.maximum(mean, smallest), np.maximum(absolute, smallest)
    # the binned error over eight bins is a first guess: without the last node, they divide the power of two left
    coarse = np.abs(nodes[:, :-1].reshape(len(nodes), _COARSE_BINS, -1).sum(axis=2)).sum(axis=1)
    start = np.clip(np.maximum(coarse, noise), lower, upper)
    # the search starts no lower than `smallest`; the answer may lie below
    found = _search(cosine_moments(nodes), start, lower, upper, smallest, integration_error)
    return np.clip(found, mean, np.maximum(absolute, mean))


def _search(
    moments: np.ndarray,
    x: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    smallest: float,
    integration_error: float,
) -> np.ndarray:
    """Return the last proposal of each row, shape (B,), whose root lies between `lower` and `upper`.

    The proposal is returned rather than the trial before it, whose value it already uses. Rows that are done are left
    behind once they are the half: a row more or less costs nothing beside a copy of all moments.
    """
    found, row = np.empty(len(x)), np.arange(len(x))
    last, open_ = np.zeros(len(x)), np.ones(len(x), dtype=bool)
    for step in range(_MAX_STEPS):
        s, derivative = smoothed(moments, x, integration_error)
        s = np.maximum(s, _ROUNDING)
        proposal = _power_law_step(x, s, derivative)
        distance = np.maximum(np.abs(s - x), _ROUNDING)
        ratio = np.clip(distance / last, _BEST_RATIO, 1.0) if step else np.ones(len(x))
        # the step that led to x shrank |S - sigma| by `ratio`, and so will the next
        open_ &= (distance * ratio > TOLERANCE) & (np.maximum(s, x) > smallest)
        found[row] = proposal
        if not open_.any():
            break
        # as S does not increase, the root lies between x and s
        lower, upper, last = np.maximum(lower, np.minimum(x, s)), np.minimum(upper, np.maximum(x, s)), distance
        slow = (ratio > _SLOW_RATIO) & (step % _SLOW_STEPS == _SLOW_STEPS - 1)
        held = (lower <= proposal) & (proposal <= upper) & ~slow
        # errors span five decades, so it is the logarithm of a bracket that is halved
        following = np.where(held, proposal, np.sqrt(lower * upper))
        # A row that is done keeps its trial: moving it on would change nothing but the resolution of the others.
        x = np.where(open_, np.maximum(following, smallest), x)
        if 2 * open_.sum() <= len(x):
            moments, row, x, last, lower, upper = (one[open_] for one in (moments, row, x, last, lower, upper))
            open_ = np.ones(len(x), dtype=bool)
    return found


def _power_law_step(x: np.ndarray, s: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    """Propose the root of the power law S(sigma) = s (sigma / x)^-p that has the value and slope seen at x.

    A power law fits better than Newton's straight line, since the error of noise falls as one, with p = 1/2. From
    -p = derivative x / s the root is x (s / x)^(1 / (1 + p)); as p >= 0, it lies between x and s.
    """
    return x * (s / x) ** (1 / (1 - derivative * x / s))


_FLOOR = 0.305
"""smECE of n calibrated rows with uniform confidences is about this times n^(-1/3). At bandwidth sigma, noise makes
E|g| = c (n sigma)^(-1/2) with c = (pi / 8) (2 / pi)^(1/2) (4 pi)^(-1/4) = 0.167, whose fixed point is c^(2/3) n^(-1/3)
= 0.303 n^(-1/3); simulated floors are a little above it (`test_floor_follows_the_cube_root`). It only says where the
search starts."""

_CELLS = 1100
"""Cells per sixth root of n: about what `cells_needed` asks for at the floor of n rows, so that most calls bin once.
Too few cost a second binning, too many cost time, and neither costs accuracy."""


def expected_floor(n: float) -> float:
    """Return about what smECE is for `n` calibrated rows with uniform confidences: 0.305 n^(-1/3).

    Examples
    --------
    >>> round(expected_floor(1000), 4)
    0.0305
    """
    return _FLOOR * n ** (-1 / 3)


def cells_of_rows(n: float) -> int:
    """Return the number of cells with which `n` calibrated rows of spread confidence are resolved: a first choice.

    Examples
    --------
    >>> cells_of_rows(1000), cells_of_rows(1_000_000)
    (4096, 16384)
    """
    return max(LEAST_CELLS, power_of_two(_CELLS * n ** (1 / 6)))


def smece(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
    """Smooth expected calibration error (SmoothECE), accurate to 1e-5.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes: 1 (True) where the model was right, 0 (False) where not.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative; a weight of 2 counts a row twice, a weight of 0 drops it. All 1 by default.

    Returns
    -------
    float
        In [0, 1], unsigned: at least |mean residual|, at most the mean |residual|. It has a noise floor of about
        0.3 n^(-1/3) even for a calibrated model: see `measure_smece`.

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, or lengths differ.

    References
    ----------
    J. Blasiok, P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", arXiv:2309.12236.

    Examples
    --------
    >>> smece([0, 1, 0, 0], [0.9, 0.9, 0.9, 0.9])
    0.65
    """
    return smece_value(check_predictions(y_true, y_prob, sample_weight))


def smece_value(rows: LabelledRows) -> float:
    """Return smECE of rows."""
    return smece_of_residuals(*weighted_residuals(rows))


def smece_of_residuals(location: np.ndarray, value: np.ndarray) -> float:
    """SmoothECE of weighted residuals, y known or expected.

    Takes location (n,): confidences in [0, 1]; value (n,): w_i r_i with weights summing to 1.

    Examples
    --------
    >>> round(smece_of_residuals(np.array([0.2, 0.8]), np.array([0.1, -0.1])), 4)
    0.1806
    """
    # of one sign: |g| integrates to the same number at every bandwidth
    if value.min() >= 0 or value.max() <= 0:
        return abs(float(value.sum()))
    noise = expected_floor(len(value))
    n_cells = cells_of_rows(len(value))
    # what resolution is needed is known from the answer; cells double at least each time, up to a largest number
    while True:
        nodes = bin_residuals(location, value, n_cells)
        result = float(solve(nodes[None], noise)[0])
        needed = cells_needed(result, float(np.abs(nodes).sum()))
        if needed <= n_cells:
            return result
        noise, n_cells = result, needed
