"""How the field is distributed over the test rows."""

from typing import Any

from miscal.report.drawing import Scale, round_ticks, stacked_bars
from miscal.report.source import Source
from miscal.report.words import finite, points

NAME = "histogram"
TITLE = "How far off, and how often"
SHORT = "Field"
ORDER = ("good", "over", "under")
#: The same drawing for wide and for narrow screens, so that its letters keep their size.
WIDTHS = {"wide": 660, "narrow": 350}


def context(source: Source) -> dict[str, Any]:
    """Return the histogram in two widths, and the field's moments."""
    summary = source.summary
    histogram = summary["histogram"]
    bins = len(histogram["edges"]) - 1
    full = bins >= 1 and all(len(histogram[kind]) == bins for kind in ORDER)
    rows = sum(sum(histogram[kind]) for kind in ORDER) if full else 0
    epsilon = finite(summary["settings"].get("epsilon"))
    flat = full and histogram["edges"][0] == histogram["edges"][-1]
    return {
        "plots": [_plot(histogram, kind, width, epsilon) for kind, width in WIDTHS.items()]
        if rows and not flat
        else [],
        "n": rows,
        "field": summary["field"],
        "epsilon": epsilon,
    }


def _plot(histogram: dict[str, Any], kind: str, width: int, epsilon: float | None) -> dict[str, Any]:
    edges = histogram["edges"]
    totals = [sum(values) for values in zip(*(histogram[name] for name in ORDER), strict=True)]
    x = Scale(edges[0], edges[-1], 46.0, width - 12.0)
    y = Scale(0.0, max(totals), 200.0, 26.0)
    marks = [value for value in (-(epsilon or 0), epsilon or 0) if epsilon and edges[0] < value < edges[-1]]
    return {
        "kind": kind,
        "width": width,
        "bars": stacked_bars(edges, histogram, ORDER, x, y),
        "x_ticks": [(x(v), points(v, 0)) for v in round_ticks(edges[0], edges[-1], width // 80)],
        "y_ticks": [(y(v), f"{v:,.0f}") for v in round_ticks(0, max(totals), 4) if v == int(v)],
        "marks": [x(v) for v in marks],
        "zero": x(0.0) if edges[0] <= 0 <= edges[-1] else None,
        "centre": x((edges[0] + edges[-1]) / 2),
    }
