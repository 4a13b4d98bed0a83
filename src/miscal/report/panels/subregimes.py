"""Cards of the subregimes: what they are called, how far off, what they have in common, examples."""

from dataclasses import dataclass

from miscal.base.document import MeasureAgainstNull
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.findings import EPSILON, Enriched, Subregime
from miscal.report.drawing import Scale
from miscal.report.examples import TEMPLATE as EXAMPLES
from miscal.report.examples import Example, Examples, surest_first
from miscal.report.legend import REGIMES
from miscal.report.map_data import MAX_NAME
from miscal.report.panel import Panel
from miscal.report.source import Source

MAX_CARDS = 40
MAX_KEYWORDS = 10
MAX_ENRICHED = 4
MAX_TELLING, MAX_TYPICAL = 3, 2

TEMPLATE = (
    EXAMPLES
    + """
{% macro drawn(card) %}
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
{% for label, number, confirmed, main in card.lines %}
{% set ends = view.axis.whisker(number.interval) %}
<tr{% if main %} class="main"{% endif %}><th scope="row">{{ label }}</th>
<td class="number"><b>{{ number.value | points }}</b>
<span class="aside">{{ number.interval | bounds }}</span></td>
<td><svg viewBox="0 0 140 18" role="img" aria-label="{{ label }} {{ number.value | points }} points, 95 %
interval {{ number.interval | bounds or "not defined" }}">
<line class="grid" x1="4" x2="136" y1="9" y2="9"/>
<line class="zero" x1="{{ view.axis(0) }}" x2="{{ view.axis(0) }}" y1="1" y2="17"/>
{% if ends %}
<path class="whisker" d="M{{ ends[0] }} 9H{{ ends[1] }}M{{ ends[0] }} 5v8M{{ ends[1] }} 5v8"/>
{% endif %}
{% if number.value is not none %}
<circle class="right" cx="{{ view.axis.inside(number.value) }}" cy="9" r="3.6"/>
{% endif %}
</svg>
<span class="aside{{ " proven" if confirmed }}">{{ "" if confirmed is none else "confirmed" if confirmed
else "opposite" if number | is_opposite(card.side) else "not confirmed" }}</span></td></tr>
{% endfor %}
</tbody>
</table>
<p class="aside">{{ part.n | count }} {{ words.rows }} ({{ part.share | percent }}): {{ terms.rate }} {{ part.accuracy |
percent }}, {{ terms.probability }} {{ part.confidence | percent }}, {{ part.p_value | p_value }}</p>
{% endif %}
</div>
{% if card.keywords %}
<ul class="keywords" aria-label="Keywords">
{% for word in card.keywords %}
<li>{{ word | short(40) }}</li>
{% endfor %}
</ul>
{% endif %}
{% if card.enriched %}
<table class="enriched">
<thead><tr><th scope="col">More common here</th><th scope="col" class="number">Odds ratio</th></tr></thead>
<tbody>
{% for entry in card.enriched %}
<tr><td title="{{ entry.words | short(120) }}"><b>{{ entry.words | short(120) }}</b>
<span class="aside">{{ entry.share | percent(0) }} here, {{ entry.share_overall | percent(0) }} of all rows</span>
</td>
<td class="number">{{ "%.1f" | format(entry.odds_ratio) if entry.odds_ratio < 100 else "over 100" }}\
<span class="aside">{{ entry.p_value | p_value }}</span></td></tr>
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
<button type="button" class="show" data-subregime="{{ card.id }}" data-field="{{ part.field }}" hidden>Show on the
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
of what a reliability diagram shows (visible) and of the difference from {{ terms.equal_rows() }} (hidden). Each is
confirmed where it differs from zero in the direction of its regime beyond chance, and opposite where its interval lies
on the other side of zero. The scale of every card goes from {{ (0 - view.reach) | points(decimals - 1) }} to {{
view.reach | points(decimals - 1) }} points.</p>
{% for title, cards in view.groups.items() %}
{% set unsure = cards | rejectattr("confirmed") | list %}
{% if view.groups | length > 1 or cards[0].part.field == "hidden" %}
<h3>{{ title }}</h3>
{% endif %}
<div class="cards">
{% for card in cards if card.confirmed %}
{{ drawn(card) }}
{% endfor %}
</div>
{% if unsure %}
<details class="unsure-parts"{% if unsure | length == cards | length %} open{% endif %}>
<summary>{{ unsure | length }} part{{ "s" if unsure | length > 1 }} that {{ "were" if
unsure | length > 1 else "was" }} not confirmed</summary>
<div class="cards">
{% for card in unsure %}
{{ drawn(card) }}
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
TITLES = {
    "hidden": "Parts by what is hidden: {label} less or more often {than}",
    "total": "Parts by the whole field: {over_and_under}",
}


@dataclass(frozen=True)
class Card:
    """A subregime as drawn, with its telling and its typical rows."""

    part: Subregime
    telling: list[Example]
    typical: list[Example]
    terms: Vocabulary

    @property
    def id(self) -> str:
        """What the map knows it by."""
        return self.part.name[:MAX_NAME]

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords that are shown."""
        return self.part.keywords[:MAX_KEYWORDS]

    @property
    def enriched(self) -> tuple[Enriched, ...]:
        """The values of columns that are shown."""
        return self.part.metadata[:MAX_ENRICHED]

    @property
    def kind(self) -> str:
        """Its regime; ``"good"`` for a regime without a colour."""
        return self.part.parent if self.part.parent in REGIMES else "good"

    @property
    def label(self) -> str:
        """What its regime is called."""
        if self.part.parent not in REGIMES:
            return self.part.parent
        label = self.terms.often_beside if self.part.field == "hidden" else self.terms.regime
        return label(self.part.parent).capitalize()

    @property
    def confirmed(self) -> bool:
        """Whether what it was cut by is confirmed."""
        return self.part.confirmed_parts.hidden if self.part.field == "hidden" else self.part.confirmed

    @property
    def side(self) -> int:
        """The direction that the part claims: -1 less, +1 more often right."""
        return -1 if self.kind == "over" else 1

    @property
    def telling_label(self) -> str:
        """What the telling examples are."""
        return self.terms.telling.get(self.kind, "telling").capitalize()

    @property
    def lines(self) -> list[tuple[str, MeasureAgainstNull, bool | None, bool]]:
        """The residual and its parts: label, number, whether it is confirmed, and whether the rows were cut by it."""
        part, sure = self.part, self.part.confirmed_parts
        by_hidden = part.field == "hidden"
        # a run from before they were told apart has the residual alone
        in_parts = part.visible is not None or part.hidden is not None
        lines = (
            ("total", part.residual, sure.total if in_parts else None, not by_hidden),
            ("visible", part.visible, sure.visible, False),
            ("hidden", part.hidden, sure.hidden, by_hidden),
        )
        return [line for line in lines if line[1] is not None]


@dataclass(frozen=True)
class SubregimesView:
    """Cards in the order of the summary, by the heading they stand under, drawn on one common axis of residuals."""

    groups: dict[str, list[Card]]
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
    reach = max([2 * (source.epsilon or EPSILON), *(_reach(part) for part in parts)])
    terms = vocabulary(source.summary.kind)
    fills = {"label": terms.label, "than": terms.than_equal_rows(), "over_and_under": terms.over_and_under}
    grouped = {
        title.format(**fills): [part for part in parts if (part.field == "hidden") == (name == "hidden")]
        for name, title in TITLES.items()
    }
    return SubregimesView(
        groups={title: [_card(part, examples, terms) for part in some] for title, some in grouped.items() if some},
        more=len(source.summary.subregimes) - len(parts),
        reach=reach,
        axis=Scale(-reach, reach, 4.0, 136.0),
        redacted=source.redact_text,
    )


def _reach(part: Subregime) -> float:
    """Return how far from zero the part's numbers and intervals go."""
    numbers = [number for number in (part.residual, part.visible, part.hidden) if number is not None]
    ends = [end for number in numbers for end in (number.value, *(number.interval or ()))]
    return max((abs(end) for end in ends if end is not None), default=0.0)


def _card(part: Subregime, examples: Examples, terms: Vocabulary) -> Card:
    telling, typical = part.telling[:MAX_TELLING], part.exemplars[:MAX_TYPICAL]
    # one call, so that a text is told apart from every other text of its card
    shown = {one.row: one for one in examples.of(list(dict.fromkeys((*telling, *typical))))}
    return Card(
        part=part,
        telling=surest_first([shown[row] for row in telling if row in shown], part.parent),
        typical=[shown[row] for row in typical if row in shown and row not in telling],
        terms=terms,
    )


PANEL = Panel("subregimes", "What parts of the regimes have in common", view, TEMPLATE, contents="Subregimes")
