"""Write the sentences of a summary from its values."""

from miscal.base.document import Interval
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.evidence.claim import Claim
from miscal.findings import Place, averages, verdict


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, and what none shows."""
    groups = [Place(one.phrase, one.beyond.value or 0.0, one.beyond.interval) for one in summary.findings]
    places = [Place(_name(one, summary), one.hidden, _interval(one, summary)) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value)
    claim = Claim(summary.field.structure, summary.certificate)
    return f"{shown} {verdict(claim, places, groups, evidence=summary.evidence)}"


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
