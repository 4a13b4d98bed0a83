"""Metrics of calibration with scikit-learn's signature: ``metric(y_true, y_prob, *, sample_weight=None)``.

- One number: :func:`smece`, :func:`ece`, :func:`brier`, :func:`log_loss`; they go into
  :func:`sklearn.metrics.make_scorer` as they are.
- What inputs or slices show and the probability alone does not: :func:`hidden_miscalibration`, :func:`worst_slice_gap`.
  :func:`scorer` makes a scorer ``(estimator, X, y)`` of any metric here.
- With interval, noise floor and p-value: :func:`measure_smece`, :func:`measure_ece`. Curves: :func:`reliability_curve`,
  :func:`smooth_reliability_curve`. Decisions: :func:`net_benefit`.

Examples
--------
>>> from sklearn.metrics import make_scorer
>>> make_scorer(smece, response_method="predict_proba", greater_is_better=False)
make_scorer(smece, greater_is_better=False, response_method='predict_proba')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from miscal.base.arrays import is_frame, numeric
from miscal.base.checks import check_lengths, check_seed
from miscal.base.errors import InputError
from miscal.base.folds import assign_folds, content_order
from miscal.calibration.labelled_rows import LabelledRows, check_predictions, check_slices, class_column
from miscal.calibration.metrics.curve import reliability_curve, smooth_reliability_curve
from miscal.calibration.metrics.decisions import net_benefit
from miscal.calibration.metrics.gap import worst_slice_gap
from miscal.calibration.metrics.inference import measure_ece, measure_smece
from miscal.calibration.metrics.scores import brier, ece, log_loss
from miscal.calibration.metrics.smooth import smece
from miscal.data.readers.column_readings import InputReading
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.honest import honest_field
from miscal.evidence.conditional import centred, outcome_given_confidence, strata

__all__ = [
    "brier",
    "ece",
    "hidden_miscalibration",
    "log_loss",
    "measure_ece",
    "measure_smece",
    "net_benefit",
    "reliability_curve",
    "scorer",
    "smece",
    "smooth_reliability_curve",
    "worst_slice_gap",
]

_FOLDS = 5
"""Folds by which slices are judged and E[y | f] is learned. A convention, not tuned."""

_STREAM = 11
"""Stream of the deal of folds, apart from those of the field."""


def hidden_miscalibration(
    y_true: Any,
    y_prob: Any,
    *,
    X: Any = None,
    slices: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> float:
    """Estimate how much miscalibration the inputs or slices show beyond what any reliability diagram can.

    The mean of (y - E[y | f]) s over rows, where s is -1 or 1, the direction in which other rows (by five folds or
    more) say that a row's outcome differs from those of equal probability, less its mean over rows of near-equal
    probability. Its expectation is at most the mean absolute hidden miscalibration E|E[y | x, f] - E[y | f]|, and less
    where the direction is hard to learn; where nothing is hidden it is 0.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Probabilities in [0, 1].
    X : array, frame or texts of n rows, optional
        Inputs, in which a :class:`~miscal.MiscalibrationField` is learned by cross-fitting: seconds for some thousand
        rows, minutes for many.
    slices : array-like of shape (n,), optional
        In place of X: a group for each row.
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default. Rows of weight 0 are left out.
    random_state : int, default 0
        Of folds and field.

    Returns
    -------
    float
        In [-1, 1], in probability; lower is better. Noise makes it negative about as often as positive where nothing is
        hidden. It is no proof: `miscal.discover` gives limits and p-values.

    Raises
    ------
    InputError
        If not exactly one of X and slices is given, an array is empty, not finite or out of range, lengths differ, or
        the field needs more rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 2, 2000)
    >>> y = rng.random(2000) < np.where(kind == 1, 0.7, 0.3)
    >>> smece(y, np.full(2000, 0.5)) < 0.02, round(hidden_miscalibration(y, np.full(2000, 0.5), slices=kind), 1)
    (True, 0.2)
    """
    if (X is None) == (slices is None):
        raise InputError(f"give either X or slices; got {'neither' if X is None else 'both'}")
    n = check_lengths(y_true=y_true, y_prob=y_prob, X=X, slices=slices, sample_weight=sample_weight)
    rows = check_predictions(y_true, y_prob, sample_weight)
    if len(rows) < 2:
        raise InputError("hidden_miscalibration judges each row by others: give at least 2 rows of positive weight")
    seed = check_seed(random_state, name="random_state")
    known = rows.correct, np.ones(len(rows)) if rows.weight is None else rows.mass
    layout = None
    if slices is not None:
        inputs = np.zeros((len(rows), 0))
        slices = check_slices(slices, sample_weight)
        order = content_order(rows.confidence[:, None], slices, *known)
        slices = slices[order]
    else:
        kept = np.ones(n, dtype=bool) if sample_weight is None else numeric(sample_weight, "sample_weight") > 0
        reading = InputReading(seed).fit(X)
        inputs, layout = reading.transform(X)[kept], reading.encoder.layout
        order = content_order(inputs, rows.confidence, *known)
    # the deal of folds must not depend on the order that rows came in
    rows, inputs = rows.take(order), inputs[order]
    folds = assign_folds(np.arange(len(rows)), _FOLDS, np.random.default_rng((seed, _STREAM)))
    expected = _expected(rows, folds)
    if slices is not None:
        side = _sides_of_slices(slices, rows, rows.correct - expected, folds)
    else:
        weight = None if rows.weight is None else rows.mass
        triples = Triples(inputs, rows.confidence, rows.correct, weight=weight, layout=layout)
        # by fits that have not seen the row, whether or not a correction would use it
        side = np.sign(honest_field(MiscalibrationField(random_state=seed), triples).ungated)
    beside = centred(side, strata(rows.confidence), rows.weight)
    return float(rows.shares @ ((rows.correct - expected) * beside))


def _expected(rows: LabelledRows, folds: np.ndarray) -> np.ndarray:
    """E[y | f] of each row, learned from the other folds."""
    expected = np.empty(len(rows))
    for k in np.unique(folds):
        inside, rest = folds == k, rows.take(folds != k)
        weight = None if rest.weight is None else rest.mass
        expected[inside] = outcome_given_confidence(
            rest.correct, rest.confidence, rows.confidence[inside], weight=weight
        )
    return expected


def _sides_of_slices(slices: np.ndarray, rows: LabelledRows, left: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """On which side of rows of equal probability the other folds see the slice of each row; 0 where they have none."""
    _, number = np.unique([str(one) for one in slices.tolist()], return_inverse=True)
    cell = number * (folds.max() + 1) + folds
    sums = np.bincount(cell, rows.shares * left, minlength=(number.max() + 1) * (folds.max() + 1))
    by_slice = sums.reshape(number.max() + 1, -1)
    return np.sign(by_slice.sum(axis=1)[number] - by_slice[number, folds])


@dataclass(frozen=True)
class scorer:  # noqa: N801  (it stands beside make_scorer)
    """A scorer ``(estimator, X, y)`` of a metric, for ``scoring=`` in scikit-learn: higher is better.

    Parameters
    ----------
    metric : callable
        One of this module, or any with its signature. Lower values must be better.
    slices : str, int, callable or None, default None
        For metrics that take slices: a column of X by its name or place, or a function of X that gives a value for each
        row. :func:`hidden_miscalibration` without slices is given X.
    pos_label : object, optional
        The class whose probability is scored; by default the second of two.
    options : dict, optional
        Further arguments of the metric.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = np.where(rng.random(400) < 0.5, "no", "yes")
    >>> by_sign = scorer(worst_slice_gap, slices=lambda X: X[:, 0] > 0)
    >>> bool((cross_val_score(LogisticRegression(), X, y, scoring=by_sign, cv=2) < 0.1).all())
    True
    """

    metric: Callable[..., float]
    slices: Any = None
    pos_label: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the metric of the estimator's probabilities.

        Raises
        ------
        InputError
            If the estimator has no `predict_proba`, or more than two classes and no `pos_label`, or the metric refuses
            its input.
        """
        classes, column = class_column(estimator, self.pos_label)
        asked = dict(self.options)
        if self.slices is not None:
            asked["slices"] = _slices_of(X, self.slices)
        elif self.metric is hidden_miscalibration:
            asked["X"] = X
        probability = np.asarray(estimator.predict_proba(X))[:, column]
        return -self.metric(np.asarray(y) == classes[column], probability, sample_weight=sample_weight, **asked)


def _slices_of(X: Any, slices: Any) -> Any:
    if callable(slices):
        return slices(X)
    if is_frame(X):
        return X[slices]
    if isinstance(slices, int):
        return np.asarray(X)[:, slices]
    raise InputError(f"slices must be a column of X by its place where X is an array, or a function; got {slices!r}")
