"""The default estimator: a portfolio of logit shifts, stacked out of fold, read out in a learned geometry.

1. A global map g of the confidence: the simplest of identity, temperature and isotonic that the others do not beat
   by two paired standard errors. Its out-of-fold log-odds are the offset of everything that follows.
2. Scores: kernel logistic models over the inputs, alone and crossed with the confidence, boosted trees, and a shift
   for each k-means cluster.
3. Refined scores, where there are many columns and at least 2,000 rows: kernels over (stacked score, confidence,
   leading components).
4. The local shift: a learned linear geometry with a kernel readout. With few columns it joins the stack; with many it
   does so only if a first fold finds it worth its cost.
5. A non-negative stack of their out-of-fold shifts, or a first score alone where that beats a stack with refined ones.
   If the stack does not beat the global map beyond noise, no local structure is claimed and the global map is returned
   (:mod:`miscal.estimators.auto.evidence`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.base.folds import assign_folds
from miscal.calibration.calibrators import LOGIT_CLIP, logit
from miscal.calibration.global_map import CrossFittedMaps, crossfit_global_map
from miscal.estimators.auto.clusters import ClusterScore, crossfit_clusters
from miscal.estimators.auto.evidence import Evidence, gain_in_log_loss, weigh
from miscal.estimators.auto.inputs import FEW_COLUMNS, Inputs, fit_scaler
from miscal.estimators.auto.kernels import CrossFitted, KernelScore, KernelSpec, crossfit_kernel
from miscal.estimators.auto.local import LocalShift, fit_local
from miscal.estimators.auto.model import (
    CLUSTERS,
    LOCAL,
    TREES,
    AutoModel,
    Candidate,
    Scores,
    beside_components,
    refined_columns,
)
from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.auto.stack import stack_out_of_fold, stack_weights
from miscal.estimators.auto.support import find_support
from miscal.estimators.auto.trees import TreeScore, crossfit_trees, tree_columns

Array = NDArray[np.floating]

_LANDMARKS = 500
_LEAST_TREE_ROWS = 300
# fewer rows do not carry a second stage of scores
_LEAST_REFINED_ROWS = 2_000
# seeds of the geometry fitted on all rows, of the clusters and of the support; folds use 0, 1, ...
_FINAL, _CENTRES, _SUPPORT = 99, 98, 97
# a wide place starts from a fitted score and has less far to go
_FOLD_STEPS, _FINAL_STEPS = 40, 60

_MANY = (
    KernelSpec("kernel of x, narrow", 0.7),
    KernelSpec("kernel of x, wide", 1.4),
    KernelSpec("kernel of x and confidence, narrow", 0.7, "level"),
    KernelSpec("kernel of x and confidence, wide", 1.4, "rank"),
)
# with few rows the global map is noisy, and a score that does without it is worth having
_MANY_COLUMNS_FEW_ROWS = (*_MANY, KernelSpec("kernel of x from the raw confidence, wide", 1.4, "line", from_raw=True))
_FEW = (
    KernelSpec("kernel of x, narrow", 0.2),
    KernelSpec("kernel of x, middle", 0.4),
    KernelSpec("kernel of x, wide", 0.8),
    KernelSpec("kernel of x and confidence", 0.6, "level"),
)
_REFINED = (
    KernelSpec("refined kernel, confidence level", 0.7, "joint"),
    KernelSpec("refined kernel, confidence rank", 0.7, "joint"),
)


def inner_folds(n: int) -> int:
    """Count the folds of the cross-fitting: 5 up to 50,000 rows, then 3."""
    return 5 if n <= 50_000 else 3


def _candidate(name, y, log_odds, weight, *, chosen=False, settings=None) -> Candidate:
    p = np.clip(expit(log_odds), LOGIT_CLIP, 1 - LOGIT_CLIP)
    loss = np.average(negative_log_likelihood(y, logit(p)), weights=weight)
    proxy = np.average((y - p) ** 2, weights=weight)
    return Candidate(name, float(loss), float(proxy), None, chosen, settings or {})


@dataclass(frozen=True)
class _Rows:
    """What every stage learns from.

    `offset`: out-of-fold log-odds of the global map; `raw`: log-odds of the confidences; `groups`: rows with the same
    number are of one fold; `landmarks`: row numbers.
    """

    inputs: Inputs
    y: Array
    offset: Array
    raw: Array
    groups: NDArray[np.integer]
    folds: NDArray[np.integer]
    landmarks: NDArray[np.integer]
    weight: Array | None
    seed: int

    @property
    def few_columns(self) -> bool:
        return self.inputs.x.shape[1] <= FEW_COLUMNS

    @property
    def few_rows(self) -> bool:
        return len(self.y) < _LEAST_REFINED_ROWS

    def crossfit(self, spec: KernelSpec, columns: Array) -> CrossFitted:
        """Fit a kernel score; its out-of-fold shift is told from the global map's log-odds, wherever it starts."""
        start = self.raw if spec.from_raw else self.offset
        found = crossfit_kernel(spec, columns, self.y, start, self.folds, self.landmarks, self.weight)
        return replace(found, shift=start - self.offset + found.shift)

    def stacked(self, shifts: Array, prior: Array | None = None) -> NDArray[np.float64]:
        """Stack shifts out of fold, (n,)."""
        return stack_out_of_fold(shifts, self.y, self.offset, self.folds, self.weight, prior)

    def weights(self, shifts: Array, prior: Array | None = None) -> NDArray[np.float64]:
        """Weights of the stack on all rows, (k,)."""
        return stack_weights(shifts, self.y, self.offset, self.weight, prior)

    def candidate(self, name: str, shift: Array, **told) -> Candidate:
        """Make the row of a shift in the table of candidates."""
        return _candidate(name, self.y, self.offset + shift, self.weight, **told)


def fit_auto(
    X: Array,
    y: Array,
    confidence: Array,
    *,
    groups: NDArray[np.integer],
    weight: Array | None = None,
    seed: int = 0,
) -> AutoModel:
    """Fit the default estimator.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,), 0 or 1
    confidence : ndarray of shape (n,), in [0, 1]
    groups : ndarray of shape (n,), int
        Rows with the same number (equal inputs, say) stay in one fold.
    weight : ndarray of shape (n,), optional
    seed : int, default 0

    Returns
    -------
    AutoModel
    """
    rng = np.random.default_rng(seed)
    folds = assign_folds(groups, inner_folds(len(y)), rng)
    maps = crossfit_global_map(y, confidence, folds, weight)
    scaler = fit_scaler(X, confidence, rng)
    landmarks = np.sort(rng.choice(len(y), min(_LANDMARKS, len(y)), replace=False))
    rows = _Rows(
        scaler(X, confidence), y, maps.log_odds[maps.chosen], logit(confidence), groups, folds, landmarks, weight, seed
    )

    members = _first_members(rows)
    shifts = _columns(m.shift for m in members.values())
    first = rows.stacked(shifts)
    shift_scale = max(float(first.std()), 1e-3)
    refined = _refined_members(rows, first / shift_scale)
    parts = _columns([first, *(m.shift for m in refined.values())])
    place = _place(rows, members)
    bases = _bases(rows)
    from_raw, local_shift = _local_out_of_fold(rows, place.rows, bases, parts)
    if local_shift is not None:
        parts = np.concatenate([parts, local_shift[:, None]], 1)
    evidence = _evidence(rows, parts, len(refined))
    steps = _FINAL_STEPS if rows.few_columns else _FOLD_STEPS
    local = _fit_local(rows, place.rows, bases[from_raw], np.full(len(y), True), _FINAL, steps)
    ridge = None if local_shift is None else local.ridge
    combined = _combine(rows, members, refined, parts, ridge=ridge, structure=evidence.structure)
    scores = Scores(
        kernels=tuple(m.score for m in members.values() if isinstance(m.score, KernelScore)),
        trees=next((m.score for m in members.values() if isinstance(m.score, TreeScore)), None),
        clusters=next(m.score for m in members.values() if isinstance(m.score, ClusterScore)),
        first_weights=combined.first,
        shift_scale=shift_scale,
        refined=tuple(m.score for m in refined.values()),
        final_weights=combined.final,
        local_in_stack=local_shift is not None,
        local_from_raw=from_raw,
    )
    return AutoModel(
        global_map=maps.map,
        scaler=scaler,
        place_score=place.score,
        place_scale=place.scale,
        local=local,
        scores=scores if evidence.structure else None,
        support=find_support(rows.inputs.x, landmarks, np.random.default_rng((seed, _SUPPORT))),
        candidates=(*_global_candidates(maps, y, weight), *combined.candidates),
        evidence=evidence,
    )


def _global_candidates(maps: CrossFittedMaps, y: Array, weight: Array | None) -> list[Candidate]:
    return [_candidate(f"global map: {k}", y, v, weight, chosen=k == maps.chosen) for k, v in maps.log_odds.items()]


def _columns(shifts: Iterable[Array]) -> NDArray[np.float64]:
    return np.stack(list(shifts), 1)


def _first_members(rows: _Rows) -> dict[str, CrossFitted]:
    specs = _FEW if rows.few_columns else _MANY_COLUMNS_FEW_ROWS if rows.few_rows else _MANY
    members = {spec.name: rows.crossfit(spec, spec.columns(rows.inputs)) for spec in specs}
    if len(rows.y) >= _LEAST_TREE_ROWS:
        columns = tree_columns(rows.inputs)
        members[TREES] = crossfit_trees(columns, rows.y, rows.offset, rows.folds, rows.seed, rows.weight)
    rng = np.random.default_rng((rows.seed, _CENTRES))
    members[CLUSTERS] = crossfit_clusters(
        rows.inputs.components, rows.y, rows.offset, rows.raw, rows.folds, rng, rows.weight
    )
    return members


def _refined_members(rows: _Rows, first: Array) -> dict[str, CrossFitted]:
    # With few columns the local shift does this work, and better: rows lie so dense that the first stack's
    # out-of-fold values tell a refined kernel about the labels around them.
    if rows.few_columns or rows.few_rows:
        return {}
    columns = refined_columns(rows.inputs, first)
    return {spec.name: rows.crossfit(spec, c) for spec, c in zip(_REFINED, columns, strict=True)}


@dataclass(frozen=True)
class _Place:
    """Inputs of the learned geometry: with many columns, a score of x alone (of unit size) before the components."""

    rows: NDArray[np.float32]
    score: KernelScore | None = None
    scale: float = 1.0


def _place(rows: _Rows, members: dict[str, CrossFitted]) -> _Place:
    if rows.few_columns:
        return _Place(rows.inputs.x)
    member = members[_MANY[1].name]
    scale = max(float(member.shift.std()), 1e-3)
    return _Place(beside_components(member.shift / scale, rows.inputs), member.score, scale)


def _bases(rows: _Rows) -> dict[bool, Array]:
    """Log-odds that the local shift may start from, by whether they are the raw confidence's."""
    if not rows.few_columns or np.array_equal(rows.raw, rows.offset):
        return {False: rows.offset}
    return {False: rows.offset, True: rows.raw}


def _prior(n_parts: int, n_refined: int) -> NDArray[np.float64]:
    """Weights that those of the last stack are drawn to: refined kernels stand on the first stack, and must earn it."""
    share = np.full(n_parts, 1 / (n_parts - n_refined))
    share[1 : 1 + n_refined] = 0
    return share


def _evidence(rows: _Rows, parts: Array, n_refined: int) -> Evidence:
    """Weigh the stack against the global map.

    The refined kernels stand on values that have seen other folds' labels: they do not vote on the claim.
    """
    voting = np.delete(parts, np.arange(1, 1 + n_refined), axis=1)
    return weigh(rows.y, rows.offset, rows.stacked(voting), rows.raw, rows.folds, rows.weight)


@dataclass(frozen=True)
class _Combined:
    """Weights of the first and the final stack, and the table of what was combined, the stack last."""

    first: NDArray[np.float64]
    final: NDArray[np.float64]
    candidates: tuple[Candidate, ...]


def _combine(
    rows: _Rows,
    members: dict[str, CrossFitted],
    refined: dict[str, CrossFitted],
    parts: Array,
    *,
    ridge: float | None,
    structure: bool,
) -> _Combined:
    """Weigh the parts (first stack, refined..., the local shift if it has a `ridge`), or return a first score alone."""
    prior = _prior(parts.shape[1], len(refined))
    table = [rows.candidate(name, m.shift, settings=m.settings) for name, m in (members | refined).items()]
    if ridge is not None:
        table.append(rows.candidate(LOCAL, parts[:, -1], settings={"ridge": ridge}))
    stack = rows.candidate("stack", rows.stacked(parts, prior))
    best = int(np.argmin([c.log_loss for c in table[: len(members)]]))
    # Refined kernels stand on values that have seen other folds' labels: their stack's loss is flattered, and what is
    # better all the same is better. A stack without them evens out what its members err by, and is kept.
    alone = bool(refined) and table[best].log_loss < stack.log_loss
    if alone:
        first, final = np.eye(len(members))[best], np.eye(parts.shape[1])[0]
    else:
        first, final = rows.weights(_columns(m.shift for m in members.values())), rows.weights(parts, prior)
    shares = [*final[0] * first, *final[1:]]
    weighed = [
        replace(c, weight=float(share), chosen=bool(structure and share > 0))
        for c, share in zip(table, shares, strict=True)
    ]
    return _Combined(first, final, (*weighed, replace(stack, chosen=structure and not alone)))


def _fit_local(rows: _Rows, place: Array, base: Array, kept: NDArray[np.bool_], stream: int, steps: int) -> LocalShift:
    # a wide place has its signal in the score: fewer rows tell starts apart
    loo_rows = 10_000 if rows.few_columns else 3_000
    weight = None if rows.weight is None else rows.weight[kept]
    rng = np.random.default_rng((rows.seed, stream))
    told = {"weight": weight, "groups": rows.groups[kept], "steps": steps, "loo_rows": loo_rows}
    return fit_local(place[kept], rows.y[kept], base[kept], rng=rng, **told)


def _local_out_of_fold(
    rows: _Rows, place: Array, bases: dict[bool, Array], parts: Array
) -> tuple[bool, NDArray[np.float64] | None]:
    """Out-of-fold local shift over ``bases[False]``, and whether it starts from the raw confidence.

    The first fold chooses the start; with many columns it also drops the local shift where that adds nothing to the
    other parts.
    """
    y, offset, folds = rows.y, rows.offset, rows.folds

    def held_out(k: int, from_raw: bool) -> NDArray[np.float64]:
        inside, base = folds == k, bases[from_raw]
        local = _fit_local(rows, place, base, ~inside, int(k), _FOLD_STEPS)
        return base[inside] - offset[inside] + local.read(place[inside]).shift

    first = folds == 0
    trials = {raw: held_out(0, raw) for raw in bases}
    weight = None if rows.weight is None else rows.weight[first]
    losses = {raw: negative_log_likelihood(y[first], offset[first] + trial) for raw, trial in trials.items()}
    from_raw = min(trials, key=lambda raw: np.average(losses[raw], weights=weight))
    if not rows.few_columns and not _worth_adding(rows, parts, first, trials[from_raw]):
        return from_raw, None
    shift = np.zeros(len(y))
    shift[first] = trials[from_raw]
    for k in np.unique(folds)[1:]:
        shift[folds == k] = held_out(k, from_raw)
    return from_raw, shift


def _worth_adding(rows: _Rows, parts: Array, first: NDArray[np.bool_], trial: Array) -> bool:
    """Whether a fifth of the local shift improves the other parts' stack on the first fold by a standard error."""
    weight = None if rows.weight is None else rows.weight[~first]
    others = parts[first] @ stack_weights(parts[~first], rows.y[~first], rows.offset[~first], weight)
    base = rows.offset[first]
    judged = None if rows.weight is None else rows.weight[first]
    gain, error = gain_in_log_loss(rows.y[first], base + others, base + 0.8 * others + 0.2 * trial, judged)
    return gain >= error
