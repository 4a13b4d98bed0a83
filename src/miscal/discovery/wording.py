"""Write the sentences of a summary from its values."""

from miscal.base.number_wording import percent
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.evidence.certificates import Certificate
from miscal.evidence.claim import Claim
from miscal.evidence.limits import Bound
from miscal.findings import Place, averages, verdict


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, and what none shows."""
    groups = [Place(one.phrase, one.beyond.value or 0.0, one.beyond.interval) for one in summary.findings]
    places = [_place(one, summary) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value)
    numbers = summary.certificate
    total = _bound(numbers.lower_bound_total, numbers.p_value_total)
    hidden = _bound(numbers.lower_bound_hidden, numbers.p_field)
    proof = Certificate(total, hidden, numbers.detectable, numbers.n or 0, numbers.p_structure)
    claim = Claim(summary.field.structure, proof)
    return f"{shown} {verdict(claim, places, groups, evidence=summary.evidence)}"


def _place(place: PlaceNumbers, summary: Summary) -> Place:
    if place.part is None:
        region = next(one for one in summary.regimes if one.name == place.regime)
        name = f"the {percent(region.share)} of rows found {region.name}-confident"
    else:
        region = summary.subregimes[place.part]
        name = f'"{region.name}"'
    return Place(name, place.hidden, None if region.hidden is None else region.hidden.interval)


def _bound(measure, p_value: float | None) -> Bound:
    low = 0.0 if measure.interval is None else measure.interval[0]
    return Bound(measure.value or 0.0, low or 0.0, 1.0 if p_value is None else p_value)
