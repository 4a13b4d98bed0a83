"""The corrections side by side, on the same test rows."""

from typing import Any

from miscal.calibration.metrics import correction_metrics
from miscal.report.panels.regimes import LABELS
from miscal.report.source import Source
from miscal.report.words import finite

NAME = "corrections"
TITLE = "Corrected confidences"
SHORT = "Corrections"
SLICES = ("all", "over", "under", "good")
METHOD_LABELS = {
    "raw": "Uncorrected",
    "miscal": "miscal (local)",
    "isotonic": "Isotonic",
    "temperature": "Temperature",
    "platt": "Platt",
}


def context(source: Source) -> dict[str, Any]:
    """One table per slice: a line per correction, a column per score, the best marked."""
    correction = source.summary["correction"]
    known = [method for method in METHOD_LABELS if method in correction]
    methods = known + [method for method in correction if method not in known]
    tables = [_table(correction, methods, name) for name in SLICES]
    return {
        "tables": [table for table in tables if table["n"]],
        "missing": [table["label"].lower() for table in tables if not table["n"]],
        "scores": [metric.label for metric in correction_metrics()],
    }


def _table(correction: dict[str, Any], methods: list[str], name: str) -> dict[str, Any]:
    lines = {method: correction[method][name] for method in methods}
    best = {
        metric.name: _best([line.get(metric.name) for line in lines.values()], metric.lower_is_better)
        for metric in correction_metrics()
    }
    return {
        "name": name,
        "label": LABELS[name],
        "n": max((line["n"] for line in lines.values()), default=0),
        "lines": [
            {
                "method": method,
                "label": METHOD_LABELS.get(method, method),
                "cells": [{"value": line.get(key), "best": _shown(line.get(key)) == best[key]} for key in best],
            }
            for method, line in lines.items()
        ],
    }


def _shown(value: Any) -> float | None:
    """Return the value as printed, so that what looks equal ranks equal."""
    number = finite(value)
    return None if number is None else round(number, 3)


def _best(values: list[Any], lower_is_better: bool | None) -> float:
    shown = [_shown(value) for value in values if _shown(value) is not None]
    # No best where nothing is defined: no value equals infinity.
    return (min if lower_is_better else max)(shown, default=float("inf"))
