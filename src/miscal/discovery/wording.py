"""Write the sentences of a summary from its values."""

from miscal.base.number_wording import percent
from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.evidence.claim import Claim
from miscal.findings import Place, averages, verdict
from miscal.findings.decision_wording import decision_sentence, started
from miscal.findings.mending import mending, mending_sentence


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, what none shows, and what it means for decisions."""
    groups = [Place(one.phrase, one.beyond.value or 0.0, one.beyond.interval) for one in summary.findings]
    places = [_place(one, summary) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value, summary.kind)
    claim = Claim(summary.field.structure, summary.certificate)
    hidden = verdict(claim, places, groups, evidence=summary.evidence, kind=summary.kind)
    said = shown, hidden, mending_of(summary), decision_of(summary)
    return " ".join(filter(None, said))


def mending_of(summary: Summary) -> str:
    """Write the part of the verdict that says what the correction makes of the findings; empty where there are none."""
    told = [(mending(one.sign, one.after.interval), one) for one in summary.findings]
    known = [(state, Place(one.phrase, one.after.value or 0.0, one.after.interval)) for state, one in told if state]
    return mending_sentence(known, summary.kind) if known else ""


def decision_of(summary: Summary) -> str:
    """Write the last sentence of the verdict: which promise is broken at the threshold told first; empty where none."""
    return decision_sentence(started(summary.decisions), vocabulary(summary.kind))


def _place(place: PlaceNumbers, summary: Summary) -> Place:
    if place.part is None:
        region = next(one for one in summary.regimes if one.name == place.regime)
        name = f"the {percent(region.share)} of rows found {vocabulary(summary.kind).regime(region.name)}"
    else:
        region = summary.subregimes[place.part]
        name = f'"{region.name}"'
    return Place(name, place.hidden, None if region.hidden is None else region.hidden.interval)
