"""Calibration errors and scores: pure formulas of outcomes, confidences and weights.

Residuals are y - f: positive means under-confident. All functions take outcomes, confidences and the keyword
``sample_weight``; those that :mod:`miscal.metrics` offers call the first two ``y_true`` and ``y_prob``. In a value, a
weight of 2 is a row repeated and a weight of 0 a row dropped. In intervals, floors and p-values rows are the
independent units and weights say how much each matters; repeat rows to count them as several.

- One number: :func:`smece`, :func:`ece`, :func:`brier`, :func:`log_loss`; :func:`log_losses` of each row.
- With interval, noise floor and p-value: :func:`measure_smece`, :func:`measure_ece`, :func:`measure_gap`.
- All metrics at once, each with its interval: :func:`global_scores`. A new metric is a :class:`Metric` in `METRICS`.
- Slices: :func:`worst_slice_gap`, of regimes :func:`worst_slice`. Diagrams: :func:`reliability_curve`,
  :func:`smooth_reliability_curve`. Means: :func:`mean_interval`,
  :func:`paired_difference` of two methods on the same rows, :func:`wilson` for shares.
- Decisions at a threshold: :func:`threshold_grid`, :func:`implied_threshold`, :func:`net_benefit`,
  :func:`net_benefit_gain`; deferral of the least confident rows: :func:`risk_at_coverage`, :func:`risk_coverage_area`,
  :func:`deferral_gains`.
- Random draws: :func:`smece_bootstrap` of rows, :func:`smece_null` of a calibrated model.
"""

from miscal.calibration.metrics.curve import (
    ReliabilityCurve,
    SmoothReliabilityCurve,
    reliability_curve,
    smooth_reliability_curve,
)
from miscal.calibration.metrics.decisions import (
    GAIN_COVERAGES,
    DeferralGain,
    deferral_gains,
    implied_threshold,
    net_benefit,
    net_benefit_gain,
    risk_at_coverage,
    risk_coverage_area,
    threshold_grid,
)
from miscal.calibration.metrics.gap import (
    MIN_SLICE_ROWS,
    GapEstimate,
    WorstSlice,
    clipped,
    measure_gap,
    worst_slice,
    worst_slice_gap,
)
from miscal.calibration.metrics.inference import (
    ErrorEstimate,
    measure_ece,
    measure_smece,
    smece_bootstrap,
    smece_interval,
    smece_null,
)
from miscal.calibration.metrics.registry import (
    METRICS,
    Estimate,
    Metric,
    correction_metrics,
    global_scores,
    mean_of,
    share_of,
)
from miscal.calibration.metrics.scores import (
    MeanEstimate,
    brier,
    ece,
    log_loss,
    log_losses,
    mean_interval,
    paired_difference,
    wilson,
)
from miscal.calibration.metrics.smooth import smece

__all__ = [
    "GAIN_COVERAGES",
    "METRICS",
    "MIN_SLICE_ROWS",
    "DeferralGain",
    "ErrorEstimate",
    "Estimate",
    "GapEstimate",
    "MeanEstimate",
    "Metric",
    "ReliabilityCurve",
    "SmoothReliabilityCurve",
    "WorstSlice",
    "brier",
    "clipped",
    "correction_metrics",
    "deferral_gains",
    "ece",
    "global_scores",
    "implied_threshold",
    "log_loss",
    "log_losses",
    "mean_interval",
    "mean_of",
    "measure_ece",
    "measure_gap",
    "measure_smece",
    "net_benefit",
    "net_benefit_gain",
    "paired_difference",
    "reliability_curve",
    "risk_at_coverage",
    "risk_coverage_area",
    "share_of",
    "smece",
    "smece_bootstrap",
    "smece_interval",
    "smece_null",
    "smooth_reliability_curve",
    "threshold_grid",
    "wilson",
    "worst_slice",
    "worst_slice_gap",
]
