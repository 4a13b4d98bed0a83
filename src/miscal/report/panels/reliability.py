"""Reliability diagrams of all rows and of each regime, before and after correction."""

from typing import Any

from miscal.report.drawing import Scale, reliability_dots
from miscal.report.panels.regimes import LABELS
from miscal.report.source import Source

NAME = "reliability"
TITLE = "Reliability before and after correction"
SHORT = "Reliability"
CURVES = ("all", "over", "under")
X = Scale(0.0, 1.0, 38.0, 248.0)
Y = Scale(0.0, 1.0, 220.0, 10.0)
TICKS = (0, 0.25, 0.5, 0.75, 1)
STATES = (("raw", "before"), ("corrected", "after"))


def context(source: Source) -> dict[str, Any]:
    """Two rows of diagrams, before and after; one row where only the diagram of all rows can be drawn."""
    summary = source.summary
    shown = [name for name in CURVES if name == "all" or _rows(summary, name)]
    rows = [
        {"word": word, "diagrams": [_diagram(summary, name, state, word) for name in shown]} for state, word in STATES
    ]
    if len(shown) == 1:
        rows = [{"word": None, "diagrams": [row["diagrams"][0] for row in rows]}]
    return {
        "rows": rows,
        "missing": [LABELS[name].lower() for name in CURVES if name not in shown],
        "x": X,
        "y": Y,
        "ticks": [(share, f"{100 * share:.0f}") for share in TICKS],
    }


def _diagram(summary: dict[str, Any], name: str, state: str, word: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": LABELS[name],
        "word": word,
        "dots": reliability_dots(summary["curves"][name][state], X, Y),
        "smece": _smece(summary, name, state),
        "n": _rows(summary, name),
    }


def _smece(summary: dict[str, Any], name: str, state: str) -> dict[str, Any]:
    """Return the smECE beside a diagram, with floor and p-value where the summary has them."""
    if state == "raw":
        regimes = {regime["name"]: regime["smece"] for regime in summary["regimes"]}
        return (summary["global"]["smece"] if name == "all" else regimes.get(name)) or {"value": None}
    corrected = summary["correction"].get("miscal")
    return {"value": corrected[name]["smece"] if corrected else None}


def _rows(summary: dict[str, Any], name: str) -> int:
    if name == "all":
        return summary["n_test"]
    return next((regime["n"] for regime in summary["regimes"] if regime["name"] == name), 0)
