"""The field: how it is distributed over the evaluation rows, and the interactive map with its drawing for print."""

from collections.abc import Mapping, Sequence
from typing import Any

from miscal.report import legend
from miscal.report.drawing import Bar, Chart, Scale, round_ticks, stacked_bars
from miscal.report.formatting import points
from miscal.report.map_data import map_payload, static_panes
from miscal.report.source import Source

#: Regimes from the bottom of a bar to its top.
ORDER = ("good", "over", "under")
#: The same drawing for wide and for narrow screens, so that its letters keep their size.
WIDTHS = {"wide": 660, "narrow": 350}
LEFT, RIGHT = 46, 12


def histogram(source: Source) -> dict[str, Any]:
    """Return the histogram in two widths, none where there is nothing to draw, and how much the field varies."""
    found = source.summary.histogram
    edges, counts = found.edges, {kind: getattr(found, kind) for kind in ORDER}
    full = all(len(values) == len(edges) - 1 for values in counts.values())
    rows = sum(sum(values) for values in counts.values()) if full else 0
    drawn = rows and edges[0] < edges[-1]
    return {
        "plots": [_histogram(edges, counts, *one, source.epsilon or 0.0) for one in WIDTHS.items()] if drawn else [],
        "n": rows,
        "field": source.summary.field,
        "epsilon": source.epsilon,
    }


def _histogram(
    edges: Sequence[float], counts: Mapping[str, Sequence[float]], kind: str, width: int, epsilon: float
) -> tuple[Chart, list[Bar]]:
    highest = max(map(sum, zip(*counts.values(), strict=True)))
    x, y = Scale(edges[0], edges[-1], LEFT, width - RIGHT), Scale(0.0, highest, 200.0, 26.0)
    ends = [x(value) for value in (-epsilon, epsilon) if value and edges[0] < value < edges[-1]]
    chart = Chart(
        *(width, 246, x, y),
        x_ticks=[(x(v), points(v, 0), "middle") for v in round_ticks(edges[0], edges[-1], width // 80)],
        y_ticks=[(y(v), f"{v:,.0f}") for v in round_ticks(0, highest, 4) if v == int(v)],
        marks=(),
        lines=[("threshold", f"M{at} 20V200") for at in ends],
        titles=("estimated field, percentage points", ""),
        style=f"histogram {kind}",
    )
    return chart, stacked_bars(edges, counts, ORDER, x, y)


def atlas(source: Source) -> dict[str, Any]:
    """Return the rows for the page's program, the drawing for print, and how many rows of how many are shown."""
    payload, info = map_payload(source), source.summary.map
    first = payload["first"]
    return {
        "payload": payload,
        "panes": static_panes(payload) if payload["n"] else [],
        "total": (info.n_total if info else 0) or source.summary.n,
        "structure": source.summary.field.structure,
        "shades": legend.FIELD,
        # what the drawing is coloured by, where its scale ends, and what both ends mean
        "field_name": legend.FIELD_NAMES[first].lower(),
        "limit": payload["limits"][first],
        "ends": legend.field_ends(first, source.terms),
    }
