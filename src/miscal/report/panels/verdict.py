"""What was found, in words, with the numbers it rests on."""

from dataclasses import dataclass

from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit
from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.discovery.summary_parts import Score
from miscal.discovery.wording import decision_of, mending_of
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.panel import Panel
from miscal.report.source import Source
from miscal.report.texts import first_sentence, short

TEMPLATE = """
<p class="sentence">{{ view.shown }}</p>
{% if view.hidden %}<p class="sentence hidden-part">{{ view.hidden }}</p>{% endif %}
{% if view.mending %}<p class="sentence hidden-part">{{ view.mending }}</p>{% endif %}
{% if view.decision %}<p class="sentence hidden-part">{{ view.decision }}</p>{% endif %}
<dl class="tiles">
{% for limit in view.limits %}
<div class="tile">
<dt>{{ limit.label }}</dt>
{% if limit.low is none %}
<dd><b>not defined</b></dd>
<dd class="note">The limit of the {{ limit.quantity }} could not be computed.</dd>
{% elif limit.size %}
<dd><b>at least {{ limit.size }}</b> points</dd>
<dd class="note">One-sided 95&nbsp;% lower confidence limit of the {{ limit.quantity }} ({{ limit.p_value | p_value
}}).</dd>
{% elif limit.low > 0 %}
<dd><b>none proven</b></dd>
<dd class="note">It is not beyond chance ({{ limit.p_value | p_value }}).</dd>
{% elif limit.proven %}
<dd><b>found</b></dd>
<dd class="note">It is beyond chance ({{ limit.p_value | p_value }}), but the one-sided 95&nbsp;% lower confidence limit
of the {{ limit.quantity }} is not above zero.</dd>
{% else %}
<dd><b>none proven</b></dd>
<dd class="note">The one-sided 95&nbsp;% lower confidence limit of the {{ limit.quantity }} is not above zero
({{ limit.p_value | p_value }}).</dd>
{% endif %}
</div>
{% endfor %}
{% set all = view.summary.global_ %}
<div class="tile">
<dt>{{ terms.rate | begin }} and {{ terms.probability }}</dt>
<dd><b>{{ all.accuracy.value | percent }}</b> and <b>{{ all.confidence.value | percent }}</b></dd>
<dd class="note">Averages over all {{ view.summary.n | count }} rows\
{% if view.difference is none %}.
{% else %}
: a difference of {{ view.difference | points }} points.
{% endif %}
{% if all.accuracy.interval | bounds %}
The 95&nbsp;% interval of the {{ terms.rate }} is {{ all.accuracy.interval | bounds("percent") }}.
{% else %}
The interval of the {{ terms.rate }} is not defined.
{% endif %}
</dd>
</div>
<div class="tile">
<dt>The saved correction</dt>
{% set before, after = view.before, view.after %}
{% if not before or not after or before.smece is none or after.smece is none %}
<dd><b>not defined</b></dd>
<dd class="note">The calibration error before and after the correction could not be measured.</dd>
{% else %}
<dd><b>{{ before.smece | size }} to {{ after.smece | size }}</b> points</dd>
<dd class="note">Smooth calibration error (smECE) before and after the correction\
{% set floor = view.summary.corrected_smece.floor %}
{% if floor is not none %}
; by chance alone it would be {{ floor | size }}\
{% endif %}
.
{% if before.log_loss is not none and after.log_loss is not none %}
Log loss {{ before.log_loss | metric }} before, {{ after.log_loss | metric }} after\
{% set gain = view.summary.gains.get("raw") %}
{% if gain and gain.log_loss.interval %}
: {{ gain.log_loss.value | change }} saved per row ({{ gain.log_loss.interval | bounds("change") }})\
{% endif %}
.
{% endif %}
</dd>
{% endif %}
</div>
</dl>
<p class="basis">{{ words.basis }}
{% if view.summary.certificate.n and view.summary.certificate.n < words.n %}
Both lower limits are of {{ view.summary.certificate.n | count }} {{ words.rows }}.
{% endif %}
Ranges are 95&nbsp;% intervals. The page asks several questions: one of each lower limit, one of the list of findings,
one of the regimes and one of their parts. Where the model is calibrated, each of them finds something in at most one
run of twenty, so a page that asks several finds something more often than that.
One point is a hundredth of a probability: a
difference of 0.021 is 2.1 points.</p>
"""


@dataclass(frozen=True)
class VerdictLimit:
    """A certificate as shown: its lower limit, its p-value, and whether that alone proves something."""

    label: str
    quantity: str
    low: float | None
    p_value: float | None
    proven: bool = False

    @property
    def size(self) -> str:
        """The limit in points, where it is above zero and what it limits is proven; else empty."""
        return lower_limit(self.low) if self.proven and self.low else ""


@dataclass(frozen=True)
class VerdictView:
    """The verdict, the certified limits, and the summary for the headline numbers.

    `shown` is the sentence on what every diagram shows, `hidden` what is said of the rest, `mending` what the
    correction leaves of the findings, `decision` which promise is broken at a threshold; `before` and `after` are the
    scores of all evaluation rows, uncorrected and corrected.
    """

    shown: str
    hidden: str
    mending: str
    decision: str
    limits: tuple[VerdictLimit, VerdictLimit]
    summary: Summary
    before: Score | None
    after: Score | None

    @property
    def difference(self) -> float | None:
        """Accuracy minus confidence."""
        accuracy, confidence = self.summary.global_.accuracy.value, self.summary.global_.confidence.value
        return None if accuracy is None or confidence is None else accuracy - confidence


def view(source: Source) -> VerdictView:
    """Return what the verdict shows."""
    summary = source.summary
    proof = summary.certificate
    terms = vocabulary(summary.kind)
    total = f"mean absolute difference between the {terms.probability} and the {terms.chance}"
    hidden = f"mean absolute miscalibration that the {terms.probability} alone does not explain"
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    rest, decision = _without_end(summary.verdict, decision_of(summary))
    rest, mending = _without_end(rest, mending_of(summary))
    shown, hidden_part = first_sentence(rest)
    total_low, smece = lower_end(proof.lower_bound_total), summary.global_.smece
    # the field may have nothing to say of an error that smECE shows: one question has one answer
    by_smece = total_low == 0 and smece.p_value is not None and smece.p_value < SIGNIFICANCE
    return VerdictView(
        shown=short(shown, 2000),
        hidden=short(hidden_part, 2000),
        mending=short(mending, 2000),
        decision=short(decision, 2000),
        limits=(
            VerdictLimit(
                label="Miscalibration",
                quantity=total,
                low=total_low,
                p_value=smece.p_value if by_smece else proof.p_value_total,
                proven=by_smece or bool(total_low),
            ),
            VerdictLimit(
                label="Hidden miscalibration",
                quantity=hidden,
                low=lower_end(proof.lower_bound_hidden),
                p_value=proof.p_value,
                proven=proof.claims_hidden,
            ),
        ),
        summary=summary,
        before=before,
        after=after,
    )


def _without_end(text: str, end: str) -> tuple[str, str]:
    """Return the text without its last sentences, and these; or the whole text, where it does not end with them."""
    return (text.removesuffix(end).rstrip(), end) if text.endswith(end) else (text, "")


def lower_end(bound: Measure) -> float | None:
    """Return a lower limit; None where there is none.

    Examples
    --------
    >>> lower_end(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.0949
    """
    return bound.interval[0] if bound.interval else None


PANEL = Panel("verdict", "Verdict", view, TEMPLATE)
