"""The three regimes: accuracy against confidence, residual with its interval."""

from dataclasses import dataclass
from typing import Any

from miscal.discovery.summary import MeasureAgainstNull, SmoothEce, Summary
from miscal.report.drawing import Scale, whisker
from miscal.report.legend import REGIMES, SLICES
from miscal.report.numbers import brief
from miscal.report.panel import Panel
from miscal.report.source import Source

AXIS = Scale(0.0, 1.0, 8.0, 252.0)
TICKS = tuple((AXIS(share), f"{100 * share:.0f}") for share in (0, 0.25, 0.5, 0.75, 1))

TEMPLATE = """
{% if view.none %}
<p class="empty">No test row lies in an over- or under-confident regime: wherever a local estimate could be made, the
estimated field is {{ "within " ~ (view.epsilon | brief) ~ " points of zero" if view.epsilon is not none
else "too close to zero" }}.</p>
{% else %}
<p class="lead">Nobody named these groups. The rows were divided by the estimated field alone, according to whether it
lies {{ view.beyond }} below zero, {{ view.beyond }} above zero, or between the two; accuracy and confidence were then
compared on the test rows.</p>
{% endif %}
<table class="regimes">
<thead>
<tr><th scope="col">Regime</th><th scope="col" class="number">Test rows</th>
<th scope="col" class="number">Accuracy</th><th scope="col" class="number">Confidence</th>
<th scope="col" class="drawn"><span class="key"><svg viewBox="0 0 12 12" width="12" height="12"
aria-hidden="true"><circle class="sure" cx="6" cy="6" r="4"/></svg> confidence <svg viewBox="0 0 12 12" width="12"
height="12" aria-hidden="true"><circle class="right" cx="6" cy="6" r="4.5"/></svg> accuracy, %</span></th>
<th scope="col" class="number">Residual, points</th><th scope="col" class="number">smECE</th></tr>
</thead>
<tbody>
{% for row in view.rows %}
<tr class="{{ row.kind }}">
<th scope="row"><span class="mark" aria-hidden="true"></span>{{ row.label | short(40) }}</th>
<td class="number" data-label="Test rows">{{ row.n | count }} <span class="aside">{{ row.share | percent
}}</span></td>
<td class="number" data-label="Accuracy">{{ row.accuracy | percent }}</td>
<td class="number" data-label="Confidence">{{ row.confidence | percent }}</td>
<td class="drawn">
<svg viewBox="0 0 260 34" role="img"
aria-label="{{ row.label | short(40) }}: accuracy {{ row.accuracy | percent }}, confidence {{ row.confidence | percent
}}">
{% for x, label in view.ticks %}
<line class="grid" x1="{{ x }}" x2="{{ x }}" y1="2" y2="22"/>
<text class="tick" x="{{ x }}" y="33" text-anchor="middle">{{ label }}</text>
{% endfor %}
{% if row.accuracy_at is not none and row.confidence_at is not none %}
<line class="gap" x1="{{ row.confidence_at }}" x2="{{ row.accuracy_at }}" y1="12" y2="12"/>
{% endif %}
{% if row.whisker %}
<path class="whisker" d="M{{ row.whisker[0] }} 12H{{ row.whisker[1] }}M{{ row.whisker[0] }} 8v8M{{ row.whisker[1] }}
8v8"/>
{% endif %}
{% if row.confidence_at is not none %}
<circle class="sure" cx="{{ row.confidence_at }}" cy="12" r="4"/>
{% endif %}
{% if row.accuracy_at is not none %}
<circle class="right" cx="{{ row.accuracy_at }}" cy="12" r="4.5"/>
{% endif %}
</svg>
</td>
<td class="number" data-label="Residual, points">
<b>{{ row.residual.value | points }}</b>
{% if row.residual.interval | bounds %}
<span class="aside">{{ row.residual.interval | bounds }}</span>
<span class="aside">{{ row.residual.p_value | p_value }}</span>
{% endif %}
</td>
<td class="number" data-label="smECE">{{ row.smece.value | metric }}
<span class="aside">floor {{ row.smece.floor | metric }}</span> <span class="aside">{{ row.smece.p_value | p_value
}}</span>
</td>
</tr>
{% endfor %}
</tbody>
</table>
<p class="caption">The residual is the outcome (1 or 0) minus the confidence: it is negative where the model is
over-confident. The whisker is the 95&nbsp;% interval of the residual, added to the mean confidence; where it does not
reach the open circle, the interval excludes zero. smECE is the smooth calibration error; its floor is what a perfectly
calibrated model would show by chance on as many rows.
{% if view.missing and not view.none %}
No test row belongs to the {{ view.missing | listed }} regime.
{% endif %}
{% if view.unsupported %}
{{ view.unsupported | percent }} of the test rows are too far from the rows learned from for a local estimate, so they
belong to no regime.
{% endif %}
</p>
"""


@dataclass(frozen=True)
class RegimeRow:
    """A line of the table: the numbers of a regime, or of all rows, and where they stand on the axis."""

    kind: str
    label: str
    n: int
    share: float
    accuracy: float | None
    confidence: float | None
    residual: MeasureAgainstNull
    smece: SmoothEce

    @property
    def accuracy_at(self) -> float | None:
        """Position of the accuracy."""
        return None if self.accuracy is None else AXIS.inside(self.accuracy)

    @property
    def confidence_at(self) -> float | None:
        """Position of the confidence."""
        return None if self.confidence is None else AXIS.inside(self.confidence)

    @property
    def whisker(self) -> tuple[float, float] | None:
        """Positions of the residual's interval, counted from the mean confidence."""
        return None if self.confidence is None else whisker(self.residual.interval, AXIS, self.confidence)


@dataclass(frozen=True)
class RegimesView:
    """The lines of the table, and the names of the regimes without a test row."""

    rows: list[RegimeRow]
    missing: list[str]
    none: bool
    unsupported: float
    epsilon: float | None
    ticks: Any = TICKS

    @property
    def beyond(self) -> str:
        """How far from zero the field of a regime lies."""
        return "far" if self.epsilon is None else f"more than {brief(self.epsilon)} points"


def view(source: Source) -> RegimesView:
    """Return a line per regime that has test rows, after one for all rows."""
    summary = source.summary
    order = {name: place for place, name in enumerate(REGIMES)}
    shown = sorted((regime for regime in summary.regimes if regime.n), key=lambda one: order.get(one.name, len(order)))
    names = {regime.name for regime in shown}
    rows = [
        RegimeRow(
            *(regime.name if regime.name in REGIMES else "all", REGIMES.get(regime.name, regime.name)),
            *(regime.n, regime.share, regime.accuracy, regime.confidence, regime.residual, regime.smece),
        )
        for regime in shown
    ]
    return RegimesView(
        rows=[_all_row(summary), *rows],
        missing=[label.lower() for name, label in REGIMES.items() if name not in names],
        none=not names & {"over", "under"},
        unsupported=summary.field.share_unsupported,
        epsilon=source.epsilon,
    )


def _all_row(summary: Summary) -> RegimeRow:
    accuracy, confidence = summary.global_.accuracy.value, summary.global_.confidence.value
    # the mean residual of all rows: the difference of two means that the summary gives
    residual = None if accuracy is None or confidence is None else accuracy - confidence
    return RegimeRow(
        *("all", SLICES["all"], summary.n_test, 1.0, accuracy, confidence),
        *(MeasureAgainstNull(value=residual), summary.global_.smece),
    )


PANEL = Panel("regimes", "Where the model is over- and under-confident", view, TEMPLATE, contents="Regimes")
