"""Correct the probabilities of several classes by a global map, and locally where that is proven to help.

1. *Global map* (:mod:`miscal.calibration.global_map`): of identity, temperature and vector scaling, isotonic
   regression of each class and matrix scaling, the simplest that the others do not clearly beat out of fold.
2. *Ways*: shifts s(x) of the log-probabilities of all classes, each cross-fitted on top of the global map: linear in
   the inputs and the likeliest class, or by boosted trees. A row's probabilities are softmax(log p + s(x)), so they
   sum to 1.
3. *Stack*: softmax(log p + sum a_j s_j(x)) with a_j >= 0, fitted to the shifts out of fold. A global map flattens
   probabilities for what only the inputs tell. Where shifts tell it, a share of the map is taken back (log p moves that
   share of the way to the log-probabilities that were given), if this gains more than two paired standard errors.
4. *Choice*: of the ways and the stack, the one with the lowest log loss out of fold; and the global map alone, unless
   the gain over it exceeds two paired standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from miscal.base.errors import InputError
from miscal.base.folds import assign_folds, named_units
from miscal.calibration.global_map import (
    STANDARD_ERRORS,
    SimplexMap,
    class_log_losses,
    crossfit_simplex_map,
    log_probabilities,
    paired_gain,
)
from miscal.data.triples import InputLayout
from miscal.estimators.auto.member import CrossFitted
from miscal.estimators.simplex.shifts import (
    ClassRows,
    ClassShift,
    Floats,
    Ints,
    crossfit_linear,
    crossfit_trees,
)

METHODS = ("auto", "global")

_FOLDS, _FOLDS_OF_MANY, _MANY_ROWS = 5, 3, 20_000
"""Folds of the cross-fitting, as many as those of two classes or fewer where rows are many."""

_MOST_TREE_VALUES = 300_000
"""Rows times classes up to which trees are tried: each round grows a tree for every class."""

_STREAM = 23


@dataclass(frozen=True, eq=False)
class SimplexCorrection:
    """A fitted correction of the probabilities of K classes.

    Attributes
    ----------
    global_map : SimplexMap
    members : tuple of (float, ClassShift)
        Shifts that are added to the log-probabilities, with their weights; empty where the global map is all.
    chosen : str
        The way chosen, or ``"global map"``.
    gain, error : float
        By how much its log loss out of fold is below that of the global map, in nats, and the paired standard error.
    losses : dict of str to float
        Log loss out of fold of every candidate: global maps, ways and stack.
    settings : dict
        What was chosen for each way.
    taken_back : float in [0, 1]
        Which share of what the global map does to log-probabilities is undone beside the shifts.
    """

    global_map: SimplexMap
    members: tuple[tuple[float, ClassShift], ...]
    chosen: str
    gain: float
    error: float
    losses: dict[str, float]
    settings: dict[str, Any] = field(default_factory=dict)
    taken_back: float = 0.0

    @property
    def structure(self) -> bool:
        """Whether anything local is corrected."""
        return bool(self.members)

    @property
    def alone(self) -> Self:
        """The global map without anything local."""
        return replace(self, members=(), taken_back=0.0)

    def apply(self, X: NDArray, probability: Floats) -> Floats:
        """Correct probabilities.

        Takes X (n, d): inputs as numbers, as at the fit; probability (n, K): in [0, 1]. Returns (n, K) float64:
        Positive, rows sum to 1.
        """
        raw = log_probabilities(probability)
        base = self.global_map.apply(raw)
        shift = sum(weight * member.at(X, raw) for weight, member in self.members)
        found = np.exp(log_softmax(base + self.taken_back * (raw - base) + shift, axis=1))
        return found / found.sum(axis=1, keepdims=True)


def fit_simplex(
    X: NDArray | None,
    code: Ints,
    probability: Floats,
    *,
    folds: Ints | None = None,
    layout: InputLayout | None = None,
    weight: Floats | None = None,
    groups: NDArray | None = None,
    method: str = "auto",
    seed: int = 0,
) -> SimplexCorrection:
    """Fit the correction.

    Takes X (n, d): inputs as numbers; code (n,) int: place of each row's class among the columns of `probability`;
    probability (n, K): by a model that has not seen the row's class; folds (n,) int: by which everything is
    cross-fitted; layout: what the columns of X are; weight (n,): numbers of rows; groups (n,): rows of equal value
    stay in one fold; method: "auto" tries linear shifts and boosted trees.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, p = rng.normal(size=(600, 2)), np.full((600, 3), 1 / 3)
    >>> code = np.where(X[:, 0] > 0, rng.integers(0, 2, 600), rng.integers(1, 3, 600))
    >>> found = fit_simplex(X, code, p)
    >>> found.structure, found.apply(np.array([[2.0, 0.0]]), p[:1]).argmin()
    (True, np.int64(2))
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    weight = np.ones(len(code)) if weight is None else weight
    if folds is None:
        count = _FOLDS if len(code) <= _MANY_ROWS else _FOLDS_OF_MANY
        folds = assign_folds(named_units(len(code), groups), count, np.random.default_rng((seed, _STREAM)))
    raw = log_probabilities(probability)
    global_map, left_out, losses = crossfit_simplex_map(code, raw, folds, weight)
    tried: dict[str, CrossFitted] = {}
    if X is not None and method != "global":
        layout = layout or InputLayout(X.shape[1])
        # what is the same in every row is not learned from
        X = np.where(np.isin(np.arange(X.shape[1]), layout.moments), 0, X) if layout.moments else X
        rows = ClassRows(X, layout, code, left_out, raw, folds, weight, seed)
        tried = _ways(rows)
    losses = {f"global map: {name}": loss for name, loss in losses.items()}
    if not tried:
        return SimplexCorrection(global_map, (), "global map", 0.0, 0.0, losses)
    weights, taken_back, stacked = _stack(rows, [one.shift for one in tried.values()])
    candidates = {name: one.shift for name, one in tried.items()} | {"stack": stacked}
    by_row = {name: class_log_losses(code, log_softmax(rows.base + s, axis=1)) for name, s in candidates.items()}
    means = {name: float(np.average(values, weights=weight)) for name, values in by_row.items()}
    best = min(means, key=lambda name: means[name])
    gain, error = paired_gain(class_log_losses(code, rows.base), by_row[best], weight)
    members: tuple[tuple[float, Any], ...] = ()
    if gain > STANDARD_ERRORS * error:
        own = dict(zip(tried, weights.tolist(), strict=True)) if best == "stack" else {best: 1.0}
        members = tuple((a, tried[name].member) for name, a in own.items() if a > 0)
    settings = {name: one.settings for name, one in tried.items()}
    return SimplexCorrection(
        global_map, members, best if members else "global map", gain, error, losses | means, settings,
        taken_back if members and best == "stack" else 0.0,
    )  # fmt: skip


def _ways(rows: ClassRows) -> dict[str, CrossFitted]:
    found = {"linear": crossfit_linear(rows)}
    if rows.base.size <= _MOST_TREE_VALUES:
        found["trees"] = crossfit_trees(rows)
    return found


def _stack(rows: ClassRows, shifts: list[Floats]) -> tuple[Floats, float, Floats]:
    """Weights of shifts, the share of the global map that is taken back, and what they add up to out of fold.

    A share is taken back only where it gains more than two standard errors.
    """
    back = rows.raw - rows.base
    plain, more = _weights(rows, shifts, ()), _weights(rows, shifts, (back,))
    stacks = (plain, 0.0, _sum(plain, shifts)), (more[:-1], float(more[-1]), _sum(more, [*shifts, back]))
    before, after = (class_log_losses(rows.code, log_softmax(rows.base + shift, axis=1)) for *_, shift in stacks)
    gain, error = paired_gain(before, after, rows.weight)
    return stacks[gain > STANDARD_ERRORS * error]


def _sum(weights: Floats, shifts: Sequence[Floats]) -> Floats:
    return np.tensordot(weights, np.stack(shifts), 1)


def _weights(rows: ClassRows, ways: Sequence[Floats], shares: Sequence[Floats]) -> Floats:
    """Weights that minimise the log loss of the sum out of fold: of ways at least 0, of shares from 0 to 1."""
    shifts = np.stack([*ways, *shares])
    own = shifts[:, np.arange(len(rows)), rows.code]

    def loss(a: Floats) -> tuple[float, Floats]:
        fitted = log_softmax(rows.base + np.tensordot(a, shifts, 1), axis=1)
        expected = (np.exp(fitted) * shifts).sum(axis=2)
        value = -rows.weight @ fitted[np.arange(len(rows)), rows.code]
        return float(value) / len(rows), (expected - own) @ rows.weight / len(rows)

    start = np.concatenate([np.full(len(ways), 1 / len(ways)), np.zeros(len(shares))])
    bounds = [(0.0, None)] * len(ways) + [(0.0, 1.0)] * len(shares)
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
