"""Shifts of the log-probabilities of several classes by a regression on the inputs and on the likeliest class.

The likeliest class says who is taken for whom: where a model answers cat, the animal may be a dog more often than the
probability of dog says, and where it answers owl less often, while a map of the probabilities alone gives every row of
equal probabilities the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miscal.base.arrays import leading_eigenvectors, oriented
from miscal.calibration.simplex_maps import class_log_losses, softmax_path
from miscal.data.triples import InputLayout
from miscal.estimators.auto.member import CrossFitted, State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows of several classes to learn from.

    Attributes
    ----------
    X : (n, d)
        Inputs, as the readers make them.
    layout : InputLayout
    code : (n,) int64
        Place of each row's class.
    base : (n, K) float64
        Log-probabilities by the global map, out of fold.
    raw : (n, K) float64
        Log-probabilities as they were given.
    folds : (n,) int64
        By which every way is cross-fitted.
    weight : (n,) float64
        Numbers of rows.
    groups : (n,) array or None
        Rows of equal value hang together.
    seed : int
    """

    X: NDArray
    layout: InputLayout
    code: Ints
    base: Floats
    raw: Floats
    folds: Ints
    weight: Floats
    groups: NDArray | None
    seed: int

    def __len__(self) -> int:
        return len(self.code)

    @property
    def numbers(self) -> NDArray:
        """The columns of X that are numbers: codes of levels have no order."""
        return self.X[:, : self.layout.places + self.layout.numbers]


class Shift(Protocol):
    """A fitted way.

    Attributes
    ----------
    kind : str
        Which way it is, in a saved correction.
    """

    kind: ClassVar[str]

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
        """Shift of the log-probabilities of rows, (n, K), before they are normalised again.

        `base` are those by the global map, (n, K), and `raw` those that were given.
        """
        ...

    def state(self) -> State:
        """Return everything learned."""
        ...

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a fitted way from what :meth:`state` returned."""
        ...


_MOST_DIRECTIONS = 64
"""Leading directions of the inputs that are seen, as in the scores of two classes."""

_MOST_CONFUSED = 30
"""Classes up to which the likeliest is seen: each two of them have a shift, and the cost grows with the cube."""


@dataclass(frozen=True, eq=False)
class LinearShift:
    """A softmax regression on standardised inputs, or their leading directions, and on which class is the likeliest.

    Attributes
    ----------
    n_numbers : int
        Leading columns of X that it sees.
    centre, scale : (d,) float64
    directions : (d, p) float64 or None
        None: all columns.
    coefficients : (1 + p, K) float64, or (1 + p + K, K) of up to 30 classes
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
        design = _design(x if self.directions is None else x @ self.directions, raw)
        # models saved before the likeliest class was seen have no coefficients for it
        return design[:, : len(self.coefficients)] @ self.coefficients

    def state(self) -> State:
        """Return the number of columns, and the arrays."""
        arrays = {"centre": self.centre, "scale": self.scale, "coefficients": self.coefficients}
        turned = {} if self.directions is None else {"directions": self.directions}
        return {"n_numbers": self.n_numbers}, arrays | turned

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        return cls(int(content["n_numbers"]), **{"directions": None, **arrays})


def crossfit_linear(rows: ClassRows) -> CrossFitted:
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
    found = crossfit_regression(_design(x, rows.raw), rows)
    member = LinearShift(rows.numbers.shape[1], centre, scale, directions, found.coefficients)
    return CrossFitted(member, found.shift, {"ridge": found.ridge})


def _design(x: Floats, raw: Floats) -> Floats:
    """1, the inputs, and 1 for the likeliest class, 0 for the others, if they are not too many; (n, 1 + p + K)."""
    k = raw.shape[1]
    return np.column_stack([np.ones(len(x)), x, *([np.eye(k)[raw.argmax(axis=1)]] if k <= _MOST_CONFUSED else [])])


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
