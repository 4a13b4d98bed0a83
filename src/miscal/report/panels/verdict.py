"""What was found, in words, with the numbers it rests on."""

import math
from typing import Any

from miscal.report.panels.regimes import LABELS
from miscal.report.source import Source
from miscal.report.words import short

NAME = "verdict"
TITLE = "Verdict"
SHORT = "Verdict"


def context(source: Source) -> dict[str, Any]:
    """Verdict sentence, certified limits and headline numbers."""
    summary = source.summary
    certificate, gap = summary["certificate"], summary["gap"]
    return {
        "sentence": short(summary["verdict"], 2000),
        "total": limit(certificate["lower_bound_total"], certificate["p_value_total"]),
        "hidden": limit(certificate["lower_bound_hidden"], certificate["p_value"]),
        "gap": gap if gap["value"] is not None else None,
        "worst": LABELS.get(gap["worst"], "worse").lower(),
        "accuracy": summary["global"]["accuracy"],
        "confidence": summary["global"]["confidence"],
        "n_test": summary["n_test"],
        "n": summary["n"],
    }


def limit(bound: dict[str, Any], p_value: float | None) -> dict[str, Any]:
    """Return a certificate as shown: its lower limit (all that holds), whether it is above zero, its p-value."""
    low = (bound["interval"] or [None])[0]
    # Rounded down to a tenth of a point, so that the words never promise more than the number.
    shown = None if low is None else math.floor(1000 * low + 1e-9) / 1000
    return {"low": shown, "proven": shown is not None and shown > 0, "p_value": p_value}
