"""Probabilities of a fitted classifier of scikit-learn, and its correction in a folder, as JSON and safetensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing  # pyrefly: ignore[missing-module-attribute]

from miscal.base.errors import InputError
from miscal.base.files import whole_folder
from miscal.base.folders import CONFIG, TENSORS, load, rebuilding, save_state, state_of
from miscal.calibration.calibrators import Calibrator
from miscal.data.readers.input_reading import InputReading
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


def probabilities_by(
    estimator: Any, X: Any, y: Any, learned: NDArray, told: NDArray, classes: NDArray, fit_params: dict[str, Any]
) -> NDArray[np.float64]:
    """Probabilities of some rows by the classifier fitted to others."""
    seen = np.unique(np.asarray(_safe_indexing(y, learned)))
    if len(seen) == 1:
        return np.tile((classes == seen[0]).astype(np.float64), (len(told), 1))
    some = {name: rows_of(values, learned, len(y)) for name, values in fit_params.items()}
    fitted = clone(estimator).fit(_safe_indexing(X, learned), _safe_indexing(y, learned), **some)
    return probabilities_of(fitted, _safe_indexing(X, told), classes)


def of_two(second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of both classes, (n, 2), by that of the second."""
    second = np.clip(second, 0.0, 1.0)
    return np.column_stack([1 - second, second])


def corrected_by(
    field: MiscalibrationField | None, simplex: SimplexCorrection | None, inputs: NDArray, p: NDArray, *, local: bool
) -> NDArray[np.float64]:
    """Correct probabilities (n, K), locally or by the global map alone."""
    if field is None:
        return (simplex if local else simplex.alone).apply(inputs, p)
    given = np.clip(p[:, 1], 0.0, 1.0)
    return of_two(field.fitted_.correct(inputs, given).corrected if local else field.global_map_.apply(given))


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
    classes_of_estimator: list[Any] | None
    field: SavedEstimator | None
    simplex: SimplexCorrection | None
    reading: InputReading | None
    global_map: Calibrator | None


def write_correction(model: Any, folder: str | Path) -> None:
    """Write the correction of a fitted `LocalCalibratedClassifier`; the classifier itself is left out."""
    classes, own = model.classes_.tolist(), getattr(model.estimator_, "classes_", None)
    if not all(isinstance(one, str | int | float) for one in classes):
        raise InputError(f"classes must be text, numbers or truth values to be saved; got {classes[0]!r}")
    own = None if own is None else np.asarray(own).tolist()
    saved = _SavedCorrection(
        model.method, model.local_, classes, model.classes_.dtype.str, own,
        None if model.field_ is None else model.field_.to_saved(), model.simplex_, model.input_reading_,
        model._global_map,
    )  # fmt: skip
    writer = "`LocalCalibratedClassifier.save`"
    with whole_folder(folder, holds=(CONFIG, TENSORS), writer=writer, overwrite=True) as partial:
        save_state(partial, _FORM, *state_of(saved))


def read_correction(of: Callable[..., Any], folder: str | Path, estimator: Any) -> Any:
    """Read a correction of class `of` back, for the fitted classifier that it was made for."""
    saved = load(folder, _FORM, _SavedCorrection, remedy="save the classifier again")
    own = getattr(estimator, "classes_", None)
    if (None if own is None else np.asarray(own).tolist()) != saved.classes_of_estimator:
        raise InputError(
            f"estimator must be the fitted classifier that was corrected, of the classes {saved.classes_of_estimator}; "
            f"got {type(estimator).__name__} with the classes {own}"
        )
    model = of(estimator, method=saved.method, cv="prefit")
    with rebuilding(folder):
        model.classes_ = np.array(saved.classes, dtype=saved.type)
        model.local_, model._rows = saved.structure, None
        model.field_ = None if saved.field is None else MiscalibrationField(saved.field.method).adopt(saved.field)
        model.simplex_, model.input_reading_, model._global_map = saved.simplex, saved.reading, saved.global_map
        # parts that do not fit together show where anything is corrected
        k, width = len(model.classes_), model.input_reading_.encoder.n_features if model.local_ else 0
        if model._correct(np.zeros((1, width)), np.full((1, k), 1 / k)).shape != (1, k):
            raise ValueError(f"a correction that does not give {k} probabilities")
    return model._adopt(estimator)
