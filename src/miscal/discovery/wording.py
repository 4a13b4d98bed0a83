"""Write the sentences of a summary from its values."""

from miscal.base.number_wording import percent
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.evidence.claim import Claim
from miscal.findings import Place, averages, verdict


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, and what none shows."""
    groups = [Place(one.phrase, one.beyond.value or 0.0, one.beyond.interval) for one in summary.findings]
    places = [_place(one, summary) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value)
    claim = Claim(summary.field.structure, summary.certificate)
    return f"{shown} {verdict(claim, places, groups, evidence=summary.evidence)}"


def _place(place: PlaceNumbers, summary: Summary) -> Place:
    if place.part is None:
        region = next(one for one in summary.regimes if one.name == place.regime)
        name = f"the {percent(region.share)} of rows found {region.name}-confident"
    else:
        region = summary.subregimes[place.part]
        name = f'"{region.name}"'
    return Place(name, place.hidden, None if region.hidden is None else region.hidden.interval)
