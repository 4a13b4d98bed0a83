"""Reliability diagrams of all rows and of each regime before and after correction, and the corrections side by side."""

from typing import Any, NamedTuple, TypeVar

from miscal.calibration.metrics import correction_metrics
from miscal.discovery.summary import SmoothEce, Summary
from miscal.report.drawing import LINEAR, LOG_ODDS, Dot, ProbabilityAxes, axes_of, shown_first
from miscal.report.legend import CORRECTIONS, SLICES, slice_labels
from miscal.report.row_wording import slices
from miscal.report.source import Source

CURVES = ("all", "over", "under")
SWITCH = {LINEAR: "linear", LOG_ODDS: "in log-odds"}
STATES = {"raw": "before", "corrected": "after"}
#: Scores that are distances between accuracy and confidence: written in percentage points, as everywhere on the page.
IN_POINTS = ("smece", "ece")

Content = TypeVar("Content")


class Diagram(NamedTuple):
    """One reliability diagram, with the smECE that stands below it; `n` is 0 for all evaluation rows."""

    name: str
    label: str
    when: str
    n: int
    drawn: list[tuple[ProbabilityAxes, list[Dot]]]
    smece: SmoothEce


def reliability(source: Source) -> dict[str, Any]:
    """Return two rows of diagrams, before and after; one row where only the diagram of all rows can be drawn.

    A row of diagrams has a heading, which is empty where there is one row.
    """
    summary, names = source.summary, slice_labels(source.terms)
    sizes = {"all": 0, **{regime.name: regime.n for regime in summary.regimes}}
    sliced = slices(summary)
    shown = [name for name in CURVES if name == "all" or name in sliced.shown]
    rows = [
        (
            f"{when.capitalize()} correction",
            [_diagram(summary, name, names[name], state, sizes[name]) for name in shown],
        )
        for state, when in STATES.items()
    ]
    if len(shown) == 1:
        rows = [("", [diagrams[0] for _, diagrams in rows])]
    return {
        "rows": rows,
        "repeated": names[sliced.whole].lower() if sliced.whole in CURVES else "",
        "repeated_share": sliced.share,
        "few": [names[name].lower() for name in sliced.few if name in CURVES],
        "switch": SWITCH,
        "first": shown_first(summary),
    }


def _diagram(summary: Summary, name: str, label: str, state: str, n: int) -> Diagram:
    curve = getattr(getattr(summary.curves, name), state)
    if state != "raw":
        comparison = summary.correction.get("miscal")
        smece = SmoothEce(value=getattr(comparison, name).smece if comparison else None)
    elif name == "all":
        smece = summary.global_.smece
    else:
        smece = next(regime.smece for regime in summary.regimes if regime.name == name)
    drawn = [(axes, dots) for axes in axes_of(summary) if (dots := axes.dots(curve))]
    return Diagram(name, label, STATES[state], n, drawn, smece)


def corrections(source: Source) -> dict[str, Any]:
    """Return one table per slice: a line per correction, a column per score."""
    summary, sliced = source.summary, slices(source.summary)
    names = {**slice_labels(source.terms), **source.regime_names}
    return {
        "corrections": _ordered(summary.correction),
        "gains": _ordered(summary.gains),
        "slices": {name: names[name] for name in SLICES if name in ("all", *sliced.shown)},
        "metrics": correction_metrics(),
        "repeated": names[sliced.whole].lower() if sliced.whole else "",
        "repeated_share": sliced.share,
        "few": [names[name].lower() for name in sliced.few],
        "floor": summary.corrected_smece.floor,
        "labels": CORRECTIONS,
        "in_points": IN_POINTS,
    }


def _ordered(found: dict[str, Content]) -> dict[str, Content]:
    order = {method: place for place, method in enumerate(CORRECTIONS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))
