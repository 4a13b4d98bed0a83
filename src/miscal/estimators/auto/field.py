"""The default estimator behind the protocol of estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from miscal.base.checks import drawn_seed
from miscal.base.errors import InputError
from miscal.base.threads import one_thread
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.estimators.auto.model import AutoModel
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.estimate import Correction, FieldEstimate, Unlike


class AutoField:
    """Portfolio of logit shifts with a local readout; see :mod:`miscal.estimators.auto.estimator`.

    Every method computes on one thread, so that no number depends on how many there are, and none waits for another.

    Parameters
    ----------
    random_state : int or numpy.random.Generator, default 0
    n_jobs : int, optional
        Part of the protocol; a fit is one process whatever it says.

    Attributes
    ----------
    model_ : AutoModel
    rows_ : int64 array
        The rows of positive weight.
    selection_ : list of dict
        Candidates with out-of-fold `log_loss`, `proxy`, stack `weight`, `chosen`.
    global_map_ : Calibrator
    structure_ : bool
        Whether local structure is claimed, by the out-of-fold evidence of the stack against the global map.
    settings_ : dict
        That evidence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
    >>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = AutoField().fit(Triples.of(X, confidence=f, correct=y))
    >>> np.sign(field.estimate(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5])).delta)
    array([-1.,  1.])
    """

    folds_keep_choices: ClassVar[bool] = False
    chooses_on_validation: ClassVar[bool] = False
    sees_columns: ClassVar[bool] = True
    most_rows_in_threads: ClassVar[int] = AUTO.most_rows_in_threads

    def __init__(self, *, random_state: int | np.random.Generator = 0, n_jobs: int | None = None) -> None:
        self.random_state, self.n_jobs = random_state, n_jobs

    @one_thread()
    def fit(self, rows: Triples) -> AutoField:
        """Fit on all rows given; their split is not looked at: every choice is cross-fitted.

        Returns: AutoField: self.
        """
        # rows of weight 0 would still take places among folds, landmarks and bank
        kept = np.arange(len(rows)) if rows.weight is None else np.flatnonzero(rows.weight > 0)
        if len(kept) < AUTO.least_rows:
            raise InputError(f"too few rows: got {len(kept)} of positive weight; at least {AUTO.least_rows} are needed")
        # what only a fit needs is not imported where a saved field is served
        from miscal.estimators.auto.estimator import fit_auto

        rows, _ = in_canonical_order(rows.take(kept))
        self.rows_ = rows.row
        self._keep(fit_auto(rows, seed=drawn_seed(self.random_state)))
        return self

    def _keep(self, model: AutoModel) -> None:
        self.model_ = model
        self.global_map_ = model.global_map
        self.structure_ = model.structure
        self.settings_ = dict(model.evidence.__dict__)
        self.selection_ = [candidate.as_row() for candidate in model.candidates]

    def for_folds(self) -> AutoField:
        """Return the estimator of a fold: every choice is made again."""
        return AutoField(random_state=self.random_state)

    @one_thread()
    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> FieldEstimate:
        """Estimate the field.

        Takes X (n, d); confidence (n,). Returns: FieldEstimate: `corrected` = confidence + `delta`, in [0, 1].
        """
        return self.model_.estimate(X, confidence)

    @one_thread()
    def correct(self, X: np.ndarray, confidence: np.ndarray) -> Correction:
        """Correct confidences, as :meth:`estimate` does within 1e-4, without what has no weight in the answer.

        Takes X (n, d); confidence (n,).
        """
        return self.model_.correct(X, confidence)

    def unlike(self, X: np.ndarray) -> Unlike:
        """Say how new rows differ from those learned from, column by column."""
        return Unlike(*self.model_.far_values(X))

    def spread(self, column: int) -> tuple[float, float]:
        """Mean and standard deviation of a column of X among the rows learned from; 0 where it was constant."""
        inverse = float(self.model_.scaler.inverse_sd[column])
        return float(self.model_.scaler.mean[column]), 1 / inverse if inverse else 0.0

    def delta(self, X: np.ndarray, confidence: np.ndarray | None) -> np.ndarray:
        """Estimate delta alone, float64 (n,), in [-f, 1 - f]; the confidence is needed."""
        if confidence is None:
            raise InputError(
                'confidence is missing: the field of method="auto" depends on it. Pass confidence=, one number per row'
            )
        return self.correct(X, confidence).delta

    @one_thread()
    def transform(self, X: np.ndarray) -> np.ndarray:
        """Place rows in the learned geometry, float64 (n, k); inputs miscalibrated alike lie close."""
        return self.model_.local.coordinates(self.model_.placed(X)).astype(np.float64)

    @one_thread()
    def mass(self, X: np.ndarray) -> np.ndarray:
        """Sum of kernel weights at each row, float64 (n,)."""
        return self.model_.local.read(self.model_.placed(X)).mass

    @one_thread()
    def neighbours(self, X: np.ndarray, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Training rows that weigh most at each row: row numbers (q, n) and kernel weights (q, n)."""
        rows, weights = self.model_.local.nearest(self.model_.placed(X), n)
        # the model counts rows of positive weight, the caller all rows given
        return self.rows_[rows], weights

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything learned: JSON values, and arrays."""
        content, arrays = self.model_.state()
        return content, {**arrays, "rows": self.rows_}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> AutoField:
        """Rebuild a fitted field from what :meth:`state` returned."""
        field = cls()
        field.rows_ = np.asarray(arrays["rows"])
        field._keep(AutoModel.from_state(content, arrays))
        return field
