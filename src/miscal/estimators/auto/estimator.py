"""The default estimator: a portfolio of logit shifts, stacked out of fold, read out in a learned geometry.

1. A global map g of the confidence: the simplest of identity, shift, Platt and isotonic that the others do not beat
   (:mod:`miscal.calibration.global_map`). Its out-of-fold log-odds are the offset of everything that follows.
2. Scores: kernel logistic models over the inputs, alone and crossed with the confidence, boosted trees, and a shift
   for each k-means cluster; of columns with levels, shifts of all levels, shifts and slopes of the groups that stand
   out, and trees that see the columns alone (a table of 2,000 rows with levels does without crossed kernels, trees of
   all inputs and shifts of all levels); of eight columns or more, steps and slopes of the few that matter.
3. Refined scores, where there are many columns, none of them with levels, and at least 2,000 rows: kernels over
   (stacked score, confidence, leading components).
4. The local shift: a learned linear geometry with a kernel readout. With few columns it joins the stack; with many it
   does so only if a first fold finds it worth its cost.
5. A non-negative stack of their out-of-fold shifts, or a first score alone where that beats a stack with refined ones;
   and, beside it, pairs of levels that stand out beyond chance.
   If the stack does not beat the global map beyond noise, no local structure is claimed and the global map is returned
   (:mod:`miscal.estimators.auto.stack`). If it does, its shift is taken the more wholly the more units have the
   rarer outcome.

The order of the scores is that of :mod:`miscal.estimators.auto.model`, every constant is one of
:mod:`miscal.estimators.auto.settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.base.checks import drawn_seed
from miscal.base.errors import InputError
from miscal.base.folds import assign_folds
from miscal.base.process import one_thread
from miscal.calibration.calibrators import LOGIT_CLIP, Calibrator, logit
from miscal.calibration.global_map import crossfit_global_map
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.estimators.auto.clusters import find_centres
from miscal.estimators.auto.geometry import LOCAL, crossfit_local
from miscal.estimators.auto.inputs import Scaler, find_support, fit_scaler
from miscal.estimators.auto.kernels import WIDE, refined_scores
from miscal.estimators.auto.levels import GROUPS, PAIRS, settle_pairs
from miscal.estimators.auto.member import CrossFitted, LearningRows, Query, negative_log_likelihood
from miscal.estimators.auto.model import (
    EARNING,
    FIRST_STACK,
    AutoModel,
    Portfolio,
    beside_components,
    columns,
    crossfit_first,
    first_prior,
    shifts_of,
    weighted,
)
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.auto.stack import stack_out_of_fold, stack_weights, weigh
from miscal.estimators.registry import Correction, Estimator, FieldEstimate, Unlike

# stream of the rows and starts
_STREAM = 98


Shared = tuple[Scaler, tuple[NDArray[np.float32], ...]]
"""Scaling of inputs, and the centres (k, q) of partitions into more and more clusters, in the leading components."""


def learn_shared(rows: Triples, seed: int) -> Shared:
    """Learn scaling and clusters of inputs once for all fits of a run.

    The fits without a fold use them, too, though the rows left out had a part in them. Their estimates are honest all
    the same, as no outcome enters here: given inputs and confidences, everything here is fixed, and what the fits learn
    of outcomes they learn from their own rows alone.

    Takes rows: all of positive weight and in canonical order.
    """
    rng = np.random.default_rng((seed, _STREAM))
    scaler = fit_scaler(rows.X, rows.confidence, rng, rows.layout)
    n = len(rows)
    some = np.arange(n) if n <= AUTO.centre_rows else np.sort(rng.choice(n, AUTO.centre_rows, replace=False))
    places = scaler(rows.X[some], rows.confidence[some]).components
    return scaler, tuple(find_centres(places, AUTO.n_clusters, int(rng.integers(2**31))))


Array = NDArray[np.floating]
Shifts = dict[str, Array]
Weights = dict[str, float]

# stream of the rows that the support must cover; folds use 0, 1, ...
_SUPPORT = 97


def inner_folds(units: NDArray[np.integer]) -> int:
    """Count the folds of the cross-fitting: 5 up to 10,000 units, then 3."""
    return AUTO.n_folds if len(np.unique(units)) <= AUTO.many_units else AUTO.n_folds_of_many


def fit_auto(rows: Triples, *, seed: int = 0, shared: Shared | None = None) -> AutoModel:
    """Fit the default estimator.

    Takes rows: all of positive weight, at least 20; shared: what several fits learn of the inputs but once.
    """
    scaler, centres = shared or learn_shared(rows, seed)
    # one stream: the order of its draws (folds, landmarks) is part of what a seed means
    rng = np.random.default_rng(seed)
    groups = rows.units
    folds = assign_folds(groups, inner_folds(groups), rng)
    chosen, log_odds = crossfit_global_map(rows.correct, rows.confidence, folds, rows.weight)
    landmarks = np.sort(rng.choice(len(rows), min(AUTO.landmarks, len(rows)), replace=False))
    at = Query(scaler(rows.X, rows.confidence), log_odds[chosen.name], logit(rows.confidence))
    table = rows.layout is not None and rows.layout.table
    learning = LearningRows(at, rows.correct, groups, folds, landmarks, rows.weight, seed, table, centres)

    first, first_shift = _first_stack(learning)
    # refined kernels measure distances in this unit; a first stack that is all but flat must not be blown up to noise
    scale = max(float(first_shift.std()), 1e-3)
    refining = replace(learning, at=replace(at, first=first_shift / scale))
    later = {name: fit(refining) for name, fit in refined_scores(learning).items()}
    parts: Shifts = {FIRST_STACK: first_shift, **shifts_of(later)}
    wide, wide_scale, place = None, 1.0, at.inputs.x
    if not learning.few_columns:
        wide, wide_scale = first[WIDE].member, max(float(first[WIDE].shift.std()), 1e-3)
        # rows learned from are placed by their score out of fold
        place = beside_components(first[WIDE].shift / wide_scale, at.inputs)
    local, geometry = crossfit_local(learning, place, columns(parts))
    if local is not None:
        later[LOCAL], parts[LOCAL] = local, local.shift
    # the refined kernels stand on values that have seen other folds' labels: they do not vote on the claim
    voting = columns({name: shift for name, shift in parts.items() if name in (FIRST_STACK, LOCAL)})
    evidence = weigh(rows.correct, at.offset, _stacked(learning, voting), at.raw, folds, rows.weight)
    portfolio, candidates = _combine(learning, first, scale, later, parts, structure=evidence.structure)
    told = [
        _candidate(learning, f"global map: {name}", odds - at.offset, chosen=name == chosen.name)
        for name, odds in log_odds.items()
    ]
    return AutoModel(
        global_map=chosen,
        scaler=scaler,
        wide=wide,
        wide_scale=wide_scale,
        # kept even where no structure is claimed, since it gives every row its place, mass and neighbours
        local=geometry,
        portfolio=portfolio,
        support=find_support(at.inputs.x, landmarks, np.random.default_rng((seed, _SUPPORT))),
        candidates=(*told, *candidates),
        evidence=replace(evidence, pairs=portfolio.weighs(PAIRS)),
    )


def _first_stack(rows: LearningRows) -> tuple[dict[str, CrossFitted], Array]:
    """Cross-fit the scores of the first stack, and stack them, (n,)."""
    members = crossfit_first(rows)
    first = _stacked(rows, columns(shifts_of(members)), first_prior(members))
    others = {name: score for name, score in members.items() if name not in EARNING}
    if len(others) < len(members):
        alone = _stacked(rows, columns(shifts_of(others)), first_prior(others))
        # a score that does not improve the stack of the others would only make it noisier
        if _loss(rows, alone) <= _loss(rows, first):
            return others, alone
    return members, first


def _loss(rows: LearningRows, shift: Array) -> float:
    """Mean log loss of the offset with a shift."""
    return float(np.average(negative_log_likelihood(rows.correct, rows.at.offset + shift), weights=rows.weight))


def _stacked(rows: LearningRows, shifts: Array, prior: Array | None = None) -> NDArray[np.float64]:
    """Stack shifts (n, k) out of fold, (n,)."""
    return stack_out_of_fold(shifts, rows.correct, rows.at.offset, rows.folds, rows.weight, prior)


def _combine(
    rows: LearningRows,
    first: dict[str, CrossFitted],
    first_scale: float,
    later: dict[str, CrossFitted],
    parts: Shifts,
    *,
    structure: bool,
) -> tuple[Portfolio, list[dict[str, Any]]]:
    """Weigh the parts of the last stack, or a first score alone; and list what was combined, the stack last."""
    scores = first | later
    table = {name: _candidate(rows, name, score.shift, settings=score.settings) for name, score in scores.items()}
    # refined kernels stand on the first stack, and must earn their weight
    prior = np.array([float(name in (FIRST_STACK, LOCAL)) for name in parts])
    prior /= prior.sum()
    stack = _candidate(rows, "stack", _stacked(rows, columns(parts), prior))
    best = min(first, key=lambda name: table[name]["log_loss"])
    # Refined kernels stand on values that have seen other folds' labels: their stack's loss is flattered, and what is
    # better all the same is better. A stack without them evens out what its members err by, and is kept.
    alone = bool(later.keys() - {LOCAL}) and table[best]["log_loss"] < stack["log_loss"]
    if alone:
        weights, final = _only(best, first), _only(FIRST_STACK, parts)
    else:
        weights = _weights(rows, shifts_of(first), first_prior(first))
        final = _weights(rows, parts, prior)
    final = {name: _trust(rows) * w for name, w in final.items()}
    # a first score counts by way of the first stack: its weight in it, times that of the stack
    share = {name: final[FIRST_STACK] * w for name, w in weights.items()} | final
    members, others = ({name: score.member for name, score in own.items()} for own in (first, later))
    groups = members.get(GROUPS)
    if groups is not None and (pairs := settle_pairs(rows, groups, weighted(shifts_of(scores), share))).effects:
        others[PAIRS], final[PAIRS], structure = pairs, 1.0, True
    weighed = [
        row | {"weight": float(share[name]), "chosen": bool(structure and share[name] > 0)}
        for name, row in table.items()
    ]
    portfolio = Portfolio(members, weights, first_scale, others, final)
    return portfolio, [*weighed, stack | {"chosen": structure and not alone}]


def _trust(rows: LearningRows) -> float:
    """Share of the stacked shift that is kept: its size is known by the units of the rarer outcome alone."""
    rarer = min(len(np.unique(rows.groups[rows.correct == y])) for y in (0, 1))
    return rarer / (rarer + AUTO.trusted_outcomes)


def _only(name: str, names: Mapping[str, Any]) -> Weights:
    return {other: float(other == name) for other in names}


def _weights(rows: LearningRows, shifts: Shifts, prior: Array | None = None) -> Weights:
    """Weights of a stack on all rows, by name."""
    found = stack_weights(columns(shifts), rows.correct, rows.at.offset, rows.weight, prior)
    return dict(zip(shifts, found.tolist(), strict=True))


def _candidate(
    rows: LearningRows, name: str, shift: Array, *, chosen: bool = False, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Make the row of a shift in the table of candidates."""
    # the clip that the log loss of every method has
    p = np.clip(expit(rows.at.offset + shift), LOGIT_CLIP, 1 - LOGIT_CLIP)
    loss = np.average(negative_log_likelihood(rows.correct, logit(p)), weights=rows.weight)
    proxy = np.average((rows.correct - p) ** 2, weights=rows.weight)
    scores = {"log_loss": float(loss), "proxy": float(proxy), "weight": None}
    return {"name": name, **scores, "chosen": chosen, **(settings or {})}


def _weighing(rows: Triples, known: NDArray[np.int64] | None = None) -> Triples:
    """Rows of positive weight in canonical order: others would still take places among folds, landmarks and bank.

    Takes known: numbers of these rows and maybe others in that order, which is not looked for again.
    """
    kept = np.arange(len(rows)) if rows.weight is None else np.flatnonzero(rows.weight > 0)
    if len(kept) < AUTO.least_rows:
        raise InputError(f"too few rows: got {len(kept)} of positive weight; at least {AUTO.least_rows} are needed")
    if known is not None:
        by_number = np.argsort(known)
        place = by_number[np.searchsorted(known, rows.row[kept], sorter=by_number)]
        return rows.take(kept[np.argsort(place, kind="stable")])
    return in_canonical_order(rows if len(kept) == len(rows) else rows.take(kept))[0]


class AutoField(Estimator):
    """Portfolio of logit shifts with a local readout; see :mod:`miscal.estimators.auto.estimator`.

    Every method computes on one thread, so that no number depends on how many there are, and none waits for another.

    Parameters
    ----------
    random_state : int or numpy.random.Generator, default 0
    n_jobs : int, optional
        Part of the protocol; a fit is one process whatever it says.

    Attributes
    ----------
    model_ : AutoModel
    rows_ : int64 array
        The rows of positive weight.
    selection_ : list of dict
        Candidates with out-of-fold `log_loss`, `proxy`, stack `weight`, `chosen`.
    global_map_ : Calibrator
    structure_ : bool
        Whether local structure is claimed, by the out-of-fold evidence of the stack against the global map.
    settings_ : dict
        That evidence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
    >>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = AutoField().fit(Triples.of(X, confidence=f, correct=y))
    >>> np.sign(field.estimate(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5])).delta)
    array([-1.,  1.])
    """

    most_rows_in_threads: ClassVar[int] = AUTO.most_rows_in_threads
    model_: AutoModel
    rows_: NDArray[np.int64]

    def __init__(self, *, random_state: int | np.random.Generator = 0, n_jobs: int | None = None) -> None:
        super().__init__(random_state=random_state, n_jobs=n_jobs)
        self._shared: Shared | None = None
        self._order: NDArray[np.int64] | None = None

    @one_thread()
    def share_inputs(self, rows: Triples) -> AutoField:
        """Return a copy for fits to parts of rows, with what depends on inputs and confidences of all of them alone.

        No outcome enters it, so a fit without some rows has not seen their outcomes by it.
        """
        field = copy(self)
        rows = _weighing(rows)
        field._shared = learn_shared(rows, drawn_seed(self.random_state))
        field._order = rows.row
        return field

    @one_thread()
    def fit(self, rows: Triples) -> AutoField:
        """Fit on all rows given; their split is not looked at: every choice is cross-fitted.

        Returns: AutoField: self.
        """
        rows = _weighing(rows, self._order)
        self.rows_ = rows.row
        self.model_ = fit_auto(rows, seed=drawn_seed(self.random_state), shared=self._shared)
        return self

    @property
    def global_map_(self) -> Calibrator:
        """The global map, of all rows."""
        return self.model_.global_map

    @property
    def structure_(self) -> bool:
        """Whether local structure is claimed."""
        return self.model_.structure

    @property
    def settings_(self) -> dict[str, Any]:
        """The evidence for it."""
        return dict(vars(self.model_.evidence))

    @property
    def selection_(self) -> list[dict[str, Any]]:
        """The candidates."""
        return list(map(dict, self.model_.candidates))

    def for_folds(self) -> AutoField:
        """Return the estimator of a fold: every choice is made again, of the inputs that are shared."""
        field = super().for_folds()
        field._shared, field._order = self._shared, self._order
        return field

    @one_thread()
    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> FieldEstimate:
        """Estimate the field.

        Takes X (n, d); confidence (n,). Returns: FieldEstimate: `corrected` = confidence + `delta`, in [0, 1].
        """
        return self.model_.estimate(X, confidence)

    @one_thread()
    def correct(self, X: np.ndarray, confidence: np.ndarray) -> Correction:
        """Correct confidences, as :meth:`estimate` does within 1e-4, without what has no weight in the answer.

        Takes X (n, d); confidence (n,).
        """
        return self.model_.correct(X, confidence)

    def unlike(self, X: np.ndarray) -> Unlike:
        """Say how new rows differ from those learned from, column by column."""
        return Unlike(*self.model_.far_values(X))

    def spread(self, column: int) -> tuple[float, float]:
        """Mean and standard deviation of a column of X among the rows learned from; 0 where it was constant."""
        inverse = float(self.model_.scaler.inverse_sd[column])
        return float(self.model_.scaler.mean[column]), 1 / inverse if inverse else 0.0

    @one_thread()
    def transform(self, X: np.ndarray) -> np.ndarray:
        """Place rows in the learned geometry, float64 (n, k); inputs miscalibrated alike lie close."""
        return self.model_.local.coordinates(self.model_.placed(X)).astype(np.float64)

    @one_thread()
    def mass(self, X: np.ndarray) -> np.ndarray:
        """Sum of kernel weights at each row, float64 (n,)."""
        return self.model_.local.read(self.model_.placed(X)).mass

    @one_thread()
    def neighbours(self, X: np.ndarray, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Training rows that weigh most at each row: row numbers (q, n) and kernel weights (q, n)."""
        rows, weights = self.model_.local.nearest(self.model_.placed(X), n)
        # the model counts rows of positive weight, the caller all rows given
        return self.rows_[rows], weights
