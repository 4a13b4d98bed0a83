"""The table ``thresholds``: the worst slice at several epsilons, worst by SmoothECE or by the Brier score."""

from __future__ import annotations

from typing import Any

from miscal.calibration.metrics import clipped
from miscal.evidence.thresholds import Threshold, threshold_sensitivity
from miscal.study.rows import FieldRows
from miscal.study.studied import Rows, Studied

SCORES = ("smece", "brier")


def measure(studied: Studied) -> Rows:
    """Cut the field of each geometry at every epsilon of the settings.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    Rows
        Table ``thresholds``.
    """
    settings = studied.settings
    rows = [
        studied.named | {"geometry": geometry, "by": by} | _row(at, seen)
        for geometry, seen in studied.geometries.items()
        for by in SCORES
        for at in threshold_sensitivity(
            seen.correct, seen.confidence, seen.cut, epsilons=settings.epsilons, min_rows=settings.min_rows, by=by
        )
    ]
    return {"thresholds": rows}


def _row(at: Threshold, seen: FieldRows) -> dict[str, Any]:
    return {
        "epsilon": at.epsilon,
        "worst": at.worst,
        "n": None if at.share_worst is None else round(at.share_worst * len(seen.correct)),
        "share": at.share_worst,
        "smece_gap": at.gap,
        "smece_gap_clipped": clipped(at.gap),
        "brier_gap": at.brier_gap,
    }
