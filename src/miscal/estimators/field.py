"""The miscalibration field: one estimator with two methods, and its honest (K-fold) values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from miscal.base.checks import check_features, drawn_seed
from miscal.base.errors import InputError
from miscal.base.state_folder import load_state, save_state
from miscal.estimators.auto import AutoField
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.grid import n_workers

__all__ = ["METHODS", "FieldEstimate", "MiscalibrationField"]

METHODS = {"auto": AutoField, "paper": PaperField}
_FORM = "miscal-field"


class MiscalibrationField(BaseEstimator):
    """Estimate the signed miscalibration field delta(x) = E[Y - f | X = x].

    Parameters
    ----------
    method : {"auto", "paper"}, default "auto"
        "auto": a cross-fitted portfolio of logit shifts, chosen by log loss, which returns the global map where no
        local structure is found. "paper": kernel smoothing of residuals in a learned representation, to the letter
        of arXiv 2605.13484.
    random_state : int or numpy.random.Generator, default 0
        The same seed gives the same field on the same machine.
    n_jobs : int, optional
        Processes; by default as many as the processors this process may use.

    Attributes
    ----------
    selection_ : list of dict
        The candidates, with `log_loss` (auto), `proxy` and `chosen`.
    global_map_ : Calibrator
        What a reliability diagram can show: the visible part is its prediction minus f.
    structure_ : bool
        Whether local structure is claimed; always True for "paper", which has no such test.
    settings_ : dict
        What was chosen, as JSON values.
    n_features_in_ : int
    seed_ : int
        `random_state`, or what was drawn from it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
    >>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = MiscalibrationField().fit(X, y, confidence=f)
    >>> np.sign(field.predict([[-1.0, 0.0], [1.0, 0.0]], confidence=[0.5, 0.5]))
    array([-1.,  1.])
    """

    def __init__(
        self, method: str = "auto", *, random_state: int | np.random.Generator = 0, n_jobs: int | None = None
    ) -> None:
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, *, confidence: Any, sample_weight: Any = None, groups: Any = None, split: Any = None
    ) -> Self:
        """Learn the field.

        Parameters
        ----------
        X : array-like of shape (n, d), finite
            Inputs or their embeddings.
        y : array-like of shape (n,), 0 or 1
            Outcomes.
        confidence : array-like of shape (n,), in [0, 1]
            The model's confidence f.
        sample_weight : array-like of shape (n,), optional
            Numbers of rows, not negative: 2 is a row that came twice, 0 leaves it out. Their sum is taken for the
            number of rows that were seen, so weights that are no counts (1 / probability of being drawn) need a
            mean of 1.
        groups : array-like of shape (n,), optional
            Rows with the same value stay on one side of every internal split; by default rows with equal inputs.
        split : array-like of shape (n,), optional
            'train' or 'val' per row. "paper" chooses on the 'val' rows (by default one in nine, drawn by the seed);
            "auto" cross-fits every choice over all rows given.

        Returns
        -------
        MiscalibrationField
            self.

        Raises
        ------
        InputError
            For input that cannot be used; the message says what, where and how to mend it.
        """
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}; {self.method!r} came")
        _check_seed(self.random_state)
        n_workers(self.n_jobs, 1)
        self.seed_ = drawn_seed(self.random_state)
        options = {"n_jobs": self.n_jobs} if self.method == "paper" else {}
        fitted = METHODS[self.method](random_state=self.seed_, **options).fit(
            X, y, confidence=confidence, sample_weight=sample_weight, groups=groups, split=split
        )
        self._adopt(fitted, check_features(X).shape[1])
        return self

    def _adopt(self, fitted: AutoField | PaperField, n_features: int) -> None:
        self.fitted_ = fitted
        self.n_features_in_ = n_features
        self.selection_ = fitted.selection_
        self.global_map_ = fitted.global_map_
        self.structure_ = getattr(fitted, "structure_", True)
        self.settings_ = {"method": self.method, "global_map": fitted.global_map_.name, "structure": self.structure_}
        if isinstance(fitted, PaperField):
            self.settings_ |= {
                "sigma": fitted.sigma_, "lambda": fitted.penalty_, "epoch": fitted.epoch_, "alpha": fitted.alpha_,
            }  # fmt: skip
        else:
            self.settings_ |= fitted.model_.evidence.__dict__

    def _fitted(self) -> AutoField | PaperField:
        if not hasattr(self, "fitted_"):
            raise NotFittedError("this MiscalibrationField is not fitted yet: call fit first")
        return self.fitted_

    def estimate(self, X: Any, confidence: Any) -> FieldEstimate:
        """Everything the field says of rows: delta, mass, support, visible and hidden part, correction.

        Parameters
        ----------
        X : array-like of shape (n, d)
        confidence : array-like of shape (n,), in [0, 1]

        Returns
        -------
        FieldEstimate
        """
        return self._fitted().estimate(X, confidence)

    def predict(self, X: Any, confidence: Any = None) -> np.ndarray:
        """Estimate delta; negative where over-confident, positive where under-confident.

        Parameters
        ----------
        X : array-like of shape (n, d)
        confidence : array-like of shape (n,), in [0, 1]
            Needed by "auto"; "paper" can do without (a row far from the bank is then the mean residual's).

        Returns
        -------
        ndarray of shape (n,), float64
            In [-f, 1 - f] for "auto", within the residuals' extremes for "paper".
        """
        fitted = self._fitted()
        if confidence is not None:
            return fitted.estimate(X, confidence).delta
        if isinstance(fitted, PaperField):
            average, mass = fitted.kernel_average(X)
            mean = np.average(fitted.bank_residual_, weights=fitted.bank_weight_)
            return np.where(mass > 0, average, mean)
        raise InputError('confidence is missing: the field of method="auto" depends on it; pass confidence=')

    def calibrate(self, X: Any, confidence: Any) -> np.ndarray:
        """Locally corrected confidences in [0, 1], float64 (n,)."""
        return self.estimate(X, confidence).corrected

    def transform(self, X: Any) -> np.ndarray:
        """phi(X): rows in the learned geometry, float64 (n, k)."""
        return self._fitted().transform(X)

    def mass(self, X: Any) -> np.ndarray:
        """Sum of kernel weights: how many neighbours an estimate rests on, float64 (n,)."""
        return self._fitted().mass(X)

    def neighbours(self, X: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Rows given to `fit` that weigh most at each row: numbers (q, n) and kernel weights (q, n)."""
        return self._fitted().neighbours(X, n)

    def save(self, folder: str | Path) -> None:
        """Write the field as JSON and safetensors into a folder; no pickle.

        Parameters
        ----------
        folder : str or Path
            Made if it is not there.
        """
        content, arrays = self._fitted().state()
        save_state(folder, _FORM, {"method": self.method, "n_features": self.n_features_in_, "field": content}, arrays)

    @classmethod
    def load(cls, folder: str | Path, *, beside: tuple[str, ...] = ()) -> Self:
        """Read a saved field back.

        Parameters
        ----------
        folder : str or Path
        beside : tuple of str
            Names of further entries that may lie in the folder.

        Returns
        -------
        MiscalibrationField

        Raises
        ------
        FileError, CorruptFile, TrustError, MismatchError
            If the folder holds no field, a damaged one, foreign files, or something else.
        """
        content, arrays = load_state(folder, _FORM, beside=beside)
        field = cls(content["method"])
        field._adopt(METHODS[content["method"]].from_state(content["field"], arrays), content["n_features"])
        return field


def _check_seed(seed: Any) -> None:
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not isinstance(seed, np.random.Generator) and not (whole and seed >= 0):
        raise InputError(
            f"random_state must be a whole number of at least 0, or a numpy Generator; {seed!r} came. Without one an "
            "answer could not be repeated"
        )
