"""Write the sentences of a summary from its values."""

from __future__ import annotations

from dataclasses import replace

from miscal.base.number_wording import percent
from miscal.base.vocabulary import EVENT, Vocabulary, vocabulary
from miscal.discovery.summary_parts import Confusion, JudgeNumbers, Rate

LACKING = {
    "labels": "fewer than 20 answers have a verdict of people",
    "clusters": "counted by group and weight, the verdicts are worth fewer than 10 independent answers",
}
"""Why a rate has no interval."""


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
    >>> from miscal.discovery.summary_parts import GroupRate
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


def scale_sentence(numbers: JudgeNumbers) -> str:
    """Say what the scores stand for; empty where they are probabilities.

    Examples
    --------
    >>> from miscal.discovery.summary_parts import GroupRate, ScalePoint
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
