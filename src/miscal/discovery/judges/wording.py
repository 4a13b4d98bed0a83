"""Write how often people would approve."""

from __future__ import annotations

from miscal.base.number_wording import percent
from miscal.discovery.judges.document import GroupRate, JudgeNumbers, Rate

LACKING = {
    "labels": "fewer than 20 answers have a verdict of people",
    "clusters": "counted by group and weight, the verdicts are worth fewer than 10 independent answers",
    "signal": "the judge tells good answers from bad ones no better than chance",
}
"""Why a rate has no interval."""


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
    >>> whole = GroupRate(name="all answers", rate=rate, judge=judge, labelled=Rate(estimate=0.6, **known))
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
    >>> group_sentence(GroupRate(name="model = B", rate=rate, judge=judge, labelled=Rate(estimate=0.4, **known)))
    'model = B: people would approve 50 % (40 to 60 %) of 700, the judge says 70 %'
    """
    known = "no verdict of people" if one.rate.estimate is None else (
        f"people would approve {percent(one.rate.estimate)} ({between(one.rate)}) of {one.rate.n:,}"
    )  # fmt: skip
    return f"{one.name}: {known}, the judge says {percent(one.judge.estimate or 0.0)}{_rank(one)}"


def _rank(one: GroupRate) -> str:
    told = ranks(one)
    return f"; rank {told}" if told else ""


def ranks(one: GroupRate) -> str:
    """Say which ranks a model may have; empty where it has none.

    Examples
    --------
    >>> known = dict.fromkeys(("rate", "judge", "labelled"), Rate(estimate=0.5, n_labelled=9, n=9))
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
    >>> from miscal.discovery.judges.document import ScalePoint
    >>> points = ScalePoint(score="fail", approval=0.1), ScalePoint(score="pass", approval=0.7)
    >>> known = {"n_labelled": 9, "n": 9}
    >>> rates = dict.fromkeys(("rate", "judge", "labelled"), Rate(estimate=0.5, **known))
    >>> scale_sentence(JudgeNumbers(scale=points, n_unjudged=0, whole=GroupRate(name="all", **rates)))
    'Scores stand for how often people approve at each, so that both agree on average: fail 10 %, pass 70 %.'
    """
    if not numbers.scale:
        return ""
    told = ", ".join(f"{one.score} {percent(one.approval or 0.0)}" for one in numbers.scale)
    return f"Scores stand for how often people approve at each, so that both agree on average: {told}."
