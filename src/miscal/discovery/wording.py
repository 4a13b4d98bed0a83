"""Write the sentences of a summary from its values."""

from miscal.base.number_wording import percent
from miscal.base.vocabulary import vocabulary
from miscal.discovery.classes.wording import classes_sentence
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.evidence.claim import Claim
from miscal.findings import Place, averages, verdict
from miscal.findings.decisions import decision_sentence, started
from miscal.findings.ledger import SHIFT, SLOPE, Finding
from miscal.findings.ledger.sizes import MENDED, holds_zero
from miscal.findings.verdict import mending_sentence, slope_sentence, slopes_left, together_words


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, what none shows, and what it means for decisions."""
    shifts, slopes = ([one for one in summary.findings if one.effect == effect] for effect in (SHIFT, SLOPE))
    groups = [_group(one, summary) for one in sorted(shifts, key=lambda one: one.together_with is not None)]
    along = slope_sentence(slopes, vocabulary(summary.kind)) if slopes else ""
    places = [_place(one, summary) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value, summary.kind)
    claim = Claim(summary.field.structure, summary.certificate)
    hidden = verdict(claim, places, groups, evidence=summary.evidence, slopes=along, kind=summary.kind)
    said = shown, hidden, mending_of(summary), classes_sentence(summary.classes), decision_of(summary)
    return " ".join(filter(None, said))


def mending_of(summary: Summary) -> str:
    """Write the part of the verdict that says what the correction makes of the findings; empty where there are none."""
    fates = [one.fate for one in summary.findings if one.fate is not None]
    if not fates:
        return ""
    off = [one for one in summary.findings if one.fate not in (None, MENDED) and not holds_zero(one.after)]
    shifts, slopes = ([one for one in off if one.effect == effect] for effect in (SHIFT, SLOPE))
    left = [(one.sign, Place(one.phrase, one.after.value or 0.0, one.after.interval)) for one in shifts]
    told = slopes_left(slopes, vocabulary(summary.kind)) if slopes else ""
    return mending_sentence(fates, left, summary.kind, slopes_left=told)


def _group(finding: Finding, summary: Summary) -> Place:
    """Return a finding as a place of the verdict, with the finding that it needs to show."""
    name = finding.phrase + together_words(finding, summary.findings)
    return Place(name, finding.before.value or 0.0, finding.before.interval)


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
