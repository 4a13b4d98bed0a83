"""What was found, in words, with the numbers it rests on."""

import math
from dataclasses import dataclass

from miscal.discovery.summary import Measure, Summary
from miscal.report.legend import REGIMES
from miscal.report.panel import Panel
from miscal.report.source import Source
from miscal.report.texts import short

TEMPLATE = """
<p class="sentence">{{ view.sentence }}</p>
<dl class="tiles">
{% for limit in view.limits %}
<div class="tile">
<dt>{{ limit.label }}</dt>
{% if limit.low is none %}
<dd><b>not defined</b></dd>
<dd class="note">The limit of the {{ limit.quantity }} could not be computed.</dd>
{% elif limit.proven %}
<dd><b>at least {{ limit.low | size }}</b> points</dd>
<dd class="note">One-sided 95&nbsp;% lower confidence limit of the {{ limit.quantity }} ({{ limit.p_value | p_value
}}).</dd>
{% else %}
<dd><b>none proven</b></dd>
<dd class="note">The one-sided 95&nbsp;% lower confidence limit of the {{ limit.quantity }} is not above zero
({{ limit.p_value | p_value }}).</dd>
{% endif %}
</div>
{% endfor %}
{% set all, gap = view.summary.global_, view.summary.gap %}
<div class="tile">
<dt>Accuracy and confidence</dt>
<dd><b>{{ all.accuracy.value | percent }}</b> and <b>{{ all.confidence.value | percent }}</b></dd>
<dd class="note">Averages over all test rows.
{% if all.accuracy.interval | bounds %}
The 95&nbsp;% interval of the accuracy is {{ all.accuracy.interval | bounds("percent") }}.
{% else %}
The interval of the accuracy is not defined.
{% endif %}
</dd>
</div>
<div class="tile">
<dt>Worst-slice gap</dt>
{% if gap.value is none %}
<dd><b>not defined</b></dd>
<dd class="note">The gap needs at least 30 test rows in the over- or the under-confident regime.</dd>
{% else %}
<dd><b>{{ gap.value | metric }}</b> smECE</dd>
<dd class="note">Smooth calibration error of the {{ view.worst }} regime minus that of all test rows
({{ "95 % interval " ~ (gap.interval | bounds("metric")) ~ ", " if gap.interval | bounds }}{{ gap.p_value | p_value
}}).</dd>
{% endif %}
</div>
</dl>
<p class="basis">Unless stated otherwise, every number on this page was measured on the {{ view.summary.n_test | count
}}
test rows (of {{ view.summary.n | count }} rows in all), from which nothing was learned, and ranges are 95&nbsp;%
intervals. One point is a hundredth of a probability: a difference of 0.021 is 2.1 points.</p>
"""


@dataclass(frozen=True)
class VerdictLimit:
    """A certificate as shown: its lower limit (all that is claimed), whether it is above zero, its p-value."""

    label: str
    quantity: str
    low: float | None
    p_value: float | None

    @property
    def proven(self) -> bool:
        """Whether the limit, as printed, is above zero."""
        return self.low is not None and self.low > 0


@dataclass(frozen=True)
class VerdictView:
    """The verdict sentence, the certified limits, and the summary for the headline numbers."""

    sentence: str
    limits: tuple[VerdictLimit, VerdictLimit]
    worst: str
    summary: Summary


def view(source: Source) -> VerdictView:
    """Return what the verdict shows."""
    summary = source.summary
    proof = summary.certificate
    total = "mean absolute difference between the confidence and the probability of being right"
    hidden = "mean absolute miscalibration that the confidence alone does not explain"
    return VerdictView(
        sentence=short(summary.verdict, 2000),
        limits=(
            VerdictLimit("Miscalibration", total, rounded_down(proof.lower_bound_total), proof.p_value_total),
            VerdictLimit("Hidden miscalibration", hidden, rounded_down(proof.lower_bound_hidden), proof.p_value),
        ),
        worst=REGIMES.get(summary.gap.worst or "", "worse").lower(),
        summary=summary,
    )


def rounded_down(bound: Measure) -> float | None:
    """Return a lower limit rounded down to a tenth of a point, so that the words never promise more than the number.

    Examples
    --------
    >>> rounded_down(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.094
    """
    low = bound.interval[0] if bound.interval else None
    return None if low is None else math.floor(1000 * low + 1e-9) / 1000


PANEL = Panel("verdict", "Verdict", view, TEMPLATE)
