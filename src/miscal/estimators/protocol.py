"""The interface that every estimator of the miscalibration field implements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from miscal.calibration.calibrators import Calibrator
from miscal.data.triples import Triples
from miscal.estimators.estimate import Correction, FieldEstimate


class Estimator(Protocol):
    """An estimator of delta(x) = E[Y - f | X = x].

    A new one is a module with a class that meets this protocol, and its line in
    :mod:`miscal.estimators.registry`. Arguments of its constructor beyond ``random_state``, ``n_jobs`` and
    ``device`` (of those that can compute on a GPU) are the options that :class:`~miscal.MiscalibrationField` passes on.

    Attributes
    ----------
    folds_keep_choices : bool
        Whether honest values by K-fold keep what was chosen on all rows (then the fit on all rows comes first), or
        make every choice again in each fold.
    chooses_on_validation : bool
        Whether it learns from 'train' rows and chooses on 'val' rows, so that what it is compared with should learn
        from 'train' rows alone; else it uses both alike.
    sees_columns : bool
        Whether it sees the columns that stand beside an embedding, and the levels of categories.
    most_rows_in_threads : int
        Up to so many rows several fits run in threads of this process, since other processes would take longer to
        start than they save; 0 where fits cannot run side by side in one process.
    selection_ : list of dict
        The candidates it chose from, as rows of a table.
    global_map_ : Calibrator
        What a reliability diagram can show: the visible part is its prediction minus f.
    structure_ : bool
        Whether it claims local structure.
    settings_ : dict
        What was chosen, as JSON values.
    device_ : str, optional
        Of an estimator that can compute on a GPU: "cpu" or "cuda", where it does.
    proxies_ : tuple of float, optional
        Of an estimator trained in epochs: the validation Brier score of f + delta after each epoch of the chosen
        setting. ``settings_["epoch"]`` is then the one that was kept, from 1.
    """

    folds_keep_choices: ClassVar[bool]
    chooses_on_validation: ClassVar[bool]
    sees_columns: ClassVar[bool]
    most_rows_in_threads: ClassVar[int]
    selection_: list[dict[str, Any]]
    global_map_: Calibrator
    structure_: bool
    settings_: dict[str, Any]

    def __init__(self, *, random_state: int | np.random.Generator = 0, n_jobs: int | None = None) -> None: ...

    def fit(self, rows: Triples) -> Self:
        """Learn the field from rows, of which those of weight 0 count for nothing."""
        ...

    def for_folds(self) -> Self:
        """Return an unfitted estimator for the rows outside a fold, with the choices that folds keep."""
        ...

    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> FieldEstimate:
        """Say everything the field says of rows."""
        ...

    def correct(self, X: np.ndarray, confidence: np.ndarray) -> Correction:
        """Correct confidences of many rows, computing no more than that needs."""
        ...

    def delta(self, X: np.ndarray, confidence: np.ndarray | None) -> np.ndarray:
        """Estimate delta alone; raises InputError where the confidence is missing and needed."""
        ...

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Place rows in the learned geometry, float64 (n, k)."""
        ...

    def mass(self, X: np.ndarray) -> np.ndarray:
        """Sum the kernel weights at each row, float64 (n,)."""
        ...

    def neighbours(self, X: np.ndarray, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Find the rows given to `fit` that weigh most: numbers (q, n) and kernel weights (q, n)."""
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything learned: JSON values, and arrays."""
        ...

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a fitted estimator from what :meth:`state` returned."""
        ...
