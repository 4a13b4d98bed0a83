"""Shifts of the log-probabilities of several classes, but for those by trees: what each takes and gives.

By a regression on the inputs; by the likeliest class, who is taken for whom: where a model answers cat, the animal may
be a dog more often than the probability of dog says, and where it answers owl less often, while a map of the
probabilities alone gives every row of equal probabilities the same; and by a miscalibration field for each class, the
class as an event of its own, then all put together again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miscal.base.directions import leading_eigenvectors, oriented
from miscal.base.state_folder import under, with_prefix
from miscal.base.vocabulary import EVENT
from miscal.calibration.calibrators import logit
from miscal.calibration.simplex_maps import LEAST_PROBABILITY, class_log_losses, softmax_path
from miscal.data.triples import InputLayout, Triples
from miscal.estimators.auto.member import CrossFitted, State
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import Estimator, estimator_class

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
    found = crossfit_regression(_with_ones(x), rows)
    member = LinearShift(rows.numbers.shape[1], centre, scale, directions, found.coefficients)
    return CrossFitted(member, found.shift, {"ridge": found.ridge})


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


def crossfit_confusions(rows: ClassRows) -> CrossFitted:
    """Fit the shifts out of fold and to all rows."""
    found = crossfit_regression(np.eye(rows.raw.shape[1])[rows.raw.argmax(axis=1)], rows)
    member = ConfusionShift(found.coefficients)
    return CrossFitted(member, found.shift, {"ridge": found.ridge})


MOST_FIELDS = 20
"""Classes that get a field of their own, the most frequent ones: each costs a fit for every fold."""

_LEAST_OF_CLASS = 30
"""Rows that a class needs, and the others together, in what its field is learned from."""

BY_ODDS, BY_PROBABILITY = "fields, shifts of log-odds", "fields, corrected probabilities"


@dataclass(frozen=True, eq=False)
class FieldsShift:
    """A field for each of some classes.

    Attributes
    ----------
    fields : dict of int to Estimator
        The fitted estimator behind each field, by the place of the class.
    method : {"auto", "paper"}
        Of all fields.
    by_odds : bool
        Whether a class's log-probability is shifted by what its field adds to its log-odds, or becomes the logarithm of
        its corrected probability.
    """

    kind: ClassVar[str] = "fields"

    fields: dict[int, Estimator]
    method: str
    by_odds: bool

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
        """Shift of each class, (n, K)."""
        return _shifts(self.fields, X, base)[0 if self.by_odds else 1]

    def state(self) -> State:
        """Return what the fields hold, each named below the place of its class."""
        content: dict[str, Any] = {"method": self.method, "by_odds": self.by_odds, "fields": {}}
        arrays: dict[str, np.ndarray] = {}
        for place, field in self.fields.items():
            content["fields"][str(place)], held = field.state()
            arrays |= with_prefix(str(place), held)
        return content, arrays

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        one = estimator_class(content["method"])
        fields = {int(place): one.from_state(held, under(place, arrays)) for place, held in content["fields"].items()}
        return cls(fields, content["method"], bool(content["by_odds"]))


def crossfit_fields(rows: ClassRows, method: str = "auto") -> dict[str, CrossFitted]:
    """Fit a field for each class, out of fold and to all rows, and put them together in both ways."""
    sizes = np.bincount(rows.code, minlength=rows.base.shape[1])
    classes = np.argsort(-sizes, kind="stable")[:MOST_FIELDS].tolist()
    out = np.zeros((2, *rows.base.shape))
    for k in np.unique(rows.folds):
        inside = rows.folds == k
        out[:, inside] = _shifts(_fields(rows, classes, ~inside, method), rows.X[inside], rows.base[inside])
    final = _fields(rows, classes, np.ones(len(rows), dtype=bool), method)
    settings = {"classes": [int(c) for c in final]}
    return {
        name: CrossFitted(FieldsShift(final, method, name == BY_ODDS), shift, settings)
        for name, shift in zip((BY_ODDS, BY_PROBABILITY), out, strict=True)
    }


def _fields(rows: ClassRows, classes: list[int], inside: NDArray[np.bool_], method: str) -> dict[int, Estimator]:
    fields = {}
    for one in classes:
        happened = (rows.code[inside] == one).astype(np.float64)
        if min(happened.sum(), len(happened) - happened.sum()) < _LEAST_OF_CLASS:
            continue
        triples = Triples(
            rows.X[inside], np.exp(rows.base[inside, one]), happened, weight=rows.weight[inside],
            group=None if rows.groups is None else rows.groups[inside], layout=rows.layout, kind=EVENT,
        )  # fmt: skip
        fields[one] = MiscalibrationField(method, random_state=rows.seed, n_jobs=1).fit_triples(triples).fitted_
    return fields


def _shifts(fields: Mapping[int, Estimator], X: NDArray, base: Floats) -> Floats:
    """Shifts by log-odds and by probabilities, (2, n, K); 0 of classes without a field."""
    found = np.zeros((2, *base.shape))
    for one, field in fields.items():
        given = np.exp(base[:, one])
        corrected = field.correct(X, given).corrected
        found[0, :, one] = logit(corrected) - logit(given)
        found[1, :, one] = np.log(np.maximum(corrected, LEAST_PROBABILITY)) - base[:, one]
    return found
