"""What every baseline offers: fit on train and validation rows, then a correction and a field of new rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.checks import check_confidence, check_features, check_lengths
from miscal.base.errors import InputError
from miscal.data.triples import Triples

Floats = NDArray[np.float64]


class Baseline(ABC):
    """A method to compare with, behind one interface.

    Each is meant to be its best: settings and variants are chosen on held-out rows by log loss (the validation rows,
    or folds where those are few), then fitted again to all rows given.

    Attributes
    ----------
    name : str
        Its name in the registry and in tables.
    place : float
        Where it stands in tables: maps of the confidence alone first, miscal's own estimators last.
    reads_inputs : bool
        Whether it uses the inputs x; a map of the confidence alone does not.
    packages : tuple of str
        Modules of other packages that it needs, which ``requirements-bench.lock`` brings.
    settings_ : dict
        What was chosen, as JSON values.
    """

    name: ClassVar[str]
    place: ClassVar[float] = 50
    reads_inputs: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.settings_: dict[str, Any] = {}

    def fit(self, X: Any, correct: Any, confidence: Any, *, split: Any = None, random_state: int = 0) -> Self:
        """Learn from train and validation rows.

        Parameters
        ----------
        X : array-like of shape (n, d), finite
        correct : array-like of shape (n,), 0 or 1
        confidence : array-like of shape (n,), in [0, 1]
        split : array-like of shape (n,), 'train' or 'val', optional
            By default every tenth row, in random order, is a validation row.
        random_state : int, default 0

        Returns
        -------
        Baseline
            self.

        Raises
        ------
        InputError
            For rows that cannot be used.
        """
        rows = Triples.of(X, confidence=confidence, correct=correct, split=split)
        rows = _with_split(rows, random_state)
        self.n_features_in_ = rows.X.shape[1]
        self._fit(rows, random_state)
        return self

    def calibrate(self, X: Any, confidence: Any) -> Floats:
        """Corrected confidences of rows.

        Parameters
        ----------
        X : array-like of shape (q, d)
        confidence : array-like of shape (q,), in [0, 1]

        Returns
        -------
        ndarray of shape (q,), float64, in [0, 1]

        Raises
        ------
        InputError
            For rows that cannot be used, or of another width than those fitted to.
        """
        check_lengths(X=X, confidence=confidence)
        X = check_features(X, narrow=False)
        if X.shape[1] != self.n_features_in_:
            raise InputError(f"X has {X.shape[1]} columns; {self.name} was fitted to {self.n_features_in_}")
        return np.clip(self._calibrate(X, check_confidence(confidence)), 0.0, 1.0)

    def delta(self, X: Any, confidence: Any) -> Floats:
        """Estimate the field of rows; negative where over-confident, positive where under-confident.

        Parameters
        ----------
        X : array-like of shape (q, d)
        confidence : array-like of shape (q,), in [0, 1]

        Returns
        -------
        ndarray of shape (q,), float64, in [-1, 1]
            Correction minus confidence, unless the method estimates the field itself.
        """
        return self.calibrate(X, confidence) - check_confidence(confidence)

    @abstractmethod
    def _fit(self, rows: Triples, seed: int) -> None: ...

    @abstractmethod
    def _calibrate(self, X: NDArray[np.float32], confidence: Floats) -> Floats: ...


def _with_split(rows: Triples, seed: int) -> Triples:
    """Check the split of rows that have one. Rows without one get one: a random tenth of them is for validation."""
    if rows.split is None:
        validation = np.random.default_rng(seed).permutation(len(rows)) % 10 == 0
        return replace(rows, split=np.where(validation, "val", "train"))
    test = rows.split == "test"
    if test.any():
        raise InputError(
            f"split must be 'train' or 'val' in every row; got 'test' in {int(test.sum())} rows "
            f"(first {np.flatnonzero(test)[:5].tolist()})"
        )
    if len(np.unique(rows.split)) < 2:
        raise InputError(f"split must have rows of both 'train' and 'val'; got only {rows.split[0]!r}")
    return rows
