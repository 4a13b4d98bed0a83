"""The ledger of findings: groups that are right more or less often than rows of equal confidence."""

from dataclasses import dataclass

from miscal.discovery.summary import FindingNumbers
from miscal.report.panel import Panel
from miscal.report.source import Source

SHOWN = 20

TEMPLATE = """
{% if not view.rows %}
<p class="empty">{{ view.candidates | count }} groups were tested that columns and texts name or that similar
inputs form, on {{ view.n | count }} {{ view.kind }}. Not one of them is right more or less often than rows of equal
confidence, beyond what chance explains.</p>
{% else %}
<p class="lead">Each of these groups is right more or less often than rows of equal confidence, so no reliability
diagram shows it. {{ view.candidates | count }} groups that columns and texts name or that similar inputs form were
tested on {{ view.n | count }} {{ view.kind }}; with nothing hidden, a list like this
would name any group at all in at most {{ view.level | percent }} of
data sets. Each group is tested given those above it.</p>
<table class="regimes findings">
<thead>
<tr><th scope="col">Group</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">Accuracy</th><th scope="col" class="number">Confidence</th>
<th scope="col" class="number">Visible, points</th><th scope="col" class="number">Hidden, points</th>
<th scope="col" class="number">Odds of being right</th><th scope="col" class="number">p, adjusted</th></tr>
</thead>
<tbody>
{% for row in view.rows %}
<tr class="{{ row.sign }}">
<th scope="row"><span class="mark" aria-hidden="true"></span>{{ row.description | short(80) }}
{% if row.aliases %}<span class="aside">also: {{ row.aliases | join("; ") | short(120) }}</span>{% endif %}</th>
<td class="number" data-label="Rows">{{ row.n | count }} <span class="aside">{{ row.share | percent }}</span></td>
<td class="number" data-label="Accuracy">{{ row.accuracy | percent }}</td>
<td class="number" data-label="Confidence">{{ row.confidence | percent }}</td>
<td class="number" data-label="Visible, points">{{ row.visible | points }}</td>
<td class="number" data-label="Hidden, points">{{ row.hidden.value | points }}
<span class="aside">{{ row.hidden.interval | bounds }}</span></td>
<td class="number" data-label="Odds of being right">{{ "undefined" if row.odds_ratio is none else
"%.2g times" | format(row.odds_ratio) }}</td>
<td class="number" data-label="p, adjusted">{{ row.p_adjusted | p_value }}</td>
</tr>
{% endfor %}
</tbody>
</table>
<p class="caption">Visible: accuracy expected at these confidences minus confidence. Hidden: accuracy minus the accuracy
expected at these confidences; negative groups are right less often than rows of equal confidence. The intervals
allow for the choice of the groups: all of them hold together in 95 % of data sets. The odds are those of
rows of equal confidence, times the number given.{% if view.more %}
{{ view.more | count }} more findings are in findings.parquet.{% endif %}</p>
{% endif %}
"""


@dataclass(frozen=True)
class FindingsView:
    """What the panel shows."""

    rows: tuple[FindingNumbers, ...]
    more: int
    candidates: int
    n: int
    kind: str
    level: float


def view(source: Source) -> FindingsView | None:
    """Return the strongest findings; None where the run tested no named group."""
    method = source.summary.findings_method
    if method is None or method.candidates == 0:
        return None
    found = source.summary.findings
    kind = "test rows" if method.evidence == "test" else "rows"
    return FindingsView(found[:SHOWN], max(0, len(found) - SHOWN), method.candidates, method.n, kind, method.level)


PANEL = Panel("findings", "Findings: groups that no reliability diagram shows", view, TEMPLATE, contents="Findings")
