"""Write the sentences of a summary from its values."""

from miscal.discovery.summary import CertificateNumbers, Interval, PlaceNumbers, Summary
from miscal.evidence.certificates import Certificate
from miscal.evidence.claim import Claim
from miscal.evidence.limits import Bound
from miscal.findings import Place, averages, verdict
from miscal.findings.mending import mending, mending_sentence


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, what none shows, and what the correction leaves of it."""
    groups = [Place(one.phrase, one.beyond.value or 0.0, one.beyond.interval) for one in summary.findings]
    places = [Place(_name(one, summary), one.hidden, _interval(one, summary)) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value)
    claim = Claim(summary.field.structure, _certificate(summary.certificate))
    said = shown, verdict(claim, places, groups, evidence=summary.evidence), mending_of(summary)
    return " ".join(filter(None, said))


def mending_of(summary: Summary) -> str:
    """Write the end of the verdict: what the correction makes of the findings; empty where there are none."""
    told = [(mending(one.sign, one.after.interval), one) for one in summary.findings]
    known = [(state, Place(one.phrase, one.after.value, one.after.interval)) for state, one in told if state]
    return mending_sentence(known) if known else ""


def _name(place: PlaceNumbers, summary: Summary) -> str:
    if place.part is not None:
        return f'"{summary.subregimes[place.part].name}"'
    regime = next(one for one in summary.regimes if one.name == place.regime)
    return f"the {regime.share:.0%} of rows found {regime.name}-confident"


def _interval(place: PlaceNumbers, summary: Summary) -> Interval:
    if place.part is None:
        region = next(one for one in summary.regimes if one.name == place.regime)
    else:
        region = summary.subregimes[place.part]
    return None if region.hidden is None else region.hidden.interval


def _certificate(numbers: CertificateNumbers) -> Certificate:
    total = _bound(numbers.lower_bound_total, numbers.p_value_total)
    hidden = _bound(numbers.lower_bound_hidden, numbers.p_field)
    return Certificate(total, hidden, numbers.detectable, numbers.n or 0, numbers.p_structure)


def _bound(measure, p_value: float | None) -> Bound:
    low = 0.0 if measure.interval is None else measure.interval[0]
    return Bound(measure.value or 0.0, low or 0.0, 1.0 if p_value is None else p_value)
