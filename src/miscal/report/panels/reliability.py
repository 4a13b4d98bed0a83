"""Reliability diagrams of all rows and of each regime, before and after correction."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import SmoothEce, Summary
from miscal.report.drawing import Dot
from miscal.report.legend import slice_labels
from miscal.report.panel import Panel
from miscal.report.probability_axes import LINEAR, LOG_ODDS, ProbabilityAxes, axes_of, shown_first
from miscal.report.row_wording import slices
from miscal.report.source import Source

CURVES = ("all", "over", "under")
SWITCH = {LINEAR: "linear", LOG_ODDS: "in log-odds"}
STATES = {"raw": "before", "corrected": "after"}

TEMPLATE = """{% from "axes.html" import axes as grid %}
<p class="lead">Each dot stands for a group of {{ words.rows }} with similar {{ terms.probability }}. On the diagonal,
{{
terms.rate }} equals {{ terms.probability }}; below it {{ terms.judged }} {{ terms.over }}, above it {{ terms.under
}}. Opposite errors cancel in the diagram
of all rows and become visible in the diagrams of the regimes.
{% if view.repeated %}
The {{ view.repeated }} regime holds {{ view.repeated_share | percent(0) }} of the {{ words.rows }}; its diagram would
be that of all rows and is left out.
{% endif %}
{% if view.few %}
The {{ view.few | listed("and") }} regime{{ "s have" if view.few | length > 1 else " has" }} too few rows for a diagram
of {{ "their" if view.few | length > 1 else "its" }} own.
{% endif %}
</p>
<fieldset class="switch"><legend>Axes of probability on this page</legend>
{% for name, label in view.switch.items() %}
<label><input type="radio" name="axes" id="axes-{{ name }}"{{ " checked" if name == view.first }}> {{ label }}</label>
{% endfor %}
</fieldset>
{% for heading, diagrams in view.rows %}
{% if heading %}
<h3>{{ heading }}</h3>
{% endif %}
<div class="trio">
{% for plot in diagrams %}
<figure class="reliability {{ plot.name }}">
<figcaption><b>{{ plot.label }}{{ ", " ~ plot.when ~ " correction" if not heading }}</b>
<span class="aside">{{ (plot.n or words.n) | count }} {{ words.rows }}</span></figcaption>
{% if plot.drawn %}
{% for axes, dots in plot.drawn %}
<svg class="axes-{{ axes.name }}" viewBox="0 0 256 256" role="img"
aria-label="Reliability diagram, {{ plot.label | lower }}, {{ plot.when }}
correction:
{{ dots | length }} groups of rows, smECE {{ plot.smece.value | size }} points">
{{ grid(axes.x, axes.y, axes.ticks, terms) }}
{% if plot.name == "all" and plot.when == "before" %}
<text class="zone" x="244" y="213" text-anchor="end">{{ terms.over }}</text>
<text class="zone" x="43" y="22">{{ terms.under }}</text>
{% endif %}
<path class="whisker" d="{% for dot in dots %}M{{ dot.x }} {{ dot.low }}V{{ dot.high }}{% endfor %}"/>
{% if axes.joined %}
<path class="curve" d="{% for dot in dots %}{{ "L" if loop.index0 else "M" }}{{ dot.x }} {{ dot.y }}{% endfor %}"/>
{% endif %}
{% for dot in dots %}
{% set spread = dot.interval | bounds("percent") %}
<circle class="dot" cx="{{ dot.x }}" cy="{{ dot.y }}" r="{{ dot.radius }}"><title>{{ dot.n | count }} rows: \
{{ terms.probability }} {{ dot.confidence | percent }}, {{ terms.rate }} {{ dot.accuracy | percent }} (95 % interval \
{{ spread }})</title></circle>
{% endfor %}
</svg>
{% endfor %}
<p class="under-figure">smECE <b>{{ plot.smece.value | size }}</b> points
{%- if plot.smece.floor is not none %}, floor {{ plot.smece.floor | size }}{% endif %}
{%- if plot.smece.p_value is not none %}, {{ plot.smece.p_value | p_value }}{% endif %}
</p>
{% else %}
<p class="empty">There are too few {{ words.rows }} for a reliability curve.</p>
{% endif %}
</figure>
{% endfor %}
</div>
{% endfor %}
<p class="caption">Vertical lines are 95&nbsp;% intervals of the {{ terms.rate }} in each group; larger dots stand for
more rows. <span class="axes-log-odds">Rates of 0 and 100&nbsp;% stand at the edges.</span>
After correction, the regimes are still those of the uncorrected {{ terms.probabilities }}. A small p-value means that
a calibrated model would rarely show so large an smECE.</p>
"""


@dataclass(frozen=True)
class Diagram:
    """One reliability diagram, with the smECE that stands below it; `n` is 0 for all evaluation rows."""

    name: str
    label: str
    when: str
    n: int
    drawn: list[tuple[ProbabilityAxes, list[Dot]]]
    smece: SmoothEce


@dataclass(frozen=True)
class ReliabilityView:
    """The rows of diagrams, the regime whose diagram would repeat that of all rows, and the axes.

    A row of diagrams has a heading, which is empty where there is one row.
    """

    rows: list[tuple[str, list[Diagram]]]
    repeated: str
    repeated_share: float
    few: tuple[str, ...]
    first: str
    switch: Mapping[str, str] = field(default_factory=lambda: SWITCH)


def view(source: Source) -> ReliabilityView:
    """Return two rows of diagrams, before and after; one row where only the diagram of all rows can be drawn."""
    summary, names = source.summary, slice_labels(vocabulary(source.summary.kind))
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
    repeated = names[sliced.whole].lower() if sliced.whole in CURVES else ""
    few = tuple(names[name].lower() for name in sliced.few if name in CURVES)
    return ReliabilityView(rows, repeated, sliced.share, few, shown_first(summary))


def _diagram(summary: Summary, name: str, label: str, state: str, n: int) -> Diagram:
    curve = getattr(getattr(summary.curves, name), state)
    comparison = summary.correction.get("miscal")
    if state != "raw":
        smece = SmoothEce(value=getattr(comparison, name).smece if comparison else None)
    elif name == "all":
        smece = summary.global_.smece
    else:
        smece = next(regime.smece for regime in summary.regimes if regime.name == name)
    drawn = [(axes, dots) for axes in axes_of(summary) if (dots := axes.dots(curve))]
    return Diagram(name, label, STATES[state], n, drawn, smece)


PANEL = Panel("reliability", "Reliability before and after correction", view, TEMPLATE, contents="Reliability")
