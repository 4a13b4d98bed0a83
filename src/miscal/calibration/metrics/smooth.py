"""SmoothECE, exactly: no grid of bandwidths, no cut kernel.

With the residuals r_i = y_i - f_i, normalised weights w_i and the Gaussian kernel reflected at 0 and 1
(Blasiok & Nakkiran, "Smooth ECE", arXiv:2309.12236)::

    g_sigma(t)    = sum_i w_i r_i K_sigma(t, f_i)
    smECE_sigma   = integral_0^1 |g_sigma(t)| dt              does not increase with sigma
    smECE         = the sigma at which smECE_sigma = sigma    exists and is unique

:mod:`~miscal.calibration.metrics.heat` evaluates the first two at any sigma,
:mod:`~miscal.calibration.metrics.heat` finds the third, and this module chooses the resolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.checked_rows import check_predictions, weighted_residuals
from miscal.calibration.metrics.heat import LEAST_CELLS, bin_residuals, cells_needed, power_of_two, solve

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
