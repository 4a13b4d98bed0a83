"""The corrections side by side, on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from miscal.calibration.metrics import Metric, correction_metrics
from miscal.discovery.summary import Comparison, Measure
from miscal.report.legend import CORRECTIONS, SLICE_LABELS
from miscal.report.panel import Panel
from miscal.report.row_wording import slices
from miscal.report.source import Source

#: Scores that are distances between accuracy and confidence: told in percentage points, as everywhere on the page.
IN_POINTS = frozenset({"smece", "ece"})

TEMPLATE = """
<p class="lead">Each table compares the corrections on the same {{ words.rows }}. Lower values are better. Isotonic
regression, temperature scaling and Platt scaling use the confidence alone; miscal also uses the input. All corrections
are cross-fitted: each row is corrected by one that was learned from other rows, and from fewer of them than the saved
correction.
{% if view.repeated %}
The {{ view.repeated }} regime holds {{ view.repeated_share | percent(0) }} of the {{ words.rows }}; its table would be
that of all rows and is left out.
{% endif %}
{% if view.few %}
The {{ view.few | listed("and") }} regime{{ "s have" if view.few | length > 1 else " has" }} too few rows for a table of
{{ "their" if view.few | length > 1 else "its" }} own.
{% endif %}
</p>
<div class="quad">
{% for table in view.tables %}
<div class="slice {{ table.name }}">
<h3><span class="mark" aria-hidden="true"></span>{{ table.label }} <span class="aside">{{ table.n | count }}
rows</span></h3>
<table class="scores">
<thead><tr><th scope="col">Correction</th>{% for metric in view.metrics %}
<th scope="col" class="number">{{ metric.label }}{{ ", points" if metric.name in
view.in_points }}{{ " (higher is better)" if metric.lower_is_better == false }}</th>\
{% endfor %}</tr></thead>
<tbody>
{% for line in table.lines %}
<tr{% if line.method == "miscal" %} class="ours"{% endif %}>
<th scope="row">{{ line.label }}</th>
{% for cell in line.cells %}
<td class="number"{% if cell.value is none %} title="not defined on these rows"{% endif %}>{{ cell.value | size
if cell.in_points else cell.value | metric }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
{% endfor %}
{% if view.gains %}
<div class="slice all">
<h3><span class="mark" aria-hidden="true"></span>Against miscal, row by row <span class="aside">all
{{ words.rows }}</span></h3>
<table class="scores">
<thead><tr><th scope="col">Correction</th><th scope="col" class="number">Log loss less that of miscal</th></tr></thead>
<tbody>
{% for gain in view.gains %}
<tr><th scope="row">{{ gain.label }}</th>
<td class="number">{{ gain.lost.value | change }}
<span class="aside">{{ gain.lost.interval | bounds("change") }}</span></td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
</div>
<p class="caption">smECE is the smooth calibration error. The Brier score is the mean squared error of the confidence.
The
log loss is computed with probabilities kept between 0.0001 and 0.9999. {% if view.floor is not none %}A perfectly
calibrated model would show a smECE of {{ view.floor | size }} points by chance on all these rows. {% endif %}The
last table holds mean differences with their 95&nbsp;% intervals: a correction is proven worse than miscal's where the
whole interval is above zero.</p>
"""


@dataclass(frozen=True)
class Cell:
    """A score, and whether it is told in percentage points."""

    value: float | None
    in_points: bool


@dataclass(frozen=True)
class CorrectionLine:
    """The scores of one correction."""

    method: str
    label: str
    cells: list[Cell]


@dataclass(frozen=True)
class GainRow:
    """The log loss of a correction less miscal's, row by row."""

    label: str
    lost: Measure


@dataclass(frozen=True)
class CorrectionTable:
    """The corrections on one slice of the rows."""

    name: str
    label: str
    n: int
    lines: list[CorrectionLine]


@dataclass(frozen=True)
class CorrectionsView:
    """One table per slice that has rows, and the regime whose table would repeat that of all rows."""

    tables: list[CorrectionTable]
    metrics: list[Metric]
    repeated: str
    repeated_share: float
    few: tuple[str, ...]
    floor: float | None
    gains: tuple[GainRow, ...]
    in_points: frozenset[str] = IN_POINTS


def view(source: Source) -> CorrectionsView:
    """Return one table per slice: a line per correction, a column per score."""
    order = {method: place for place, method in enumerate(CORRECTIONS)}
    found = sorted(source.summary.correction.items(), key=lambda item: order.get(item[0], len(order)))
    metrics, sliced, names = correction_metrics(), slices(source.summary), {**SLICE_LABELS, **source.regime_names}
    return CorrectionsView(
        tables=[
            _table(dict(found), name, names[name], metrics) for name in SLICE_LABELS if name in ("all", *sliced.shown)
        ],
        metrics=metrics,
        repeated=names[sliced.whole].lower() if sliced.whole else "",
        repeated_share=sliced.share,
        few=tuple(names[name].lower() for name in sliced.few),
        floor=source.summary.corrected_smece.floor,
        gains=tuple(
            GainRow(CORRECTIONS.get(name, name), source.summary.gains[name].log_loss)
            for name in sorted(source.summary.gains, key=lambda name: order.get(name, len(order)))
        ),
    )


def _table(comparisons: dict[str, Comparison], name: str, label: str, metrics: Sequence[Metric]) -> CorrectionTable:
    scores = {method: getattr(comparison, name) for method, comparison in comparisons.items()}
    return CorrectionTable(
        name=name,
        label=label,
        n=max((score.n for score in scores.values()), default=0),
        lines=[
            CorrectionLine(
                method,
                CORRECTIONS.get(method, method),
                # a run from before a metric was registered has no value of it
                [Cell(getattr(score, metric.name, None), metric.name in IN_POINTS) for metric in metrics],
            )
            for method, score in scores.items()
        ],
    )


PANEL = Panel("corrections", "Corrected confidences", view, TEMPLATE, contents="Corrections")
