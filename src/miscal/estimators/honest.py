"""Estimate the field at rows whose outcome the fit has not seen.

The fits of folds share what depends on inputs and confidences alone (`Estimator.share_inputs`): it is learned once, of
all rows, and sees no outcome. Blocks of time share nothing, as the inputs of later rows are not there yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from miscal.base.folds import assign_folds
from miscal.base.process import n_workers, one_thread, with_progress
from miscal.base.workers import Processes, WorkItem, copied
from miscal.data.splits import MIN_SPLIT
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField, checked_seed
from miscal.estimators.registry import Correction, Estimator, FieldEstimate, estimator_class

# more folds leave more to learn from and cost as many fits: five of few rows, fewer of many. Ten of 500 rows cost twice
# as many and saw no more: in 24 paired draws of four hidden errors 21 claims each way (`benchmarks/notes/answered.md`)
_FOLDS_OF_FEW, _FOLDS, _FOLDS_OF_MANY = 5, 4, 3
_FEW_ROWS, _MANY_UNITS = 1_000, 50_000
# what a field learned from fewer rows says is hardly worth a test: the first fifth of the rows only teaches
_LEAST_SHARE = 0.2
# stream of the deal of folds
_DEAL = 7

_BLOCK_ROWS = 16_384
_BLOCKS_UNDER_WAY = 4

_BY_ROW = ("delta", "mass", "supported", "visible", "hidden", "corrected", "standard_error", "local", "ungated")


def honest_field(field: MiscalibrationField, rows: Triples, *, n_folds: int | None = None) -> FieldEstimate:
    """Estimate the field at every row by K-fold: the whole of the fit, choices included, never sees a row's outcome.

    Parameters
    ----------
    field : MiscalibrationField
        Its settings are used, and it is left as it is; where it is fitted, its geometry places the rows
        (`coordinates`). Of "paper" a fitted field's sigma, lambda and number of epochs are kept and phi and the bank
        refitted, so those three choices alone have seen a row's outcome.
    rows : Triples
        Rows of one group (by default: of equal inputs) are in one fold.
    n_folds : int, optional
        By default 5 below 1,000 rows, 4 up to 50,000 units, then 3.

    Returns
    -------
    FieldEstimate
        In the order of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(120, 2)), confidence=rng.random(120), correct=np.arange(120) % 2)
    >>> honest_field(MiscalibrationField(n_jobs=1), rows, n_folds=2).delta.shape
    (120,)
    """
    fitted = hasattr(field, "fitted_")
    seed = field.seed_ if hasattr(field, "seed_") else checked_seed(field.random_state)
    folds = _folds(rows, seed, n_folds)
    estimator = (field.fitted_ if fitted else field.unfitted(seed)).share_inputs(rows)
    estimates = _in_parallel(field, rows, _fold_tasks(estimator, rows, folds))
    coordinates = field.fitted_.transform(rows.X) if fitted else np.zeros((len(rows), 0))
    return _assemble(folds, estimates, coordinates)


@dataclass(frozen=True, eq=False)
class HonestFields:
    """Two honest estimates at the rows that a field was fitted on: one for the values, one for exact tests.

    Attributes
    ----------
    folded : FieldEstimate
        By K-fold: each row by a fit on all folds but its own. What is reported of a row.
    fold : ndarray of int64, shape (n,)
        Fold of each row. Folds are dealt at random, rows of one group together.
    forward : FieldEstimate
        Each row by a fit on earlier folds only; NaN (and not supported) where too little comes before. These fields are
        fixed given the outcomes of earlier folds, so a test can go through the folds one after the other and be exact,
        which tests of K-fold values are not: there a row's field depends on the outcomes of the rows whose fields
        depend on its own.
    block : ndarray of int64, shape (n,)
        The fold where `forward` is known, -1 elsewhere.
    changed : ndarray of float64, shape (q,)
        Corrected confidences of the changed rows that were asked for, each by the fit that did not see its outcome.
    """

    folded: FieldEstimate
    fold: np.ndarray
    forward: FieldEstimate
    block: np.ndarray
    changed: np.ndarray


ChangedRows = tuple[np.ndarray, np.ndarray]
"""Rows as they would be with other inputs: positions among the rows, (q,), and X, (q, d).

What a fit that did not see their outcome makes of them is asked, too.
"""


def fit_honest(field: MiscalibrationField, rows: Triples) -> FieldEstimate:
    """Fit a field and estimate it honestly at the same rows: its fit, then :func:`honest_field`, side by side.

    Takes field: fitted by this call. Returns: FieldEstimate: K-fold values, in the order of the rows.
    """
    seed = checked_seed(field.random_state)
    estimator = field.unfitted(seed).share_inputs(rows)
    folds = _folds(rows, seed, None)
    if estimator.folds_keep_choices:
        fitted = estimator.fit(rows)
        estimates = _in_parallel(field, rows, _fold_tasks(fitted, rows, folds))
    else:
        # the fit on all rows is the longest: it starts first
        tasks = [(_fit, estimator, _learned_from(rows)), *_fold_tasks(estimator, rows, folds)]
        fitted, *estimates = _in_parallel(field, rows, tasks)
    field.adopt_fit(fitted, rows, seed)
    return _assemble(folds, estimates, fitted.transform(rows.X))


def fit_honest_fields(field: MiscalibrationField, rows: Triples, changed: ChangedRows | None = None) -> HonestFields:
    """Fit a field, and estimate it at the same rows by K-fold and by earlier folds only, every choice made anew.

    Of K folds this costs the fit on all rows, K fits on all folds but one, and K - 2 (or fewer) on the first few: for
    K = 4 about 1.2 times what :func:`fit_honest` costs.

    Takes field: fitted by this call; changed: some of the rows with other inputs. Returns: HonestFields: In the order
    of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(120, 2)), confidence=rng.random(120), correct=np.arange(120) % 2)
    >>> found = fit_honest_fields(MiscalibrationField(n_jobs=1), rows)
    >>> sorted(set(found.fold.tolist())) == list(range(5)), bool((found.block == -1).any())
    (True, True)
    """
    seed = checked_seed(field.random_state)
    estimator, learned = field.unfitted(seed).share_inputs(rows), _learned_from(rows)
    folds = _folds(rows, seed, None)
    numbers = np.unique(folds).tolist()
    # the last fold is judged by all the others in either way
    forward = [k for k in numbers[1:-1] if _enough(rows, folds < k, k / len(numbers))]
    changed = changed or (np.zeros(0, np.int64), rows.X[:0])
    tasks = [(_fit, estimator, learned), *_fold_tasks(estimator, rows, folds, changed)]
    tasks += _forward_tasks(estimator, learned, folds, forward)
    fitted, *found = _in_parallel(field, rows, tasks)
    of_folds = found[: len(numbers)]
    estimates = [*(estimate for estimate, _ in of_folds), *found[len(numbers) :]]
    field.adopt_fit(fitted, rows, seed)
    coordinates = fitted.transform(rows.X)
    corrected = np.full(len(changed[0]), np.nan)
    for k, (_, of_changed) in zip(numbers, of_folds, strict=True):
        corrected[folds[changed[0]] == k] = of_changed
    folded = _assemble(folds, estimates[: len(numbers)], coordinates)
    known = dict(zip(forward, estimates[len(numbers) :], strict=True))
    if _enough(rows, folds < numbers[-1], 1.0):
        known[numbers[-1]] = estimates[len(numbers) - 1]
    unknown = dict.fromkeys(_BY_ROW, np.full(len(rows), np.nan))
    forward = _placed(unknown, folds, known, coordinates)
    block = np.where(np.isin(folds, list(known)), folds, -1)
    return HonestFields(folded, folds, forward, block, corrected)


def fit_forward(field: MiscalibrationField, rows: Triples, block: np.ndarray) -> FieldEstimate:
    """Fit a field to all rows, and estimate it at each row by a fit on the rows of earlier blocks alone.

    Takes field: fitted by this call; block (n,): number of each row's block, from 0, which comes first. Returns:
    FieldEstimate: In the order of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(120, 2)), confidence=rng.random(120), correct=np.arange(120) % 2)
    >>> found = fit_forward(MiscalibrationField(n_jobs=1), rows, np.arange(120) // 60)
    >>> bool((found.delta[:60] == 0).all()), bool(found.supported[:60].any()), bool(found.supported[60:].any())
    (True, False, True)
    """
    seed = checked_seed(field.random_state)
    estimator, learned = field.unfitted(seed), _learned_from(rows)
    fitted, *estimates = _in_parallel(
        field, rows, [(_fit, estimator, learned), *_forward_tasks(estimator, learned, block, _later(block))]
    )
    field.adopt_fit(fitted, rows, seed)
    return _after_nothing(rows, block, estimates, fitted.transform(rows.X))


def forward_field(field: MiscalibrationField, rows: Triples, block: np.ndarray) -> FieldEstimate:
    """Estimate the field as :func:`fit_forward` does, without a fit to all rows and without coordinates."""
    estimator, learned = field.unfitted(checked_seed(field.random_state)), _learned_from(rows)
    estimates = _in_parallel(field, rows, _forward_tasks(estimator, learned, block, _later(block)))
    return _after_nothing(rows, block, estimates, np.zeros((len(rows), 0)))


def _later(block: np.ndarray) -> list[int]:
    return np.unique(block).tolist()[1:]


def _after_nothing(
    rows: Triples, block: np.ndarray, estimates: Sequence[FieldEstimate], coordinates: np.ndarray
) -> FieldEstimate:
    """Put blocks together, before the first of which nothing was known: confidences stay as they are."""
    before = dict.fromkeys(_BY_ROW, np.zeros(len(rows))) | {"corrected": rows.confidence}
    return _placed(before, block, dict(zip(_later(block), estimates, strict=True)), coordinates)


def _forward_tasks(estimator: Estimator, learned: Triples, block: np.ndarray, numbers: Sequence[int]) -> list[tuple]:
    return [(_fold, estimator.for_folds(), learned, block < k, block == k) for k in numbers]


def _placed(
    elsewhere: dict[str, np.ndarray], block: np.ndarray, known: dict[int, FieldEstimate], coordinates: np.ndarray
) -> FieldEstimate:
    """Put the estimates of blocks where their rows are; other rows keep what `elsewhere` holds, and are not local."""
    values = {name: column.copy() for name, column in elsewhere.items()}
    values |= {name: np.zeros(len(block), dtype=bool) for name in ("supported", "local")}
    for k, estimate in known.items():
        for name, column in values.items():
            column[block == k] = getattr(estimate, name)
    return FieldEstimate(**values, coordinates=coordinates)


def estimate_in_blocks(
    field: MiscalibrationField, X: np.ndarray, confidence: np.ndarray, index: np.ndarray
) -> FieldEstimate:
    """Estimate a fitted field at many rows, a block after the other, so that inputs may stay on disk.

    Takes field: fitted; X (n, d); confidence (n,); index (m,): the rows to estimate. Returns: FieldEstimate: Of the m
    rows, in the order of `index`, by :meth:`MiscalibrationField.correct`, within 1e-4 of
    :meth:`MiscalibrationField.estimate`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(120, 2)), confidence=rng.random(120), correct=np.arange(120) % 2)
    >>> field = MiscalibrationField(n_jobs=1).fit_triples(rows)
    >>> estimate_in_blocks(field, rows.X, rows.confidence, np.array([3, 5])).delta.shape
    (2,)
    """
    spans = [index[start : start + _BLOCK_ROWS] for start in range(0, len(index), _BLOCK_ROWS)]

    fitted = field.to_saved().fitted

    def corrected(rows: np.ndarray) -> Correction:
        # past the check of how likely inputs are: these are of the same table
        return fitted.correct(X[rows], confidence[rows])

    values = {name: np.full(len(index), np.nan) for name in ("delta", "corrected", "mass")}
    supported, local = np.zeros((2, len(index)), bool)
    # threads share the inputs and the field; each block is computed on one of them, so that no number depends on how
    # many there are
    with one_thread(), ThreadPoolExecutor(n_workers(field.n_jobs, max(1, len(spans)))) as pool:
        for number, part in enumerate(_in_turn(pool, corrected, spans)):
            place = slice(number * _BLOCK_ROWS, number * _BLOCK_ROWS + len(part.delta))
            values["delta"][place], values["corrected"][place] = part.delta, part.corrected
            supported[place], local[place] = part.supported, part.local
            if part.mass is not None:
                values["mass"][place] = part.mass
    visible = np.clip(field.global_map_.apply(confidence[index]), 0.0, 1.0) - confidence[index]
    return FieldEstimate(
        **values,
        supported=supported,
        visible=visible,
        hidden=values["delta"] - visible,
        coordinates=np.zeros((len(index), 0)),
        standard_error=np.full(len(index), np.nan),
        local=local,
    )


def _in_turn(pool: ThreadPoolExecutor, function: Callable, spans: Sequence[np.ndarray]) -> Iterator[Correction]:
    """Results in order, with few blocks under way: those that wait would hold memory."""
    waiting: deque = deque()
    for span in spans:
        waiting.append(pool.submit(function, span))
        if len(waiting) > _BLOCKS_UNDER_WAY:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _enough(rows: Triples, learned: np.ndarray, share: float) -> bool:
    """Tell whether these rows can be learned from: enough of them, of both outcomes."""
    outcomes = rows.correct[learned]
    return share >= _LEAST_SHARE and len(outcomes) >= MIN_SPLIT["train"] and outcomes.min() < outcomes.max()


def _folds(rows: Triples, seed: int, n_folds: int | None) -> np.ndarray:
    few, many = len(rows) < _FEW_ROWS, len(np.unique(rows.units)) > _MANY_UNITS
    count = n_folds or (_FOLDS_OF_FEW if few else _FOLDS_OF_MANY if many else _FOLDS)
    return assign_folds(rows.units, count, np.random.default_rng((seed, _DEAL)))


def _learned_from(rows: Triples) -> Triples:
    """Leave out what no fit sees, which processes need not be sent."""
    return replace(rows, text=None, metadata={}, candidate_groups={}, notes=(), source={}, encoder=None)


def _fold_tasks(
    estimator: Estimator, rows: Triples, folds: np.ndarray, changed: ChangedRows | None = None
) -> list[tuple]:
    rows, parts = _learned_from(rows), [(folds != k, folds == k) for k in np.unique(folds)]
    if changed is None:
        return [(_fold, estimator.for_folds(), rows, learned, inside) for learned, inside in parts]
    # a process is sent the changed rows of its fold alone
    own = [tuple(one[inside[changed[0]]] for one in changed) for _, inside in parts]
    return [(_fold_changed, estimator.for_folds(), rows, *masks, some) for masks, some in zip(parts, own, strict=True)]


def _fit(estimator: Estimator, rows: Triples) -> Estimator:
    return estimator.fit(rows)


def _fold(estimator: Estimator, rows: Triples, learned: np.ndarray, inside: np.ndarray) -> FieldEstimate:
    return estimator.fit(rows.take(learned)).estimate(rows.X[inside], rows.confidence[inside])


def _fold_changed(
    estimator: Estimator, rows: Triples, learned: np.ndarray, inside: np.ndarray, changed: ChangedRows
) -> tuple[FieldEstimate, np.ndarray]:
    """Estimate the rows of a fold, and correct some of them with other inputs."""
    fitted, (at, X) = estimator.fit(rows.take(learned)), changed
    corrected = fitted.correct(X, rows.confidence[at]).corrected if len(at) else np.zeros(0)
    return fitted.estimate(rows.X[inside], rows.confidence[inside]), corrected


_TASKS: list[tuple] = []
"""What copies of this process compute: they find it where it is, and it need not be sent."""


def _in_parallel(field: MiscalibrationField, rows: Triples, tasks: Sequence[tuple]) -> list:
    from joblib import Parallel, delayed

    few = len(rows) <= estimator_class(field.method).most_rows_in_threads
    workers = n_workers(field.n_jobs, len(tasks))
    # the work of a task grows with the rows that it learns from: all, or those that its first mask marks
    work = [masks[0].sum() if masks else len(learned) for _, _, learned, *masks in tasks]
    if not few and workers > 1 and copied():
        _TASKS[:] = tasks
        items = (WorkItem("a fit of the field", _numbered, (number,), key=number) for number in range(len(tasks)))
        try:
            with Processes(workers) as copies:
                found = dict(with_progress(copies.results(items), work))
        finally:
            _TASKS.clear()
        return [found[number] for number in range(len(tasks))]
    # each task on one thread, so that no number depends on how many run at a time
    calls, backend = (delayed(_one_thread)(*task) for task in tasks), "threads" if few else "processes"
    # around all of them, as two threads that lift the limit after each other could leave one of theirs behind
    with one_thread():
        return list(with_progress(Parallel(n_jobs=workers, prefer=backend, return_as="generator")(calls), work))


def _numbered(number: int) -> Any:
    function, *arguments = _TASKS[number]
    # the listeners of the process are not a copy's to tell
    return Context().run(function, *arguments)


def _one_thread(function: Callable, *arguments: Any) -> Any:
    with one_thread():
        return function(*arguments)


def _assemble(folds: np.ndarray, estimates: Sequence[FieldEstimate], coordinates: np.ndarray) -> FieldEstimate:
    """Put the folds' rows in order; the geometry is one for all rows, the fitted field's."""
    # the inverse of the order in which the folds' rows are put together
    order = np.argsort(np.concatenate([np.flatnonzero(folds == k) for k in np.unique(folds)]))
    values = {name: np.concatenate([getattr(e, name) for e in estimates])[order] for name in _BY_ROW}
    return FieldEstimate(**values, coordinates=coordinates)
