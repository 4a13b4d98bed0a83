"""The default estimator: a portfolio of logit shifts, stacked out of fold, read out in a learned geometry.

1. A global map g of the confidence: the simplest of identity, temperature and isotonic that the others do not beat
   by two paired standard errors. Its out-of-fold log-odds are the offset of everything that follows.
2. Scores: kernel logistic models over the inputs, alone and crossed with the confidence, and boosted trees.
3. Refined scores, where there are many columns and at least 2,000 rows: kernels over (stacked score, confidence,
   leading components).
4. The local shift: a learned linear geometry with a kernel readout. With few columns it joins the stack; with many it
   does so only if a first fold finds it worth its cost.
5. A non-negative stack of their out-of-fold shifts. If it does not beat the global map by two paired standard errors
   out of fold, no local structure is claimed and the global map is returned.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.auto.inputs import FEW_COLUMNS, fit_scaler
from miscal.auto.kernels import CrossFitted, KernelScore, KernelSpec, crossfit_kernel
from miscal.auto.local import LocalShift, fit_local
from miscal.auto.model import AutoModel, Candidate, Scores, beside_components, refined_columns
from miscal.auto.ridge import negative_log_likelihood
from miscal.auto.stack import stack_out_of_fold, stack_weights
from miscal.auto.trees import TreeScore, crossfit_trees, tree_columns
from miscal.calibrators import CALIBRATORS, LOGIT_CLIP, logit

Array = NDArray[np.floating]

GLOBAL_MAPS = ("identity", "temperature", "isotonic")
_STANDARD_ERRORS = 2.0
_LANDMARKS = 500
_LEAST_TREE_ROWS = 300
# fewer rows do not carry a second stage of scores
_LEAST_REFINED_ROWS = 2_000
# seed of the geometry fitted on all rows; folds use 0, 1, ...
_FINAL = 99
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


def _widest_gap(landmarks: Array) -> float:
    """Largest distance of a landmark from its nearest other landmark."""
    square = (landmarks**2).sum(1)
    distance = square[:, None] + square - 2 * landmarks @ landmarks.T
    np.fill_diagonal(distance, np.inf)
    return float(np.sqrt(max(distance.min(1).max(), 0)))


def assign_folds(groups: NDArray[np.integer], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Folds that keep equal groups together, as even as a random deal of groups makes them.

    Where that leaves too little to learn from (fewer groups than folds, or one group over a fifth of the rows), rows
    are dealt one by one.

    Parameters
    ----------
    groups : ndarray of shape (n,), int
        Rows with the same number stay together.
    n_folds : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n,), int64, in 0..n_folds - 1

    Examples
    --------
    >>> import numpy as np
    >>> folds = assign_folds(np.repeat(np.arange(10), 2), 2, np.random.default_rng(0))
    >>> bool((folds[::2] == folds[1::2]).all())
    True
    """
    _, number, size = np.unique(groups, return_inverse=True, return_counts=True)
    if len(size) < 2 * n_folds or size.max() > len(groups) / 5:
        number = np.arange(len(groups))
    deal = rng.permutation(number.max() + 1) % n_folds
    return deal[number].astype(np.int64)


def inner_folds(n: int) -> int:
    """Count the folds of the cross-fitting: 5 up to 50,000 rows, then 3."""
    return 5 if n <= 50_000 else 3


def choose_global_map(
    confidence: Array, y: Array, folds: NDArray[np.integer], weight: Array | None
) -> tuple[object, NDArray[np.float64], list[Candidate]]:
    """Choose and fit the global map; return it, its out-of-fold log-odds and the table rows.

    Parameters
    ----------
    confidence, y : ndarray of shape (n,)
    folds : ndarray of shape (n,), int
    weight : ndarray of shape (n,), optional

    Returns
    -------
    map : calibrator
    offset : ndarray of shape (n,)
    table : list of Candidate
    """
    logits = {name: np.zeros(len(y)) for name in GLOBAL_MAPS}
    for k in np.unique(folds):
        inside, rest = folds == k, folds != k
        w = None if weight is None else weight[rest]
        for name in GLOBAL_MAPS:
            fitted = CALIBRATORS[name]().fit(confidence[rest], y[rest], sample_weight=w)
            logits[name][inside] = logit(fitted.predict(confidence[inside]))
    chosen = GLOBAL_MAPS[0]
    for name in GLOBAL_MAPS[1:]:
        gain, error = paired_gain(y, logits[chosen], logits[name], weight)
        if gain > _STANDARD_ERRORS * error:
            chosen = name
    table = [_candidate(f"global map: {k}", y, v, weight, chosen=k == chosen) for k, v in logits.items()]
    return CALIBRATORS[chosen]().fit(confidence, y, sample_weight=weight), logits[chosen], table


def paired_gain(y: Array, before: Array, after: Array, weight: Array | None = None) -> tuple[float, float]:
    """Mean log loss of `before` minus that of `after` (log-odds), and its standard error.

    Parameters
    ----------
    y : ndarray of shape (n,), 0 or 1
    before, after : ndarray of shape (n,)
        Log-odds.
    weight : ndarray of shape (n,), optional

    Returns
    -------
    gain, error : float
        In nats; a positive gain says that `after` is better.

    Examples
    --------
    >>> import numpy as np
    >>> paired_gain(np.array([1.0, 0.0]), np.zeros(2), np.zeros(2))
    (0.0, 0.0)
    """
    difference = negative_log_likelihood(y, before) - negative_log_likelihood(y, after)
    w = np.ones(len(y)) if weight is None else weight
    gain = float(np.average(difference, weights=w))
    error = float(np.sqrt(np.sum(w * (difference - gain) ** 2) / np.sum(w) / max(np.sum(w) - 1, 1)))
    return gain, error


def _candidate(name, y, log_odds, weight, *, chosen=False, share=None, settings=None) -> Candidate:
    p = np.clip(expit(log_odds), LOGIT_CLIP, 1 - LOGIT_CLIP)
    loss = np.average(negative_log_likelihood(y, logit(p)), weights=weight)
    proxy = np.average((y - p) ** 2, weights=weight)
    return Candidate(name, float(loss), float(proxy), share, chosen, settings or {})


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
    global_map, offset, table = choose_global_map(confidence, y, folds, weight)
    scaler = fit_scaler(X, confidence, rng)
    inputs = scaler(X, confidence)
    landmarks = np.sort(rng.choice(len(y), min(_LANDMARKS, len(y)), replace=False))
    raw = logit(confidence)
    members = _first_members(inputs, y, offset, raw, folds, landmarks, weight, seed)
    shifts = np.stack([m.shift for m in members.values()], 1)
    first = stack_out_of_fold(shifts, y, offset, folds, weight)
    scale = max(float(first.std()), 1e-3)
    few = inputs.x.shape[1] <= FEW_COLUMNS
    # With few columns the local shift does this work, and better: rows lie so dense that the first stack's
    # out-of-fold values tell a refined kernel about the labels around them.
    refined = {
        spec.name: crossfit_kernel(spec, columns, y, offset, folds, landmarks, weight)
        for spec, columns in zip(_REFINED, refined_columns(inputs, first / scale), strict=True)
        if not few and len(y) >= _LEAST_REFINED_ROWS
    }
    place_name = None if few else _MANY[1].name
    place_scale, place = 1.0, inputs.x
    if place_name is not None:
        place_scale = max(float(members[place_name].shift.std()), 1e-3)
        place = beside_components(members[place_name].shift / place_scale, inputs)
    parts = np.stack([first, *(m.shift for m in refined.values())], 1)
    wide = place_name is not None
    bases = {False: offset} if wide or np.array_equal(raw, offset) else {False: offset, True: raw}
    from_raw, local_shift = _local_out_of_fold(place, bases, parts, y, folds, weight, seed, may_drop=wide)
    if local_shift is not None:
        parts = np.concatenate([parts, local_shift[:, None]], 1)
    final = stack_out_of_fold(parts, y, offset, folds, weight)
    # The refined kernels stand on values that have seen other folds' labels: they do not vote on the claim.
    voting = np.delete(parts, np.arange(1, 1 + len(refined)), axis=1)
    gain, error = paired_gain(y, offset, offset + stack_out_of_fold(voting, y, offset, folds, weight), weight)
    structure = gain > _STANDARD_ERRORS * error
    steps = _FOLD_STEPS if wide else _FINAL_STEPS
    local = _fit_local(place, bases[from_raw], y, weight, (seed, _FINAL), steps=steps, wide=wide)
    scores = Scores(
        kernels=tuple(m.score for m in members.values() if isinstance(m.score, KernelScore)),
        trees=next((m.score for m in members.values() if isinstance(m.score, TreeScore)), None),
        first_weights=stack_weights(shifts, y, offset, weight),
        shift_scale=scale,
        refined=tuple(m.score for m in refined.values()),
        final_weights=stack_weights(parts, y, offset, weight),
        local_in_stack=local_shift is not None,
        local_from_raw=from_raw,
    )
    table += [
        _candidate(name, y, offset + m.shift, weight, settings=m.settings) for name, m in (members | refined).items()
    ]
    if local_shift is not None:
        table.append(_candidate("local shift", y, offset + local_shift, weight, settings={"ridge": local.ridge}))
    table.append(_candidate("stack", y, offset + final, weight, chosen=structure))
    return AutoModel(
        global_map=global_map,
        scaler=scaler,
        place_score=None if place_name is None else members[place_name].score,
        place_scale=place_scale,
        local=local,
        scores=scores if structure else None,
        reach=2 * _widest_gap(inputs.x[landmarks]),
        landmarks=inputs.x[landmarks],
        candidates=_with_weights(table, scores, members, refined, structure),
        gain=gain,
        gain_error=error,
    )


def _with_weights(table, scores: Scores, members, refined, structure: bool) -> tuple[Candidate, ...]:
    """Write each member's weight in the final stack into the table."""
    share = dict(zip(members, scores.final_weights[0] * scores.first_weights, strict=True))
    rest = [*refined, *(["local shift"] if scores.local_in_stack else [])]
    share |= dict(zip(rest, scores.final_weights[1:], strict=True))
    return tuple(
        replace(c, weight=float(share[c.name]), chosen=bool(structure and share[c.name] > 0)) if c.name in share else c
        for c in table
    )


def _first_specs(inputs) -> tuple[KernelSpec, ...]:
    n, columns = inputs.x.shape
    if columns <= FEW_COLUMNS:
        return _FEW
    return _MANY if n >= _LEAST_REFINED_ROWS else _MANY_COLUMNS_FEW_ROWS


def _first_members(inputs, y, offset, raw, folds, landmarks, weight, seed) -> dict[str, CrossFitted]:
    members = {}
    for spec in _first_specs(inputs):
        start = raw if spec.from_raw else offset
        fitted = crossfit_kernel(spec, spec.columns(inputs), y, start, folds, landmarks, weight)
        members[spec.name] = replace(fitted, shift=start - offset + fitted.shift)
    if len(y) >= _LEAST_TREE_ROWS:
        members["boosted trees"] = crossfit_trees(tree_columns(inputs), y, offset, folds, seed, weight)
    return members


def _fit_local(place, base, y, weight, seed, *, steps: int, wide: bool) -> LocalShift:
    # a wide place has its signal in the score: fewer rows tell starts apart
    loo_rows = 3_000 if wide else 10_000
    return fit_local(place, y, base, rng=np.random.default_rng(seed), weight=weight, steps=steps, loo_rows=loo_rows)


def _local_out_of_fold(
    place, bases: dict[bool, Array], parts, y, folds, weight, seed, *, may_drop: bool
) -> tuple[bool, NDArray[np.float64] | None]:
    """Out-of-fold local shift over ``bases[False]``, and whether it starts from the raw confidence.

    The first fold chooses the start; it may also drop the local shift where that adds nothing to the other parts.
    """

    def held_out(k, from_raw):
        inside, rest = folds == k, folds != k
        w = None if weight is None else weight[rest]
        base = bases[from_raw]
        local = _fit_local(place[rest], base[rest], y[rest], w, (seed, int(k)), steps=_FOLD_STEPS, wide=may_drop)
        return base[inside] - offset[inside] + local.read(place[inside]).shift

    offset = bases[False]
    first, rest = folds == 0, folds != 0
    trials = {raw: held_out(0, raw) for raw in bases}
    from_raw = min(trials, key=lambda r: negative_log_likelihood(y[first], offset[first] + trials[r]).mean())
    if may_drop:
        w = None if weight is None else weight[rest]
        others = parts[first] @ stack_weights(parts[rest], y[rest], offset[rest], w)
        mixed = 0.8 * others + 0.2 * trials[from_raw]
        gain, error = paired_gain(y[first], offset[first] + others, offset[first] + mixed)
        if gain < error:
            return from_raw, None
    shift = np.zeros(len(y))
    shift[first] = trials[from_raw]
    for k in np.unique(folds)[1:]:
        shift[folds == k] = held_out(k, from_raw)
    return from_raw, shift
