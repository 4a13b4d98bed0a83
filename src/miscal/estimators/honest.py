"""Honest estimates: values of the field at rows whose outcome nothing in the fit has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_features, check_lengths, check_weight, drawn_seed
from miscal.base.folds import assign_folds, row_groups
from miscal.base.threads import one_thread
from miscal.estimators.auto import AutoField
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.grid import n_workers


def honest_field(
    field: MiscalibrationField,
    X: Any,
    y: Any,
    confidence: Any,
    *,
    groups: Any = None,
    split: Any = None,
    sample_weight: Any = None,
    n_folds: int | None = None,
) -> FieldEstimate:
    """Estimate the field at every row by K-fold: the whole of the fit, choices included, never sees a row's outcome.

    Parameters
    ----------
    field : MiscalibrationField
        Its settings are used; where it is fitted, its geometry places the rows (`coordinates`, `mass`, `supported`).
        For "paper" the chosen sigma, lambda and number of epochs are kept and phi and the bank refitted, so those
        three choices alone have seen a row's outcome.
    X : array-like of shape (n, d)
    y : array-like of shape (n,), 0 or 1
    confidence : array-like of shape (n,), in [0, 1]
    groups, split, sample_weight : array-like of shape (n,), optional
        As in `fit`.
    n_folds : int, optional
        By default 10 below 1,000 rows, 4 up to 50,000, then 3.

    Returns
    -------
    FieldEstimate
        In the order of the rows.
    """
    rows = _Rows.of(X, y, confidence, groups, split, sample_weight)
    if not hasattr(field, "seed_"):
        field.seed_ = drawn_seed(field.random_state)
    folds = rows.folds(field.seed_, n_folds)
    return _assemble(field, rows, folds, _in_parallel(field, _fold_tasks(field, rows, folds)))


def fit_honest(
    field: MiscalibrationField,
    X: Any,
    y: Any,
    confidence: Any,
    *,
    groups: Any = None,
    split: Any = None,
    sample_weight: Any = None,
) -> FieldEstimate:
    """Fit a field and estimate it honestly at the same rows: `fit`, then :func:`honest_field`, side by side.

    Parameters
    ----------
    field : MiscalibrationField
        Fitted by this call.
    X, y, confidence, groups, split, sample_weight
        As for :func:`honest_field`.

    Returns
    -------
    FieldEstimate
        K-fold values, in the order of the rows.
    """
    rows = _Rows.of(X, y, confidence, groups, split, sample_weight)
    if field.method == "auto":
        field.seed_ = drawn_seed(field.random_state)
        folds = rows.folds(field.seed_, None)
        # the fit on all rows is the longest: it starts first
        fitted, *estimates = _in_parallel(field, [(_whole, field, rows), *_fold_tasks(field, rows, folds)])
        field._adopt(fitted, rows.X.shape[1])
    else:
        # the folds keep what this fit chooses
        field.fit(rows.X, rows.y, confidence=rows.f, groups=groups, split=split, sample_weight=sample_weight)
        folds = rows.folds(field.seed_, None)
        estimates = _in_parallel(field, _fold_tasks(field, rows, folds))
    return _assemble(field, rows, folds, estimates)


@dataclass(frozen=True)
class _Rows:
    """Checked rows."""

    X: np.ndarray
    y: np.ndarray
    f: np.ndarray
    group: np.ndarray
    split: np.ndarray | None
    weight: np.ndarray | None

    @classmethod
    def of(cls, X, y, confidence, groups, split, sample_weight) -> _Rows:
        n = check_lengths(X=X, y=y, confidence=confidence, groups=groups, split=split, sample_weight=sample_weight)
        X = check_features(X)
        return cls(
            X,
            check_correct(y, name="y"),
            check_confidence(confidence),
            row_groups(X, groups),
            None if split is None else np.asarray(split),
            None if sample_weight is None else check_weight(sample_weight, n),
        )

    def folds(self, seed: int, n_folds: int | None) -> np.ndarray:
        count = n_folds or (10 if len(self.y) < 1_000 else 4 if len(self.y) <= 50_000 else 3)
        return assign_folds(self.group, count, np.random.default_rng((seed, 7)))

    def learnt(self, kept: np.ndarray) -> dict[str, Any]:
        """Arguments of a fit on some rows."""
        return {
            "X": self.X[kept],
            "y": self.y[kept],
            "confidence": self.f[kept],
            "groups": self.group[kept],
            "split": None if self.split is None else self.split[kept],
            "sample_weight": None if self.weight is None else self.weight[kept],
        }


def _fold_tasks(field: MiscalibrationField, rows: _Rows, folds: np.ndarray) -> list[tuple]:
    return [(_fold, field, rows, folds == k) for k in np.unique(folds)]


def _in_parallel(field: MiscalibrationField, tasks: list[tuple]) -> list:
    from joblib import Parallel, delayed

    calls = (delayed(_one_thread)(*task) for task in tasks)
    return list(Parallel(n_jobs=n_workers(field.n_jobs, len(tasks)))(calls))


def _one_thread(function, *arguments):
    with one_thread():
        return function(*arguments)


def _whole(field: MiscalibrationField, rows: _Rows) -> AutoField | PaperField:
    return _unfitted(field).fit(**rows.learnt(np.full(len(rows.y), True)))


def _fold(field: MiscalibrationField, rows: _Rows, inside: np.ndarray) -> FieldEstimate:
    fitted = _unfitted(field).fit(**rows.learnt(~inside))
    return fitted.estimate(rows.X[inside], rows.f[inside])


def _unfitted(field: MiscalibrationField) -> AutoField | PaperField:
    fitted = getattr(field, "fitted_", None)
    if field.method == "auto":
        return AutoField(random_state=field.seed_)
    if fitted is None:
        return PaperField(random_state=field.seed_, n_jobs=1)
    return PaperField(
        sigmas=[fitted.sigma_],
        lambdas=[fitted.penalty_],
        max_epochs=fitted.epoch_,
        random_state=field.seed_,
        n_jobs=1,
    )


def _assemble(field, rows: _Rows, folds: np.ndarray, estimates: list[FieldEstimate]) -> FieldEstimate:
    """Put the folds' rows in order; the geometry is one for all rows, the fitted field's."""
    order = np.argsort(np.concatenate([np.flatnonzero(folds == k) for k in np.unique(folds)]))
    values = {
        name: np.concatenate([getattr(e, name) for e in estimates])[order]
        for name in ("delta", "mass", "supported", "visible", "hidden", "corrected", "standard_error")
    }
    coordinates = field.transform(rows.X) if hasattr(field, "fitted_") else np.zeros((len(rows.y), 0))
    return FieldEstimate(**values, coordinates=coordinates)
