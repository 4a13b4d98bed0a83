"""Save fitted estimators and load them without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from miscal.base.state_folder import load_state, rebuilding, save_state, under, with_prefix
from miscal.estimators.input_profile import InputProfile
from miscal.estimators.protocol import Estimator
from miscal.estimators.registry import estimator_class

_FORM = "miscal-field"


@dataclass(frozen=True, eq=False)
class SavedEstimator:
    """A fitted estimator with what its public form needs.

    Attributes
    ----------
    method : str
    fitted : Estimator
    n_features : int
        Columns of X.
    inputs : InputProfile or None
        What they looked like; None of models of earlier versions.
    feature_names : tuple of str or None
        Names of the columns of X, where they had any.
    """

    method: str
    fitted: Estimator
    n_features: int
    inputs: InputProfile | None = None
    feature_names: tuple[str, ...] | None = None

    def save(self, folder: str | Path) -> None:
        """Write it as JSON and safetensors into a folder that nobody reads yet; made if it is not there."""
        save_state(folder, _FORM, *self.state())

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return it as JSON values, and arrays."""
        field, arrays = self.fitted.state()
        inputs, held = (None, {}) if self.inputs is None else self.inputs.state()
        names = None if self.feature_names is None else list(self.feature_names)
        content = {"method": self.method, "n_features": self.n_features, "feature_names": names}
        return content | {"field": field, "inputs": inputs}, arrays | with_prefix("inputs", held)

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild it from what :meth:`state` returned."""
        fitted = estimator_class(content["method"]).from_state(content["field"], arrays)
        # models of earlier versions have neither
        inputs, names = content.get("inputs"), content.get("feature_names")
        profile = None if inputs is None else InputProfile.from_state(inputs, under("inputs", arrays))
        names = None if names is None else tuple(names)
        return cls(content["method"], fitted, int(content["n_features"]), profile, names)


def load_estimator(folder: str | Path, *, beside: tuple[str, ...] = ()) -> SavedEstimator:
    """Read a fitted estimator back.

    Takes beside: names of further entries that may lie in the folder.
    """
    content, arrays = load_state(folder, _FORM, beside=beside)
    with rebuilding(folder):
        return SavedEstimator.from_state(content, arrays)
