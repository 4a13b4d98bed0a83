"""The corrections side by side, on the same rows."""

from dataclasses import dataclass
from typing import TypeVar

from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics import Metric, correction_metrics
from miscal.discovery.summary import Comparison, Gain
from miscal.report.legend import CORRECTIONS, SLICES, slice_labels
from miscal.report.panel import Panel
from miscal.report.row_wording import slices
from miscal.report.source import Source

#: Scores that are distances between accuracy and confidence: told in percentage points, as everywhere on the page.
IN_POINTS = frozenset({"smece", "ece"})

Content = TypeVar("Content")

TEMPLATE = """
<p class="lead">Each table compares the corrections on the same {{ words.rows }}. Lower values are better. Isotonic
regression, temperature scaling and Platt scaling use the {{ terms.probability }} alone; miscal also uses the input.
{{ words.corrected }}
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
{% for name, label in view.slices.items() %}
<div class="slice {{ name }}">
<h3><span class="mark" aria-hidden="true"></span>{{ label }} <span class="aside">{{ view.corrections.values() |
map(attribute=name ~ ".n") | max | default(0) | count }}
rows</span></h3>
<table class="scores">
<thead><tr><th scope="col">Correction</th>{% for metric in view.metrics %}
<th scope="col" class="number">{{ metric.label }}{{ ", points" if metric.name in
view.in_points }}{{ " (higher is better)" if metric.lower_is_better == false }}</th>\
{% endfor %}</tr></thead>
<tbody>
{% for method, comparison in view.corrections.items() %}
{% set score = comparison | attr(name) %}
<tr{% if method == "miscal" %} class="ours"{% endif %}>
<th scope="row">{{ view.labels.get(method, method) }}</th>
{% for metric in view.metrics %}
{# a run from before a metric was registered has no value of it #}
{% set value = score | attr(metric.name) | default(none) %}
<td class="number"{% if value is none %} title="not defined on these rows"{% endif %}>{{ value | size
if metric.name in view.in_points else value | metric }}</td>
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
{% for method, gain in view.gains.items() %}
<tr><th scope="row">{{ view.labels.get(method, method) }}</th>
<td class="number">{{ gain.log_loss.value | change }}
<span class="aside">{{ gain.log_loss.interval | bounds("change") }}</span></td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
</div>
<p class="caption">smECE is the smooth calibration error. The Brier score is the mean squared error of the {{
terms.probability }}. The log loss is computed with probabilities kept between 0.0001 and 0.9999. {% if view.floor is
not none %}A perfectly calibrated model would show a smECE of {{ view.floor | size }} points by chance on all these
rows. {% endif %}The last table holds mean differences with their 95&nbsp;% intervals: a correction is proven worse
than miscal's where the whole interval is above zero.</p>
"""


@dataclass(frozen=True)
class CorrectionsView:
    """The corrections in the order of the page, the slices that have a table, and the regime that would repeat all."""

    corrections: dict[str, Comparison]
    gains: dict[str, Gain]
    slices: dict[str, str]
    metrics: list[Metric]
    repeated: str
    repeated_share: float
    few: tuple[str, ...]
    floor: float | None
    labels: dict[str, str]
    in_points: frozenset[str] = IN_POINTS


def view(source: Source) -> CorrectionsView:
    """Return one table per slice: a line per correction, a column per score."""
    summary, sliced = source.summary, slices(source.summary)
    names = {**slice_labels(vocabulary(summary.kind)), **source.regime_names}
    return CorrectionsView(
        corrections=_ordered(summary.correction),
        gains=_ordered(summary.gains),
        slices={name: names[name] for name in SLICES if name in ("all", *sliced.shown)},
        metrics=correction_metrics(),
        repeated=names[sliced.whole].lower() if sliced.whole else "",
        repeated_share=sliced.share,
        few=tuple(names[name].lower() for name in sliced.few),
        floor=summary.corrected_smece.floor,
        labels=CORRECTIONS,
    )


def _ordered(found: dict[str, Content]) -> dict[str, Content]:
    order = {method: place for place, method in enumerate(CORRECTIONS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


PANEL = Panel("corrections", "Corrected {probabilities}", view, TEMPLATE, contents="Corrections")
