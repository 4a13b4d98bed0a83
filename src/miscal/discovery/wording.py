"""Write the sentences of a summary from its values."""

from __future__ import annotations

from dataclasses import replace

from miscal.base.number_wording import percent
from miscal.base.vocabulary import EVENT, LESS_OR_MORE, Vocabulary, vocabulary
from miscal.discovery.summary import PlaceNumbers, Summary
from miscal.discovery.summary_parts import ClassNumbers, Confusion, GroupRate, JudgeNumbers, Rate
from miscal.findings import Place, averages, verdict
from miscal.findings.decisions import decision_sentence, started
from miscal.findings.ledger.sizes import CORRECTED, NOT_KNOWN, REDUCED, WORSE, holds_zero
from miscal.findings.verdict import (
    correction_sentence,
    in_points,
    interval_of_size,
    together_words,
)

_CORRECTION = {
    CORRECTED: " The correction of all classes removes this.",
    REDUCED: " The correction of all classes reduces this.",
    WORSE: " The correction of all classes makes this worse.",
    NOT_KNOWN: " Whether the correction of all classes removes this is not known.",
}
"""What the correction makes of the first finding of classes, by its fate."""
LACKING = {
    "labels": "fewer than 20 answers have a verdict of people",
    "clusters": "counted by group and weight, the verdicts are worth fewer than 10 independent answers",
}
"""Why a rate has no interval."""


def verdict_of(summary: Summary) -> str:
    """Write the verdict: what any diagram shows, of all rows, what none shows, and what it means for decisions."""
    groups = [
        Place(one.phrase + together_words(one, summary.findings), one.before.value or 0.0, one.before.interval)
        for one in sorted(summary.findings, key=lambda one: one.together_with is not None)
    ]
    places = [_place(one, summary) for one in summary.places]
    shown = averages(summary.global_.accuracy.value, summary.global_.confidence.value, summary.kind)
    structure, told = summary.field.structure, {"evidence": summary.evidence, "kind": summary.kind}
    hidden = verdict(summary.certificate, places, groups, structure=structure, **told)
    said = shown, hidden, correction_of(summary), classes_sentence(summary.classes), decision_of(summary)
    return " ".join(filter(None, said))


def correction_of(summary: Summary) -> str:
    """Write the part of the verdict that says what the correction makes of the findings; empty where there are none."""
    fates = [one.fate for one in summary.findings if one.fate is not None]
    if not fates:
        return ""
    off = [one for one in summary.findings if one.fate not in (None, CORRECTED) and not holds_zero(one.after)]
    left = [(one.sign, Place(one.phrase, one.after.value or 0.0, one.after.interval)) for one in off]
    return correction_sentence(fates, left, summary.kind)


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


def words_of(name: str) -> Vocabulary:
    """Return the words of a class: an event that happens where it is the label.

    Examples
    --------
    >>> words_of("owl").than_equal_rows(), words_of("owl").group_rate.format("12 %")
    ('than rows of equal probability of owl', 'the label is owl in 12 %')
    """
    # the name may hold what a template would take for a place to fill
    safe = name.replace("{", "{{").replace("}", "}}")
    return replace(
        vocabulary(EVENT),
        probability=f"probability of {name}",
        probabilities=f"probabilities of {name}",
        rate=f"share of {name}",
        group_rate=f"the label is {safe} in {{}}",
        place="",
    )


def confusion_sentence(one: Confusion) -> str:
    """Say how often a class is the label where another is predicted, and how often the model says so.

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> sizes = dict(probability=0.03, rate=0.12, hidden=Measure(value=0.08), after=Measure(value=0.0))
    >>> known = dict(fate="corrected", label="dog", predicted="cat", finding=1, n=800, sign="under", p_adjusted=1e-4)
    >>> confusion_sentence(Confusion(**known, **sizes))
    'where the model predicts cat, the label is dog in 12 % of the 800 rows, and the model says 3 %'
    """
    return (
        f"where the model predicts {one.predicted}, the label is {one.label} in {percent(one.rate)} of the {one.n:,} "
        f"rows, and the model says {percent(one.probability)}"
    )


def classes_sentence(numbers: ClassNumbers | None) -> str:
    """Write the sentence of the verdict about classes and confusions; empty where nothing was found."""
    if numbers is None or not numbers.findings:
        return ""
    if numbers.confusions:
        first, more = numbers.confusions[0], len(numbers.confusions) - 1
        others = f" ({more} more confusion{'' if more == 1 else 's'} of this kind)" if more else ""
        said = confusion_sentence(first)
        left = _CORRECTION.get(first.fate, "")
        return f"Class by class, {said}: no reliability diagram of {first.label} shows this{others}.{left}"
    name, one = min(numbers.findings, key=lambda named: named[1].p_adjusted)
    value = one.before.value or 0.0
    between = interval_of_size(value, one.before.interval)
    size = f"{in_points(abs(value))}{f', {between}' if between else ''}"
    return (
        f"Class by class, the label is {name} {LESS_OR_MORE[one.sign]} on {one.phrase} than on rows of equal "
        f"probability of {name} (by {size}).{_CORRECTION.get(one.fate, '')}"
    )


def between(rate: Rate) -> str:
    """Write the interval of a rate, or say why there is none.

    Examples
    --------
    >>> between(Rate(estimate=0.61, interval=(0.571, 0.649), n_labelled=200, n=2000))
    '57 to 65 %'
    >>> between(Rate(estimate=0.61, lacking="labels", n_labelled=3, n=20))
    'no interval: fewer than 20 answers have a verdict of people'
    """
    if rate.interval is None:
        return f"no interval: {LACKING[rate.lacking or 'labels']}"
    low, high = rate.interval
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def rate_sentence(numbers: JudgeNumbers) -> str:
    """Say how often people would approve, beside what the judge says.

    Examples
    --------
    >>> known = {"n_labelled": 200, "n": 2000}
    >>> rate, judge = Rate(estimate=0.61, interval=(0.57, 0.65), **known), Rate(estimate=0.74, **known)
    >>> whole = GroupRate(name="all answers", rate=rate, judge=judge)
    >>> print(rate_sentence(JudgeNumbers(n_unjudged=1800, whole=whole)))
    People would approve 61 % of all 2,000 answers (57 to 65 %), of which they have judged 200; the judge says 74 %.
    """
    whole = numbers.whole
    would = "would approve" if numbers.n_unjudged else "approve"
    judged = f", of which they have judged {whole.rate.n_labelled:,}" if numbers.n_unjudged else ""
    return (
        f"People {would} {percent(whole.rate.estimate or 0.0)} of all {whole.rate.n:,} answers "
        f"({between(whole.rate)}){judged}; the judge says {percent(whole.judge.estimate or 0.0)}."
    )


def group_sentence(one: GroupRate) -> str:
    """Say the same of a group.

    Examples
    --------
    >>> known = {"n_labelled": 90, "n": 700}
    >>> rate, judge = Rate(estimate=0.5, interval=(0.4, 0.6), **known), Rate(estimate=0.7, **known)
    >>> group_sentence(GroupRate(name="model = B", rate=rate, judge=judge))
    'model = B: people would approve 50 % (40 to 60 %) of 700, the judge says 70 %'
    """
    known = "no verdict of people" if one.rate.estimate is None else (
        f"people would approve {percent(one.rate.estimate)} ({between(one.rate)}) of {one.rate.n:,}"
    )  # fmt: skip
    rank = f"; rank {ranks(one)}" if ranks(one) else ""
    return f"{one.name}: {known}, the judge says {percent(one.judge.estimate or 0.0)}{rank}"


def ranks(one: GroupRate) -> str:
    """Say which ranks a model may have; empty where it has none.

    Examples
    --------
    >>> known = dict.fromkeys(("rate", "judge"), Rate(estimate=0.5, n_labelled=9, n=9))
    >>> ranks(GroupRate(name="model = A", ranks=(1, 3), **known)), ranks(GroupRate(name="model = B", **known))
    ('1 to 3', '')
    """
    if one.ranks is None:
        return ""
    best, worst = one.ranks
    return f"{best}" if best == worst else f"{best} to {worst}"


def scale_sentence(numbers: JudgeNumbers) -> str:
    """Say what the scores stand for; empty where they are probabilities.

    Examples
    --------
    >>> from miscal.discovery.summary_parts import ScalePoint
    >>> points = ScalePoint(score="fail", approval=0.1), ScalePoint(score="pass", approval=0.7)
    >>> known = {"n_labelled": 9, "n": 9}
    >>> rates = dict.fromkeys(("rate", "judge"), Rate(estimate=0.5, **known))
    >>> scale_sentence(JudgeNumbers(scale=points, n_unjudged=0, whole=GroupRate(name="all", **rates)))
    'Scores stand for how often people approve at each, so that both agree on average: fail 10 %, pass 70 %.'
    """
    if not numbers.scale:
        return ""
    scores = ", ".join(f"{one.score} {percent(one.approval or 0.0)}" for one in numbers.scale)
    return f"Scores stand for how often people approve at each, so that both agree on average: {scores}."
