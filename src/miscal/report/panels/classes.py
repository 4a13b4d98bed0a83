"""Several classes: an overview, the confusions that confidence hides, and the findings of each class."""

from dataclasses import dataclass

import numpy as np

from miscal.base.vocabulary import Vocabulary
from miscal.discovery.summary_parts import ClassEvent, ClassNumbers, Confusion
from miscal.discovery.wording import confusion_sentence, words_of
from miscal.findings.ledger import Finding
from miscal.findings.verdict import fate_words
from miscal.report.drawing import Dot
from miscal.report.panel import Panel
from miscal.report.printed_finding import finding_words
from miscal.report.probability_axes import LINEAR_AXES, ProbabilityAxes, log_odds_axes
from miscal.report.source import Source
from miscal.report.texts import begin

RARE, LOWEST = 0.05, 1e-3
"""Mean probability below which a diagram is drawn in log-odds, as on linear axes its dots would lie in a corner; and
the probability at which such axes end at least."""

TEMPLATE = """{% from "axes.html" import axes as grid %}
<p class="lead">The findings above are of the class predicted. Here each class is an event of its own: its probability,
against how often it is the label. {% if view.looked_at < view.classes | length %}{{
view.looked_at | count }} of the {{ view.classes | length }} classes were looked at, those of most labels{% else
%}All {{ view.looked_at | count }} classes were looked at{% endif %}: for each, {{
view.numbers.candidates | count }} tests were made of the same groups. With the findings above they are one family:
where nothing is hidden, none of these lists names anything in at least 95&nbsp;% of data sets.</p>
<table class="regimes">
<thead><tr><th scope="col">Probabilities of all classes</th><th scope="col" class="number">Log loss</th>
<th scope="col" class="number">Likeliest class is right</th></tr></thead>
<tbody>
{% for name, label in view.states.items() %}
<tr><th scope="row">{{ label }}</th>
<td class="number" data-label="Log loss">{{ view.numbers.log_loss[name] | metric }}</td>
<td class="number" data-label="Likeliest class is right">{{ view.numbers.accuracy[name] | percent }}</td></tr>
{% endfor %}
</tbody>
</table>
{% if view.confusions %}
<h3>Confusions that confidence hides</h3>
<table class="values sortable">
<thead><tr><th scope="col">Predicted</th><th scope="col">Label</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">Is the label</th><th scope="col" class="number">Model says</th>
<th scope="col" class="number">Against rows of equal probability</th>
<th scope="col" class="number">After the correction</th></tr></thead>
<tbody>
{% for row in view.confusions %}{% set one = row.confusion %}
<tr class="{{ one.sign }}"><th scope="row" data-key="{{ one.predicted | lower }}">{{ one.predicted | short(60) }}</th>
<td data-label="Label" data-key="{{ one.label | lower }}"><a href="#class-{{ row.place }}">{{ one.label | short(60)
}}</a></td>
<td class="number" data-label="Rows" data-number data-key="{{ one.n }}">{{ one.n | count }}</td>
<td class="number" data-label="Is the label" data-number data-key="{{ one.rate }}">{{ one.rate | percent }}</td>
<td class="number" data-label="Model says" data-number data-key="{{ one.probability }}">{{ one.probability | percent
}}</td>
<td class="number" data-label="Difference" data-number data-key="{{ one.hidden.value }}"><b>{{
one.hidden.value | points }}</b> <span class="aside low-to-high">{{ one.hidden.interval | bounds }}</span></td>
<td class="number" data-label="After" data-number data-key="{{ one.after.value }}">{{ one.after.value |
points }} <span class="aside low-to-high">{{ one.after.interval | bounds }}</span></td></tr>
{% endfor %}
</tbody>
</table>
<p class="caption">For example, {{ view.example }}. Differences are in percentage points, with 95&nbsp;%
intervals; those before the correction allow for all groups and classes tested.</p>
{% elif view.looked_at %}
<p class="empty">Where one class is predicted, no other is the label more or less often than in rows of equal
probability of it, beyond what chance explains.</p>
{% endif %}
<h3>Class by class</h3>
<table class="values sortable">
<thead><tr><th scope="col">Class</th><th scope="col" class="number">Labels</th>
<th scope="col" class="number">Predicted</th><th scope="col" class="number">Is the label</th>
<th scope="col" class="number">Model says</th><th scope="col" class="number">Findings</th>
<th scope="col" class="number">smECE before</th><th scope="col" class="number">after</th>
<th scope="col" class="number">Log loss before</th><th scope="col" class="number">after</th></tr></thead>
<tbody>
{% for one in view.classes %}
<tr{% if not one.looked_at %} class="faint"{% endif %}>
<th scope="row" data-key="{{ one.name | lower }}">{% if one.looked_at %}<a href="#class-{{ loop.index }}">{{ one.name |
short(60) }}</a>{% else %}{{ one.name | short(60) }}{% endif %}</th>
<td class="number" data-label="Labels" data-number data-key="{{ one.labels }}">{{ one.labels | count }}</td>
<td class="number" data-label="Predicted" data-number data-key="{{ one.predicted }}">{{ one.predicted | count }}</td>
<td class="number" data-label="Is the label" data-number data-key="{{ one.rate }}">{{ one.rate | percent }}</td>
<td class="number" data-label="Model says" data-number data-key="{{ one.probability }}">{{ one.probability | percent
}}</td>
<td class="number" data-label="Findings" data-number data-key="{{ one.findings | length if one.looked_at else -1 }}">{{
one.findings | length if one.looked_at else "–" }}</td>
<td class="number" data-label="smECE before" data-number data-key="{{ one.raw.smece }}">{{ one.raw.smece | size }}</td>
<td class="number" data-label="smECE after" data-number data-key="{{ one.corrected.smece }}">{{ one.corrected.smece |
size }}</td>
<td class="number" data-label="Log loss before" data-number data-key="{{ one.raw.log_loss }}">{{ one.raw.log_loss |
metric }}</td>
<td class="number" data-label="Log loss after" data-number data-key="{{ one.corrected.log_loss }}">{{
one.corrected.log_loss | metric }}</td>
</tr>
{% endfor %}
</tbody>
</table>
<p class="caption">Labels: {{ words.rows }} that have the class; predicted: those where it is the likeliest. smECE, in
percentage points, and log loss are those of the class as an event, before and after the correction, which each row
takes from fits that have not seen its label.{% if view.looked_at < view.classes | length %} A class in grey was
not looked at: fewer than 30 rows have it, or 20 other classes have more.{% endif %}</p>
{% for one in view.sections %}
<details class="column" id="class-{{ one.place }}">
<summary><b>{{ one.event.name | short(80) }}</b> <span class="aside">{{ one.told }}</span></summary>
{% if one.findings %}
<table class="regimes">
<thead><tr><th scope="col">Group</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">Is the label</th><th scope="col" class="number">Model says</th>
<th scope="col" class="number">Against rows of equal probability</th>
<th scope="col" class="number">After the correction</th><th scope="col">Adjusted p</th></tr></thead>
<tbody>
{% for row in one.findings %}{% set finding = row.finding %}
<tr class="{{ finding.sign }}"><th scope="row">{{ loop.index }}. {{ finding.description | short(160) }}
{% if row.slope %}<span class="aside">{{ row.slope }}</span>{% endif %}</th>
<td class="number" data-label="Rows">{{ finding.n | count }}</td>
<td class="number" data-label="Is the label">{{ finding.accuracy | percent }}</td>
<td class="number" data-label="Model says">{{ finding.confidence | percent }}</td>
<td class="number" data-label="Difference"><b>{{ finding.before.value | points }}</b> <span
class="aside low-to-high">{{ finding.before.interval | bounds }}</span></td>
<td class="number" data-label="After">{{ finding.after.value | points }} <span
class="aside low-to-high">{{ finding.after.interval | bounds }}</span>{% if row.fate %} <span class="aside">{{
row.fate }}</span>{% endif %}</td>
<td data-label="Adjusted p">{{ finding.p_adjusted | p_value }}</td></tr>
{% endfor %}
</tbody>
</table>
{% else %}
<p class="empty">In no group is the label {{ one.event.name | short(60) }} more or less often than in {{
one.terms.equal_rows() }}, beyond what chance explains.</p>
{% endif %}
<div class="trio">
{% for when, dots in one.diagrams %}
<figure class="reliability all"><figcaption><b>{{ when }}</b></figcaption>
<svg viewBox="0 0 256 256" role="img" aria-label="Reliability diagram of {{ one.event.name | short(60) }}, {{ when |
lower }}: {{ dots | length }} groups of rows">
{{ grid(one.axes.x, one.axes.y, one.axes.ticks, one.terms) }}
<path class="whisker" d="{% for dot in dots %}M{{ dot.x }} {{ dot.low }}V{{ dot.high }}{% endfor %}"/>
{% for dot in dots %}
<circle class="dot" cx="{{ dot.x }}" cy="{{ dot.y }}" r="{{ dot.radius }}"><title>{{ dot.n | count }} rows: model says \
{{ dot.confidence | percent }}, it is the label in {{ dot.accuracy | percent }}</title></circle>
{% endfor %}
</svg></figure>
{% endfor %}
</div>
</details>
{% endfor %}
"""

STATES = {"raw": "As given", "global map": "By the global map", "corrected": "Corrected"}


@dataclass(frozen=True)
class ConfusionRow:
    """A confusion, and the place of its class on the page."""

    confusion: Confusion
    place: int


@dataclass(frozen=True)
class FindingRow:
    """A finding of a class: what its slope says, and what the correction makes of it, in words."""

    finding: Finding
    slope: str
    fate: str


@dataclass(frozen=True)
class ClassSection:
    """A class that was looked at."""

    event: ClassEvent
    place: int
    told: str
    findings: tuple[FindingRow, ...]
    axes: ProbabilityAxes
    diagrams: tuple[tuple[str, list[Dot]], ...]
    terms: Vocabulary


@dataclass(frozen=True)
class ClassesView:
    """What the section shows."""

    numbers: ClassNumbers
    looked_at: int
    confusions: tuple[ConfusionRow, ...]
    example: str
    sections: tuple[ClassSection, ...]
    states = STATES

    @property
    def classes(self) -> tuple[ClassEvent, ...]:
        """All classes, in their order."""
        return self.numbers.classes


def view(source: Source) -> ClassesView | None:
    """Return what is shown of classes; None of a run that has none."""
    numbers = source.summary.classes
    if numbers is None:
        return None
    places = {one.name: place for place, one in enumerate(numbers.classes, start=1)}
    looked = [one for one in numbers.classes if one.looked_at]
    # classes with findings first, those with the strongest at the top
    ordered = sorted(looked, key=lambda one: min((found.p_adjusted for found in one.findings), default=2.0))
    return ClassesView(
        numbers,
        len(looked),
        tuple(ConfusionRow(one, places[one.label]) for one in numbers.confusions),
        confusion_sentence(numbers.confusions[0]) if numbers.confusions else "",
        tuple(_section(one, places[one.name]) for one in ordered),
    )


def _section(one: ClassEvent, place: int) -> ClassSection:
    curves = [] if one.curves is None else [("Before", one.curves.raw), ("After the correction", one.curves.corrected)]
    known = [(when, curve) for when, curve in curves if curve is not None]
    shown = [value for _, curve in known for value in (*curve.confidence, *curve.accuracy)]
    axes = log_odds_axes(np.clip(shown, LOWEST, 1 - LOWEST)) if one.probability < RARE else LINEAR_AXES
    many = len(one.findings)
    told = f"{one.labels:,} labels, {f'{many} finding' + ('' if many == 1 else 's') if many else 'no finding'}"
    found = tuple(_row(finding, one) for finding in one.findings)
    terms = words_of(one.name if len(one.name) <= 20 else f"{one.name[:19]}…")
    return ClassSection(one, place, told, found, axes, tuple((when, axes.dots(curve)) for when, curve in known), terms)


def _row(finding: Finding, one: ClassEvent) -> FindingRow:
    slope = begin(finding_words(finding, words_of(one.name), one.findings)) if finding.curve else ""
    return FindingRow(finding, slope, fate_words(finding.fate, finding.rows_needed))


PANEL = Panel("classes", "The classes, one by one", view, TEMPLATE, contents="Classes")
