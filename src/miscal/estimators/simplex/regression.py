"""Softmax regression with an offset, cross-fitted: its penalty is chosen by the log loss out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from miscal.calibration.simplex_maps import class_log_losses, softmax_path
from miscal.estimators.simplex.way import ClassRows, Floats

_RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Penalties tried, in rows: from where next to nothing is learned to where a class of a few rows is fitted."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A softmax regression.

    Attributes
    ----------
    ridge : float
        The penalty chosen, in rows.
    shift : (n, K) float64
        Shifts of the log-probabilities of the rows, each by a fit without its fold.
    coefficients : (p, K) float64
        Of the fit to all rows.
    """

    ridge: float
    shift: Floats
    coefficients: Floats


def crossfit_regression(design: Floats, rows: ClassRows) -> Regression:
    """Fit shifts that are linear in a design (n, p), out of fold and to all rows."""
    shifts = np.zeros((len(_RIDGES), *rows.base.shape))
    for k in np.unique(rows.folds):
        inside, rest = rows.folds == k, rows.folds != k
        path = softmax_path(design[rest], rows.base[rest], rows.code[rest], rows.weight[rest], _RIDGES)
        for place, coefficients in enumerate(path):
            shifts[place, inside] = design[inside] @ coefficients
    losses = [
        np.average(class_log_losses(rows.code, log_softmax(rows.base + shift, axis=1)), weights=rows.weight)
        for shift in shifts
    ]
    best = int(np.argmin(losses))
    (coefficients,) = softmax_path(design, rows.base, rows.code, rows.weight, (_RIDGES[best],))
    return Regression(_RIDGES[best], shifts[best], coefficients)
