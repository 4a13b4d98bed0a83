"""The first printed sheet: the verdict, the findings, the regimes and one diagram."""

from dataclasses import dataclass

from miscal.report.drawing import Dot
from miscal.report.formatting import count
from miscal.report.panel import Panel
from miscal.report.panels.findings import FindingRow, rows_of
from miscal.report.panels.regimes import RegimeRow
from miscal.report.panels.regimes import view as regimes_view
from miscal.report.panels.verdict import VerdictView
from miscal.report.panels.verdict import view as verdict_view
from miscal.report.probability_axes import ProbabilityAxes, axes_of
from miscal.report.source import Source

#: What fits on the sheet together with alarms and a long verdict.
MAX_FINDINGS = 6
MAX_ALARMS = 3
MAX_VERDICT = 900

TEMPLATE = """{% from "axes.html" import axes as grid %}
{% if view.alarms %}
<ul class="sheet-alarms">
{% for text in view.alarms %}
<li><span>{{ text | short(240) }}</span></li>
{% endfor %}
</ul>
{% endif %}
<p class="sheet-verdict">{{ view.sentence | short(view.longest) }}</p>
<p class="sheet-limits">{% for limit in view.verdict.limits %}{{ limit.label }}: <b>{% if limit.size %}at least {{
limit.size }} points{% elif limit.proven %}found{% else %}none proven{% endif %}</b>. {% endfor %}
{% set before, after = view.verdict.before, view.verdict.after %}
{% if before and after and before.smece is not none and after.smece is not none %}Correction: calibration error <b>{{
before.smece | size }} to {{ after.smece | size }} points</b>.{% endif %}</p>
{% if view.findings %}
<h3>Groups that no reliability diagram shows</h3>
<table class="sheet-findings">
<thead><tr><th scope="col">Group</th><th scope="col" class="number">Rows</th><th scope="col"
class="number">{{ terms.heads[0] | begin }}</th><th scope="col" class="number">{{ terms.heads[1] | begin }}</th><th
scope="col" class="number">Against equal {{ terms.brief }}, points</th><th scope="col"
class="number">Odds</th></tr></thead>
<tbody>
{% for row in view.findings %}
<tr class="{{ row.finding.sign }}"><th scope="row"><span class="mark" aria-hidden="true"></span>{{
row.finding.description | short(70) }}{% if row.together %} <span class="aside">{{ row.together | short(70)
}}</span>{% endif %}</th><td class="number">{{ row.finding.n | count }}</td>
<td class="number">{{ row.finding.accuracy | percent(digits) }}</td><td class="number">{{ row.finding.confidence
| percent(digits) }}</td><td class="number"><b>{{ row.finding.before.value | points }}</b> <span class="aside">{{
row.finding.before.interval | bounds }}</span>{% if row.slope %} <span class="aside">(rise)</span>{% endif
%}{% if row.trend %} <span class="aside">(upper against lower third)</span>{% endif
%}</td><td class="number">{{ "–" if row.slope or row.finding.odds_ratio is none else
"%.2g" | format(row.finding.odds_ratio) }}</td></tr>
{% endfor %}
</tbody>
</table>
<p class="caption">How much more (+) or less (−) often {{ terms.of_rows("the rows") }} {{ terms.than_equal_rows()
}}, with 95&nbsp;% intervals{% if view.rise %} (rise: how much more their
{{ terms.rate }} rises from their lower to their upper third of {{ terms.probability }}){% endif %}; and their
{{ terms.odds }}, divided by
those of
{{ terms.equal_rows() }}.{% if view.more %} {{ view.more | count }} more
below.{% endif %}</p>
{% elif view.tested %}
<p>{{ terms.in_none_of("the " ~ (view.tested | count) ~ " groups that were tested") | begin }} more or less often {{
terms.than_equal_rows() }}, beyond what chance explains.</p>
{% endif %}
<div class="sheet-beside">
<div>
<h3>Regimes</h3>
<table>
<thead><tr><th scope="col">Regime</th><th scope="col" class="number">Rows</th><th scope="col"
class="number">{{ terms.heads[0] | begin }}</th><th scope="col" class="number">{{ terms.heads[1] | begin }}</th><th
scope="col" class="number">Residual</th>
{% if view.parts %}<th scope="col" class="number">visible</th><th scope="col" class="number">hidden</th>{% endif %}
</tr></thead>
<tbody>
{% for row in view.regimes %}{% set own = row.numbers %}
{% if loop.index0 == view.first_hidden %}
<tr><th scope="rowgroup" colspan="7" class="against">Compared with {{ terms.equal_rows() }}</th></tr>
{% endif %}
<tr class="{{ row.kind }}"><th scope="row"><span class="mark" aria-hidden="true"></span>{{ row.label | short(50)
}}</th><td class="number">{{ own.n | count }}</td><td class="number">{{ own.accuracy | percent(digits) }}</td>
<td class="number">{{ own.confidence | percent(digits) }}</td><td class="number">{{ own.residual.value | points }}</td>
{% if view.parts %}<td class="number">{{ own.visible.value | points if own.visible is not none else "–" }}</td>
<td class="number">{{ own.hidden.value | points if own.hidden is not none else "–" }}</td>{% endif %}</tr>
{% endfor %}
</tbody>
</table>
</div>
{% if view.drawn %}
<figure class="reliability">
{% for axes, dots in view.drawn %}
<svg class="axes-{{ axes.name }}" viewBox="0 0 256 256" role="img"
aria-label="Reliability diagram of all {{ words.rows }}">
{{ grid(axes.x, axes.y, axes.ticks, terms) }}
<path class="whisker" d="{% for dot in dots %}M{{ dot.x }} {{ dot.low }}V{{ dot.high }}{% endfor %}"/>
{% for dot in dots %}
<circle class="dot" cx="{{ dot.x }}" cy="{{ dot.y }}" r="{{ dot.radius }}"/>
{% endfor %}
</svg>
{% endfor %}
<figcaption>What a reliability diagram shows: {{ words.rows }}, before correction.</figcaption>
</figure>
{% endif %}
</div>
<p class="basis">{{ words.basis }}</p>
"""


@dataclass(frozen=True)
class SheetView:
    """What the sheet shows; `more` findings are told further on, `tested` groups were."""

    alarms: tuple[str, ...]
    sentence: str
    verdict: VerdictView
    findings: tuple[FindingRow, ...]
    more: int
    tested: int
    regimes: list[RegimeRow]
    first_hidden: int
    drawn: list[tuple[ProbabilityAxes, list[Dot]]]
    longest: int = MAX_VERDICT

    @property
    def rise(self) -> bool:
        """Whether some findings are slopes."""
        return any(row.slope for row in self.findings)

    @property
    def parts(self) -> bool:
        """Whether the run told visible and hidden parts of its regimes."""
        return any(row.numbers.visible is not None for row in self.regimes)


def view(source: Source) -> SheetView:
    """Return the strongest of everything."""
    summary = source.summary
    findings, _ = rows_of(source, MAX_FINDINGS)
    tables = regimes_view(source)
    alarms = summary.alarms[:MAX_ALARMS]
    if (more := len(summary.alarms) - len(alarms)) > 0:
        alarms = (*alarms, f"{count(more)} more alarms follow.")
    return SheetView(
        alarms=alarms,
        sentence=summary.verdict,
        verdict=verdict_view(source),
        findings=findings,
        more=len(summary.findings) - len(findings),
        tested=summary.findings_method.candidates if summary.findings_method else 0,
        regimes=[*tables.rows, *tables.hidden_rows],
        first_hidden=len(tables.rows),
        drawn=[(axes, dots) for axes in axes_of(summary) if (dots := axes.dots(summary.curves.all.raw))],
    )


PANEL = Panel("sheet", "In one page", view, TEMPLATE)
