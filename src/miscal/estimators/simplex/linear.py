"""Shifts of the log-probabilities of all classes that are linear in the inputs: a softmax regression with an offset.

The likeliest class shifts them too: who is taken for whom.
Where a model answers cat, the animal may be a dog more often than the probability of dog says, and where it answers owl
less often. No map of the probabilities alone says so: it gives every row of equal probabilities the same.
"""

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


MOST_CONFUSED = 30
"""Classes up to which these shifts are tried: there is one for every two classes, and the cost grows with the cube."""


@dataclass(frozen=True, eq=False)
class ConfusionShift:
    """A shift of each class for every class that may be the likeliest.

    Attributes
    ----------
    coefficients : (K, K) float64
        Of each class in a column, where the class of the row is the likeliest.
    """

    kind: ClassVar[str] = "confusions"

    coefficients: Floats

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
        """Shift of each class, (n, K); the inputs are not looked at."""
        return self.coefficients[raw.argmax(axis=1)]

    def state(self) -> State:
        """Return the coefficients."""
        return {}, {"coefficients": self.coefficients}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        return cls(arrays["coefficients"])


def crossfit_confusions(rows: ClassRows) -> CrossFittedShift:
    """Fit the shifts out of fold and to all rows."""
    found = crossfit_regression(np.eye(rows.raw.shape[1])[rows.raw.argmax(axis=1)], rows)
    member = ConfusionShift(found.coefficients)
    return CrossFittedShift("confusions", member, found.shift, {"ridge": found.ridge})
