"""A table for every named column: all its values, with what the findings and the correction say of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from miscal.findings import EPSILON
from miscal.findings.ledger import ColumnValue
from miscal.findings.ledger.values import EXPLAINED, FEW_ROWS, FINDING
from miscal.report.drawing import Scale
from miscal.report.panel import Panel
from miscal.report.panels.findings import SHOWN as LISTED
from miscal.report.source import Source

MOST_VALUES, FEWEST_VALUES, MOST_IN_ALL = 100, 10, 2_000
"""Values that a table shows: all tables together stay a small part of the page."""

TEMPLATE = """
<p class="lead">Every value of every named column, on {{ view.n | count }} {{ view.kind }}. Press a heading to sort.
Intervals are of one value at a time, at 95&nbsp;%: where nothing is hidden, up to one in twenty excludes zero.
The marks allow for all groups that were tested.</p>
{% for column in view.columns %}
<details class="column"{{ " open" if loop.first and column.values | length <= 30 }}>
<summary><b>{{ column.name | short(80) }}</b> <span class="aside">{{ column.told }}</span></summary>
<table class="values sortable">
<thead>
<tr><th scope="col">Value</th><th scope="col" class="number">Rows</th><th scope="col" class="number">{{ terms.rate |
begin }}</th>
<th scope="col" class="number">{{ terms.probability | begin }}</th><th scope="col" class="number">Residual{% if
terms.ratio %}; {{ terms.ratio }}{% endif %}</th>
<th scope="col" class="number">Hidden</th><th scope="col" class="drawn">Hidden (bar), after (circle)</th>
<th scope="col" class="number">After the correction</th><th scope="col">Mark</th>
<th scope="col" class="number">Rise with {{ terms.probability }}</th></tr>
</thead>
<tbody>
{% for row in column.values %}{% set one = row.value %}
<tr class="{{ row.sign }}{{ " faint" if row.faint }}">
<th scope="row" data-key="{{ row.key }}"{{ " data-number" if column.ordered }}>{{ one.value | short(80) }}</th>
<td class="number" data-label="Rows" data-number data-key="{{ one.n }}">{{ one.n | count }}
<span class="aside">{{ one.share | percent }}</span></td>
<td class="number" data-label="{{ terms.rate | begin }}" data-number data-key="{{ one.accuracy }}">{{ one.accuracy |
percent }}</td>
<td class="number" data-label="{{ terms.probability | begin }}" data-number data-key="{{ one.confidence }}">{{
one.confidence | percent }}</td>
<td class="number" data-label="Residual" data-number data-key="{{ one.residual.value }}">{{ one.residual.value | points
}} <span class="aside low-to-high">{{ one.residual.interval | bounds }}</span>{% if terms.ratio %}
{% set ratio = one.observed_over_expected %}
<span class="aside low-to-high">× {{ ratio.value | ratio }} ({{ ratio.interval | bounds("ratio") or "–" }})</span>{%
endif %}</td>
<td class="number" data-label="Hidden" data-number data-key="{{ one.hidden.value }}"><b>{{ one.hidden.value | points
}}</b> <span class="aside low-to-high">{{ one.hidden.interval | bounds }}</span></td>
<td class="drawn" data-number data-key="{{ row.length }}"><svg viewBox="0 0 160 16" role="img" aria-label="hidden {{
one.hidden.value | points }} points, {{ one.hidden.interval | bounds }}{% if one.after.value is not none %}; after the
correction {{ one.after.value | points }}{% endif %}">
<line class="zero" x1="{{ column.axis(0) }}" x2="{{ column.axis(0) }}" y1="0" y2="16"/>
<line class="gap" x1="{{ column.axis(0) }}" x2="{{ column.axis.inside(one.hidden.value) }}" y1="8" y2="8"/>
<path class="whisker" d="M{{ row.whisker[0] }} 8H{{ row.whisker[1] }}"/>
{% if one.after.value is not none %}
<circle class="sure" cx="{{ column.axis.inside(one.after.value) }}" cy="8" r="3"/>
{% endif %}
</svg></td>
{% if one.after.value is not none %}
<td class="number" data-label="After correction" data-number data-key="{{ one.after.value }}">{{ one.after.value |
points }} <span class="aside low-to-high">{{ one.after.interval | bounds }}</span></td>
{% else %}
<td class="number" data-label="After correction">–</td>
{% endif %}
<td class="marked" data-label="Mark" data-number data-key="{{ row.rank }}">{% if row.link %}<a href="#finding-{{
one.finding }}">{{ one.told }}</a>{% else %}{{ one.told }}{% endif %}
{% if row.left %}
<span class="aside">leaves {{ one.conditional.value | points }} ({{ one.conditional.interval | bounds }})</span>
{% endif %}</td>
{% if one.slope.value is not none %}
<td class="number" data-label="Rise with {{ terms.probability }}" data-number
data-key="{{ one.slope.value }}">{{ one.slope.value |
points }} <span class="aside low-to-high">{{ one.slope.interval | bounds }}</span>
{% if row.sloped %}<span class="aside">{% if row.slope_link %}<a href="#finding-{{ one.slope_finding }}">{{
one.slope_told }}</a>{% else %}{{ one.slope_told }}{% endif %}</span>{% endif %}</td>
{% else %}
<td class="number" data-label="Rise with {{ terms.probability }}">–</td>
{% endif %}
</tr>
{% endfor %}
</tbody>
</table>
{% if column.more %}<p class="caption">{{ column.more | count }} more values, which no finding names and which have the
fewest rows, are in columns.parquet; <code>miscal show RUN_DIR --by {{ column.name | short(80) }}</code> prints all of
them.</p>{% endif %}
</details>
{% endfor %}
<p class="caption">All differences are in percentage points. The residual is {{ terms.rate }} minus {{ terms.probability
}}. {% if terms.ratio %}{{ terms.ratio | begin }} is the one divided by the other, and its interval that of the
residual. {% endif %}Hidden is how much more (+) or less (−) often {{ terms.of_rows("the rows") }} {{
terms.than_equal_rows() }}: the bar, with its interval as a line. After the correction they are compared with {{
terms.equal_rows("corrected") }}: the open
circle. A value that is
explained by a finding differs by itself as clearly as a finding does, but the findings account for it in part or whole,
and the one that is named accounts for most of it. What all findings leave of it stands below the mark, with an interval
that allows for all groups tested. Rise with {{ terms.probability }}: how much more (+) or less (−) the {{ terms.rate }}
of the rows rises from their lower to their upper third of {{ terms.probability }} than that of {{ terms.equal_rows()
}}, had they the {{ terms.rate }} of these rows; with a mark of its own where it is a finding, or explained by one.
{% if view.more %}
{{ view.more | count }} more columns are in columns.parquet.
{% endif %}
</p>
"""


@dataclass(frozen=True)
class ValueRow:
    """A value as drawn: its place in the table, and where its interval lies on the axis."""

    value: ColumnValue
    key: str | int
    whisker: tuple[float, float] | None

    @property
    def sign(self) -> str:
        """The direction of its hidden residual; none where it is not distinguishable."""
        if self.value.mark not in (FINDING, EXPLAINED):
            return ""
        return "over" if (self.value.hidden.value or 0.0) < 0 else "under"

    @property
    def faint(self) -> bool:
        """Whether it has too few rows to say much."""
        return self.value.mark == FEW_ROWS

    @property
    def length(self) -> float:
        """Length of its bar."""
        return abs(self.value.hidden.value or 0.0)

    @property
    def rank(self) -> int:
        """Place of its mark: findings, what they explain, the rest."""
        ranks = {FINDING: 0, EXPLAINED: 1_000, FEW_ROWS: 3_000}
        return ranks.get(self.value.mark, 2_000) + (self.value.finding or 0)

    @property
    def link(self) -> bool:
        """Whether the finding that it names is on the page."""
        return self.value.finding is not None and self.value.finding <= LISTED

    @property
    def sloped(self) -> bool:
        """Whether its rise is a finding, or explained by one."""
        return self.value.slope_finding is not None

    @property
    def slope_link(self) -> bool:
        """Whether that finding is on the page."""
        return self.value.slope_finding is not None and self.value.slope_finding <= LISTED

    @property
    def left(self) -> bool:
        """Whether something is left of it to be told."""
        return self.value.mark == EXPLAINED and self.value.conditional.value is not None


@dataclass(frozen=True)
class ColumnView:
    """The table of a column; `more` values of it are not shown."""

    name: str
    values: tuple[ValueRow, ...]
    more: int
    ordered: bool
    told: str
    axis: Scale


@dataclass(frozen=True)
class ColumnsView:
    """The tables, and the rows that they are of; `more` columns are not shown."""

    columns: tuple[ColumnView, ...]
    more: int
    n: int
    kind: str


def view(source: Source) -> ColumnsView | None:
    """Return a table for each column; None where the run has none."""
    method, tables = source.summary.findings_method, source.columns
    if not tables or method is None:
        return None
    shown = list(tables.items())[: MOST_IN_ALL // FEWEST_VALUES]
    most = min(MOST_VALUES, max(FEWEST_VALUES, MOST_IN_ALL // len(shown)))
    kind = "test rows" if method.evidence == "test" else "rows"
    columns = tuple(_column(name, values, most, source.epsilon or EPSILON) for name, values in shown)
    return ColumnsView(columns, len(tables) - len(shown), method.n, kind)


def _column(name: str, values: Sequence[ColumnValue], most: int, least: float) -> ColumnView:
    shown = _strongest(values, most)
    axis, ordered = _axis(shown, least), not any(one.is_text for one in values)
    rows = tuple(
        ValueRow(one, place if ordered else one.value.lower(), axis.whisker(one.hidden.interval))
        for place, one in enumerate(shown)
    )
    return ColumnView(name, rows, len(values) - len(shown), ordered, _told(values), axis)


def _strongest(values: Sequence[ColumnValue], most: int) -> list[ColumnValue]:
    """Take the values that findings name, and of the others the largest; in the order of the table."""
    by_weight = sorted(range(len(values)), key=lambda at: (_unnamed(values[at]), -values[at].n))
    return [values[at] for at in sorted(by_weight[:most])]


def _unnamed(value: ColumnValue) -> bool:
    return value.finding is None and value.slope_finding is None


def _axis(values: Sequence[ColumnValue], least: float) -> Scale:
    # intervals of a few rows would make all others too short to see
    tested = [one for one in values if one.mark != FEW_ROWS] or values
    ends = [end for one in tested for size in (one.hidden, one.after) for end in size.interval or ()]
    reach = max([least, *(abs(end) for end in ends if end is not None)])
    return Scale(-reach, reach, 4.0, 156.0)


def _told(values: Sequence[ColumnValue]) -> str:
    """Count the values, and those that findings name."""
    many = len(values)
    parts = [f"{many:,} value{'' if many == 1 else 's'}"]
    if findings := sum((one.mark == FINDING) + (one.slope_mark == FINDING) for one in values):
        parts.append(f"{findings} finding{'' if findings == 1 else 's'}")
    if explained := sum(one.mark == EXPLAINED for one in values):
        parts.append(f"{explained} explained by findings")
    return ", ".join(parts)


PANEL = Panel("columns", "The columns, value by value", view, TEMPLATE, contents="Columns")
