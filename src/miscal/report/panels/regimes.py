"""The regimes by the whole field and by the hidden one: accuracy, confidence, residual = visible + hidden."""

from collections.abc import Sequence
from dataclasses import dataclass

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.discovery.summary import GapNumbers, Regime, SmoothEce, Summary
from miscal.report.drawing import Scale
from miscal.report.formatting import brief_points
from miscal.report.legend import ALL_ROWS, REGIMES, regime_labels, regime_names
from miscal.report.panel import Panel
from miscal.report.probability_axes import LogOddsScale, ProbabilityAxes, axes_of
from miscal.report.row_wording import slices
from miscal.report.source import Source

TEMPLATE = """
{% macro measure(number, confirmed, sided) %}
{% if number is none or number.value is none %}–{% else %}
<b>{{ number.value | points }}</b>
{% if number.interval | bounds %}
<span class="aside">{{ number.interval | bounds }}</span>
<span class="aside">{{ number.p_value | p_value }}</span>
{% endif %}
{% if sided and confirmed is not none %}
<span class="aside mark-word{{ " proven" if confirmed }}">{{ "confirmed" if confirmed else "opposite" if number |
is_opposite(sided) else "not confirmed" }}</span>
{% endif %}
{% endif %}
{% endmacro %}
{% macro table(rows, parts, against) %}
{% set measured = rows | rejectattr("numbers.smece.value", "none") | list %}
<table class="regimes{{ " parts" if parts }}">
<thead>
<tr><th scope="col">Regime</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">{{ terms.rate | begin }}</th>
<th scope="col" class="number">{{ terms.probability | begin }}</th>
<th scope="col" class="drawn"><span class="key"><svg viewBox="0 0 12 12" width="12" height="12"
aria-hidden="true"><circle class="sure" cx="6" cy="6" r="4"/></svg> {{ against }} <svg viewBox="0 0 12 12" width="12"
height="12" aria-hidden="true"><circle class="right" cx="6" cy="6" r="4.5"/></svg> {{ terms.rate }}, %</span></th>
<th scope="col" class="number">Residual, points</th>
{% if parts %}
<th scope="col" class="number">= visible</th><th scope="col" class="number">+ hidden</th>
{% endif %}
{% if measured %}
<th scope="col" class="number">smECE, points</th>
{% endif %}
</tr>
</thead>
<tbody>
{% for row in rows %}{% set own = row.numbers %}
<tr class="{{ row.kind }}">
<th scope="row"><span class="mark" aria-hidden="true"></span>{{ row.label | short(60) }}
{% if row.few %}<span class="aside">too few rows to measure</span>{% endif %}</th>
<td class="number" data-label="Rows">{{ own.n | count }}
{% if row.share is not none %}<span class="aside">{{ row.share | percent }}{{ words.of }}</span>{% endif %}</td>
<td class="number" data-label="{{ terms.rate | begin }}">{{ own.accuracy | percent }}</td>
<td class="number" data-label="{{ terms.probability | begin }}">{{ own.confidence | percent }}</td>
<td class="drawn">
{% for axes in view.axes %}{% set at = row.on(axes.along) %}
<svg class="axes-{{ axes.name }}" viewBox="0 0 260 34" role="img"
aria-label="{{ row.label | short(60) }}: {{ terms.rate }} {{ own.accuracy | percent }}, {{ terms.probability }} {{
own.confidence | percent }}">
{% for x, label in axes.along_ticks %}
<line class="grid" x1="{{ x }}" x2="{{ x }}" y1="2" y2="22"/>
<text class="tick" x="{{ x }}" y="33" text-anchor="middle">{{ label }}</text>
{% endfor %}
{% if at.accuracy is not none and at.against is not none %}
<line class="gap" x1="{{ at.against }}" x2="{{ at.accuracy }}" y1="12" y2="12"/>
{% endif %}
{% if at.whisker %}
<path class="whisker" d="M{{ at.whisker[0] }} 12H{{ at.whisker[1] }}M{{ at.whisker[0] }} 8v8M{{ at.whisker[1] }}
8v8"/>
{% endif %}
{% if at.against is not none %}
<circle class="sure" cx="{{ at.against }}" cy="12" r="4"/>
{% endif %}
{% if at.accuracy is not none %}
<circle class="right" cx="{{ at.accuracy }}" cy="12" r="4.5"/>
{% endif %}
</svg>
{% endfor %}
</td>
<td class="number" data-label="Residual, points">{{ measure(own.residual, own.confirmed.total if parts else none,
row.sided) }}</td>
{% if parts %}
<td class="number{{ " blank" if own.visible is none }}" data-label="of it visible">
{{ measure(own.visible, own.confirmed.visible, row.sided) }}</td>
<td class="number{{ " blank" if own.hidden is none }}" data-label="of it hidden">
{{ measure(own.hidden, own.confirmed.hidden, row.sided) }}</td>
{% endif %}
{% if measured %}
<td class="number" data-label="smECE, points">{{ own.smece.value | size }}
<span class="aside">floor {{ own.smece.floor | size }}</span> <span class="aside">{{ own.smece.p_value | p_value
}}</span>{% if row.share is none %} <span class="aside">{{ words.of }}</span>{% endif %}
</td>
{% endif %}
</tr>
{% endfor %}
</tbody>
</table>
{% endmacro %}
{% if view.none %}
<p class="empty">No {{ words.row }} lies in an {{ terms.over_or_under }} regime: wherever a local estimate could be
made, the estimated field is {{ "within " ~ (view.epsilon | brief_points) ~ " of zero" if view.epsilon is not none
else "too close to zero" }}.</p>
{% else %}
<p class="lead">Nobody named these groups. The rows were divided by the estimated field alone, according to whether it
lies {{ view.beyond }} below zero, {{ view.beyond }} above zero, or between the two; {{ terms.rate }} and {{
terms.probability }} were then compared{{ words.kind }}.
{% if view.whole %}
The {{ view.whole }} regime holds {{ view.whole_share | percent(0) }} of the {{ words.rows }}: it is what any
reliability diagram shows, so diagrams and tables of its own are left out below.
{% endif %}
</p>
{% endif %}
{{ table(view.rows, view.parts, terms.probability) }}
{% if view.hidden_rows %}
<h3>Compared with {{ terms.equal_rows() }}</h3>
<p class="lead">Here the rows were divided by the hidden field alone: by how much more or less often {{
terms.of_rows(terms.they) }} {{ terms.than_equal_rows() }}. No reliability diagram shows these groups.</p>
{{ table(view.hidden_rows, true, terms.rate ~ " at equal " ~ terms.probability) }}
{% endif %}
<p class="caption">The residual is the outcome (1 or 0) minus the {{ terms.probability }}: it is negative where {{
terms.judged }} {{ terms.over }}.
{% if view.parts or view.hidden_rows %}
It is the sum of what a reliability diagram shows (visible) and of the difference from {{ terms.equal_rows() }}
(hidden). Each of them is called confirmed where it differs from zero in the direction of the regime beyond chance, and
opposite where its interval lies on the other side of zero.
{% endif %}
The whisker is a 95&nbsp;% interval, drawn from the open circle; where it does not reach it, the interval excludes zero.
smECE is the smooth calibration error; its floor is what a perfectly calibrated model would show by chance on as many
rows.
{% if view.gap.value is not none %}
The smECE of the {{ view.worst }} regime less that of all {{ words.rows }} is {{ view.gap.value | points }} points{{
" (95 % interval " ~ (view.gap.interval | bounds) ~ ")" if view.gap.interval | bounds }}.
{% endif %}
{% if view.missing and not view.none %}
No {{ words.row }} belongs to the {{ view.missing | listed }} regime.
{% endif %}
{% if view.unsupported >= 0.0005 %}
{{ view.unsupported | percent }} of the {{ words.rows }} are unsupported: few or none of the rows learned from lie near
them. {{ "They keep their local estimate, which is mostly noise." if view.kept else
"Their estimate comes from the " ~ terms.probability ~ " alone, so they belong to no regime." }}
{% endif %}
</p>
"""


@dataclass(frozen=True)
class Places:
    """Where the accuracy, what it is compared with, and the interval of the difference stand."""

    accuracy: float | None
    against: float | None
    whisker: tuple[float, float] | None


@dataclass(frozen=True)
class RegimeRow:
    """A line of a table: the numbers of a regime, or of all rows, and where they stand on the axis.

    `against` is what the accuracy is compared with: the confidence, or the accuracy of rows of equal confidence;
    `drawn` is the difference from it.
    """

    label: str
    numbers: Regime
    against: float | None
    drawn: Measure

    @property
    def kind(self) -> str:
        """Its regime; ``"all"`` for all rows, and for a regime without a colour."""
        return self.numbers.name if self.numbers.name in REGIMES else "all"

    @property
    def share(self) -> float | None:
        """Its share of the rows; None for all of them."""
        return None if self.numbers.name == "all" else self.numbers.share

    @property
    def sided(self) -> int:
        """The direction that its residual claims: -1 over, +1 under, 0 none."""
        return {"over": -1, "under": 1}.get(self.kind, 0)

    @property
    def few(self) -> bool:
        """Whether it has too few rows for its residual to be measured."""
        return self.share is not None and self.numbers.n < MIN_SLICE_ROWS

    def on(self, axis: Scale | LogOddsScale) -> Places:
        """Return where its numbers stand on an axis."""
        accuracy, against = self.numbers.accuracy, self.against
        return Places(
            accuracy=None if accuracy is None else axis.inside(accuracy),
            against=None if against is None else axis.inside(against),
            whisker=None if against is None else axis.whisker(self.drawn.interval, against),
        )


@dataclass(frozen=True)
class RegimesView:
    """The lines of both tables, and the names of the regimes without a row."""

    rows: list[RegimeRow]
    hidden_rows: list[RegimeRow]
    missing: list[str]
    none: bool
    whole: str
    whole_share: float
    unsupported: float
    kept: bool
    epsilon: float | None
    gap: GapNumbers
    worst: str
    axes: Sequence[ProbabilityAxes]

    @property
    def parts(self) -> bool:
        """Whether the run told visible and hidden parts of its regimes."""
        return any(row.numbers.visible is not None for row in self.rows)

    @property
    def beyond(self) -> str:
        """How far from zero the field of a regime lies."""
        return "far" if self.epsilon is None else f"more than {brief_points(self.epsilon)}"


def view(source: Source) -> RegimesView:
    """Return a line per regime that has rows, after one for all rows; and one per regime of the hidden field."""
    summary, names, terms = source.summary, source.regime_names, vocabulary(source.summary.kind)
    shown = _filled(summary.regimes)
    found = {regime.name for regime in shown}
    whole = slices(summary)
    return RegimesView(
        rows=[_all_row(summary), *(_row(regime, names.get(regime.name, regime.name)) for regime in shown)],
        hidden_rows=[
            _hidden_row(regime, _hidden_label(regime, source.epsilon, terms))
            for regime in _filled(summary.hidden_regimes)
        ],
        missing=[label.lower() for name, label in names.items() if name not in found],
        none=not found & {"over", "under"},
        whole=names[whole.whole].lower() if whole.whole in ("over", "under") else "",
        whole_share=whole.share,
        unsupported=summary.field.share_unsupported,
        # regimes share all rows among them where no row is left to the global map
        kept=sum(regime.share for regime in summary.regimes) > 0.9995,
        epsilon=source.epsilon,
        axes=axes_of(summary),
        gap=summary.gap,
        worst=terms.regime(summary.gap.worst) if summary.gap.worst else "worse",
    )


def _filled(regimes: tuple[Regime, ...]) -> list[Regime]:
    order = {name: place for place, name in enumerate(REGIMES)}
    return sorted((regime for regime in regimes if regime.n), key=lambda one: order.get(one.name, len(order)))


def _measured(regime: Regime) -> Regime:
    """Leave out what so few rows cannot tell."""
    if regime.n >= MIN_SLICE_ROWS:
        return regime
    nothing = MeasureAgainstNull(value=None)
    parts = {name: nothing for name in ("visible", "hidden") if getattr(regime, name) is not None}
    return regime.model_copy(update={"residual": nothing, "smece": SmoothEce(value=None), **parts})


def _row(regime: Regime, label: str) -> RegimeRow:
    regime = _measured(regime)
    return RegimeRow(label, regime, against=regime.confidence, drawn=regime.residual)


def _hidden_label(regime: Regime, epsilon: float | None, terms: Vocabulary) -> str:
    """Return what a hidden regime is called: not "about as often" where it differs from zero all the same."""
    label = terms.often(regime.name).capitalize() if regime.name in REGIMES else regime.name
    p_value = regime.hidden.p_value if regime.hidden is not None else None
    band = regime_names(p_value, epsilon, terms)["good"]
    return band if regime.name == "good" and band != regime_labels(terms)["good"] else label


def _hidden_row(regime: Regime, label: str) -> RegimeRow:
    """Return the line of a hidden regime: its accuracy stands against that of rows of equal confidence."""
    regime = _measured(regime)
    known = regime.hidden is not None and None not in (regime.hidden.value, regime.accuracy)
    expected = regime.accuracy - regime.hidden.value if known else None
    return RegimeRow(label, regime, against=expected, drawn=regime.hidden or Measure(value=None))


def _all_row(summary: Summary) -> RegimeRow:
    accuracy, confidence = summary.global_.accuracy.value, summary.global_.confidence.value
    # the mean residual of all rows: the difference of two means that the summary gives
    residual = None if accuracy is None or confidence is None else accuracy - confidence
    whole = Regime(
        name="all",
        n=summary.n,
        share=1.0,
        accuracy=accuracy,
        confidence=confidence,
        residual=MeasureAgainstNull(value=residual),
        smece=summary.global_.smece,
        brier=summary.global_.brier.value,
    )
    return RegimeRow(ALL_ROWS, whole, against=confidence, drawn=Measure(value=None))


PANEL = Panel("regimes", "Where {judged} {over_and_under}", view, TEMPLATE, contents="Regimes")
