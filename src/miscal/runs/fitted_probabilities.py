"""Probabilities that a classifier of scikit-learn gives, in the order of the classes that are corrected."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing  # pyrefly: ignore[missing-module-attribute]

from miscal.base.errors import InputError


def probabilities_of(fitted: Any, X: Any, classes: NDArray) -> NDArray[np.float64]:
    """Probabilities of a fitted classifier in the order of `classes`; 0 of classes that it has not seen."""
    if not hasattr(fitted, "predict_proba"):
        raise InputError(
            f"estimator must have predict_proba; {type(fitted).__name__} has none. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV first, which makes probabilities of its scores"
        )
    found = np.asarray(fitted.predict_proba(X), dtype=np.float64)
    own = np.asarray(getattr(fitted, "classes_", classes))
    if np.array_equal(own, classes):
        return found
    probability = np.zeros((len(found), len(classes)))
    place = np.searchsorted(classes, own)
    known = (place < len(classes)) & (classes[np.minimum(place, len(classes) - 1)] == own)
    probability[:, place[known]] = found[:, known]
    return probability


# --- the correction -----------------------------------------------------------------------------------------------


def probabilities_by(
    estimator: Any, X: Any, y: Any, learned: NDArray, told: NDArray, classes: NDArray, fit_params: dict[str, Any]
) -> NDArray[np.float64]:
    """Probabilities of some rows by the classifier fitted to others."""
    seen = np.unique(np.asarray(_safe_indexing(y, learned)))
    if len(seen) == 1:
        return np.tile((classes == seen[0]).astype(np.float64), (len(told), 1))
    some = {name: rows_of(values, learned, len(y)) for name, values in fit_params.items()}
    fitted = clone(estimator).fit(_safe_indexing(X, learned), _safe_indexing(y, learned), **some)
    return probabilities_of(fitted, _safe_indexing(X, told), classes)


def of_two(second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of both classes, (n, 2), by that of the second."""
    second = np.clip(second, 0.0, 1.0)
    return np.column_stack([1 - second, second])


def rows_of(values: Any, rows: NDArray, n: int) -> Any:
    """Take some rows of an argument that has one value for each row; others are for the whole."""
    return _safe_indexing(values, rows) if np.ndim(values) and len(values) == n else values
