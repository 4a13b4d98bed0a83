"""Fitted estimators on disk, without what scikit-learn brings along: serving a saved field needs none of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from miscal.base.state_folder import load_state, rebuilding, save_state
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
    """

    method: str
    fitted: Estimator
    n_features: int

    def save(self, folder: str | Path) -> None:
        """Write it as JSON and safetensors into a folder, which is made if it is not there."""
        content, arrays = self.fitted.state()
        save_state(folder, _FORM, {"method": self.method, "n_features": self.n_features, "field": content}, arrays)


def load_estimator(folder: str | Path, *, beside: tuple[str, ...] = ()) -> SavedEstimator:
    """Read a fitted estimator back.

    Parameters
    ----------
    folder : str or Path
    beside : tuple of str
        Names of further entries that may lie in the folder.

    Returns
    -------
    SavedEstimator

    Raises
    ------
    FileError, CorruptFile, TrustError, MismatchError
        If the folder holds no field, a damaged one, foreign files, or something else.
    """
    content, arrays = load_state(folder, _FORM, beside=beside)
    with rebuilding(folder):
        fitted = estimator_class(content["method"]).from_state(content["field"], arrays)
        return SavedEstimator(content["method"], fitted, int(content["n_features"]))
