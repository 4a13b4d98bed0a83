"""Probabilities of a fitted classifier of scikit-learn, and its correction in a folder, as JSON and safetensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing  # pyrefly: ignore[missing-module-attribute]

from miscal.base.errors import InputError
from miscal.base.files import whole_folder
from miscal.base.folders import CONFIG, TENSORS, load, rebuilding, save_state, state_of
from miscal.calibration.calibrators import Calibrator
from miscal.data.readers.column_readings import InputReading
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import SavedEstimator
from miscal.estimators.simplex.correction import SimplexCorrection

if TYPE_CHECKING:
    from miscal.runs.run import Run


def probabilities_of(fitted: Any, X: Any, classes: NDArray) -> NDArray[np.float64]:
    """Probabilities of a fitted classifier in the order of `classes`; 0 of classes that it has not seen."""
    if not hasattr(fitted, "predict_proba"):
        raise InputError(
            f"estimator must have predict_proba; {type(fitted).__name__} has none. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV first, which makes probabilities of its scores"
        )
    found = np.asarray(fitted.predict_proba(X), dtype=np.float64)
    own = np.asarray(getattr(fitted, "classes_", classes))
    if np.array_equal(own, classes):
        return found
    probability = np.zeros((len(found), len(classes)))
    place = np.searchsorted(classes, own)
    known = (place < len(classes)) & (classes[np.minimum(place, len(classes) - 1)] == own)
    probability[:, place[known]] = found[:, known]
    return probability


# --- the correction -----------------------------------------------------------------------------------------------


def fitted_to(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any], rows: NDArray) -> Any:
    """Fit a classifier to some rows; where they are of one class, which many refuse, it always says that class."""
    some, code = _safe_indexing(X, rows), _safe_indexing(y, rows)
    if len(np.unique(np.asarray(code))) == 1:
        return DummyClassifier().fit(some, code)
    return clone(estimator).fit(some, code, **{name: rows_of(one, rows, len(y)) for name, one in fit_params.items()})


ClassCorrection = MiscalibrationField | SimplexCorrection | Calibrator | None
"""What corrects probabilities: of two classes a field or a global map, of more a correction of all; None of one."""


def corrected_by(correction: ClassCorrection, inputs: Any, p: NDArray, *, local: bool) -> NDArray[np.float64]:
    """Correct probabilities (n, K), locally or by the global map alone, for which no inputs are needed."""
    if correction is None:
        return np.ones((len(p), 1))
    if isinstance(correction, SimplexCorrection):
        return (correction if local else correction.alone).apply(inputs, p)
    second = np.clip(p[:, 1], 0.0, 1.0)
    if local and isinstance(correction, MiscalibrationField):
        second = correction.fitted_.correct(inputs, second).corrected
    else:
        second = (correction.global_map_ if isinstance(correction, MiscalibrationField) else correction).apply(second)
    second = np.clip(second, 0.0, 1.0)
    return np.column_stack([1 - second, second])


def rows_of(values: Any, rows: NDArray, n: int) -> Any:
    """Take some rows of an argument that has one value for each row; others are for the whole."""
    return _safe_indexing(values, rows) if np.ndim(values) and len(values) == n else values


def with_decision(found: Run, local: bool) -> Run:
    """Say in a run of probabilities out of fold what the classifier does, where the run alone advises otherwise."""
    summary = found.summary
    low, _ = (summary.gains["raw"].log_loss.interval if "raw" in summary.gains else None) or (None, None)
    advised = low is not None and low > 0
    if local and not advised:
        action = "Use predict_proba: its local correction helped on rows that it had not seen."
    elif not local and advised and summary.field.structure:
        action = "Use predict_proba, not this correction, which was not confirmed on rows left out of every fit."
    else:
        return found
    answer = summary.answer.model_copy(update={"action": action})
    told = summary.model_copy(update={"answer": answer, "warnings": (*summary.warnings, action)})
    return type(found)(replace(found.content, summary=told))


_FORM = "miscal-classifier"


@dataclass(frozen=True)
class _SavedCorrection:
    """What is saved of a `LocalCalibratedClassifier`: its classes, whose dtype is `type`, and what corrects them."""

    method: str
    structure: bool
    classes: list[Any]
    type: str
    classes_of_estimators: list[list[Any] | None]
    correction: SavedEstimator | SimplexCorrection | Calibrator | None
    reading: InputReading | None


def write_correction(model: Any, folder: str | Path) -> None:
    """Write the correction of a fitted `LocalCalibratedClassifier`; the classifiers themselves are left out."""
    classes, correction, reading = model.classes_.tolist(), model.correction_, model.input_reading_
    if not all(isinstance(one, str | int | float) for one in classes):
        raise InputError(f"classes must be text, numbers or truth values to be saved; got {classes[0]!r}")
    saved = _SavedCorrection(
        model.method, model.local_, classes, model.classes_.dtype.str, _classes_of(model.estimators_),
        correction.to_saved() if isinstance(correction, MiscalibrationField) else correction, reading,
    )  # fmt: skip
    writer = "`LocalCalibratedClassifier.save`"
    with whole_folder(folder, holds=(CONFIG, TENSORS), writer=writer, overwrite=True) as partial:
        save_state(partial, _FORM, *state_of(saved))


def _classes_of(estimators: Sequence[Any]) -> list[list[Any] | None]:
    known = [getattr(one, "classes_", None) for one in estimators]
    return [None if own is None else np.asarray(own).tolist() for own in known]


def read_correction(of: Callable[..., Any], folder: str | Path, estimators: Sequence[Any]) -> Any:
    """Read a correction of class `of` back, for the fitted classifiers that it was made for."""
    saved = load(folder, _FORM, _SavedCorrection, remedy="save the classifier again")
    wanted, given = saved.classes_of_estimators, _classes_of(estimators)
    if given != wanted:
        raise InputError(f"estimators must be the `estimators_` that were saved, of the classes {wanted}; got {given}")
    model = of(estimators[0], method=saved.method, cv="prefit")
    with rebuilding(folder):
        model.classes_ = np.array(saved.classes, dtype=saved.type)
        model.local_, model._rows, model.input_reading_ = saved.structure, None, saved.reading
        model.correction_ = saved.correction
        if isinstance(saved.correction, SavedEstimator):
            model.correction_ = MiscalibrationField(saved.correction.method).adopt(saved.correction)
        # parts that do not fit together show where anything is corrected
        k, width = len(model.classes_), model.input_reading_.encoder.n_features if model.local_ else 0
        tried = corrected_by(model.correction_, np.zeros((1, width)), np.full((1, k), 1 / k), local=model.local_)
        if tried.shape != (1, k):
            raise ValueError(f"a correction that does not give {k} probabilities")
    return model._adopt(estimators)
