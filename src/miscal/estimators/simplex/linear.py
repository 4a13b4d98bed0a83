"""Shifts of the log-probabilities of all classes that are linear in the inputs: a softmax regression with an offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miscal.base.directions import leading_eigenvectors, oriented
from miscal.calibration.simplex_maps import class_log_losses, softmax_path
from miscal.estimators.simplex.way import ClassRows, CrossFittedShift, Floats, State

_RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Penalties tried, in rows: from where next to nothing is learned to where a class of a few rows is fitted."""

_MOST_DIRECTIONS = 64
"""Leading directions of the inputs that are seen, as in the scores of two classes."""


@dataclass(frozen=True, eq=False)
class LinearShift:
    """A softmax regression on standardised inputs, or their leading directions.

    Attributes
    ----------
    n_numbers : int
        Leading columns of X that it sees.
    centre, scale : (d,) float64
    directions : (d, p) float64 or None
        None: all columns.
    coefficients : (1 + p, K) float64
    """

    kind: ClassVar[str] = "linear"

    n_numbers: int
    centre: Floats
    scale: Floats
    directions: Floats | None
    coefficients: Floats

    def at(self, X: NDArray, base: Floats) -> Floats:
        """Shift of each class, (n, K)."""
        x = (np.asarray(X[:, : self.n_numbers], dtype=np.float64) - self.centre) / self.scale
        return _with_ones(x if self.directions is None else x @ self.directions) @ self.coefficients

    def state(self) -> State:
        """Return the number of columns, and the arrays."""
        arrays = {"centre": self.centre, "scale": self.scale, "coefficients": self.coefficients}
        return {"n_numbers": self.n_numbers}, arrays | (
            {} if self.directions is None else {"directions": self.directions}
        )

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        centre, scale, coefficients = (arrays[name] for name in ("centre", "scale", "coefficients"))
        return cls(int(content["n_numbers"]), centre, scale, arrays.get("directions"), coefficients)


def crossfit_linear(rows: ClassRows) -> CrossFittedShift:
    """Fit the regression out of fold and to all rows, its penalty chosen by the log loss out of fold.

    The inputs are centred and turned by all rows: no outcome enters that.
    """
    x = np.asarray(rows.numbers, dtype=np.float64)
    centre, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    x = (x - centre) / scale
    directions = None
    if x.shape[1] > _MOST_DIRECTIONS:
        _, vectors = leading_eigenvectors(x.T @ x / len(x), _MOST_DIRECTIONS)
        directions = oriented(vectors)
        x = x @ directions
    design = _with_ones(x)
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
    member = LinearShift(rows.numbers.shape[1], centre, scale, directions, coefficients)
    return CrossFittedShift("linear", member, shifts[best], {"ridge": _RIDGES[best]})


def _with_ones(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])
