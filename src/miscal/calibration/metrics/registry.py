"""The list of metrics; whatever computes or shows metrics goes through it.

To add a metric, write its function beside those like it (`scores.py` for means over rows) and its entry in `METRICS`.
It then appears under ``global`` in ``summary.json`` and, with ``compares_corrections=True``, in the tables that compare
corrections, those of the report included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.inference import RandomState, binned_error_of, smece_of
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
    value_of : callable
        ``value_of(rows)`` gives the number alone, a float.
    estimate_of : callable
        ``estimate_of(rows, n_draws, random_state)`` gives it with its interval, an `Estimate`.
    lower_is_better : bool or None, default None
        Which of two corrections it prefers; None where it describes the rows and prefers neither.
    compares_corrections : bool, default False
        Whether tables that compare corrections have a column of it.
    """

    name: str
    label: str
    value_of: ValueOfRows
    estimate_of: EstimateOfRows
    lower_is_better: bool | None = None
    compares_corrections: bool = False

    def __post_init__(self) -> None:
        if self.compares_corrections and self.lower_is_better is None:
            raise InputError(
                f"metric {self.name!r} is to compare corrections, so it must say which it prefers: "
                "give lower_is_better=True or lower_is_better=False; it is None"
            )


RowValues = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From outcomes and confidences of shape (n,) to one value per row."""


def _mean_of(values: RowValues, low: float = -np.inf, high: float = np.inf) -> EstimateOfRows:
    """Estimate the mean of a value of each row, with Student's interval, cut to where the mean can lie.

    One row whose outcome turns out otherwise is added to the variance: rows that are all right, or nearly all, say
    little of how much the next one may lose.
    """

    def estimate(rows: LabelledRows, *_draws: Any) -> Estimate:
        y, f = rows.correct, rows.confidence
        value = values(y, f)
        flipped = float(np.sqrt(rows.shares @ np.square(values(1 - y, f) - value)))
        found = mean_of_values(rows, value, unit=flipped)
        if found.interval is None:
            return found
        return replace(found, interval=(max(found.interval[0], low), min(found.interval[1], high)))

    return estimate


def _share_of(values: RowValues) -> EstimateOfRows:
    """Estimate the share of rows with a value of 1 rather than 0, with Wilson's interval."""

    def estimate(rows: LabelledRows, *_draws: Any) -> Estimate:
        value = values(rows.correct, rows.confidence)
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


def _mean(values: RowValues) -> ValueOfRows:
    return lambda rows: mean_value(rows, values)


_COMPARES = {"lower_is_better": True, "compares_corrections": True}

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "Accuracy", _mean(_outcome), _share_of(_outcome)),
        Metric("confidence", "Mean confidence", _mean(_confidence), _mean_of(_confidence, 0.0, 1.0)),
        Metric("smece", "smECE", smece_value, smece_of, **_COMPARES),
        Metric("ece", "ECE", ece_of, binned_error_of, lower_is_better=True),
        Metric("brier", "Brier", _mean(squared_errors), _mean_of(squared_errors, 0.0, 1.0), **_COMPARES),
        Metric("log_loss", "Log loss", _mean(log_losses), _mean_of(log_losses), **_COMPARES),
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
