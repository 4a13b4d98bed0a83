"""The correction of a classifier in a folder, as JSON and safetensors: `LocalCalibratedClassifier.save` and `load`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import InputError
from miscal.base.files import whole_folder
from miscal.base.state_folder import CONFIG, TENSORS, load_state, rebuilding, save_state, under, with_prefix
from miscal.calibration.calibrators import CALIBRATORS
from miscal.data.readers.input_reading import InputReading
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import SavedEstimator
from miscal.estimators.simplex.correction import SimplexCorrection

_FORM = "miscal-classifier"


def write_correction(model: Any, folder: str | Path) -> None:
    """Write the correction of a fitted `LocalCalibratedClassifier`; the classifier itself is left out."""
    classes, own = model.classes_.tolist(), getattr(model.estimator_, "classes_", None)
    if not all(isinstance(one, str | int | float) for one in classes):
        raise InputError(f"classes must be text, numbers or truth values to be saved; got {classes[0]!r}")
    parts = {
        "field": None if model.field_ is None else model.field_.to_saved().state(),
        "simplex": None if model.simplex_ is None else model.simplex_.state(),
        "reading": None if model.input_reading_ is None else model.input_reading_.state(),
        "global_map": None if model._global_map is None else (model._global_map.name, model._global_map.state()),
    }
    content = {
        "method": model.method, "structure": model.structure_, "classes": classes, "type": model.classes_.dtype.str,
        "classes_of_estimator": None if own is None else np.asarray(own).tolist(),
    }  # fmt: skip
    arrays = {}
    for name, part in parts.items():
        content[name], held = (None, {}) if part is None else part
        arrays |= with_prefix(name, held)
    writer = "`LocalCalibratedClassifier.save`"
    with whole_folder(folder, holds=(CONFIG, TENSORS), writer=writer, overwrite=True) as partial:
        save_state(partial, _FORM, content, arrays)


def read_correction(of: Callable[..., Any], folder: str | Path, estimator: Any) -> Any:
    """Read a correction of class `of` back, for the fitted classifier that it was made for."""
    content, arrays = load_state(folder, _FORM, remedy="save the classifier again")
    own = getattr(estimator, "classes_", None)
    wanted = content.get("classes_of_estimator")
    if (None if own is None else np.asarray(own).tolist()) != wanted:
        raise InputError(
            f"estimator must be the fitted classifier that was corrected, of the classes {wanted}; got "
            f"{type(estimator).__name__} with the classes {own}"
        )
    model = of(estimator, method=content["method"], cv="prefit")
    with rebuilding(folder):

        def part(name: str, build: Callable[[Any, Any], Any]) -> Any:
            return None if content[name] is None else build(content[name], under(name, arrays))

        model.classes_ = np.array(content["classes"], dtype=content["type"])
        model.structure_, model._rows = content["structure"], None
        saved = part("field", SavedEstimator.from_state)
        model.field_ = None if saved is None else MiscalibrationField(saved.method).adopt(saved)
        model.simplex_ = part("simplex", SimplexCorrection.from_state)
        model.input_reading_ = part("reading", InputReading.from_state)
        model._global_map = part("global_map", lambda name, held: CALIBRATORS[name].from_state(held))
        # parts that do not fit together show where anything is corrected
        k, width = len(model.classes_), model.input_reading_.encoder.n_features if model.structure_ else 0
        if model._correct(np.zeros((1, width)), np.full((1, k), 1 / k)).shape != (1, k):
            raise ValueError(f"a correction that does not give {k} probabilities")
    return model._adopt(estimator)
