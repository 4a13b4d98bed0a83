"""The field: how it is distributed over the evaluation rows, and the interactive map with its drawing for print."""

from typing import Any, NamedTuple

from miscal.discovery.summary import Histogram
from miscal.report import legend
from miscal.report.drawing import Bar, Scale, round_ticks, stacked_bars
from miscal.report.formatting import points
from miscal.report.map_data import map_payload, static_panes
from miscal.report.source import Source

#: Regimes from the bottom of a bar to its top.
ORDER = ("good", "over", "under")
#: The same drawing for wide and for narrow screens, so that its letters keep their size.
WIDTHS = {"wide": 660, "narrow": 350}
LEFT, RIGHT = 46, 12


class HistogramPlot(NamedTuple):
    """The histogram drawn in one width."""

    kind: str
    width: int
    bars: list[Bar]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    marks: list[float]
    left: int
    right: int


def histogram(source: Source) -> dict[str, Any]:
    """Return the histogram in two widths, none where there is nothing to draw, and how much the field varies."""
    histogram = source.summary.histogram
    counts = {kind: getattr(histogram, kind) for kind in ORDER}
    full = all(len(values) == len(histogram.edges) - 1 for values in counts.values())
    rows = sum(sum(values) for values in counts.values()) if full else 0
    drawn = rows and histogram.edges[0] < histogram.edges[-1]
    return {
        "plots": [_plot(histogram, kind, width, source.epsilon) for kind, width in WIDTHS.items()] if drawn else [],
        "n": rows,
        "field": source.summary.field,
        "epsilon": source.epsilon,
    }


def _plot(histogram: Histogram, kind: str, width: int, epsilon: float | None) -> HistogramPlot:
    edges = histogram.edges
    counts = {name: getattr(histogram, name) for name in ORDER}
    highest = max(map(sum, zip(*counts.values(), strict=True)))
    x = Scale(edges[0], edges[-1], LEFT, width - RIGHT)
    y = Scale(0.0, highest, 200.0, 26.0)
    marks = (-epsilon, epsilon) if epsilon else ()
    return HistogramPlot(
        kind=kind,
        width=width,
        bars=stacked_bars(edges, counts, ORDER, x, y),
        x_ticks=[(x(v), points(v, 0)) for v in round_ticks(edges[0], edges[-1], width // 80)],
        y_ticks=[(y(v), f"{v:,.0f}") for v in round_ticks(0, highest, 4) if v == int(v)],
        marks=[x(value) for value in marks if edges[0] < value < edges[-1]],
        left=LEFT,
        right=width - RIGHT,
    )


def atlas(source: Source) -> dict[str, Any]:
    """Return the rows for the page's program, the drawing for print, and how many rows of how many are shown."""
    payload, info = map_payload(source), source.summary.map
    first = payload["first"]
    return {
        "payload": payload,
        "panes": static_panes(payload) if payload["n"] else [],
        "total": (info.n_total if info else 0) or source.summary.n,
        "structure": source.summary.field.structure,
        "redacted": source.redact_text,
        "shades": legend.FIELD,
        # what the drawing is coloured by, where its scale ends, and what both ends mean
        "field_name": legend.FIELD_NAMES[first].lower(),
        "limit": payload["limits"][first],
        "ends": legend.field_ends(first, source.terms),
    }
