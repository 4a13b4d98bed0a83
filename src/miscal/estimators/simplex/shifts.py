"""Shifts of the log-probabilities of several classes: regressed on the inputs and the likeliest class, or trees.

The likeliest class says who is taken for whom: where a model answers cat, the animal may be a dog more often than the
probability of dog says, and where it answers owl less often, while a map of the probabilities alone gives every row of
equal probabilities the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miscal.base.arrays import leading_eigenvectors, oriented
from miscal.calibration.global_map import class_log_losses, softmax_path
from miscal.data.triples import InputLayout
from miscal.estimators.auto.member import CrossFitted
from miscal.estimators.auto.trees import MOST_LEAVES, ShallowTrees

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
    seed : int
    """

    X: NDArray
    layout: InputLayout
    code: Ints
    base: Floats
    raw: Floats
    folds: Ints
    weight: Floats
    seed: int

    def __len__(self) -> int:
        return len(self.code)

    @property
    def numbers(self) -> NDArray:
        """The columns of X that are numbers: codes of levels have no order."""
        return self.X[:, : self.layout.places + self.layout.numbers]


class ClassShift:
    """A fitted way: a dataclass, whose fields are what is saved of it."""

    def at(self, X: NDArray, raw: Floats) -> Floats:
        """Shift of the log-probabilities of rows, (n, K), before they are normalised again.

        `raw` are those that were given, (n, K).
        """
        raise NotImplementedError


_MOST_DIRECTIONS = 64
"""Leading directions of the inputs that are seen, as in the scores of two classes."""

_RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Penalties tried, in rows: from where next to nothing is learned to where a class of a few rows is fitted."""

_MOST_CONFUSED = 30
"""Classes up to which the likeliest is seen: each two of them have a shift, and the cost grows with the cube."""


@dataclass(frozen=True, eq=False)
class LinearShift(ClassShift):
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

    n_numbers: int
    centre: Floats
    scale: Floats
    directions: Floats | None
    coefficients: Floats

    def at(self, X: NDArray, raw: Floats) -> Floats:
        """Shift of each class, (n, K)."""
        x = (np.asarray(X[:, : self.n_numbers], dtype=np.float64) - self.centre) / self.scale
        return _design(x if self.directions is None else x @ self.directions, raw) @ self.coefficients


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
    design, shifts = _design(x, rows.raw), np.zeros((len(_RIDGES), *rows.base.shape))
    for k in np.unique(rows.folds):
        inside, rest = rows.folds == k, rows.folds != k
        path = softmax_path(design[rest], rows.base[rest], rows.code[rest], rows.weight[rest], _RIDGES)
        for place, coefficients in enumerate(path):
            shifts[place, inside] = design[inside] @ coefficients
    best = int(np.argmin([_loss(rows, shift) for shift in shifts]))
    (coefficients,) = softmax_path(design, rows.base, rows.code, rows.weight, (_RIDGES[best],))
    member = LinearShift(rows.numbers.shape[1], centre, scale, directions, coefficients)
    return CrossFitted(member, shifts[best], {"ridge": _RIDGES[best]})


def _design(x: Floats, raw: Floats) -> Floats:
    """1, the inputs, and 1 for the likeliest class, 0 for the others, if they are not too many; (n, 1 + p + K)."""
    k = raw.shape[1]
    return np.column_stack([np.ones(len(x)), x, *([np.eye(k)[raw.argmax(axis=1)]] if k <= _MOST_CONFUSED else [])])


_STEP, _MOST_ROUNDS = 10, 150
"""Rounds by which trees grow, and at most."""

_LEARNING_RATE = 0.15
_LEAST_ROWS = 20
_RIDGE = 10.0
"""Small trees that are drawn to no shift: what is left after a classifier is faint. Not tuned."""


@dataclass(frozen=True, eq=False)
class TreeShift(ClassShift):
    """Boosted trees of each class, which see the columns of X as they are."""

    trees: ShallowTrees

    def at(self, X: NDArray, raw: Floats) -> Floats:
        """Shift of each class, (n, K)."""
        return self.trees(X)


def crossfit_trees(rows: ClassRows) -> CrossFitted:
    """Grow trees out of fold and on all rows, their number chosen by the log loss out of fold."""
    folds = [rows.folds == k for k in np.unique(rows.folds)]
    growing = [_Growing(rows, ~inside) for inside in folds]
    shift = np.zeros_like(rows.base)
    best, chosen, least, waited = shift, 0, _loss(rows, shift), 0
    for rounds in range(_STEP, _MOST_ROUNDS + 1, _STEP):
        shift = shift.copy()
        for inside, booster in zip(folds, growing, strict=True):
            shift[inside] = booster.grow(rows.X[inside])
        loss = _loss(rows, shift)
        waited = 0 if loss < least else waited + 1
        if loss < least:
            best, chosen, least = shift, rounds, loss
        elif waited == 2:
            break
    text = ""
    if chosen:
        final = _Growing(rows, np.ones(len(rows), dtype=bool))
        for _ in range(chosen // _STEP):
            final.grow(rows.X[:0])
        text = final.booster.model_to_string()
    return CrossFitted(TreeShift(ShallowTrees.of(text, rows.base.shape[1])), best, {"rounds": chosen})


def _loss(rows: ClassRows, shift: Floats) -> float:
    losses = class_log_losses(rows.code, log_softmax(rows.base + shift, axis=1))
    return float(np.average(losses, weights=rows.weight))


class _Growing:
    """Trees of some rows, a few more at a time."""

    def __init__(self, rows: ClassRows, inside: NDArray[np.bool_]) -> None:
        import lightgbm

        self._classes = rows.base.shape[1]
        settings: dict[str, Any] = {
            "objective": "multiclass", "num_class": self._classes, "num_leaves": MOST_LEAVES, "lambda_l2": _RIDGE,
            "learning_rate": _LEARNING_RATE, "min_data_in_leaf": _LEAST_ROWS, "seed": rows.seed, "num_threads": 1,
            "deterministic": True, "force_row_wise": True, "verbosity": -1, "boost_from_average": False,
            "feature_pre_filter": False, "max_bin": 63,
        }  # fmt: skip
        # LightGBM takes the starts of all rows class by class
        data = lightgbm.Dataset(
            _columns(rows.X[inside]), rows.code[inside], weight=rows.weight[inside],
            init_score=rows.base[inside].ravel(order="F"), params=settings, free_raw_data=False,
        )  # fmt: skip
        self.booster = lightgbm.Booster(settings, data)

    def grow(self, at: NDArray) -> Floats:
        """Grow some more trees, and return the shifts of other rows."""
        for _ in range(_STEP):
            self.booster.update()
        if not len(at):
            return np.zeros((0, self._classes))
        return self.booster.predict(_columns(at), raw_score=True).reshape(len(at), self._classes)


def _columns(X: NDArray) -> NDArray[np.float64]:
    return np.ascontiguousarray(X, dtype=np.float64)
