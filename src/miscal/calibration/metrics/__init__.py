"""Calibration errors and scores: pure formulas of outcomes, confidences and weights.

Residuals are y - f: positive means under-confident. All functions take ``(correct, confidence)`` and the keyword
``sample_weight``. In a value, a weight of 2 is a row repeated and a weight of 0 a row dropped. In intervals, floors and
p-values rows are the independent units and weights say how much each matters; repeat rows to count them as several.
"""

from miscal.calibration.metrics.curve import ReliabilityCurve, reliability_curve
from miscal.calibration.metrics.gap import Gap, GapEstimate, gap_null, measure_gap, worst_slice_gap
from miscal.calibration.metrics.inference import (
    ErrorEstimate,
    measure_ece,
    measure_smece,
    p_value_of,
    smece_bootstrap,
    smece_floor,
    smece_interval,
    smece_null,
    smece_p_value,
)
from miscal.calibration.metrics.overall import GlobalScores, global_scores
from miscal.calibration.metrics.scores import (
    MeanEstimate,
    brier,
    ece,
    log_loss,
    log_losses,
    mean_interval,
    mean_residual,
    paired_difference,
    wilson,
)
from miscal.calibration.metrics.smooth import smece

__all__ = [
    "ErrorEstimate",
    "Gap",
    "GapEstimate",
    "GlobalScores",
    "MeanEstimate",
    "ReliabilityCurve",
    "brier",
    "ece",
    "gap_null",
    "global_scores",
    "log_loss",
    "log_losses",
    "mean_interval",
    "mean_residual",
    "measure_ece",
    "measure_gap",
    "measure_smece",
    "p_value_of",
    "paired_difference",
    "reliability_curve",
    "smece",
    "smece_bootstrap",
    "smece_floor",
    "smece_interval",
    "smece_null",
    "smece_p_value",
    "wilson",
    "worst_slice_gap",
]
