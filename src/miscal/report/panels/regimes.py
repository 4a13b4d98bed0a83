"""The three regimes: accuracy against confidence, residual with its interval."""

from dataclasses import dataclass
from typing import Any

from miscal.report.drawing import Scale
from miscal.report.source import Source
from miscal.report.words import finite

NAME = "regimes"
TITLE = "Where the model is over- and under-confident"
SHORT = "Regimes"
ORDER = ("over", "under", "good")
LABELS = {"over": "Over-confident", "under": "Under-confident", "good": "Well calibrated", "all": "All rows"}
AXIS = Scale(0.0, 1.0, 8.0, 252.0)


@dataclass(frozen=True)
class Dumbbell:
    """Positions of accuracy, confidence and the residual's interval (laid off from the confidence) on one axis."""

    accuracy: float | None
    confidence: float | None
    low: float | None
    high: float | None


def context(source: Source) -> dict[str, Any]:
    """One line per regime that has test rows, after one for all rows."""
    summary = source.summary
    order = {name: place for place, name in enumerate(ORDER)}
    found = sorted(summary["regimes"], key=lambda regime: order.get(regime["name"], len(order)))
    rows = [_row(regime) for regime in found if regime["n"]]
    return {
        "rows": [_all_row(summary), *rows],
        "none": not any(row["name"] in ("over", "under") for row in rows),
        "missing": [LABELS[name] for name in ORDER if name not in {row["name"] for row in rows}],
        "unsupported": summary["field"]["share_unsupported"],
        "n_test": summary["n_test"],
        "epsilon": finite(summary["settings"].get("epsilon")),
        "ticks": [(AXIS(share), f"{100 * share:.0f}") for share in (0, 0.25, 0.5, 0.75, 1)],
    }


def _row(regime: dict[str, Any]) -> dict[str, Any]:
    residual = regime["residual"]
    return {
        "name": regime["name"],
        "label": LABELS.get(regime["name"], regime["name"]),
        "n": regime["n"],
        "share": regime["share"],
        "accuracy": regime["accuracy"],
        "confidence": regime["confidence"],
        "residual": residual,
        "smece": regime["smece"],
        "dumbbell": dumbbell(regime["accuracy"], regime["confidence"], residual["interval"]),
    }


def _all_row(summary: dict[str, Any]) -> dict[str, Any]:
    accuracy, confidence = (summary["global"][key]["value"] for key in ("accuracy", "confidence"))
    return {
        "name": "all",
        "label": LABELS["all"],
        "n": summary["n_test"],
        "share": 1.0,
        "accuracy": accuracy,
        "confidence": confidence,
        "residual": {"value": difference(accuracy, confidence), "interval": None, "p_value": None},
        "smece": summary["global"]["smece"],
        "dumbbell": dumbbell(accuracy, confidence, None),
    }


def difference(accuracy: float | None, confidence: float | None) -> float | None:
    """Return the mean residual of all rows: the difference of two means that the summary gives."""
    return None if accuracy is None or confidence is None else accuracy - confidence


def dumbbell(accuracy: Any, confidence: Any, interval: Any) -> Dumbbell:
    """Positions on the axis of accuracy and confidence; None where undefined."""
    accuracy, confidence = finite(accuracy), finite(confidence)
    low, high = (finite(v) for v in interval) if interval and len(interval) == 2 else (None, None)
    whisker = confidence is not None and low is not None and high is not None
    return Dumbbell(
        accuracy=None if accuracy is None else AXIS.inside(accuracy),
        confidence=None if confidence is None else AXIS.inside(confidence),
        low=AXIS.inside(confidence + low) if whisker else None,
        high=AXIS.inside(confidence + high) if whisker else None,
    )
