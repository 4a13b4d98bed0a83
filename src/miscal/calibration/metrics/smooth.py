"""SmoothECE, exactly: no grid of bandwidths, no cut kernel.

With the residuals r_i = y_i - f_i, normalised weights w_i and the Gaussian kernel reflected at 0 and 1
(Blasiok & Nakkiran, "Smooth ECE", arXiv:2309.12236)::

    g_sigma(t)    = sum_i w_i r_i K_sigma(t, f_i)
    smECE_sigma   = integral_0^1 |g_sigma(t)| dt              does not increase with sigma
    smECE         = the sigma at which smECE_sigma = sigma    exists and is unique

The reflected Gaussian is the heat kernel of [0, 1] with insulated ends, so in cosines it is diagonal::

    K_sigma(t, v) = 1 + 2 sum_k exp(-(pi k sigma)^2 / 2) cos(pi k t) cos(pi k v)

and everything follows from the moments A_k = sum_i w_i r_i cos(pi k f_i): bin the residuals once, transform once,
then damp and transform back for each trial sigma. Every step works on many residual vectors at once, which is what
the bootstrap and the null draws use.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.errors import InputError

TOLERANCE = 4e-6
"""Where the search for sigma stops: |smECE_sigma - sigma|, which bounds the error (slope <= -1).

Not the distance at the last trial but what a further step leaves of it, forecast from the step before.
"""

BINNING_ERROR = 5e-6
"""Bound on what linear binning does to a value; sets the number of cells."""

SMALLEST_SIGMA = 1e-5
"""No kernel narrower than this is evaluated; a smaller smECE is then right to this many units, not more closely."""

ONE_SIGN = 1e-9
"""Residuals whose sum and sum of absolute values agree to this share have one sign; smECE is then |mean residual|."""

_MODES_PER_SIGMA = 2.2  # exp(-(pi * 2.2)^2 / 2) = 4e-11: the modes beyond it are not worth adding
_BLOCK = 1 << 18  # numbers per temporary: small enough for the cache, large enough to hide numpy's overhead
_BIN_BLOCK = 1 << 15  # rows binned at a time: temporaries of 256 KB are used again, larger ones are fresh pages each
_BEST_RATIO = 0.02  # a step shrinks the distance by the ratio of the step before or better, but count on no more
_MAX_STEPS = 60
_MAX_CELLS = 1 << 22


def _power_of_two(x: float) -> int:
    return 1 << max(0, math.ceil(math.log2(x)))


def cells_needed(sigma: float, absolute: float = 0.5) -> int:
    """Return the number of cells of [0, 1] that linear binning needs at bandwidth `sigma`.

    Linear binning keeps sum and first moment of what it moves, and adds a variance of at most h^2 / 4. That changes
    the integral of |g| by at most ``absolute`` h^2 / 8 times the integral of |K''|, which is 0.97 / sigma^2. Residuals
    that cancel inside a cell are missing from ``absolute``: hence at least 16 cells per sigma.

    Parameters
    ----------
    sigma : float
        Bandwidth, > 0; below `SMALLEST_SIGMA` that is taken.
    absolute : float, default 0.5
        Sum of absolute binned residuals, or a guess of it.

    Returns
    -------
    int
        A power of two, from 512 to 2^22.

    Examples
    --------
    >>> cells_needed(0.1), cells_needed(0.001), cells_needed(0.001, 0.01)
    (2048, 131072, 16384)
    """
    per_sigma = max(16.0, math.sqrt(0.97 * absolute / (8 * BINNING_ERROR)))
    return min(max(512, _power_of_two(per_sigma / max(sigma, SMALLEST_SIGMA))), _MAX_CELLS)


def _intervals_needed(sigma: float) -> int:
    """Size of the grid on which |g| is integrated; its error is about (h / sigma)^3 sigma / 50 (see below)."""
    h = min(sigma / 6, sigma * (6e-6 / sigma) ** (1 / 3))
    return max(256, _power_of_two(1 / h))


def bin_residuals(location: np.ndarray, value: np.ndarray, n_cells: int) -> np.ndarray:
    """Spread each value linearly over the two nodes around its location.

    Parameters
    ----------
    location : float array of shape (n,)
        In [0, 1].
    value : float array of shape (n,)
        What is spread: w_i r_i, any sign.
    n_cells : int
        Cells of [0, 1]; the nodes are ``arange(n_cells + 1) / n_cells``.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_cells + 1,). Sum and first moment of the values are kept exactly.

    Examples
    --------
    >>> bin_residuals(np.array([0.25, 1.0]), np.array([1.0, -2.0]), 2)
    array([ 0.5,  0.5, -2. ])
    """
    total = np.zeros(n_cells + 2)
    offset = np.zeros(n_cells + 2)
    for start in range(0, len(location), _BIN_BLOCK):
        place = location[start : start + _BIN_BLOCK] * n_cells
        cell = place.astype(np.intp)
        part = value[start : start + _BIN_BLOCK]
        total += np.bincount(cell, part, n_cells + 2)
        offset += np.bincount(cell, part * (place - cell), n_cells + 2)
    total -= offset
    total[1:] += offset[:-1]
    return total[:-1]


def cosine_moments(nodes: np.ndarray) -> np.ndarray:
    """Return A_k = sum_j b_j cos(pi k j / M) of binned residuals b.

    Parameters
    ----------
    nodes : float array of shape (B, M + 1)
        Residual mass at the nodes j / M, one row per problem.

    Returns
    -------
    numpy.ndarray
        float64, shape (B, M + 1), k = 0 to M. A_0 is the mean residual (positive: under-confident).

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
    row, at = np.nonzero(g[:, :-1] * g[:, 1:] < 0)
    a, b = size[row, at], size[row, at + 1]
    rise = a + b
    corner = a * b / rise - rise / 6
    return (total - np.bincount(row, corner, len(g))) / n, np.bincount(row, rise, len(g)) * n


def smoothed(moments: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return smECE_sigma and its derivative by sigma, one bandwidth per row of moments.

    The smoothed residuals obey the heat equation, dg / dsigma = sigma g'', and g' is 0 at both ends: the integral of
    sign(g) g'' over the stretches between the crossings is -2 times the sum of |g'| at the crossings.

    Parameters
    ----------
    moments : float array of shape (B, K)
        A_0 to A_{K-1} of each problem.
    sigma : float array of shape (B,)
        Bandwidths, at least `SMALLEST_SIGMA`.

    Returns
    -------
    value : numpy.ndarray
        float64, shape (B,): the integral of |g_sigma|, between |A_0| and the mean absolute residual.
    derivative : numpy.ndarray
        float64, shape (B,), at most 0; to a few parts in a hundred.

    Examples
    --------
    >>> smoothed(np.array([[0.2, 0.0, 0.0]]), np.array([0.5]))
    (array([0.2]), array([-0.]))
    """
    value, crossings = _integral_of_absolute(smoothed_density(moments, sigma))
    return value, -2 * sigma * crossings


def smoothed_density(moments: np.ndarray, sigma: np.ndarray | float) -> np.ndarray:
    """Return g_sigma on an even grid of [0, 1], both ends included, fine enough for the smallest sigma.

    Parameters
    ----------
    moments : float array of shape (B, K)
        A_0 to A_{K-1} of each problem.
    sigma : float array of shape (B,), or float
        Bandwidths, at least `SMALLEST_SIGMA`.

    Returns
    -------
    numpy.ndarray
        float64, shape (B, T + 1); positive where residuals are (under-confident).

    Examples
    --------
    >>> smoothed_density(np.array([[0.2, 0.0]]), 0.5)[0, :2]
    array([0.2, 0.2])
    """
    from scipy.fft import dct

    smallest = float(np.min(sigma))
    n_modes = min(moments.shape[1], math.ceil(_MODES_PER_SIGMA / smallest))
    exponent = np.square(np.arange(n_modes) * (math.pi / math.sqrt(2)))
    padded = np.zeros((len(moments), _intervals_needed(smallest) + 1))
    damping = np.maximum(-exponent * np.reshape(np.square(sigma), (-1, 1)), -200.0)  # denormal numbers are slow
    np.multiply(moments[:, :n_modes], np.exp(damping, out=damping), out=padded[:, :n_modes])
    return dct(padded, type=1, axis=1, overwrite_x=True)


def solve(nodes: np.ndarray, noise: float) -> np.ndarray:
    """Find the sigma with smECE_sigma = sigma for each row of binned residuals.

    Parameters
    ----------
    nodes : float array of shape (B, M + 1)
        Binned residuals, weights summing to 1 in each row.
    noise : float
        Least value to expect, > 0, such as `expected_floor`: where the search starts if nothing coarser shows.

    Returns
    -------
    numpy.ndarray
        float64, shape (B,), each between the row's |sum| and its sum of absolute values.

    Examples
    --------
    >>> solve(np.array([[0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), 0.1)
    array([0.2])
    """
    step = max(1, _BLOCK // nodes.shape[1])
    return np.concatenate([_solve_block(nodes[i : i + step], noise) for i in range(0, len(nodes), step)])


def _solve_block(nodes: np.ndarray, noise: float) -> np.ndarray:
    """Solve a few rows together, by Newton's method within a bracket.

    smECE_sigma does not increase, so a trial x and its value s bracket the root. The next trial follows the power law
    s ~ x^-p that has the slope seen at x, and so lies between x and s; the middle of the bracket replaces it where it
    leaves the bracket, and now and then when progress is slow. The last such step is kept as the result.
    """
    mean, absolute = np.abs(nodes.sum(axis=1)), np.abs(nodes).sum(axis=1)
    mixed = absolute - mean > ONE_SIGN * absolute
    if not mixed.all():
        mean[mixed] = _solve_block(nodes[mixed], noise) if mixed.any() else 0.0
        return mean
    moments, smallest = cosine_moments(nodes), max(SMALLEST_SIGMA, 0.25 / nodes.shape[1])
    lower, upper = np.maximum(mean, smallest), np.maximum(absolute, smallest)
    x = np.clip(np.maximum(_coarse_error(nodes), noise), lower, upper)
    last, open_ = np.zeros(len(x)), np.ones(len(x), dtype=bool)
    for step in range(_MAX_STEPS):
        s, derivative = smoothed(moments, x)
        s = np.maximum(s, SMALLEST_SIGMA**2)
        trial = x * (s / x) ** (1 / (1 - derivative * x / s))
        apart = np.maximum(np.abs(s - x), SMALLEST_SIGMA**2)
        ratio = np.clip(apart / last, _BEST_RATIO, 1.0) if step else 1.0
        open_ &= (apart * ratio > TOLERANCE) & (np.maximum(s, x) > smallest)
        if not open_.any():
            break
        lower, upper = np.maximum(lower, np.minimum(x, s)), np.minimum(upper, np.maximum(x, s))
        poor = (trial < lower) | (trial > upper) | (ratio > 0.1) & (step % 4 == 3)
        last = apart
        x = np.where(open_, np.maximum(np.where(poor, np.sqrt(lower * upper), trial), smallest), x)
    return np.clip(trial, mean, np.maximum(absolute, mean))


def _coarse_error(nodes: np.ndarray) -> np.ndarray:
    """Binned calibration error over eight bins: a first guess."""
    return np.abs(nodes[:, :-1].reshape(len(nodes), 8, -1).sum(axis=2)).sum(axis=1)


def check_pair(correct: Any, confidence: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check outcomes, confidences and weights, and drop the rows of weight 0.

    Returns
    -------
    y, f, weight : float64 arrays of one length
        Outcomes 0 or 1, confidences in [0, 1], weights that sum to 1.

    Raises
    ------
    InputError
        As `miscal.base.checks` says: empty, of different lengths, not numbers, not finite, out of range.
    """
    n = check_lengths(correct=correct, confidence=confidence, sample_weight=sample_weight)
    f = check_confidence(confidence)
    y = check_correct(correct)
    weight = check_weight(sample_weight, n)
    if sample_weight is not None:
        keep = weight > 0
        y, f, weight = y[keep], f[keep], weight[keep]
    return y, f, weight / weight.sum()


def _weighted_residuals(correct: Any, confidence: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the checked confidences, not to be written to, and w_i r_i.

    Without weights nothing else is copied: fresh pages for a copy cost more than all arithmetic on it.
    """
    if sample_weight is not None:
        y, f, weight = check_pair(correct, confidence, sample_weight)
        return f, weight * (y - f)
    n = check_lengths(correct=correct, confidence=confidence)
    f = check_confidence(confidence, copy=False)
    residual = check_correct(correct, copy=False) - f
    residual /= n
    return f, residual


def expected_floor(n: float) -> float:
    """Return about what smECE is for `n` calibrated rows with uniform confidences: 0.305 n^(-1/3).

    Examples
    --------
    >>> round(expected_floor(1000), 4)
    0.0305
    """
    return 0.305 * n ** (-1 / 3)


def cells_of_rows(n: float) -> int:
    """Return the number of cells with which `n` calibrated rows of spread confidence are resolved: a first choice.

    Examples
    --------
    >>> cells_of_rows(1000), cells_of_rows(1_000_000)
    (4096, 16384)
    """
    return max(512, _power_of_two(1100 * n ** (1 / 6)))


def smece(correct: Any, confidence: Any, *, sample_weight: Any = None) -> float:
    """Smooth expected calibration error (SmoothECE), accurate to 1e-5.

    Parameters
    ----------
    correct : array-like of shape (n,)
        Outcomes: 1 (True) where the model was right, 0 (False) where not.
    confidence : array-like of shape (n,)
        Confidences in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative; a weight of 2 counts a row twice, a weight of 0 drops it. All 1 by default.

    Returns
    -------
    float
        In [0, 1], unsigned: at least |mean residual|, at most the mean |residual|. It has a noise floor of about
        0.3 n^(-1/3) even for a calibrated model: see `smece_floor`, `smece_p_value` and `smece_interval`.

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
    return smece_of_residuals(*_weighted_residuals(correct, confidence, sample_weight))


def smece_of_residuals(location: np.ndarray, value: np.ndarray) -> float:
    """SmoothECE of weighted residuals, y known or expected.

    Parameters
    ----------
    location : float array of shape (n,)
        Confidences in [0, 1].
    value : float array of shape (n,)
        w_i r_i with weights summing to 1; positive is under-confident.

    Returns
    -------
    float

    Examples
    --------
    >>> round(smece_of_residuals(np.array([0.2, 0.8]), np.array([0.1, -0.1])), 4)
    0.1806
    """
    if value.min() >= 0 or value.max() <= 0:
        return abs(float(value.sum()))
    noise = expected_floor(len(value))
    n_cells = cells_of_rows(len(value))
    while True:
        nodes = bin_residuals(location, value, n_cells)
        result = float(solve(nodes[None], noise)[0])
        needed = cells_needed(result, float(np.abs(nodes).sum()))
        if needed <= n_cells:
            return result
        noise, n_cells = result, needed


def smece_at(correct: Any, confidence: Any, sigma: float, *, sample_weight: Any = None) -> float:
    """Calibration error at a fixed bandwidth, smECE_sigma: the integral of the absolute smoothed residual.

    Parameters
    ----------
    correct : array-like of shape (n,)
        Outcomes, 0 or 1.
    confidence : array-like of shape (n,)
        Confidences in [0, 1].
    sigma : float
        Standard deviation of the reflected Gaussian, at least 1e-5, in units of confidence.
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.

    Returns
    -------
    float
        In [0, 1], unsigned; does not increase with `sigma`.

    Raises
    ------
    InputError
        If `sigma` is out of range, or the arrays are refused as by `smece`.

    Examples
    --------
    >>> round(smece_at([0, 1], [0.9, 0.9], 0.1), 6)
    0.4
    """
    if not SMALLEST_SIGMA <= sigma < math.inf:
        raise InputError(f"sigma must be finite and at least {SMALLEST_SIGMA:g}; it is {sigma!r}")
    nodes = bin_residuals(*_weighted_residuals(correct, confidence, sample_weight), cells_needed(sigma))
    return float(smoothed(cosine_moments(nodes[None]), np.array([float(sigma)]))[0][0])
