"""Field and findings over time: what each period promised, what came true, and what is hidden before and after."""

from collections.abc import Sequence
from dataclasses import dataclass

from miscal.base.document import Measure
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.summary import PeriodNumbers
from miscal.report.drawing import Scale, round_ticks
from miscal.report.formatting import points, signed
from miscal.report.panel import Panel
from miscal.report.panels.findings import SHOWN
from miscal.report.source import Source

TEMPLATE = """
{% macro chart(plot, label) %}
<svg viewBox="0 0 {{ plot.width }} {{ plot.height }}" role="img" aria-label="{{ label }}">
{% for y, text in plot.ticks %}
<path class="{{ "zero" if plot.crosses_zero and text == "0" else "grid" }}"
 d="M{{ plot.left }} {{ y }}H{{ plot.right }}"/>
<text class="tick" x="{{ plot.left - 6 }}" y="{{ y + 3.5 }}" text-anchor="end">{{ text }}</text>
{% endfor %}
{% for line, kind in plot.lines %}<path class="{{ kind }}" d="{{ line }}"/>{% endfor %}
{% for dot in plot.dots %}
<path class="whisker" d="M{{ dot.x }} {{ dot.low }}V{{ dot.high }}"/>
<circle class="{{ "sure" if dot.after else "right" }}" cx="{{ dot.x }}" cy="{{ dot.y }}" r="{{ plot.radius }}"><title>{{
dot.start }}: {{ dot.n | count }} rows, {{ dot.told }}</title></circle>
{% endfor %}
{% for x, text, anchor in plot.labels %}
<text class="tick" x="{{ x }}" y="{{ plot.height - 4 }}" text-anchor="{{ anchor }}">{{ text }}</text>
{% endfor %}
</svg>
{% endmacro %}
<p class="lead">{{ words.rows | capitalize }} by {% if view.period %}{{ view.period }} of {% endif %}
<code>{{ view.column }}</code>. Lines through dots are 95&nbsp;% intervals of one period
at a time: where nothing changes, one in twenty misses.
{% if view.blocks %}
Each row is judged by a field that had seen only earlier rows; the first {{ view.taught | count }} rows, to {{
view.until }}, only taught.
{% endif %}
</p>
<h3>{{ view.said.rate | capitalize }} (dots) against mean {{ view.said.probability }} (line)</h3>
<figure class="timeline">{{ chart(view.level, view.said.rate ~ " and mean " ~ view.said.probability ~ " over time") }}
</figure>
<p class="caption">In per cent. The dashed line is the mean corrected {{ view.said.probability }}.</p>
<h3>What is hidden, before (dots) and after (circles) the correction</h3>
<figure class="timeline">{{ chart(view.hidden, "mean hidden residual over time, before and after the correction") }}
</figure>
<p class="caption">Mean hidden residual in percentage points: how much more (+) or less (−) often {{
view.said.comes_true() }} than on {{ view.said.equal_rows() }}{{ " of earlier blocks" if view.blocks }}, and after the
correction than on {{ view.said.equal_rows("corrected") }}. Where a period leaves zero, the {{ view.said.rate }}
of all its rows differs from that of other times at equal {{ view.said.probability }}.</p>
{% if view.findings %}
<h3>The strongest findings over time</h3>
<div class="trio">
{% for plot, number, description in view.findings %}
<figure class="multiple"><figcaption><a href="#finding-{{ number }}">{{ number }}</a>.
{{ description | short(90) }}</figcaption>
{{ chart(plot, "hidden residual of " ~ description ~ " over time") }}
</figure>
{% endfor %}
</div>
<p class="caption">The same for the rows of each finding; all have one scale.</p>
{% endif %}
"""

WIDE, SMALL = (680.0, 190.0), (260.0, 130.0)
LEFT, RIGHT, TOP, BOTTOM = 40.0, 8.0, 8.0, 22.0
FINE = 0.02
"""Reach of a scale below which its ticks have a decimal."""
APART = 2.5
"""Distance of the two dots of a period from its middle."""


@dataclass(frozen=True)
class PeriodDot:
    """A mean of a period: where it stands, its interval, and what is told of it."""

    x: float
    y: float
    low: float
    high: float
    start: str
    n: int
    told: str
    after: bool = False


@dataclass(frozen=True)
class Chart:
    """A drawing of periods from left to right."""

    width: float
    height: float
    ticks: list[tuple[float, str]]
    dots: list[PeriodDot]
    labels: list[tuple[float, str, str]]
    lines: list[tuple[str, str]]
    crosses_zero: bool
    radius: float

    @property
    def left(self) -> float:
        """Where the drawing begins."""
        return LEFT

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.width - RIGHT


@dataclass(frozen=True)
class OverTimeView:
    """The two charts of all rows, and a small one for each of the strongest findings."""

    said: Vocabulary
    period: str | None
    column: str
    level: Chart
    hidden: Chart
    findings: list[tuple[Chart, int, str]]
    blocks: int
    taught: int
    until: str


def view(source: Source) -> OverTimeView | None:
    """Return the charts; None where no times are known, or all rows are of one period."""
    summary = source.summary
    told = summary.over_time
    if told is None or len(told.periods) < 2:
        return None
    starts = [one.start for one in told.periods]
    shown = [one for one in told.findings if one.finding <= min(SHOWN, len(summary.findings))]
    reach = _reach([one for finding in shown for one in finding.periods])
    return OverTimeView(
        said=vocabulary(summary.kind),
        period=told.period,
        column="time" if told.column is None else told.column,
        level=_levels(told.periods, starts),
        hidden=_hidden(told.periods, starts, WIDE, _reach(told.periods)),
        findings=[
            (_hidden(one.periods, starts, SMALL, reach), one.finding, summary.findings[one.finding - 1].description)
            for one in shown
        ],
        blocks=len(told.blocks),
        taught=told.blocks[0].n if told.blocks else 0,
        until=told.blocks[0].last if told.blocks else "",
    )


def _reach(periods: Sequence[PeriodNumbers]) -> float:
    """Return how far the scale reaches from zero: a little farther than all means, and than half of the intervals."""
    ends = [abs(end) for one in periods for part in (one.hidden, one.after) for end in part.interval or () if end]
    values = [abs(part.value) for one in periods for part in (one.hidden, one.after) if part.value]
    return max(0.01, 1.2 * max(values, default=0.0), sorted(ends)[len(ends) // 2] if ends else 0.0)


def _levels(periods: Sequence[PeriodNumbers], starts: Sequence[str]) -> Chart:
    ends = [one.confidence + end for one in periods for end in one.residual.interval or () if end is not None]
    values = [value for one in periods for value in (one.accuracy, one.confidence, one.corrected)]
    low, high = max(0.0, min([*ends, *values])), min(1.0, max([*ends, *values]))
    # one rate in all periods, and none of it in doubt
    high = max(high, low + 0.01)
    x, y = _scales(starts, WIDE, low, high)
    dots = [
        _dot(x(starts.index(one.start)), y, one.accuracy, one.residual, one, f"{100 * one.accuracy:.1f} %")
        for one in periods
    ]
    lines = [
        (_line([(x(starts.index(one.start)), y(getattr(one, name))) for one in periods]), kind)
        for name, kind in (("confidence", "promised"), ("corrected", "diagonal"))
    ]
    ticks = [(y(value), f"{100 * value:g}") for value in round_ticks(low, high)]
    return _chart(WIDE, ticks, dots, starts, x, lines, crosses_zero=False)


def _hidden(periods: Sequence[PeriodNumbers], starts: Sequence[str], size: tuple[float, float], reach: float) -> Chart:
    x, y = _scales(starts, size, -reach, reach)
    dots = []
    for one in periods:
        at = x(starts.index(one.start))
        for name, when, side in (("hidden", "before", -APART), ("after", "after", APART)):
            part = getattr(one, name)
            if part.value is not None:
                told = f"{points(part.value)} points {when} the correction"
                dots.append(_dot(at + side, y, part.value, part, one, told, after=name == "after"))
    digits = 0 if reach > FINE else 1
    values = round_ticks(-reach, reach, 4)
    ticks = [(y(value), signed(100 * value, digits) if value else "0") for value in values]
    return _chart(size, ticks, dots, starts, x, [], crosses_zero=True)


def _scales(starts: Sequence[str], size: tuple[float, float], low: float, high: float) -> tuple[Scale, Scale]:
    width, height = size
    across = Scale(0.0, max(1.0, len(starts) - 1.0), LEFT + 10.0, width - RIGHT - 10.0)
    return across, Scale(low, high, height - BOTTOM, TOP)


def _dot(
    x: float, y: Scale, value: float, part: Measure, one: PeriodNumbers, told: str, *, after: bool = False
) -> PeriodDot:
    low, high = y.whisker(part.interval, origin=value - part.value) or (y.inside(value), y.inside(value))
    return PeriodDot(round(x, 2), y.inside(value), low, high, one.start, one.n, told, after)


def _chart(
    size: tuple[float, float],
    ticks: list[tuple[float, str]],
    dots: list[PeriodDot],
    starts: Sequence[str],
    x: Scale,
    lines: list[tuple[str, str]],
    *,
    crosses_zero: bool,
) -> Chart:
    last = len(starts) - 1
    places = [0, last] if size == SMALL or last < 4 else [0, last // 2, last]
    anchors = {0: "start", last: "end"}
    labels = [(x(place), starts[place], anchors.get(place, "middle")) for place in places]
    return Chart(*size, ticks, dots, labels, lines, crosses_zero=crosses_zero, radius=2.2 if size == SMALL else 3.0)


def _line(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in places)


PANEL = Panel("over-time", "Over time", view, TEMPLATE, contents="Over time")
