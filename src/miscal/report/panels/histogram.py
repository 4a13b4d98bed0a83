"""How the field is distributed over the evaluation rows."""

from dataclasses import dataclass

from miscal.discovery.summary import FieldNumbers, Histogram
from miscal.report.drawing import Bar, Scale, round_ticks, stacked_bars
from miscal.report.formatting import points
from miscal.report.panel import Panel
from miscal.report.source import Source

#: Regimes from the bottom of a bar to its top.
ORDER = ("good", "over", "under")
#: The same drawing for wide and for narrow screens, so that its letters keep their size.
WIDTHS = {"wide": 660, "narrow": 350}
LEFT, RIGHT = 46, 12

TEMPLATE = """
<div class="beside">
{% if view.plots %}
<figure>
{% for plot in view.plots %}
<svg class="histogram {{ plot.kind }}" viewBox="0 0 {{ plot.width }} 246" role="img"
aria-label="Histogram of the estimated field on {{ view.n | count }} {{ words.rows }}">
{% for y, label in plot.y_ticks %}
<line class="grid" x1="{{ plot.left }}" x2="{{ plot.right }}" y1="{{ y }}" y2="{{ y }}"/>
<text class="tick" x="{{ plot.left - 6 }}" y="{{ y + 4 }}" text-anchor="end">{{ label }}</text>
{% endfor %}
{% for bar in plot.bars %}
<rect class="{{ bar.kind }}" x="{{ bar.x }}" y="{{ bar.y }}" width="{{ [bar.width - 0.8, 0.5] | max }}"
height="{{ bar.height }}"/>
{% endfor %}
{% for x in plot.marks %}
<line class="threshold" x1="{{ x }}" x2="{{ x }}" y1="20" y2="200"/>
{% endfor %}
{% for x, label in plot.x_ticks %}
<text class="tick" x="{{ x }}" y="216" text-anchor="middle">{{ label }}</text>
{% endfor %}
{% if plot.marks | length == 2 %}
<text class="zone" x="{{ plot.left }}" y="16">\u2190 {{ terms.over }}</text>
<text class="zone" x="{{ plot.right }}" y="16" text-anchor="end">{{ terms.under }} \u2192</text>
{% endif %}
<text class="axis" x="{{ (plot.left + plot.right) / 2 }}" y="238" text-anchor="middle">estimated field, percentage
points</text>
</svg>
{% endfor %}
<figcaption>Number of {{ words.rows }} by their estimated field; those that lie further out stand at the ends.
{% if view.epsilon is not none %}
Dashed lines mark the threshold of {{ view.epsilon | brief_points }} on either side of zero.
{% endif %}
</figcaption>
</figure>
{% else %}
<p class="empty">There is no histogram, because the field is not defined or has the same value on all
{{ words.rows }}.</p>
{% endif %}
<dl class="facts">
<dt>Standard deviation of the field</dt><dd>{{ view.field.std | size }} points</dd>
<dt>of its visible part</dt><dd>{{ view.field.std_visible | size }} points</dd>
<dt>of its hidden part</dt><dd>{{ view.field.std_hidden | size }} points</dd>
<dt>Unsupported {{ words.rows }}: few or none of the rows learned from nearby</dt>
<dd>{{ view.field.share_unsupported | percent }}</dd>
</dl>
</div>
"""


@dataclass(frozen=True)
class HistogramPlot:
    """The histogram drawn in one width."""

    kind: str
    width: int
    bars: list[Bar]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    marks: list[float]
    left: int
    right: int


@dataclass(frozen=True)
class HistogramView:
    """The histogram in two widths, and the numbers of the field."""

    plots: list[HistogramPlot]
    n: int
    field: FieldNumbers
    epsilon: float | None


def view(source: Source) -> HistogramView:
    """Return the histogram, without plots where there is nothing to draw, and how much the field varies."""
    histogram = source.summary.histogram
    counts = {kind: getattr(histogram, kind) for kind in ORDER}
    full = all(len(values) == len(histogram.edges) - 1 for values in counts.values())
    rows = sum(sum(values) for values in counts.values()) if full else 0
    drawn = rows and histogram.edges[0] < histogram.edges[-1]
    return HistogramView(
        plots=[_plot(histogram, kind, width, source.epsilon) for kind, width in WIDTHS.items()] if drawn else [],
        n=rows,
        field=source.summary.field,
        epsilon=source.epsilon,
    )


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


PANEL = Panel("histogram", "How large the errors are estimated to be", view, TEMPLATE, contents="Field")
