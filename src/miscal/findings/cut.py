"""Cutting the field into regimes."""

from typing import Any

import numpy as np

from miscal.base.arrays import numeric, row_list
from miscal.base.checks import check_lengths
from miscal.base.errors import InputError
from miscal.estimators.estimate import regimes_of
from miscal.findings.settings import EPSILON


def check_field(values: Any, *, name: str = "delta") -> np.ndarray:
    """Check a field: one finite number per row.

    Raises
    ------
    InputError
        If not one-dimensional or not finite.

    Examples
    --------
    >>> check_field([0.1, float("nan")])
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: delta: 1 of 2 values are not finite (row 1); ...
    """
    delta = numeric(values, name).astype(np.float64)
    if delta.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, of shape (n,); got shape {delta.shape}")
    bad = ~np.isfinite(delta)
    if bad.any():
        raise InputError(
            f"{name}: {int(bad.sum())} of {len(delta)} values are not finite ({row_list(bad)}); "
            "give the field of every row, as MiscalibrationField.estimate returns it"
        )
    return delta


def cut(delta: np.ndarray, epsilon: float = EPSILON, local: np.ndarray | None = None) -> np.ndarray:
    """Cut rows into regimes by the sign and size of the field.

    Parameters
    ----------
    delta : array_like of shape (n,), in [-1, 1]
        The field. Negative: over-confident, positive: UNDER-confident.
    epsilon : float
        Least size that counts, in [0, 1); default 0.05.
    local : array_like of shape (n,), bool, optional
        Where the field is a local estimate; elsewhere there is no regime. Default: everywhere.

    Returns
    -------
    ndarray of shape (n,), object
        ``"over"`` where ``delta < -epsilon``, ``"under"`` where ``delta > epsilon``, else ``"good"``; None where not
        local.

    Raises
    ------
    InputError
        If delta is not finite, epsilon is outside [0, 1), or lengths differ.

    Examples
    --------
    >>> cut([-0.2, 0.05, 0.3, 0.3], local=[True, True, True, False]).tolist()
    ['over', 'good', 'under', None]
    """
    if not 0.0 <= epsilon < 1.0:
        raise InputError(f"epsilon must be in [0, 1); got {epsilon!r}")
    delta = check_field(delta)
    if local is not None:
        check_lengths(delta=delta, local=local)
        local = np.asarray(local, bool)
    return regimes_of(delta, epsilon, local)
