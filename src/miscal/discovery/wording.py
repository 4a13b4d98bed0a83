"""Write the sentences of a summary from its values."""

from miscal.base.number_wording import percent
from miscal.base.vocabulary import vocabulary
from miscal.discovery.classes.wording import classes_sentence
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.evidence.claim import Claim
from miscal.findings import Place, averages, verdict
from miscal.findings.decision_wording import decision_sentence, started
from miscal.findings.ledger import SHIFT, SLOPE, Finding
from miscal.findings.mending import MENDED, mending, mending_sentence
from miscal.findings.slope_wording import slope_sentence, slopes_left


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, what none shows, and what it means for decisions."""
    shifts, slopes = _by_effect(summary)
    given = [one.given_others and one is not summary.findings[0] for one in shifts]
    groups = [_group(one, others) for others, one in sorted(zip(given, shifts, strict=True), key=lambda pair: pair[0])]
    along = slope_sentence(slopes, vocabulary(summary.kind)) if slopes else ""
    places = [_place(one, summary) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value, summary.kind)
    claim = Claim(summary.field.structure, summary.certificate)
    hidden = verdict(claim, places, groups, evidence=summary.evidence, slopes=along, kind=summary.kind)
    said = shown, hidden, mending_of(summary), classes_sentence(summary.classes), decision_of(summary)
    return " ".join(filter(None, said))


def mending_of(summary: Summary) -> str:
    """Write the part of the verdict that says what the correction makes of the findings; empty where there are none."""
    shifts, slopes = ([(state, one) for one in some if (state := _state(one))] for some in _by_effect(summary))
    known = [(state, Place(one.phrase, one.after.value or 0.0, one.after.interval)) for state, one in shifts]
    left = [one for state, one in slopes if state != MENDED]
    told = slopes_left(left, vocabulary(summary.kind)) if left else ""
    if not known and not slopes:
        return ""
    return mending_sentence(known, summary.kind, slopes=[state for state, _ in slopes], slopes_left=told)


def _by_effect(summary: Summary) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that are shifts, and those that are slopes."""
    shifts, slopes = ([one for one in summary.findings if one.effect == effect] for effect in (SHIFT, SLOPE))
    return shifts, slopes


def _state(finding: Finding) -> str | None:
    return mending(finding.sign, finding.after.interval)


def _group(finding: Finding, given_others: bool) -> Place:
    """Return a finding as a place of the verdict, which says where its size is not beside all rows."""
    given = ", with other findings allowed for" if given_others else ""
    return Place(f"{finding.phrase}{given}", finding.beyond.value or 0.0, finding.beyond.interval)


def decision_of(summary: Summary) -> str:
    """Write the last sentence of the verdict: which promise is broken at the threshold asked for; empty where none."""
    return decision_sentence(started(summary.decisions), vocabulary(summary.kind))


def _place(place: PlaceNumbers, summary: Summary) -> Place:
    if place.part is None:
        region = next(one for one in summary.regimes if one.name == place.regime)
        name = f"the {percent(region.share)} of rows found {vocabulary(summary.kind).regime(region.name)}"
    else:
        region = summary.subregimes[place.part]
        name = f'"{region.name}"'
    return Place(name, place.hidden, None if region.hidden is None else region.hidden.interval)
