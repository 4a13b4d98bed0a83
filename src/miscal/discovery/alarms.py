"""Raise an alarm where the confidences are so far from the outcomes that the data should be checked first.

Alarms are of all rows: nothing is learned for them.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import NonNegativeInt

from miscal.base.document import Measure, Part, Share, Text
from miscal.base.number_wording import decimal, percent
from miscal.base.vocabulary import ANSWER, Kind, Vocabulary, vocabulary
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import average, effect_of_groups
from miscal.data.readers.column_readings import ColumnReading
from miscal.data.splits import Copies
from miscal.findings.residuals import proportion_interval

DISTANCE = 0.3
"""Mean confidence further than this from the accuracy is an alarm. A convention, not tuned: a larger distance overlooks
more columns taken by mistake, a smaller one asks for a check of more models that are simply this wrong."""

FACTOR: Mapping[Kind, float] = {"answer": np.inf, "event": 3.5, "judge": np.inf}
"""Odds of mean confidence and accuracy that differ by more than this factor, beyond chance, are an alarm, too: rates of
a few per cent can never be so many points apart. It is that of the distance above about one half, 0.65 and 0.35."""

LITTLE = 0.6
"""Upper limit of the area under the ROC curve below which it is said that confidence tells little. A convention, not
tuned: calibrated confidences about one half pass it once their standard deviation is nine points."""

ONE_VALUE = 0.9
"""Share of the rows from which on it is said that they have one confidence. Not tuned."""

LEAST_EACH = 10
"""Right and wrong answers, of each at least so many, before their ranking is judged: a variance of fewer placements is
little more than noise. Not tuned."""

_NO_VARIANCE = 1e-24
"""A variance of the area that is rounding alone."""


class PlainFacts(Part):
    """What all rows show before anything is learned.

    ``ranking`` is the area under the ROC curve of the probability; ``far`` says that its mean is so far from the
    outcomes that another column may have been taken for it, ``verdicts`` that it is 0 or 1 in every row. ``usual`` is
    the probability that most rows have, ``usual_share`` their share. ``one_answer`` is what the model answers far more
    often than this can be right, in ``one_answer_n`` rows, if anything. ``copies`` is how often each row is held.
    """

    ranking: Measure
    far: bool
    verdicts: bool
    usual: Share
    usual_share: Share
    one_answer: Text | None = None
    one_answer_n: NonNegativeInt = 0
    copies: NonNegativeInt = 1


def alarms(
    rows: LabelledRows,
    facts: PlainFacts,
    *,
    correct_column: str | None = None,
    confidence_column: str | None = None,
    kind: Kind = ANSWER,
) -> tuple[str, ...]:
    """Say what suggests that something else was taken for confidence or outcome.

    `rows`: all rows, at least one. `facts`: of them, by :func:`plain_facts`. `correct_column, confidence_column`: the
    columns that they come from. Returns sentences; none where there is nothing to check.

    Examples
    --------
    >>> def told(right, sure):
    ...     rows = LabelledRows.of(np.tile(right, 20), np.tile(sure, 20))
    ...     return alarms(rows, plain_facts(rows))
    >>> told([1.0, 1.0, 0.0], [0.1, 0.2, 0.9]), told([0.0, 0.0, 1.0], [0.1, 0.2, 0.9])
    (('Confidence ranks right answers below wrong ones: ...',), ())
    >>> told([0.0, 0.0, 1.0], [0.8, 0.85, 0.9])
    ('The model is far too sure: ...',)
    """
    words = vocabulary(kind)
    stated = f"the {words.probability}" if confidence_column is None else f"column {confidence_column!r}"
    outcome = "the outcome" if correct_column is None else f"column {correct_column!r}"
    check = f"that {stated} {words.meanings['column']}, and that {outcome} {words.meanings['outcome column']}."
    found = []
    says, true = average(rows.confidence, rows.weight), average(rows.correct, rows.weight)
    if facts.verdicts:
        found.append(_verdicts(rows, words, confidence_column))
    if facts.far:
        found.append(f"{_level(says, true, facts.ranking, words)}{check}")
    if facts.ranking.interval is not None and facts.ranking.interval[1] < 0.5:
        first = _ranks(facts.ranking, "below", words)
        found.append(f"{first[:1].upper()}{first[1:]}. Check {check}")
    return tuple(found)


def _verdicts(rows: LabelledRows, words: Vocabulary, column: str | None) -> str:
    """Say what can be learned of probabilities that are all 0 or 1."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    sides = {one: rows.confidence == one for one in (0, 1)}
    rates = [
        f"{words.percent(average(rows.correct[at], weight[at]))} where it is {one} ({int(at.sum()):,} rows)"
        for one, at in sides.items()
        if at.any()
    ]
    return (
        f"The {words.probability}{'' if column is None else f' (column {column!r})'} is 0 or 1 in every row, which is "
        f"a verdict and no probability. The {words.rate} is {' and '.join(rates)}: of the {words.probability} alone no "
        "more can be learned, and what differs beyond that is learned from the inputs"
    )


def _ranks(ranked: Measure, where: str, words: Vocabulary) -> str:
    low, high = ranked.interval or (0.0, 1.0)
    return (
        f"{words.ranked.format(where)}: {words.pairs} in {percent(ranked.value)} of cases, ties counted half (95 % "
        f"interval {100 * low:.0f} to {percent(high)}; chance alone gives 50 %)"
    )


def say_little(facts: PlainFacts, kind: Kind = ANSWER) -> tuple[str, ...]:
    """Say where confidence tells rows apart hardly or not at all, which it may do and be calibrated: a base rate does.

    Examples
    --------
    >>> y = (np.random.default_rng(0).random(900) < 0.7).astype(float)
    >>> say_little(plain_facts(LabelledRows.of(y, np.full(900, 0.7))))[0]
    'the confidence is 70 % in 100 % of the rows, and tells none of these from another'
    """
    words, said = vocabulary(kind), []
    if facts.usual_share >= ONE_VALUE:
        said.append(
            f"the {words.probability} is {words.percent(facts.usual)} in {percent(facts.usual_share)} of the rows, and "
            "tells none of these from another"
        )
    if facts.ranking.interval is not None and 0.5 <= facts.ranking.interval[1] < LITTLE:
        said.append(_ranks(facts.ranking, "hardly above", words))
    return tuple(said)


def plain_facts(
    rows: LabelledRows,
    copied: Copies | None = None,
    kind: Kind = ANSWER,
    one_answer: Mapping[str, Any] | None = None,
) -> PlainFacts:
    """Return what all rows show before anything is learned; `one_answer` as the reader of rows found it."""
    says, true = average(rows.confidence, rows.weight), average(rows.correct, rows.weight)
    values, place = np.unique(rows.confidence, return_inverse=True)
    shares = np.bincount(place, rows.mass) / rows.mass.sum()
    return PlainFacts(
        ranking=ranking(rows),
        far=_far_apart(rows, says, true, FACTOR[kind]),
        verdicts=bool(np.isin(rows.confidence, (0, 1)).all()),
        usual=float(values[shares.argmax()]),
        usual_share=min(1.0, float(shares.max())),
        copies=1 if copied is None else copied.times,
        **({} if one_answer is None else {"one_answer": one_answer["answer"], "one_answer_n": one_answer["n"]}),
    )


def _far_apart(rows: LabelledRows, says: float, true: float, factor: float) -> bool:
    """Whether the means are so far apart that something else may have been taken for one of them."""
    if abs(says - true) > DISTANCE:
        return True
    if factor == np.inf or not 0 < says < 1:
        return False
    from scipy.special import logit

    independent = max(1, round(len(rows) / effect_of_mean(rows)))
    low, high = proportion_interval(true, independent, 1 - CONFIDENCE_LEVEL)
    nearest = min(max(says, low), high)
    return abs(logit(says) - logit(nearest)) > np.log(factor)


def _level(says: float, true: float, ranked: Measure, words: Vocabulary) -> str:
    """Say how far apart they are: where rows are ranked well, the level is off, and the columns may well be right."""
    apart = (
        f"verage {words.probability} ({words.percent(says)}) and {words.rate} ({words.percent(true)}) are "
        f"{decimal(abs(100 * (says - true)), words.digits)} percentage points apart"
    )
    if ranked.interval is None or ranked.interval[0] <= 0.5:
        return f"A{apart}. Check "
    where = "hardly above" if ranked.interval[1] < LITTLE else "above"
    return (
        f"{words.far['over' if says > true else 'under']}: a{apart}, while {words.ranked.format(where)} (area under "
        f"the ROC curve {ranked.value:.2f}). If this surprises you, check "
    )


def ranking(rows: LabelledRows) -> Measure:
    """Estimate the area under the ROC curve of confidence, with its 95 % limits.

    The standard error is that of DeLong, DeLong and Clarke-Pearson (1988), from midranks, so that ties count half.
    The limits take Student's t with the degrees of freedom of Brunner and Munzel (2000), whose test they invert. At an
    area of one half a limit misses in 1.9 to 2.8 % of draws (20 right and 80 wrong answers, 50 and 50, 500 and 500;
    2.5 % is nominal); with 20 right answers and an area of 0.8, the lower one in 7.5 %.

    `rows`: where they hang together, the variance is larger by the design effect of the placements
    (:mod:`miscal.calibration.survey_design`). Where they count unequally, a pair counts for the product of two.
    Undefined where fewer than ten answers are right, or fewer than ten are wrong.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sure = rng.random(400)
    >>> area = ranking(LabelledRows.of((rng.random(400) < sure).astype(float), sure))
    >>> 0.75 < area.value < 0.9 and area.interval[0] < area.value < area.interval[1]
    True
    """
    from scipy.stats import t as student

    right = rows.correct > 0
    if min(right.sum(), (~right).sum()) < LEAST_EACH:
        return Measure(value=None)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    place = np.unique(rows.confidence, return_inverse=True)[1]
    masses = [np.bincount(place, weight * side, int(place.max()) + 1) for side in (right, ~right)]
    # for each answer, the share of the other kind that it stands above, ties counted half
    below = [(np.cumsum(mass) - mass / 2) / mass.sum() for mass in masses]
    above = below[1][place[right]], below[0][place[~right]]
    shares = [own / own.sum() for own in (weight[right], weight[~right])]
    # by the sum of weights, not by shares: of equal confidences it is one half exactly
    area = float(weight[right] @ above[0] / weight[right].sum())
    # by how much each answer moves the area
    moves = shares[0] * (above[0] - area), shares[1] * (1 - area - above[1])
    effective = [1 / float(share @ share) for share in shares]
    parts = [float(move @ move) * n / (n - 1) for move, n in zip(moves, effective, strict=True)]
    variance = sum(parts)
    if variance < _NO_VARIANCE:  # every right answer above, below or level with every wrong one
        return Measure(value=area, interval=(area, area))
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in zip(parts, effective, strict=True))
    placed = np.empty(len(rows))
    placed[right], placed[~right] = moves
    variance *= effect_of_groups(placed, rows.group) * rows.factor**2
    half = float(student.ppf((1 + CONFIDENCE_LEVEL) / 2, freedom) * np.sqrt(variance))
    return Measure(value=area, interval=(max(0.0, area - half), min(1.0, area + half)))


_BY_BOTH = {"cells": "together", "difference": "by their difference"}
"""What two columns tell the outcome by, of which one or both are left out."""


def leak_alarms(readings: Sequence[ColumnReading]) -> tuple[str, ...]:
    """Say which columns tell the outcome as only what comes after it, and were therefore left out.

    Returns a sentence for each leak.

    Examples
    --------
    >>> [said] = leak_alarms([ColumnReading("late", "number", 90, 0, "...", leak=0.9981, leak_by="ranking")])
    >>> print(said)
    The column 'late' alone ranks outcomes nearly perfectly (area under the ROC curve 0.998), as what is known only
    after the outcome does. 'late' was left out of inputs and findings, so that no number here rests on it. If it is
    known before the outcome, use it with --allow-leak late; if not, leave it out with --leave-out late
    """
    said: dict[frozenset[str], str] = {}
    left_out = {one.name for one in readings if one.leak is not None}
    for one in readings:
        if one.leak is not None:
            pair = one.leak_by in _BY_BOTH and one.leak_with in left_out
            names = [one.name, str(one.leak_with)] if pair else [one.name]
            said.setdefault(frozenset(names), f"{_leak(one)}. {_withheld(names)}")
    return tuple(said.values())


def _withheld(names: Sequence[str]) -> str:
    option = shlex.quote(",".join(names))
    one = len(names) == 1
    it, is_, were, them = ("it", "is", f"{names[0]!r} was", "it") if one else ("they", "are", "They were", "them")
    return (
        f"{were} left out of inputs and findings, so that no number here rests on {them}. If {it} "
        f"{is_} known before the outcome, use {them} with --allow-leak {option}; if not, leave {them} out with "
        f"--leave-out {option}"
    )


def _leak(one: ColumnReading) -> str:
    area, afterwards = f"(area under the ROC curve {one.leak:.3f})", "as what is known only after the outcome does"
    if one.leak_by in _BY_BOTH:
        return (
            f"The columns {one.name!r} and {one.leak_with!r} {_BY_BOTH[one.leak_by]} tell outcomes nearly perfectly "
            f"{area}, which neither does alone, {afterwards}"
        )
    if one.leak_with is not None:
        tells = f"tells the outcome nearly perfectly by whether it equals {one.leak_with!r} {area}"
    elif one.leak_by == "blanks":
        return (
            f"All rows in which the column {one.name!r} is blank have one outcome, which has a chance of less than one "
            "in a million by the probabilities of the model, as where a column is filled in after the outcome"
        )
    elif one.leak_by == "entropy":
        left = "the entropy that the probabilities of the model leave in the outcome"
        tells = f"alone takes away {percent(one.leak or 0)} of {left}"
    else:
        tells = f"alone ranks outcomes nearly perfectly {area}"
    return f"The column {one.name!r} {tells}, {afterwards}"


def copy_alarms(copied: Copies | None, n: int) -> tuple[str, ...]:
    """Say that a file of n rows holds each of them several times.

    Examples
    --------
    >>> copy_alarms(Copies(3, np.arange(1200) % 400), 1200)
    ('The file holds every row 3 times: ...',)
    >>> copy_alarms(None, 1200)
    ()
    """
    if copied is None:
        return ()
    different = int(copied.row.max()) + 1
    return (
        f"The file holds every row {copied.times} times: {n:,} rows, of which {different:,} differ. It was probably "
        "put together from copies of itself: leave the copies out. Here they are kept together and count as one, "
        "unless --group names other groups",
    )
