"""The correction of the probabilities of several classes, saved beside the field of the top label."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.state_folder import load_state, rebuilding, save_state
from miscal.data.readers.new_classes import ModelClasses

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.estimators.simplex.correction import SimplexCorrection

_FORM = "miscal-classes"


@dataclass(frozen=True, eq=False)
class SavedClasses:
    """The classes of a model, and the correction of their probabilities.

    `read`: names of the classes, and how their probabilities were read.
    """

    read: ModelClasses
    correction: SimplexCorrection

    @classmethod
    def of(cls, rows: Triples, correction: SimplexCorrection) -> Self:
        """Put a correction together with how the probabilities of the rows were read."""
        classes: Any = rows.classes
        return cls(ModelClasses(classes.names, classes.columns, classes.log), correction)

    def correct(self, X: NDArray, probability: NDArray[np.float64], local: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Correct probabilities.

        `X`: inputs of the rows that have usable ones and are near to what was learned from. `probability`: of all rows;
        they sum to 1. `local`, (n,) bool: which rows X is of, m in all. The others are corrected by the global map
        alone. Returns (n, K) float64: rows sum to 1.
        """
        found = self.correction.alone.apply(np.zeros((len(probability), 0)), probability)
        if self.correction.structure and local.any():
            found[local] = self.correction.apply(X, probability[local])
        return found

    def save(self, folder: str | Path) -> None:
        """Write them as JSON and safetensors."""
        content, arrays = self.correction.state()
        read = {"names": list(self.read.names), "columns": list(self.read.columns), "log": self.read.log}
        save_state(folder, _FORM, read | {"correction": content}, arrays)


def load_classes(folder: str | Path, n_features: int) -> SavedClasses | None:
    """Read classes and their correction back.

    `n_features`: columns of X that the model sees. Returns None where there is no such folder.
    """
    if not Path(folder).is_dir():
        return None
    from miscal.estimators.simplex.correction import SimplexCorrection

    content, arrays = load_state(folder, _FORM)
    with rebuilding(folder):
        names, columns = (tuple(map(str, content[name])) for name in ("names", "columns"))
        found = SavedClasses(
            ModelClasses(names, columns, bool(content["log"])),
            SimplexCorrection.from_state(content["correction"], arrays),
        )
        # parts that do not fit together show where anything is corrected
        k = len(names)
        tried = found.correct(np.zeros((1, n_features)), np.full((1, k), 1 / k), np.array([True]))
        if tried.shape != (1, k) or len(columns) not in (0, k) or not np.isfinite(tried).all():
            raise ValueError(f"a correction that does not give {k} probabilities")
    return found
