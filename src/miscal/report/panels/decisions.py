"""What acting at a threshold leads to: a slider over the thresholds that the run computed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.summary import Summary
from miscal.findings.decisions import BrokenPromise, Decision, Promise, ends, gain_in_words
from miscal.report.drawing import Scale
from miscal.report.formatting import DASH, THIN
from miscal.report.panel import Panel
from miscal.report.source import Source
from miscal.report.texts import short

#: Of each of the two drawings, in units of its view box.
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 360, 44, 10, 12, 170
#: Width of a character of a label, and of what keeps it apart from the next one, in the same units.
CHARACTER = 7
#: Labels of thresholds that fit side by side.
MOST_LABELS = 7
#: Upper ends that the axis of rates may have.
ROUND = (0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8)
STATES = {"before": "before the correction", "after": "after the correction"}

TEMPLATE = """
<p class="lead">{{ terms.cases | begin }} whose {{ terms.probability }} is at or above a threshold are
{{ terms.acted }}. Their mean {{ terms.probability }} is what the model promises of them; beside it stands how many
{{ terms.come_true }}, with the 95&nbsp;% interval. A promise is called broken where that is beyond chance, allowing for
all {{ view.rows | length }} thresholds and both sides of each. {{ view.why }}</p>
<div id="thresholds">
<div class="slider" hidden><label for="threshold">Threshold</label>
<input type="range" id="threshold" min="0" max="{{ view.rows | length - 1 }}" step="1" value="{{ view.start }}">
<output for="threshold">{{ view.rows[view.start].label }}</output></div>
<div class="beside">
<div>
{% for row in view.rows %}
<div class="at-threshold{{ " shown" if loop.index0 == view.start }}" data-place="{{ loop.index0 }}"
data-label="{{ row.label }}">
<h3>At a threshold of {{ row.label }}{% if row.origin %} <span class="aside">{{ row.origin }}</span>{% endif %}</h3>
<table class="sides">
<thead><tr><th scope="col">{{ terms.cases | begin }}</th><th scope="col" class="number">How many</th>
<th scope="col" class="number">Promised</th><th scope="col" class="number">Observed</th>
<th scope="col">Promise</th></tr></thead>
<tbody>
{% for side in row.sides %}
<tr{% if side.heading %} class="first"{% endif %}><th scope="row">{% if side.heading %}<b>{{ side.heading }}</b><br>{%
endif %}{{ side.state }}</th>
<td class="number" data-label="How many">{{ side.n | count }} <span class="aside">{{ side.share }}</span></td>
<td class="number" data-label="Promised">{{ side.promised }}</td>
<td class="number" data-label="Observed"><b>{{ side.observed }}</b> <span class="aside">{{ side.interval }}</span></td>
<td data-label="Promise"{% if side.broken %} class="broken"{% endif %}>{{ side.mark }}</td></tr>
{% endfor %}
</tbody>
</table>
<p class="caption">The correction moves {{ row.decision.raised | count }} {{ terms.cases }} to the threshold or above
it, and {{ row.decision.lowered | count }} below it.{% if row.benefit %} {{ row.benefit }}.{% endif %}</p>
{% if row.groups %}
<h4>Findings whose promise is broken most here</h4>
<ul class="broken-promises">
{% for group in row.groups %}
<li>{{ group.phrase | short(140) }}: of {{ group.n | count }} that are {{ group.acted }}, <b>{{ group.observed }}</b>
{{ terms.come_true }} <span class="aside">({{ group.interval }})</span>; promised: <b>{{ group.promised }}</b>.
<span class="aside">{{ group.after }}</span></li>
{% endfor %}
</ul>
{% endif %}
</div>
{% endfor %}
</div>
<figure class="promises">
{% for plot in view.plots %}
<svg viewBox="0 0 {{ view.width }} 214" role="img" aria-label="Promised and observed rate of what is {{ terms.acted }},
by threshold, {{ plot.state }}">
<text class="zone" x="{{ view.x.start }}" y="9">{{ plot.state }}</text>
{% for y, label in view.y_ticks %}
<path class="grid" d="M{{ view.x.start }} {{ y }}H{{ view.x.stop }}"/>
<text class="tick" x="{{ view.x.start - 6 }}" y="{{ y + 3.5 }}" text-anchor="end">{{ label }}</text>
{% endfor %}
{% for row in view.rows %}
<path class="marker{{ " shown" if loop.index0 == view.start }}" data-place="{{ loop.index0 }}"
d="M{{ view.x(loop.index0) }} {{ view.y.start }}V{{ view.y.stop }}"/>
{% endfor %}
{% for place, label in view.x_ticks %}
<text class="tick" x="{{ view.x(place) }}" y="186" text-anchor="middle">{{ label }}</text>
{% endfor %}
<path class="diagonal" d="{{ plot.promised }}"/>
<path class="whisker" d="{{ plot.whiskers }}"/>
{% for x, y, title in plot.dots %}
<circle class="dot" cx="{{ x }}" cy="{{ y }}" r="3"><title>{{ title }}</title></circle>
{% endfor %}
<text class="axis" x="{{ (view.x.start + view.x.stop) / 2 }}" y="206" text-anchor="middle">threshold</text>
</svg>
{% endfor %}
<figcaption>Of the {{ terms.cases }} that are {{ terms.acted }} at each threshold: dots show how many
{{ terms.come_true }}, with 95&nbsp;% intervals; the dashed line shows what the mean {{ terms.probability }} promises.
</figcaption>
</figure>
</div>
</div>
<details><summary>All {{ view.rows | length }} thresholds</summary>
<div class="scroll">
<table class="thresholds">
<thead><tr><th scope="col" class="number">Threshold</th>
<th scope="col" class="number">{{ terms.acted | begin }}</th><th scope="col" class="number">Promised</th>
<th scope="col" class="number">Observed</th><th scope="col" class="number">{{ terms.acted | begin }} after the
correction</th><th scope="col" class="number">Promised</th><th scope="col" class="number">Observed</th>
{% if view.rows[0].decision.net_benefit %}<th scope="col" class="number">Net benefit per 1,000</th>
<th scope="col" class="number">after</th><th scope="col" class="number">of acting on all</th>{% endif %}</tr></thead>
<tbody>
{% for row in view.rows %}
<tr><th scope="row" class="number">{{ row.label }}</th>
{% for side in row.acted %}
<td class="number">{{ side.n | count }}</td><td class="number">{{ side.promised }}</td>
<td class="number{{ " broken" if side.broken }}">{{ side.observed }} <span class="aside">{{ side.interval }}</span></td>
{% endfor %}
{% if row.decision.net_benefit %}{% for value in row.benefits %}
<td class="number">{{ value }}</td>{% endfor %}{% endif %}</tr>
{% endfor %}
</tbody>
</table>
</div>
</details>
<p class="caption">Corrected {{ terms.probabilities }} come from fits that have not seen the row's own outcome. The
intervals of findings, and what is called broken of them, allow for the choice among all groups that were tested, all
thresholds and both sides; nothing is told of fewer than 30 rows.{% if view.rows[0].decision.net_benefit %} Net benefit
is the share of the {{ terms.cases }} rightly {{ terms.acted }}, less that of those {{ terms.acted }} needlessly times
the odds of the threshold (Vickers and Elkin, 2006); where none are {{ terms.acted }}, it is 0.{% endif %}</p>
"""


@dataclass(frozen=True)
class Side:
    """The rows on one side of a threshold, before or after the correction, as text; `heading` is that of two lines."""

    heading: str
    state: str
    n: int
    share: str
    promised: str
    observed: str
    interval: str
    broken: bool

    @property
    def mark(self) -> str:
        """Whether the promise is kept, in words."""
        return DASH if self.n == 0 else "broken" if self.broken else "kept, within chance"


@dataclass(frozen=True)
class GroupAtThreshold:
    """A finding whose promise is broken at a threshold, as text."""

    phrase: str
    acted: str
    n: int
    promised: str
    observed: str
    interval: str
    after: str


@dataclass(frozen=True)
class ThresholdRow:
    """What is told of one threshold."""

    decision: Decision
    label: str
    origin: str
    sides: tuple[Side, ...]
    groups: tuple[GroupAtThreshold, ...]
    benefit: str

    @property
    def acted(self) -> tuple[Side, Side]:
        """The rows that are acted on, before and after the correction."""
        return self.sides[0], self.sides[1]

    @property
    def benefits(self) -> tuple[str, ...]:
        """Net benefits per 1,000 rows: before, after, and of acting on all."""
        known = self.decision.net_benefit
        return () if known is None else tuple(f"{1000 * v:.1f}" for v in (known.before, known.after, known.all))


@dataclass(frozen=True)
class PromisePlot:
    """Promised and observed rates by threshold, drawn."""

    state: str
    promised: str
    whiskers: str
    dots: list[tuple[float, float, str]]


@dataclass(frozen=True)
class DecisionsView:
    """The thresholds, which one is shown first and why, and the drawings."""

    rows: tuple[ThresholdRow, ...]
    start: int
    why: str
    plots: tuple[PromisePlot, ...]
    x: Scale
    y: Scale
    x_ticks: list[tuple[int, str]]
    y_ticks: list[tuple[float, str]]
    width: int = WIDTH


def view(source: Source) -> DecisionsView | None:
    """Return every threshold; None of a run from before there were any."""
    summary = source.summary
    decisions, words = summary.decisions, vocabulary(summary.kind)
    if not decisions:
        return None
    start = next((place for place, one in enumerate(decisions) if one.start), 0)
    x, y = Scale(0, max(1, len(decisions) - 1), LEFT, WIDTH - RIGHT), Scale(0, _highest(decisions), BOTTOM, TOP + 4)
    step = -(-len(decisions) // MOST_LABELS)
    return DecisionsView(
        rows=tuple(_row(one, summary, words) for one in decisions),
        start=start,
        why=_why(decisions[start], words),
        plots=tuple(_plot(decisions, state, x, y) for state in STATES),
        x=x,
        y=y,
        x_ticks=apart(
            [(place, threshold_text(decisions[place].threshold)) for place in range(0, len(decisions), step)], x
        ),
        y_ticks=[(y(share * y.high), rate(share * y.high)) for share in (0, 0.25, 0.5, 0.75, 1)],
    )


def apart(labels: Sequence[tuple[int, str]], x: Scale) -> list[tuple[int, str]]:
    """Leave out the labels that would overlap the one before them.

    Examples
    --------
    >>> apart([(0, "35 %"), (5, "99.967 %"), (6, "99.9986 %")], Scale(0, 6, 0.0, 300.0))
    [(0, '35 %'), (5, '99.967 %')]
    """
    shown: list[tuple[int, str]] = []
    end = -math.inf
    for place, label in labels:
        half = len(label) * CHARACTER / 2
        if x(place) - half > end:
            shown.append((place, label))
            end = x(place) + half
    return shown


def _why(start: Decision, words: Vocabulary) -> str:
    """Say why a threshold is shown first."""
    reasons = {
        "cost": "The threshold shown first is the one that the costs imply.",
        "given": "The threshold shown first is the first one that was asked for.",
        "grid": f"The threshold shown first is the one at which the correction changes what is done with most "
        f"{words.cases}; those that it changes by less than the band of good calibration do not count.",
    }
    return reasons[start.source]


def _highest(decisions: tuple[Decision, ...]) -> float:
    """Upper end of the axis of rates: the least of some round ones that holds all that is drawn."""
    highest = max(_top(side) for one in decisions for side in (one.before, one.after))
    return next((end for end in ROUND if highest <= end), 1.0)


def _top(side: Promise) -> float:
    """Highest rate that is drawn of a side: intervals of few rows may leave the drawing."""
    return max(side.promised or 0.0, side.observed.value or 0.0, side.high if side.n >= 30 else 0.0)


def _plot(decisions: tuple[Decision, ...], state: str, x: Scale, y: Scale) -> PromisePlot:
    sides: list[tuple[int, Promise]] = [
        (place, getattr(one, state)) for place, one in enumerate(decisions) if getattr(one, state).n
    ]
    line = "L".join(f"{x(place)} {y(one.promised or 0.0)}" for place, one in sides)
    whiskers = "".join(f"M{x(place)} {y.inside(one.low)}V{y.inside(one.high)}" for place, one in sides)
    dots = [
        (
            x(place),
            y.inside(one.observed.value or 0.0),
            f"threshold {threshold_text(decisions[place].threshold)}: {one.n:,} rows, observed "
            f"{rate(one.observed.value or 0.0)} ({ends(one)}), promised {rate(one.promised or 0.0)}",
        )
        for place, one in sides
    ]
    return PromisePlot(STATES[state], f"M{line}" if line else "", whiskers, dots)


def _row(decision: Decision, summary: Summary, words: Vocabulary) -> ThresholdRow:
    headings = {"": words.acted.capitalize(), "_below": f"Not {words.acted}"}
    sides = tuple(
        _side(getattr(decision, state + side), heading if state == "before" else "", STATES[state])
        for side, heading in headings.items()
        for state in STATES
    )
    benefit = decision.net_benefit
    text = "" if benefit is None else gain_in_words(benefit, decision.threshold, words)
    return ThresholdRow(
        decision=decision,
        label=_unbroken(threshold_text(decision.threshold)),
        origin=_origin(decision, summary, words),
        sides=sides,
        groups=tuple(_group(told, summary, words) for told in decision.findings),
        benefit=text[:1].upper() + text[1:],
    )


def _origin(decision: Decision, summary: Summary, words: Vocabulary) -> str:
    if decision.source == "cost" and (cost := summary.settings.get("cost")):
        return f"implied by the costs: {cost[0]:g} of {words.missed}, {cost[1]:g} of {words.needless}"
    return "asked for" if decision.source == "given" else ""


def _side(one: Promise, heading: str, state: str) -> Side:
    return Side(
        heading=heading,
        state=state,
        n=one.n,
        share=_unbroken(rate(one.share)),
        promised=DASH if one.promised is None else _unbroken(rate(one.promised)),
        observed=DASH if one.observed.value is None else _unbroken(rate(one.observed.value)),
        interval=ends(one) if one.n else "",
        broken=one.broken,
    )


def _group(told: BrokenPromise, summary: Summary, words: Vocabulary) -> GroupAtThreshold:
    phrase, side = summary.findings[told.finding].phrase, _side(told.before, "", "")
    acted = f"{'not ' if told.below else ''}{words.acted}"
    if told.after is None:
        after = f"By corrected {words.probability}, fewer than 30 are."
    else:
        own = _side(told.after, "", "")
        after = (
            f"By corrected {words.probability}: {own.n:,}, of which {own.observed} ({own.interval}); promised: "
            f"{own.promised}."
        )
    return GroupAtThreshold(
        phrase=short(phrase[:1].upper() + phrase[1:], 300),
        acted=acted,
        n=side.n,
        promised=side.promised,
        observed=side.observed,
        interval=side.interval,
        after=after,
    )


def _unbroken(text: str) -> str:
    """Keep a number and its unit on one line."""
    return text.replace(" ", THIN)


PANEL = Panel("decisions", "Decisions at a threshold", view, TEMPLATE, contents="Decisions")
