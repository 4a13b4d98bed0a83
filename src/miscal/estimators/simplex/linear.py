"""Shifts of the log-probabilities of all classes that are linear in the inputs: a softmax regression with an offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.directions import leading_eigenvectors, oriented
from miscal.estimators.simplex.regression import crossfit_regression
from miscal.estimators.simplex.way import ClassRows, CrossFittedShift, Floats, State

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

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
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
    found = crossfit_regression(_with_ones(x), rows)
    member = LinearShift(rows.numbers.shape[1], centre, scale, directions, found.coefficients)
    return CrossFittedShift("linear", member, found.shift, {"ridge": found.ridge})


def _with_ones(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])
