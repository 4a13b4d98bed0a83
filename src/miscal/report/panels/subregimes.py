"""Cards of the subregimes: what they are called, how far off, what they have in common, examples."""

from dataclasses import dataclass
from typing import Any

from miscal.discovery.summary import MeasureAgainstNull, SubregimeNumbers
from miscal.report.drawing import Scale, whisker
from miscal.report.examples import TEMPLATE as EXAMPLES
from miscal.report.examples import Example, Examples
from miscal.report.formatting import finite
from miscal.report.legend import HIDDEN_REGIMES, REGIME_LABELS, TELLING
from miscal.report.map_data import MAX_NAME
from miscal.report.panel import Panel
from miscal.report.source import Source
from miscal.report.texts import short

MAX_CARDS = 40
MAX_KEYWORDS = 10
MAX_ENRICHED = 4
MAX_TELLING, MAX_TYPICAL = 3, 2

TEMPLATE = (
    EXAMPLES
    + """
{% macro drawn(card, field) %}
{% set part = card.part %}
<article class="card {{ card.kind }}{{ "" if card.confirmed else " unsure" }}">
<header>
<h3 title="{{ part.name | short(300) }}">{{ part.name | short(200) }}</h3>
<p class="badge"><span class="mark" aria-hidden="true"></span>{{ card.label | short(60) }}, {{ "confirmed" if
card.confirmed else "not confirmed" }}{{ words.kind }}</p>
</header>
<div class="card-figure">
{% if not part.n %}
<p class="aside">No {{ words.row }} belongs to this part, so its residual could not be measured.</p>
{% else %}
<table class="measures">
<thead><tr><th scope="col"><span class="visually-hidden">Part of the residual</span></th>
<th scope="col" class="number">points</th><th scope="col"></th></tr></thead>
<tbody>
{% for line in card.lines %}
<tr{% if line.main %} class="main"{% endif %}><th scope="row">{{ line.label }}</th>
<td class="number"><b>{{ line.number.value | points }}</b>
<span class="aside">{{ line.number.interval | bounds }}</span></td>
<td><svg viewBox="0 0 140 18" role="img" aria-label="{{ line.label }} {{ line.number.value | points }} points, 95 %
interval {{ line.number.interval | bounds or "not defined" }}">
<line class="grid" x1="4" x2="136" y1="9" y2="9"/>
<line class="zero" x1="{{ view.axis(0) }}" x2="{{ view.axis(0) }}" y1="1" y2="17"/>
{% if line.whisker %}
<path class="whisker" d="M{{ line.whisker[0] }} 9H{{ line.whisker[1] }}M{{ line.whisker[0] }} 5v8M{{ line.whisker[1]
}} 5v8"/>
{% endif %}
{% if line.number.value is not none %}
<circle class="right" cx="{{ view.axis.inside(line.number.value) }}" cy="9" r="3.6"/>
{% endif %}
</svg>
<span class="aside{{ " proven" if line.confirmed }}">{{ "" if line.confirmed is none else "confirmed" if line.confirmed
else "opposite" if line.number | is_opposite(card.side) else "not confirmed" }}</span></td></tr>
{% endfor %}
</tbody>
</table>
<p class="aside">{{ part.n | count }} {{ words.rows }} ({{ part.share | percent }}): accuracy {{ part.accuracy | percent
}}, confidence {{ part.confidence | percent }}, {{ part.p_value | p_value }}</p>
{% endif %}
</div>
{% if card.keywords %}
<ul class="keywords" aria-label="Keywords">
{% for word in card.keywords %}
<li>{{ word }}</li>
{% endfor %}
</ul>
{% endif %}
{% if card.enriched %}
<table class="enriched">
<thead><tr><th scope="col">More common here</th><th scope="col" class="number">Odds ratio</th></tr></thead>
<tbody>
{% for entry in card.enriched %}
<tr><td title="{{ entry.words }}"><b>{{ entry.words }}</b>
{% if entry.share is not none and entry.share_overall is not none %}
<span class="aside">{{ entry.share | percent(0) }} here, {{ entry.share_overall | percent(0) }} of all rows</span>
{% endif %}
</td>
<td class="number">{{ entry.odds_ratio or "–" }}{% if entry.p_value is not none %}
<span class="aside">{{ entry.p_value | p_value }}</span>{% endif %}</td></tr>
{% endfor %}
</tbody>
</table>
{% endif %}
{% if card.telling %}
<h4>{{ card.telling_label }}</h4>
{{ examples(card.telling) }}
{% endif %}
{% if card.typical %}
<details class="typical"{% if not card.telling %} open{% endif %}><summary>Typical rows</summary>
{{ examples(card.typical) }}
</details>
{% endif %}
<button type="button" class="show" data-subregime="{{ card.id }}" data-field="{{ field }}" hidden>Show on the
map</button>
</article>
{% endmacro %}
{% if view.redacted and view.groups %}
<p class="caption">Names, keywords and texts taken from the data were left off this page on request.</p>
{% endif %}
{% if not view.groups %}
<p class="empty">No coherent part of a regime was found that is large enough to name.</p>
{% else %}
<p class="lead">Each card shows a part of a regime: rows that lie close together. The parts were found without looking
at the outcomes that they are measured on; the p-values are adjusted for their number. The residual (total) is the sum
of what a reliability diagram shows (visible) and of the difference from rows of equal confidence (hidden). Each is
confirmed where it differs from zero in the direction of its regime beyond chance, and opposite where its interval lies
on the other side of zero. The scale of every card goes from {{ (0 - view.reach) | points(0) }} to {{ view.reach |
points(0) }} points.</p>
{% for group in view.groups %}
{% if view.groups | length > 1 or group.field == "hidden" %}
<h3>{{ group.title }}</h3>
{% endif %}
<div class="cards">
{% for card in group.cards if card.confirmed %}
{{ drawn(card, group.field) }}
{% endfor %}
</div>
{% if group.unsure %}
<details class="unsure-parts"{% if group.unsure | length == group.cards | length %} open{% endif %}>
<summary>{{ group.unsure | length }} part{{ "s" if group.unsure | length > 1 }} that {{ "were" if
group.unsure | length > 1 else "was" }} not confirmed</summary>
<div class="cards">
{% for card in group.unsure %}
{{ drawn(card, group.field) }}
{% endfor %}
</div>
</details>
{% endif %}
{% endfor %}
{% if view.more > 0 %}
<p class="caption">{{ view.more | count }} more parts are listed in summary.json.</p>
{% endif %}
{% endif %}
"""
)

#: Parts by the field that they were cut on, in the order of the page: what no diagram shows comes first.
GROUPS = {
    "hidden": "Parts by what is hidden: right less or more often than rows of equal confidence",
    "total": "Parts by the whole field: over- and under-confident",
}


@dataclass(frozen=True)
class EnrichedText:
    """A metadata value that is more common in the subregime than in all rows."""

    words: str
    share: float | None
    share_overall: float | None
    odds_ratio: str
    p_value: float | None


@dataclass(frozen=True)
class ResidualLine:
    """A part of the residual as drawn; `main` is the one that the rows were cut by."""

    label: str
    number: MeasureAgainstNull
    whisker: tuple[float, float] | None
    confirmed: bool | None
    main: bool


@dataclass(frozen=True)
class Card:
    """A subregime as drawn; `id` is what the map knows it by."""

    part: SubregimeNumbers
    id: str
    kind: str
    label: str
    confirmed: bool
    lines: list[ResidualLine]
    keywords: list[str]
    enriched: list[EnrichedText]
    telling: list[Example]
    typical: list[Example]

    @property
    def side(self) -> int:
        """The direction that the part claims: -1 less, +1 more often right."""
        return -1 if self.kind == "over" else 1

    @property
    def telling_label(self) -> str:
        """What the telling examples are."""
        return TELLING.get(self.kind, "Telling")


@dataclass(frozen=True)
class CardGroup:
    """The parts that were cut on one field."""

    field: str
    title: str
    cards: list[Card]

    @property
    def unsure(self) -> list[Card]:
        """Those that were not confirmed."""
        return [card for card in self.cards if not card.confirmed]


@dataclass(frozen=True)
class SubregimesView:
    """Cards in the order of the summary, by the field of their cut, drawn on one common axis of residuals."""

    groups: list[CardGroup]
    more: int
    reach: float
    axis: Scale
    redacted: bool


def view(source: Source) -> SubregimesView:
    """Return the cards, and how many there was no room for."""
    parts = source.summary.subregimes[:MAX_CARDS]
    examples = Examples(
        source, (row for part in parts for row in (*part.telling[:MAX_TELLING], *part.exemplars[:MAX_TYPICAL]))
    )
    reach = max([0.1, *(_reach(part) for part in parts)])
    axis = Scale(-reach, reach, 4.0, 136.0)
    grouped = {field: [part for part in parts if (part.field == "hidden") == (field == "hidden")] for field in GROUPS}
    return SubregimesView(
        groups=[
            CardGroup(field, title, [_card(part, axis, examples) for part in grouped[field]])
            for field, title in GROUPS.items()
            if grouped[field]
        ],
        more=len(source.summary.subregimes) - len(parts),
        reach=reach,
        axis=axis,
        redacted=source.redact_text,
    )


def _reach(part: SubregimeNumbers) -> float:
    """Return how far from zero the part's numbers and intervals go."""
    numbers = [number for number in (part.residual, part.visible, part.hidden) if number is not None]
    ends = [end for number in numbers for end in (number.value, *(number.interval or ()))]
    return max((abs(end) for end in ends if end is not None), default=0.0)


def _card(part: SubregimeNumbers, axis: Scale, examples: Examples) -> Card:
    by_hidden = part.field == "hidden"
    names = HIDDEN_REGIMES if by_hidden else REGIME_LABELS
    telling, typical = part.telling[:MAX_TELLING], part.exemplars[:MAX_TYPICAL]
    # one call, so that a text is told apart from every other text of its card
    shown = {one.row: one for one in examples.of(list(dict.fromkeys((*telling, *typical))))}
    return Card(
        part=part,
        id=part.name[:MAX_NAME],
        kind=part.parent if part.parent in REGIME_LABELS else "good",
        label=names.get(part.parent, part.parent),
        confirmed=part.confirmed_parts.hidden if by_hidden else part.confirmed,
        lines=_lines(part, axis, by_hidden),
        keywords=[short(word, 40) for word in part.keywords[:MAX_KEYWORDS]],
        enriched=[_enriched(entry) for entry in part.metadata[:MAX_ENRICHED]],
        telling=[shown[row] for row in telling if row in shown],
        typical=[shown[row] for row in typical if row in shown and row not in telling],
    )


def _lines(part: SubregimeNumbers, axis: Scale, by_hidden: bool) -> list[ResidualLine]:
    """Return the residual and its parts; the residual alone in a run from before they were told apart."""
    in_parts = part.visible is not None or part.hidden is not None
    sure = part.confirmed_parts
    lines = (
        ("total", part.residual, sure.total if in_parts else None, not by_hidden),
        ("visible", part.visible, sure.visible, False),
        ("hidden", part.hidden, sure.hidden, by_hidden),
    )
    return [
        ResidualLine(label, number, whisker(number.interval, axis), confirmed, main)
        for label, number, confirmed, main in lines
        if number is not None
    ]


def _enriched(entry: dict[str, Any]) -> EnrichedText:
    ratio = finite(entry.get("odds_ratio"))
    return EnrichedText(
        words=short(f"{entry.get('column', '')} {entry.get('value', '')}", 120),
        share=finite(entry.get("share")),
        share_overall=finite(entry.get("share_overall")),
        odds_ratio="" if ratio is None else f"{ratio:.1f}" if ratio < 100 else "over 100",
        p_value=finite(entry.get("p_value")),
    )


PANEL = Panel("subregimes", "What parts of the regimes have in common", view, TEMPLATE, contents="Subregimes")
