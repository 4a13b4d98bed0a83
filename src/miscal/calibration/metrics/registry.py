"""The list of metrics; whatever computes or shows metrics goes through it.

To add a metric, write its function beside those like it (`scores.py` for means over rows) and its entry in `METRICS`.
It then appears in :func:`global_scores`, under ``global`` in ``summary.json`` and, with ``compares_corrections=True``,
in the tables that compare corrections, those of the report included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.checked_rows import check_rows
from miscal.calibration.metrics.inference import DRAWS, RandomState, binned_error_of, smece_of
from miscal.calibration.metrics.scores import ece_of, log_losses, mean_of_values, mean_value, squared_errors, wilson
from miscal.calibration.metrics.smooth import smece_value
from miscal.calibration.survey_design import effect_of_groups, kish


class Estimate(Protocol):
    """A value with its interval; `MeanEstimate` and `ErrorEstimate` say more."""

    @property
    def value(self) -> float:
        """The metric, in its unit."""
        ...

    @property
    def interval(self) -> tuple[float, float] | None:
        """Low and high at 95 %; None where a single row leaves it undefined."""
        ...


ValueOfRows = Callable[[LabelledRows], float]
EstimateOfRows = Callable[[LabelledRows, int, RandomState], Estimate]


@dataclass(frozen=True)
class Metric:
    """One number of a set of rows.

    Attributes
    ----------
    name : str
        Its key in ``summary.json``.
    label : str
        What tables call it.
    value : callable
        ``value(correct, confidence, sample_weight=None)`` gives the number alone, a float.
    estimate : callable
        ``estimate(correct, confidence, sample_weight=None, groups=None, n_draws=1000, random_state=0)`` gives it with
        its interval, an `Estimate`. `mean_of` and `share_of` make one from values of rows.
    lower_is_better : bool or None, default None
        Which of two corrections it prefers; None where it describes the rows and prefers neither.
    compares_corrections : bool, default False
        Whether tables that compare corrections have a column of it.
    value_of, estimate_of : callable, optional
        `value` and `estimate` of rows that are checked already: ``value_of(rows)`` and ``estimate_of(rows, n_draws,
        random_state)``. By default made from these, which check the rows again.
    """

    name: str
    label: str
    value: Callable[..., float]
    estimate: Callable[..., Estimate]
    lower_is_better: bool | None = None
    compares_corrections: bool = False
    value_of: ValueOfRows = None  # type: ignore[assignment]
    estimate_of: EstimateOfRows = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.compares_corrections and self.lower_is_better is None:
            raise InputError(
                f"metric {self.name!r} is to compare corrections, so it must say which it prefers: "
                "give lower_is_better=True or lower_is_better=False; it is None"
            )
        # the class is frozen for everyone but its own making
        if self.value_of is None:
            object.__setattr__(self, "value_of", lambda rows: self.value(*_outcomes(rows), sample_weight=rows.weight))
        if self.estimate_of is None:
            object.__setattr__(self, "estimate_of", self._estimate_of)

    def _estimate_of(self, rows: LabelledRows, n_draws: int, random_state: RandomState) -> Estimate:
        known = {"sample_weight": rows.weight, "groups": rows.group}
        return self.estimate(*_outcomes(rows), **known, n_draws=n_draws, random_state=random_state)


def _outcomes(rows: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
    return rows.correct, rows.confidence


RowValues = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From outcomes and confidences of shape (n,) to one value per row."""


def mean_of(values: RowValues, *, low: float = -np.inf, high: float = np.inf) -> Callable[..., Estimate]:
    """Estimate the mean of a value of each row, with Student's interval, cut to where the mean can lie.

    One row whose outcome turns out otherwise is added to the variance: rows that are all right, or nearly all, say
    little of how much the next one may lose.

    Takes values: ``values(correct, confidence)`` gives float64 of shape (n,); low, high: between which the mean lies
    for certain. Returns callable: For `Metric.estimate`.

    Examples
    --------
    >>> mean_of(squared_errors, low=0.0)([1, 0], [0.5, 0.9]).interval[0]
    0.0
    """
    return _checking(_mean_of(values, low, high))


def _mean_of(values: RowValues, low: float = -np.inf, high: float = np.inf) -> EstimateOfRows:
    def estimate(rows: LabelledRows, *_draws: Any) -> Estimate:
        y, f = _outcomes(rows)
        value = values(y, f)
        flipped = float(np.sqrt(rows.shares @ np.square(values(1 - y, f) - value)))
        found = mean_of_values(rows, value, unit=flipped)
        if found.interval is None:
            return found
        return replace(found, interval=(max(found.interval[0], low), min(found.interval[1], high)))

    return estimate


def _checking(estimate_of: EstimateOfRows) -> Callable[..., Estimate]:
    def estimate(
        correct: Any,
        confidence: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        n_draws: int = DRAWS,
        random_state: RandomState = 0,
    ) -> Estimate:
        return estimate_of(check_rows(correct, confidence, sample_weight, groups), n_draws, random_state)

    return estimate


def share_of(values: RowValues) -> Callable[..., Estimate]:
    """Estimate the share of rows with a value of 1 rather than 0, with Wilson's interval.

    Takes values: ``values(correct, confidence)`` gives 0 or 1 for each row, float64 of shape (n,). Returns callable:
    For `Metric.estimate`.

    Examples
    --------
    >>> [round(end, 2) for end in share_of(lambda y, f: y)([1] * 10, [0.5] * 10).interval]
    [0.72, 1.0]
    """
    return _checking(_share_of(values))


def _share_of(values: RowValues) -> EstimateOfRows:
    def estimate(rows: LabelledRows, *_draws: Any) -> Estimate:
        value = values(*_outcomes(rows))
        found = mean_of_values(rows, value)
        left = value - found.value
        effect = kish(rows.shares, left**2) * effect_of_groups(left, rows.group, rows.shares) * rows.factor**2
        low, high = wilson(np.clip(found.value, 0.0, 1.0), len(value) / effect)
        return replace(found, interval=(float(low), float(high)))

    return estimate


def _outcome(y: np.ndarray, _: np.ndarray) -> np.ndarray:
    return y


def _confidence(_: np.ndarray, f: np.ndarray) -> np.ndarray:
    return f


def _metric(name: str, label: str, value_of: ValueOfRows, estimate_of: EstimateOfRows, **kind: bool) -> Metric:
    """Make a metric of functions of checked rows."""

    def value(correct: Any, confidence: Any, *, sample_weight: Any = None) -> float:
        return value_of(check_rows(correct, confidence, sample_weight))

    return Metric(name, label, value, _checking(estimate_of), **kind, value_of=value_of, estimate_of=estimate_of)


def _mean(values: RowValues) -> ValueOfRows:
    return lambda rows: mean_value(rows, values)


_COMPARES = {"lower_is_better": True, "compares_corrections": True}

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _metric("accuracy", "Accuracy", _mean(_outcome), _share_of(_outcome)),
        _metric("confidence", "Mean confidence", _mean(_confidence), _mean_of(_confidence, 0.0, 1.0)),
        _metric("smece", "smECE", smece_value, smece_of, **_COMPARES),
        _metric("ece", "ECE", ece_of, binned_error_of, lower_is_better=True),
        _metric("brier", "Brier", _mean(squared_errors), _mean_of(squared_errors, 0.0, 1.0), **_COMPARES),
        _metric("log_loss", "Log loss", _mean(log_losses), _mean_of(log_losses), **_COMPARES),
    )
}
"""Every metric by name, in the order in which tables list them."""


def correction_metrics() -> list[Metric]:
    """Return the metrics by which corrections are compared, in the order of their columns.

    Examples
    --------
    >>> [metric.label for metric in correction_metrics()][:3]
    ['smECE', 'Brier', 'Log loss']
    """
    return [metric for metric in METRICS.values() if metric.compares_corrections]


def global_scores(
    correct: Any,
    confidence: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    n_draws: int = DRAWS,
    random_state: RandomState = 0,
) -> dict[str, Estimate]:
    """Measure all rows by every metric.

    Takes correct (n,): outcomes, 0 or 1; confidence (n,): confidences in [0, 1]; sample_weight (n,): non-negative;
    groups (n,): rows of equal value may hang together; n_draws: draws for the floors and p-values of smECE and ECE;
    random_state: source of randomness. Returns dict of str to Estimate: One entry for each of `METRICS`: accuracy
    (Wilson interval), confidence, brier and log_loss (Student intervals) as `MeanEstimate`.

    Examples
    --------
    >>> scores = global_scores([1, 0, 0, 0] * 25, [0.5] * 100, n_draws=100)
    >>> accuracy, brier = scores["accuracy"], scores["brier"]
    >>> round(accuracy.value, 4), [round(end, 2) for end in accuracy.interval], round(brier.value, 4)
    (0.25, [0.18, 0.34], 0.25)
    """
    rows = check_rows(correct, confidence, sample_weight, groups)
    return {name: metric.estimate_of(rows, n_draws, random_state) for name, metric in METRICS.items()}
