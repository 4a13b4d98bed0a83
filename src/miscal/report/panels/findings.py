"""The ledger of findings: groups that are right more or less often than rows of equal confidence."""

from dataclasses import dataclass

from miscal.base.document import Measure
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.findings import EPSILON
from miscal.findings.conditions import TEXT
from miscal.findings.ledger import SLOPE, Finding, FindingsMethod
from miscal.findings.ledger.sizes import MENDED
from miscal.findings.verdict import fate_words, together_words
from miscal.report.drawing import Scale
from miscal.report.examples import TEMPLATE as EXAMPLES
from miscal.report.examples import Example, Examples
from miscal.report.panel import Panel
from miscal.report.slope_curves import TEMPLATE as SLOPES
from miscal.report.slope_curves import SlopeCurve, slope_curve
from miscal.report.source import Source
from miscal.report.texts import clean, listed, short
from miscal.report.trend_pictures import TEMPLATE as TRENDS
from miscal.report.trend_pictures import TrendPicture, trend_picture

SHOWN = 20
MAX_EXAMPLES = 3
_LINE = 120

TEMPLATE = (
    EXAMPLES
    + SLOPES
    + TRENDS
    + """
{% if not view.rows %}
<p class="empty">{{ view.method.candidates | count }} tests were made of groups that columns and texts name or that
similar inputs form, on {{ view.method.n | count }} {{
view.kind }}. {{ terms.in_none_of("them") | begin }} more or less often {{ terms.than_equal_rows() }}, and in none does
the {{ terms.probability }} say more or less than elsewhere, beyond what chance explains.</p>
{% else %}
<p class="lead">{{ terms.in_rows("each of these groups", one=true) | begin }} more or less often {{
terms.than_equal_rows() }}, {% if view.slopes %}or its {{ terms.probability }} says more or less than elsewhere, {%
endif %}so no reliability diagram shows it. {{ view.method.candidates | count }} tests were made of groups, on {{
view.method.n | count }} {{ view.kind }}. Where
nothing is hidden, this list stays empty in at least {{ (1 - view.method.level) | percent(0) }} of data sets.</p>
<table class="regimes findings">
<thead>
<tr><th scope="col">Group</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">{{ terms.rate | begin }}</th>
<th scope="col" class="number">{{ terms.probability | begin }}</th>
<th scope="col" class="number">Residual = visible + hidden{% if terms.ratio %}; {{ terms.ratio }}{% endif %}</th>
<th scope="col" class="drawn">Against {{ terms.equal_rows() }}, points</th>
<th scope="col" class="number">Left after the correction, points</th>
<th scope="col">{{ terms.odds | begin }}, against such rows</th></tr>
</thead>
<tbody>
{% for row in view.rows %}
{% set one = row.finding %}
<tr class="{{ one.sign }}" id="finding-{{ loop.index }}">
<th scope="row"><span class="mark" aria-hidden="true"></span>{{ loop.index }}. {{ one.description | short(160) }}
<span class="aside origin">{{ row.origin }}</span>
{% if row.also %}<span class="aside also">also: {{ row.also }}</span>{% endif %}</th>
<td class="number" data-label="Rows">{{ one.n | count }} <span class="aside">{{ one.share | percent }}</span></td>
<td class="number" data-label="{{ terms.rate | begin }}">{{ one.accuracy | percent }}</td>
<td class="number" data-label="{{ terms.probability | begin }}">{{ one.confidence | percent }}</td>
<td class="number" data-label="Residual = visible + hidden"><span>{{ one.residual | points }}</span>
<span class="aside">= {{ one.visible | points }} {{ one.hidden.value | points }}</span>{% if terms.ratio %}
<span class="aside">{{ terms.ratio }} {{ row.ratio.value | ratio }}{% if row.ratio.interval %} ({{ row.ratio.interval |
bounds("ratio") }}){% endif %}</span>{% endif %}</td>
<td class="drawn" data-label="Against {{ terms.equal_rows() }}, points"><b>{{ one.before.value | points }}</b>
<span class="aside">{{ one.before.interval | bounds }}</span>
{% if row.together %}<span class="aside rise">{{ row.together }}</span>{% endif %}
{% if row.slope %}
<span class="aside rise">so much {{ "less" if one.sign == "over" else "more" }} the {{ terms.rate }} rises from
the lower to the upper third of {{ terms.probability }}</span></td>
{% else %}
{% if row.trend %}
<span class="aside rise">its upper third against its lower third</span>
{% endif %}
<svg viewBox="0 0 200 16" role="img" aria-label="{{ one.before.value | points }} points, 95 % interval
{{ one.before.interval | bounds or "not defined" }}">
<line class="grid" x1="4" x2="196" y1="8" y2="8"/>
<line class="zero" x1="{{ view.axis(0) }}" x2="{{ view.axis(0) }}" y1="1" y2="15"/>
{% set ends = view.axis.whisker(one.before.interval) %}
{% if ends %}
<path class="whisker" d="M{{ ends[0] }} 8H{{ ends[1] }}M{{ ends[0] }} 4.5v7M{{ ends[1] }} 4.5v7"/>
{% endif %}
{% if one.before.value is not none %}
<circle class="right" cx="{{ view.axis.inside(one.before.value) }}" cy="8" r="4"/>
{% endif %}
</svg></td>
{% endif %}
<td class="number" data-label="Left after correction"><span>{{ one.after.value | points }}</span>
<span class="aside">{{ one.after.interval | bounds }}</span>
{% if row.fate %}<span class="aside mark-word{{ " proven" if row.fate != view.mended }}">{{ row.fate }}</span>\
{% endif %}</td>
<td data-label="Odds">{{ row.odds }} <span class="aside">adjusted {{ one.p_adjusted | p_value }}</span></td>
</tr>
{% if row.curve %}
<tr class="{{ one.sign }} beneath"><td colspan="{{ 9 if terms.ratio else 8 }}">{{ slope_curve(row.curve) }}</td></tr>
{% endif %}
{% if row.trend %}
<tr class="{{ one.sign }} beneath"><td colspan="{{ 9 if terms.ratio else 8 }}">{{ trend_picture(row.trend) }}</td></tr>
{% endif %}
{% if row.examples or row.conditional %}
<tr class="{{ one.sign }} beneath"><td colspan="8"><details><summary>{% if row.examples %}{{
terms.telling.get(one.sign, "examples") | begin }}: {{ row.examples | length }}
example{{ "s" if row.examples | length > 1 }}{% else %}With other findings allowed
for{% endif %}<span class="visually-hidden"> of {{ one.description | short(60) }}</span>\
</summary>
{% if row.conditional %}<p class="caption">With the findings above allowed for: {{ one.conditional.value | points }}
points ({{ one.conditional.interval | bounds }}).</p>{% endif %}
{% if row.examples %}{{ examples(row.examples) }}{% endif %}</details></td></tr>
{% endif %}
{% endfor %}
</tbody>
</table>
<p class="caption">The residual is {{ terms.rate }} minus {{ terms.probability }}. Visible is the part that a
reliability diagram shows: the {{ terms.rate }} expected at these {{ terms.probabilities }}, minus the {{
terms.probability }}. Hidden is the rest. {% if terms.ratio %}{{ terms.ratio | begin }} is the {{ terms.rate }} divided
by the mean {{ terms.probability }}. {% endif %}The drawn number is the
hidden part with its 95&nbsp;% interval: how much more (+) or less (−) often {{ terms.of_rows("a group", one=true) }} {{
terms.than_equal_rows() }}. The interval holds the values that a test of this group by itself does not reject. The
p-value compares the group with rows that belong to the same groups above it in this list. Where a group shows only
together with one of these, it says so, and its row, opened, says the difference that this test is of. {% if
view.slopes %}Where the {{ terms.probability }}
says less or more, the number is the rise of
the {{ terms.rate }} from the lower to the upper third of the group's {{ terms.probabilities }}, minus that of {{
terms.equal_rows() }}, had they the {{ terms.rate }} of the group. {% endif %}Interval and p-value allow for the choice
among all groups tested. What is left after the correction compares the group with
{{ terms.equal_rows("corrected") }}, each row corrected by fits that have not seen its outcome{% if view.slopes
%}; of a rise, it is the difference between the two thirds{% endif %}. A group that is
chosen because it looks extreme looks more extreme than it is: what is left is made smaller for that, but its 95&nbsp;%
interval is of this one group, without that allowance. The group is called mended where the interval lies within half
of the number drawn, reduced where it lies within the whole of it, and worse where it lies beyond it. Elsewhere that is
not known, and the rows are those of the group of which the interval would be short enough.{% if view.more
%}
 {{ view.more | count }} more findings are in findings.parquet.{% endif %}</p>
{% if view.accounted %}
<p class="caption">{{ view.accounted | count }} more value{{ "s of columns differ" if view.accounted > 1 else
" of a column differs" }} from {{ terms.equal_rows() }}, too, each by itself; but the findings explain this in part or
whole, and what they leave is not proven.
{% if view.tables %}
The <a href="#columns">tables of the columns</a> mark them.
{% else %}
They are listed in summary.json.
{% endif %}
</p>
{% endif %}
{% endif %}
"""
)


@dataclass(frozen=True)
class FindingRow:
    """A finding as drawn, with its most telling rows."""

    finding: Finding
    examples: list[Example]
    terms: Vocabulary
    curve: SlopeCurve | None
    trend: TrendPicture | None
    together: str
    conditional: bool

    @property
    def ratio(self) -> Measure:
        """Observed over expected."""
        return self.finding.observed_over_expected

    @property
    def also(self) -> str:
        """Other names of its rows, whole, as many as a line holds: the beginning of a name may be that of another."""
        told = ""
        for one in map(clean, self.finding.aliases):
            longer = f"{told}; {one}" if told else one
            told = longer if len(longer) <= _LINE else told
        return told

    @property
    def slope(self) -> bool:
        """Whether its number is a rise along its confidences."""
        return self.finding.effect == SLOPE

    @property
    def fate(self) -> str:
        """What the correction makes of it, in words; empty where the run does not say."""
        return fate_words(self.finding.fate, self.finding.rows_needed)

    @property
    def origin(self) -> str:
        """Where the group comes from, in words."""
        if self.finding.source == "named":
            columns = [short(column, 40) for column in self.finding.columns if column != TEXT]
            terms = ["a term of the texts"] if TEXT in self.finding.columns else []
            return f"named by {listed([*(f'the column {column}' for column in columns), *terms], 'and')}"
        return "found from the inputs, then described" if self.finding.source == "found" else self.finding.source

    @property
    def odds(self) -> str:
        """The odds ratio in words."""
        return odds_in_words(self.finding.odds_ratio, self.terms)


@dataclass(frozen=True)
class FindingsView:
    """What the panel shows."""

    rows: tuple[FindingRow, ...]
    more: int
    method: FindingsMethod
    axis: Scale
    accounted: int
    tables: bool
    mended: str = MENDED

    @property
    def slopes(self) -> bool:
        """Whether some findings are slopes."""
        return any(row.finding.effect == SLOPE for row in self.rows)

    @property
    def kind(self) -> str:
        """What the evaluation rows are called."""
        return "test rows" if self.method.evidence == "test" else "rows"


def odds_in_words(ratio: float | None, terms: Vocabulary) -> str:
    """Say an odds ratio.

    Examples
    --------
    >>> odds_in_words(0.37, vocabulary("answer")), odds_in_words(2.0, vocabulary("event"))
    ('0.37 times', '2 times')
    """
    if ratio is None:
        return f"not defined: all {terms.equal_rows()} have one outcome"
    return f"{'over 100' if ratio > 100 else f'{ratio:.2g}'} times"


def rows_of(source: Source, most: int) -> tuple[tuple[FindingRow, ...], Scale]:
    """Return the strongest findings, and the axis that their sizes are drawn on."""
    found = source.summary.findings[:most]
    examples = Examples(source, (row for one in found for row in one.rows[:MAX_EXAMPLES]))
    shifts = [one.before for one in found if one.effect != SLOPE]
    ends = [abs(end) for one in shifts for end in (one.value, *(one.interval or ())) if end is not None]
    reach = max([2 * (source.epsilon or EPSILON), *ends])
    axis = Scale(-reach, reach, 4.0, 196.0)
    terms = vocabulary(source.summary.kind)
    rows = (
        FindingRow(
            one,
            examples.of(one.rows[:MAX_EXAMPLES]),
            terms,
            slope_curve(one, terms),
            trend_picture(one, source, terms),
            together_words(one, found).removeprefix(", "),
            place > 0 and one.conditional.value is not None,
        )
        for place, one in enumerate(found)
    )
    return tuple(rows), axis


def view(source: Source) -> FindingsView | None:
    """Return the strongest findings; None where the run tested no named group."""
    method = source.summary.findings_method
    if method is None or method.candidates == 0:
        return None
    rows, axis = rows_of(source, SHOWN)
    more = max(0, len(source.summary.findings) - SHOWN)
    return FindingsView(rows, more, method, axis, len(source.summary.accounted_for), bool(source.columns))


PANEL = Panel("findings", "Findings: groups that no reliability diagram shows", view, TEMPLATE, contents="Findings")
