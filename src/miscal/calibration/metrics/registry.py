"""The list of metrics; whatever computes or shows metrics goes through it.

To add a metric, write its function beside those like it (`scores.py` for means over rows) and its entry in `METRICS`.
It then appears under ``global`` in ``summary.json`` and, if it says which of two values is `better`, in the tables that
compare corrections, those of the report included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from miscal.base.document import MeasureAgainstNull
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.inference import RandomState, binned_error_of, smece_of
from miscal.calibration.metrics.scores import ece_of, log_losses, mean_of_values, mean_value, squared_errors, wilson
from miscal.calibration.metrics.smooth import smece_value
from miscal.calibration.survey_design import effect_of_groups, kish

RowValues = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From outcomes and confidences of shape (n,) to one value per row."""


@dataclass(frozen=True)
class Metric:
    """One number of a set of rows.

    `name`: its key in ``summary.json``. `label`: what tables call it. `value_of`: ``value_of(rows)`` gives the number
    alone. `estimate_of`: ``estimate_of(rows, n_draws, random_state)`` gives it with its interval. `better`: ``"lower"``
    or ``"higher"`` where tables that compare corrections have a column of it: which of two corrections it prefers.
    """

    name: str
    label: str
    value_of: Callable[[LabelledRows], float]
    estimate_of: Callable[[LabelledRows, int, RandomState], MeasureAgainstNull]
    better: Literal["lower", "higher"] | None = None


def _mean_of(values: RowValues, rows: LabelledRows, *_draws: Any, low: float = -np.inf, high: float = np.inf) -> Any:
    """Estimate the mean of a value of each row, with Student's interval, cut to where the mean can lie.

    One row whose outcome turns out otherwise is added to the variance: rows that are all right, or nearly all, say
    little of how much the next one may lose.
    """
    y, f = rows.correct, rows.confidence
    value = values(y, f)
    flipped = float(np.sqrt(rows.shares @ np.square(values(1 - y, f) - value)))
    found = mean_of_values(rows, value, unit=flipped)
    ends = found.interval and (max(found.interval[0], low), min(found.interval[1], high))
    return found.model_copy(update={"interval": ends})


def _accuracy(rows: LabelledRows, *_draws: Any) -> MeasureAgainstNull:
    """Estimate the share of right answers, with Wilson's interval."""
    share = float(rows.shares @ rows.correct)
    left = rows.correct - share
    effect = kish(rows.shares, left**2) * effect_of_groups(left, rows.group, rows.shares) * rows.factor**2
    low, high = wilson(np.clip(share, 0.0, 1.0), len(rows) / effect)
    return MeasureAgainstNull(value=share, interval=(float(low), float(high)))


def _mean(
    name: str, label: str, values: RowValues, better: Literal["lower", "higher"] | None = None, **ends: float
) -> Metric:
    return Metric(name, label, partial(mean_value, values=values), partial(_mean_of, values, **ends), better)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "Accuracy", partial(mean_value, values=lambda y, f: y), _accuracy),
        _mean("confidence", "Mean confidence", lambda y, f: f, low=0.0, high=1.0),
        Metric("smece", "smECE", smece_value, smece_of, "lower"),
        Metric("ece", "ECE", ece_of, binned_error_of),
        _mean("brier", "Brier", squared_errors, "lower", low=0.0, high=1.0),
        _mean("log_loss", "Log loss", log_losses, "lower"),
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
    return [metric for metric in METRICS.values() if metric.better is not None]
