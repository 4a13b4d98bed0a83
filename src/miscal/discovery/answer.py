"""The sentences of a summary, and three lines: what is wrong and how large it is, where most, and what to do.

Lines are chosen by rule from the numbers of the summary: plain facts of all rows come before what needs a field.
"""

from __future__ import annotations

from dataclasses import replace

from miscal.base.number_wording import lower_limit, percent, round_up, spoken
from miscal.base.shown import brief_names, first_words
from miscal.base.vocabulary import EVENT, LESS_OR_MORE, Vocabulary, vocabulary
from miscal.discovery.alarms import ONE_VALUE
from miscal.discovery.summary import Answer, Confusion, Summary
from miscal.evidence.judged_rows import JudgeNumbers, Rate
from miscal.evidence.settings import LEAST_UNITS, SIGNIFICANCE
from miscal.findings.conditions.column_kinds import Trend
from miscal.findings.ledger.document import Finding
from miscal.findings.ledger.sizes import WORSE, holds_zero
from miscal.findings.verdict import in_points

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
    >>> from miscal.evidence.judged_rows import GroupRate
    >>> known = {"n_labelled": 200, "n": 2000}
    >>> rate, judge = Rate(estimate=0.61, interval=(0.57, 0.65), **known), Rate(estimate=0.74, **known)
    >>> whole = GroupRate(name="all answers", rate=rate, judge=judge)
    >>> print(rate_sentence(JudgeNumbers(n_unjudged=1800, whole=whole)))
    People would approve 61 % of all 2,000 answers (57 to 65 %), of which they have judged 200; the judge says 74 %.
    """
    whole = numbers.whole
    would = "would approve" if numbers.n_unjudged else "approve"
    judged = f", of which they have judged {whole.rate.n_labelled:,}" if numbers.n_unjudged else ""
    kappa = None if whole.agreement is None else whole.agreement.kappa
    alike = " Beyond chance they agree by a kappa of {:.2f} ({:.2f} to {:.2f})."
    alike = "" if kappa is None or kappa.interval is None else alike.format(kappa.value, *kappa.interval)
    return (
        f"People {would} {percent(whole.rate.estimate or 0.0)} of all {whole.rate.n:,} answers "
        f"({between(whole.rate)}){judged}; the judge says {percent(whole.judge.estimate or 0.0)}.{alike}"
    )


def scale_sentence(numbers: JudgeNumbers) -> str:
    """Say what the scores stand for; empty where they are probabilities.

    Examples
    --------
    >>> from miscal.evidence.judged_rows import GroupRate, ScalePoint
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


LONGEST_FIRST, LONGEST_NAME = 62, 56
"""Characters of a group's name in the headline, and in a sentence; tables hold the whole name."""
HARMED_NAME = 40
"""Characters of the name of a group that the correction makes worse."""
WIDE = 0.05
"""Distance of the mean probability from the outcomes that is said first, before what is hidden. Not tuned."""
LITTLE = 0.55
"""Upper limit of the area under the ROC curve below which the probability is said to tell nothing. Not tuned."""
FAINT = 0.01
"""A lower limit of the hidden error below one point is called nearly right, or groups are named first. Not tuned."""
HARDLY_ANY = 0.98
"""Of the rows are units, or more: rows are what is asked for."""
TRIFLE = 0.001
"""A gain of the log loss below this is no reason to use a correction. Not tuned."""
HIDDEN = "beyond what a reliability diagram of all rows shows"
OF_EQUAL_SIZE = 0.5
"""A group is shown as promise against outcome where their difference is at least so large a part of what is hidden;
else as outcome against that of rows of equal probability."""


def answer_of(summary: Summary) -> Answer:
    """Say what a run found in three lines."""
    words, most, plain = vocabulary(summary.kind), summary.most_off, _plain(summary, vocabulary(summary.kind))
    size, action = plain or _size(summary, words), _action(summary, words)
    if most is None or plain:
        return Answer(headline=size, reason=_where(summary, words), action=action)
    return Answer(headline=_off_most(most, words), reason=size, action=action)


def _plain(summary: Summary, words: Vocabulary) -> str:
    """Say what stands above everything that is hidden; empty where nothing does."""
    plain, (low, high) = summary.plain, summary.plain.ranking.interval or (None, None)
    says, true = _averages(summary)
    area = "" if low is None or high is None else f"(AUC {plain.ranking.value:.2f}, {low:.2f} to {high:.2f})"
    if plain.verdicts:
        return f"The {words.probability} is 0 or 1 in every row: a verdict, and no probability."
    if high is not None and high < 0.5:
        return _begin(f"{words.ranked.format('below')} {area}.")
    averages = words.averages.format(probability=spoken(says), rate=spoken(true))
    if plain.far:
        return averages
    if plain.usual_share >= ONE_VALUE:
        return f"The {words.probability} is {spoken(plain.usual)} in {spoken(plain.usual_share)} of the rows."
    if plain.one_answer is not None:
        answer = " ".join(plain.one_answer.split()[:6])
        return f"The model answers {answer} in {plain.one_answer_n:,} of {summary.n:,} rows."
    if low is not None and high is not None and (low <= 0.5 or high < LITTLE):
        return _begin(f"{words.ranked.format('hardly above')} {area}.")
    wide = abs(says - true) >= WIDE and abs(says - true) > summary.certificate.hidden.low and _proven(summary)
    return averages if wide else ""


def _size(summary: Summary, words: Vocabulary) -> str:
    """Say how large the hidden error is, or the visible one; or what would have been found."""
    proof, many = summary.certificate, len(summary.findings)
    things = _begin(words.probabilities)
    low = proof.hidden.low if proof.located else 0.0
    if low and (low >= FAINT or not many):
        size = f"{int(100 * low + 1e-9)}" if low >= 0.01 else lower_limit(low)
        points = "point" if size == "1" else "points"
        nearly, on_average = ("nearly right: ", "") if low < FAINT and summary.most_off is None else ("", " on average")
        return f"{things} are {nearly}off by at least {size} {points}{on_average}, {HIDDEN}."
    if many:
        groups = "a group" if many == 1 else f"{many} groups"
        return f"{things} are off in {groups}, {HIDDEN}."
    if summary.classes is not None and summary.classes.findings:
        many = len(summary.classes.findings)
        return f"Probabilities of classes are off in {many} group{'s' if many > 1 else ''} of rows."
    if proof.claims_hidden:
        return f"At equal {words.probability}, {words.how_often} depends on the inputs; a reliability diagram hides it."
    smece = summary.global_.smece
    if _proven(summary) and smece.value:
        return f"{things} are off by {in_points(smece.value)} on average, as the reliability diagram shows."
    if summary.most_off is not None:
        return _none_differs(summary, words)
    if summary.leaks:
        columns = f"Column{'s' if len(summary.leaks) > 1 else ''} {' and '.join(summary.leaks)}"
        return f"{columns} may be known only after the outcome; nothing else was found."
    if summary.method == "shifts":
        # places without a name were not looked at
        return f"No group was found in which {words.probabilities} are off."
    found_from = _would_have_shown(summary)
    if found_from is None:
        return f"No miscalibration was found, and {_counted(summary)} are too few to show any."
    return (
        f"No miscalibration was found; {_counted(summary)} would have shown about {in_points(found_from)} on average."
    )


def _where(summary: Summary, words: Vocabulary) -> str:
    """Say where it is off most: a group, or the regimes; or how much was looked at."""
    if (first := named_first(summary)) is not None:
        return finding_sentence(first, words)
    if summary.classes is not None and summary.classes.confusions:
        return f"{_begin(confusion_sentence(summary.classes.confusions[0]))}."
    if summary.classes is not None and summary.classes.findings:
        found = summary.classes.findings
        whole = [one for one in found if not isinstance(one[1].condition, Trend)]
        name, one = min(whole or found, key=lambda named: named[1].p_adjusted)
        promise = f"class {name} gets {spoken(one.confidence)} on average and is right in {spoken(one.accuracy)}"
        return f"On {brief_names([one.condition.phrase], LONGEST_NAME)[0]}, {promise} ({one.n:,} rows)."
    proof = summary.certificate
    if proof.claims_hidden:
        off = [one for one in summary.hidden_regimes if one.confirmed.hidden and one.hidden and one.hidden.value]
        if off:
            one = max(off, key=lambda regime: regime.share * abs(regime.hidden.value))
            often = LESS_OR_MORE["over" if one.hidden.value < 0 else "under"]
            compared = f"{often} than at equal {words.probability}, by {in_points(abs(one.hidden.value))}"
            return f"In {spoken(one.share)} of the rows {words.comes_true()} {compared}."
        return "Spread over the inputs: no single group was confirmed on its own."
    return _none_differs(summary, words)


def _none_differs(summary: Summary, words: Vocabulary) -> str:
    """Say what was looked at in vain."""
    tested = 0 if summary.findings_method is None else summary.findings_method.candidates
    if tested:
        return f"Of {tested:,} groups tested, none differs from {words.equal_rows()} beyond chance."
    return f"The inputs do not help to predict {words.predicted} beyond the {words.probability}."


def named_first(summary: Summary) -> Finding | None:
    """Return the group that is off most, or where none is known to be, the first finding beside equal probabilities."""
    apart = (one for one in summary.findings if not holds_zero(one.hidden))
    return summary.most_off or next(apart, next(iter(summary.findings), None))


def group_name(finding: Finding) -> str:
    """Return what a finding is called: a trend by the end that its numbers are of."""
    return finding.condition.upper_end.words if isinstance(finding.condition, Trend) else finding.description


def finding_sentence(finding: Finding, words: Vocabulary) -> str:
    """Say of a finding what was promised and what happened, in at most 25 words or so."""
    group, says, true, between = _told(finding, LONGEST_NAME)
    off = abs(finding.accuracy - finding.confidence)
    if not holds_zero(finding.residual) and off >= OF_EQUAL_SIZE * abs(finding.hidden.value or 0.0):
        sure = f"{between}, {finding.n:,}" if between else f"{finding.n:,}"
        return words.promise.format(rows=group, probability=says, rate=true, n=sure)
    sure = f"{true} ({between})" if between else true
    return words.elsewhere.format(rows=group, rate=sure, expected=spoken(finding.expected), n=f"{finding.n:,}")


def _off_most(finding: Finding, words: Vocabulary) -> str:
    """Say of the group that is off most what `finding_sentence` says, as a headline of at most 20 words."""
    group, says, true, between = _told(finding, LONGEST_FIRST)
    happened, promise = words.heads
    # a name that was cut begins with a value, which stays as the data write it
    group = _begin(group) if group.startswith("rows ") else group
    return f"{group}: {promise} {says}, {happened} {true} ({between}, {finding.n:,} rows)."


def _told(finding: Finding, longest: int) -> tuple[str, str, str, str]:
    """Write the rows of a finding, what was promised, what happened, and the interval of that."""
    one, (low, high) = finding.condition, finding.happened.interval or (None, None)
    [group] = brief_names([(one.upper_end if isinstance(one, Trend) else one).phrase], longest)
    between = "" if low is None or high is None else f"{spoken(low).removesuffix(' %')} to {spoken(high)}"
    return group, spoken(finding.confidence), spoken(finding.accuracy), between


def _action(summary: Summary, words: Vocabulary) -> str:
    """Say what to do: check the data, use the correction or not, or label more rows."""
    plain, (low, high) = summary.plain, summary.plain.ranking.interval or (None, None)
    if (high is not None and high < 0.5) or (plain.far and not (low is not None and low > 0.5)):
        both = _column(summary, "confidence", words.probability), _column(summary, "correct", "the outcome")
        return f"Check that {both[0]} and {both[1]} are the right columns, and not reversed."
    if plain.copies > 1:
        return f"Leave the copies out: the file holds every row {plain.copies} times."
    units = summary.units
    if units is not None and units.n_units < LEAST_UNITS:
        return f"Give rows of more units: {units.n_units} are too few. If rows are independent, use --group none."
    advised = _correction(summary, words)
    if summary.leaks:
        names = first_words(", ".join(summary.leaks), 4)
        advised += f" Left out: {names} (may be known only later)."
    return advised


def _correction(summary: Summary, words: Vocabulary) -> str:
    """Say whether to use the correction."""
    raw, ours = summary.correction.get("raw"), summary.correction.get("miscal")
    saved = summary.gains["raw"].log_loss if "raw" in summary.gains else None
    if raw is None or ours is None or saved is None or None in (raw.all.log_loss, ours.all.log_loss, saved.value):
        return "Whether the correction helps could not be measured."
    losses = f"log loss {_apart(raw.all.log_loss, ours.all.log_loss)}"
    high = (saved.interval or (None, None))[1]
    if helps(summary):
        if saved.value < TRIFLE:
            return f"Correct only if small errors matter: {losses} on rows that it has not seen."
        but = _but(summary, words)
        # the columns that are left out follow, and there is room for so much
        return f"Use the correction: {losses}{'' if but and summary.leaks else ' on unseen rows'}{but}."
    if high is not None and high < 0:
        return f"Do not use the correction: it makes unseen rows worse ({losses})."
    units, nouns = _units_of(summary)
    more = round_up(4 * units)
    if summary.findings or summary.most_off or summary.certificate.claims_hidden:
        return f"Do not use the correction yet: no gain beyond chance. Label about {more} {nouns} instead of {units:,}."
    return (
        f"Label more {nouns} if smaller errors matter: about {more} in all show errors half as large as {units:,} do."
    )


def _units_of(summary: Summary) -> tuple[int, str]:
    """Count the units, of rows learned from too, and say what they are; rows where hardly any hang together."""
    units, n = summary.units, summary.n
    many = n if units is None else round(units.n_units * n / (summary.n_test or n))
    return (n, "rows") if units is None or many > HARDLY_ANY * n else (many, units.nouns)


def _counted(summary: Summary) -> str:
    many, nouns = _units_of(summary)
    return f"{many:,} {nouns}"


def helps(summary: Summary) -> bool:
    """Whether the correction lowers the log loss on rows that it has not seen, beyond chance."""
    saved = summary.gains["raw"].log_loss if "raw" in summary.gains else None
    low = None if saved is None or saved.interval is None else saved.interval[0]
    return low is not None and low > 0


def _but(summary: Summary, words: Vocabulary) -> str:
    """Name the largest group that the correction makes worse; empty where it makes none worse."""
    worse = sorted(filter(harmed, summary.findings), key=lambda one: -one.n)
    if not worse:
        return ""
    [name] = brief_names([group_name(worse[0]).partition(" (")[0]], HARMED_NAME // (2 if summary.leaks else 1))
    more = len(worse) - 1
    others = f" and {more} more" if more else ""
    if more or summary.leaks or worse[0].corrected is None:
        return f", but not for {name}{others}"
    happened = f"{words.heads[0]} {spoken(worse[0].accuracy)}"
    return f", but not for {name} (corrected {spoken(worse[0].corrected)}, {happened})"


def _apart(before: float, after: float) -> str:
    """Write two losses with three decimals, or as many as show that they differ."""
    digits = next((some for some in (3, 4, 5) if f"{before:.{some}f}" != f"{after:.{some}f}"), 3)
    return f"{before:.{digits}f} to {after:.{digits}f}"


def harmed(finding: Finding) -> bool:
    """Whether a group is worse off by the correction: farther from what happened, and beyond what hides in it."""
    low, high = finding.hidden.interval or (None, None)
    if finding.corrected is None or low is None or high is None:
        return finding.fate == WORSE
    off, before = abs(finding.corrected - finding.accuracy), abs(finding.confidence - finding.accuracy)
    return finding.fate == WORSE or (not low <= finding.corrected - finding.expected <= high and off > before)


def _averages(summary: Summary) -> tuple[float, float]:
    """Mean probability and outcome; of a judge as often as people would approve of all answers."""
    judged = summary.judge
    if judged is not None and None not in (judged.whole.judge.estimate, judged.whole.rate.estimate):
        return judged.whole.judge.estimate or 0.0, judged.whole.rate.estimate or 0.0
    whole = summary.global_
    return whole.confidence.value or 0.0, whole.accuracy.value or 0.0


def _proven(summary: Summary) -> bool:
    """Whether all rows together are off beyond chance, as a reliability diagram shows."""
    smece = summary.global_.smece
    return summary.certificate.total.low > 0 or (smece.p_value is not None and smece.p_value < SIGNIFICANCE)


def _would_have_shown(summary: Summary) -> float | None:
    """Return the average error that these rows would have shown with 80 % power, as far as that is known."""
    halves = [one.average for one in summary.certificate.detectable_learned if one.place == "halves"]
    known = [one for one in (summary.certificate.detectable, *halves) if one is not None]
    return max(known, default=None)


def _column(summary: Summary, part: str, usual: str) -> str:
    name = getattr(summary.data.columns, part)
    return usual if name is None else repr(name)


def _begin(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
