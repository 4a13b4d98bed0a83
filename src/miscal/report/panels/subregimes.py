"""Cards of the subregimes: what they are called, how far off, what they have in common, examples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miscal.discovery.summary import SubregimeNumbers
from miscal.report.drawing import Scale, whisker
from miscal.report.legend import REGIMES
from miscal.report.map_data import MAX_NAME
from miscal.report.numbers import finite
from miscal.report.panel import Panel
from miscal.report.source import Source
from miscal.report.texts import clean, short

if TYPE_CHECKING:
    import polars as pl

MAX_CARDS = 40
MAX_KEYWORDS = 10
MAX_ENRICHED = 6
MAX_EXEMPLARS = 5
MAX_TEXT = 300

TEMPLATE = """
{% if view.redacted and view.cards %}
<p class="caption">Names, keywords and texts taken from the data were left off this page on request.</p>
{% endif %}
{% if not view.cards %}
<p class="empty">No coherent part of a regime was found that is large enough to name.</p>
{% else %}
<p class="lead">Each card shows a subregime: rows of one regime that lie close together. Subregimes were found without
the
test rows and then measured on them; the p-values are adjusted for the number of subregimes. The scale of every card
goes
from {{ (0 - view.reach) | points(0) }} to {{ view.reach | points(0) }} points.</p>
<div class="cards">
{% for card in view.cards %}
{% set part = card.part %}
<article class="card {{ card.kind }}{{ "" if part.confirmed else " unsure" }}">
<header>
<h3 title="{{ part.name | short(300) }}">{{ part.name | short(90) }}</h3>
<p class="badge"><span class="mark" aria-hidden="true"></span>{{ card.label | short(40) }}, {{ "confirmed" if
part.confirmed
else "not confirmed" }} on test rows</p>
</header>
<div class="card-figure">
{% if not part.n %}
<p class="aside">No test row belongs to this subregime, so its residual could not be measured.</p>
{% else %}
<p class="residual">Residual <b>{{ part.residual.value | points }}</b> points</p>
<svg viewBox="0 0 240 22" role="img" aria-label="Residual {{ part.residual.value | points }} points, 95 % interval
{{ part.residual.interval | bounds or "not defined" }}">
<line class="grid" x1="6" x2="234" y1="11" y2="11"/>
<line class="zero" x1="{{ view.axis(0) }}" x2="{{ view.axis(0) }}" y1="2" y2="20"/>
{% if card.whisker %}
<path class="whisker" d="M{{ card.whisker[0] }} 11H{{ card.whisker[1] }}M{{ card.whisker[0] }} 7v8M{{ card.whisker[1]
}} 7v8"/>
{% endif %}
{% if part.residual.value is not none %}
<circle class="right" cx="{{ view.axis.inside(part.residual.value) }}" cy="11" r="4.5"/>
{% endif %}
</svg>
<p class="aside">95&nbsp;% interval {{ part.residual.interval | bounds or "not defined" }}, {{ part.p_value | p_value
}}</p>
<p class="aside">{{ part.n | count }} test rows ({{ part.share | percent }}): accuracy {{ part.accuracy | percent }},
confidence {{ part.confidence | percent }}</p>
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
{% if card.exemplars %}
<h4>Examples near its centre</h4>
<ul class="exemplars">
{% for row in card.exemplars %}
<li>{% if row.text %}<q>{{ row.text }}</q>{% endif %}
<span class="outcome">Row {{ row.row | count }}: confidence {{ row.confidence | percent(0) }}, {{ row.answer }}, \
field&nbsp;{{ row.delta | points(0) }}&nbsp;points</span></li>
{% endfor %}
</ul>
{% endif %}
<button type="button" class="show" data-subregime="{{ card.id }}" hidden>Show on the map</button>
</article>
{% endfor %}
</div>
{% if view.more > 0 %}
<p class="caption">{{ view.more | count }} more subregimes are listed in summary.json.</p>
{% endif %}
{% endif %}
"""


@dataclass(frozen=True)
class EnrichedText:
    """A metadata value that is more common in the subregime than in all rows."""

    words: str
    share: float | None
    share_overall: float | None
    odds_ratio: str
    p_value: float | None


@dataclass(frozen=True)
class Exemplar:
    """A row near the centre of a subregime."""

    row: int
    text: str
    confidence: float | None
    correct: float | None
    delta: float | None

    @property
    def answer(self) -> str:
        """The outcome in words."""
        if self.correct is None:
            return "outcome unknown"
        return "answer right" if self.correct else "answer wrong"


@dataclass(frozen=True)
class Card:
    """A subregime as drawn; `id` is what the map knows it by."""

    part: SubregimeNumbers
    id: str
    kind: str
    label: str
    whisker: tuple[float, float] | None
    keywords: list[str]
    enriched: list[EnrichedText]
    exemplars: list[Exemplar]


@dataclass(frozen=True)
class SubregimesView:
    """Cards in the order of the summary, drawn on one common axis of residuals."""

    cards: list[Card]
    more: int
    reach: float
    axis: Scale
    redacted: bool


def view(source: Source) -> SubregimesView:
    """Return the cards, and how many there was no room for."""
    parts = source.summary.subregimes[:MAX_CARDS]
    exemplars = _exemplars(source, parts)
    reach = max([0.1, *(_reach(part) for part in parts)])
    axis = Scale(-reach, reach, 6.0, 234.0)
    return SubregimesView(
        cards=[_card(part, axis, exemplars) for part in parts],
        more=len(source.summary.subregimes) - len(parts),
        reach=reach,
        axis=axis,
        redacted=source.redact_text,
    )


def _reach(part: SubregimeNumbers) -> float:
    """Return how far from zero the part's residual and interval go."""
    ends = [part.residual.value, *(part.residual.interval or ())]
    return max((abs(end) for end in ends if end is not None), default=0.0)


def _card(part: SubregimeNumbers, axis: Scale, exemplars: dict[int, Exemplar]) -> Card:
    return Card(
        part=part,
        id=part.name[:MAX_NAME],
        kind=part.parent if part.parent in REGIMES else "good",
        label=REGIMES.get(part.parent, part.parent),
        whisker=whisker(part.residual.interval, axis),
        keywords=[short(word, 40) for word in part.keywords[:MAX_KEYWORDS]],
        enriched=[_enriched(entry) for entry in part.metadata[:MAX_ENRICHED]],
        exemplars=[exemplars[row] for row in part.exemplars[:MAX_EXEMPLARS] if row in exemplars],
    )


def _enriched(entry: dict[str, Any]) -> EnrichedText:
    ratio = finite(entry.get("odds_ratio"))
    return EnrichedText(
        words=short(f"{entry.get('column', '')} {entry.get('value', '')}", 120),
        share=finite(entry.get("share")),
        share_overall=finite(entry.get("share_overall")),
        odds_ratio="" if ratio is None else f"{ratio:.1f}" if ratio < 100 else "over 100",
        p_value=finite(entry.get("p_value")),
    )


def _exemplars(source: Source, parts: tuple[SubregimeNumbers, ...]) -> dict[int, Exemplar]:
    """Rows named as exemplars: numbers from the field, texts from the map."""
    wanted = {row for part in parts for row in part.exemplars[:MAX_EXEMPLARS]}
    texts = {}
    if "text" in source.map.columns:
        texts = {values["row"]: values["text"] for values in _rows(source.map, wanted)}
    return {values["row"]: _exemplar(values, texts.get(values["row"])) for values in _rows(source.field, wanted)}


def _rows(table: "pl.DataFrame", wanted: set[int]) -> list[dict[str, Any]]:
    import polars as pl

    return table.filter(pl.col("row").is_in(list(wanted))).to_dicts()


def _exemplar(values: dict[str, Any], text: Any) -> Exemplar:
    return Exemplar(
        row=values["row"],
        text=_cut(" ".join(clean(text).split())) if text else "",
        confidence=values["confidence"],
        correct=values["correct"],
        delta=values["delta"],
    )


def _cut(text: str) -> str:
    # without its length: the map may have cut the text before
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


PANEL = Panel("subregimes", "What parts of the regimes have in common", view, TEMPLATE, contents="Subregimes")
