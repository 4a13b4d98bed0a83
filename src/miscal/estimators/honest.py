"""Honest estimates: values of the field at rows whose outcome nothing in the fit has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from miscal.base.folds import assign_folds, row_groups
from miscal.base.threads import n_workers, one_thread
from miscal.data.triples import Triples
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField, checked_seed
from miscal.estimators.protocol import Estimator

# more folds leave more to learn from and cost as many fits: ten of few rows, fewer of many
_FOLDS_OF_FEW, _FOLDS, _FOLDS_OF_MANY = 10, 4, 3
_FEW_ROWS, _MANY_ROWS = 1_000, 50_000
# stream of the deal of folds
_DEAL = 7

_BY_ROW = ("delta", "mass", "supported", "visible", "hidden", "corrected", "standard_error")


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
        By default 10 below 1,000 rows, 4 up to 50,000, then 3.

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
    estimator = field.fitted_ if fitted else field.unfitted(seed)
    estimates = _in_parallel(field.n_jobs, _fold_tasks(estimator, rows, folds))
    coordinates = field.fitted_.transform(rows.X) if fitted else np.zeros((len(rows), 0))
    return _assemble(folds, estimates, coordinates)


def fit_honest(field: MiscalibrationField, rows: Triples) -> FieldEstimate:
    """Fit a field and estimate it honestly at the same rows: its fit, then :func:`honest_field`, side by side.

    Parameters
    ----------
    field : MiscalibrationField
        Fitted by this call.
    rows : Triples

    Returns
    -------
    FieldEstimate
        K-fold values, in the order of the rows.
    """
    seed = checked_seed(field.random_state)
    estimator = field.unfitted(seed)
    folds = _folds(rows, seed, None)
    if estimator.folds_keep_choices:
        fitted = estimator.fit(rows)
        estimates = _in_parallel(field.n_jobs, _fold_tasks(fitted, rows, folds))
    else:
        # the fit on all rows is the longest: it starts first
        tasks = [(_fit, estimator, _learned_from(rows)), *_fold_tasks(estimator, rows, folds)]
        fitted, *estimates = _in_parallel(field.n_jobs, tasks)
    field.adopt(fitted, rows.X.shape[1], seed)
    return _assemble(folds, estimates, fitted.transform(rows.X))


def _folds(rows: Triples, seed: int, n_folds: int | None) -> np.ndarray:
    few, many = len(rows) < _FEW_ROWS, len(rows) > _MANY_ROWS
    count = n_folds or (_FOLDS_OF_FEW if few else _FOLDS_OF_MANY if many else _FOLDS)
    return assign_folds(row_groups(rows.X, rows.group), count, np.random.default_rng((seed, _DEAL)))


def _learned_from(rows: Triples) -> Triples:
    """Leave out what no fit sees, which processes need not be sent."""
    return replace(rows, text=None, metadata={}, notes=(), source={}, encoder=None)


def _fold_tasks(estimator: Estimator, rows: Triples, folds: np.ndarray) -> list[tuple]:
    rows = _learned_from(rows)
    return [(_fold, estimator.for_folds(), rows, folds == k) for k in np.unique(folds)]


def _fit(estimator: Estimator, rows: Triples) -> Estimator:
    return estimator.fit(rows)


def _fold(estimator: Estimator, rows: Triples, inside: np.ndarray) -> FieldEstimate:
    return estimator.fit(rows.take(~inside)).estimate(rows.X[inside], rows.confidence[inside])


def _in_parallel(n_jobs: int | None, tasks: Sequence[tuple]) -> list:
    from joblib import Parallel, delayed

    # each task on one thread, so that no number depends on how many run at a time
    calls = (delayed(_one_thread)(*task) for task in tasks)
    return list(Parallel(n_jobs=n_workers(n_jobs, len(tasks)))(calls))


def _one_thread(function: Callable, *arguments: Any) -> Any:
    with one_thread():
        return function(*arguments)


def _assemble(folds: np.ndarray, estimates: Sequence[FieldEstimate], coordinates: np.ndarray) -> FieldEstimate:
    """Put the folds' rows in order; the geometry is one for all rows, the fitted field's."""
    # the inverse of the order in which the folds' rows are put together
    order = np.argsort(np.concatenate([np.flatnonzero(folds == k) for k in np.unique(folds)]))
    values = {name: np.concatenate([getattr(e, name) for e in estimates])[order] for name in _BY_ROW}
    return FieldEstimate(**values, coordinates=coordinates)
