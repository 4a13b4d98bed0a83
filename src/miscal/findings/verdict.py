"""Write the verdict: what no reliability diagram shows, and what the correction makes of each finding."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.number_wording import decimal, lower_limit, percent, significant, units_and_rows
from miscal.base.vocabulary import ANSWER, Kind, Vocabulary, vocabulary
from miscal.evidence.certificates import Certificate
from miscal.evidence.power import DetectablePlace
from miscal.findings.judging import Place
from miscal.findings.ledger import SLOPE, Finding
from miscal.findings.ledger.ledger import UnitsNeeded
from miscal.findings.ledger.sizes import FATES, NOT_KNOWN

MOST_PLACES = 3
"""Groups or places named in the verdict; the report lists all."""

_BASIS = {
    "test": "the {n} test rows, from which nothing was learned",
    "all": "{n} rows, each judged by a field that had not seen its outcome",
    "time": "{n} rows, each judged by a field that had seen only earlier rows",
}
"""Which rows are evaluated, by the kind of evidence."""


MOST_SLOPES = 2
"""Slopes that the verdict tells in full; the report lists all."""
LITTLE = 0.25
"""Share of the rise of accuracy of rows of equal confidence below which it is said to hardly rise. Not tuned."""
HARDLY, LESS, MORE = "hardly rises", "rises less", "rises more"
"""How the accuracy of a group follows its confidence."""


def averages(accuracy: float, confidence: float, kind: Kind = ANSWER) -> str:
    """Say what every diagram shows: how sure the model is on average, and how often it is right.

    `accuracy, confidence`: means over all rows, in [0, 1]: nothing is learned from them here.

    Examples
    --------
    >>> averages(0.25, 0.75)
    'The model says 75 % on average and is right 25 % of the time.'
    >>> averages(0.0021, 0.0032, "event")
    'The predicted risk is 0.32 % on average, and the event happens in 0.21 % of the rows.'
    """
    words = vocabulary(kind)
    return words.averages.format(probability=words.percent(confidence), rate=words.percent(accuracy))


def verdict(
    proof: Certificate,
    places: Sequence[Place] = (),
    groups: Sequence[Place] = (),
    *,
    structure: bool = True,
    evidence: str = "test",
    kind: Kind = ANSWER,
    slopes: str = "",
) -> str:
    """Say what no diagram shows, or what these rows would have detected of it, in a sentence or two.

    `proof`: what the evaluation rows allow to be said. `structure`: whether the estimator corrects by a local
    structure. `places`: the regions that were confirmed, strongest first;
    three at most are named, where there are no groups. `groups`: the groups of the ledger of findings, strongest first;
    three at most are named. `evidence`: whether the proof is of test rows, or of rows of all, each judged by a field
    learned from earlier blocks. `slopes`: a clause on groups in which accuracy rises less with confidence
    (:func:`.verdict.slope_sentence`).

    Examples
    --------
    >>> from miscal.evidence.limits import NOTHING_CLAIMED, Bound
    >>> shown = Certificate.of(Bound(0.1, 0.06, 0.001), Bound(0.07, 0.042, 0.001), detectable=0.03, n=1000)
    >>> print(verdict(shown, [Place('"law, court"', -0.15, (-0.2, -0.1)), Place('"sums"', 0.09)]))
    What no reliability diagram shows: compared with rows of equal confidence, the model is right less often on "law,
    court" (by 15 points, 10 to 20), and more often on "sums" (by 9 points). On the 1,000 test rows, from which nothing
    was learned, hidden miscalibration averages at least 4.2 points (95 % confidence limit).
    >>> print(verdict(shown, [Place("rows with carrier = UA", 0.05)], kind="event"))
    What no reliability diagram shows: compared with rows of equal predicted risk, the event happens more often in rows
    with carrier = UA (by 5.0 points). On the 1,000 test rows, from which nothing was learned, hidden miscalibration
    averages at least 4.2 points (95 % confidence limit).
    >>> silent = Certificate.of(NOTHING_CLAIMED, NOTHING_CLAIMED, detectable=0.03, n=1000)
    >>> print(verdict(silent, structure=False, evidence="all"))
    No hidden miscalibration was found: the inputs did not help to predict errors beyond what the confidence says (p =
    1). On 1,000 rows, each judged by a field that had not seen its outcome, an average of 3.0 points or more would have
    been found with 80 % power at best. That presumes errors of one size on all rows, in both directions, and a field
    that knows the direction on every row.
    >>> places = [DetectablePlace(place="halves", share=1, size=0.07, average=0.065),
    ...           DetectablePlace(place="cluster", share=0.1, size=0.21, average=0.04)]
    >>> silent = silent.model_copy(update={"detectable_learned": places})
    >>> print(verdict(silent, structure=False, evidence="all").split(". ")[-1])
    Where nobody knows the place beforehand, that takes an average of 6.5 points if two halves of the inputs are off in
    opposite directions, or 21 points within one cluster of similar inputs with 10 % of the rows.
    >>> unlocated = Certificate.of(NOTHING_CLAIMED, NOTHING_CLAIMED, detectable=0.03, n=1000, p_structure=0.002)
    >>> print(verdict(unlocated, structure=False))
    There is hidden structure, which no reliability diagram can show: among rows of equal confidence, how often the
    model is right depends on the inputs (p = 0.002). It could not be located yet: the estimated field was not confirmed
    by itself. More rows would show where the model is right more or less often.
    """
    basis, words = _BASIS[evidence].format(n=f"{proof.n:,}"), vocabulary(kind)
    if proof.located:
        if not groups and not places and not slopes:
            return (
                "Hidden miscalibration was found, which no reliability diagram can show. "
                f"{_limit(proof, basis)}, but no single part of the data could be confirmed on its own."
            )
        return f"{_which(groups or places, slopes, words, listed_in_report=bool(groups))}. {_limit(proof, basis)}."
    if groups or slopes:
        beyond = _beyond_groups(proof, basis, words, structure=structure)
        return f"{_which(groups, slopes, words, listed_in_report=True)}. {beyond}."
    if proof.claims_hidden:
        return (
            f"There is hidden structure, which no reliability diagram can show: among {words.equal_rows()}, "
            f"{words.how_often} depends on the inputs ({_p_value(proof)}). It could not be located yet: the estimated "
            f"field was not confirmed by itself. More rows would show where {words.comes_true()} more or less often."
        )
    return f"{_not_found(proof, words, structure=structure)}. {_power(proof, basis)}."


def _p_value(proof: Certificate) -> str:
    return f"p = {proof.p_value:.2g}"


def often_on(places: Sequence[Place], words: Vocabulary) -> str:
    """Say on which places the model is right less often, and on which more often, and by how much.

    Examples
    --------
    >>> often_on([Place('"law"', -0.15, (-0.2, -0.1)), Place('"sums"', 0.09)], vocabulary("answer"))
    'less often on "law" (by 15 points, 10 to 20), and more often on "sums" (by 9 points)'
    """
    named: dict[str, list[str]] = {}
    for place in places:
        often = "less often" if place.hidden < 0 else "more often"
        named.setdefault(often, []).append(f"{place.name} (by {sized(place.hidden, place.interval, words.digits)})")
    return ", and ".join(f"{often} {words.on} {_listed(some)}" for often, some in named.items())


def _which(places: Sequence[Place], slopes: str, words: Vocabulary, *, listed_in_report: bool) -> str:
    if not places:
        return f"What no reliability diagram shows: {slopes}"
    of = often_on(places[:MOST_PLACES], words)
    more = len(places) - MOST_PLACES if listed_in_report else 0
    rest = f"; the report lists {more} more" if more > 0 else ""
    shown = f"What no reliability diagram shows: compared with {words.equal_rows()}, {words.comes_true()} {of}{rest}"
    return f"{shown}. {slopes[0].upper()}{slopes[1:]}" if slopes else shown


def _limit(proof: Certificate, basis: str) -> str:
    low = proof.hidden.low
    if low == 0:
        return f"On {basis}, it is beyond chance ({_p_value(proof)}), but no lower limit of its average size is above 0"
    return f"On {basis}, hidden miscalibration averages at least {lower_limit(low)} points (95 % confidence limit)"


def in_points(size: float, digits: int = 0) -> str:
    """Write a size in whole points, or in tenths where it is less than one.

    `size`: at least 0. `digits`: 1 of rates that are often small: then a size of less than ten points has two digits.

    Examples
    --------
    >>> in_points(0.123), in_points(0.01), in_points(0.0034), in_points(0.000234), in_points(0.0)
    ('12 points', '1 point', '0.3 points', '0.02 points', '0.0 points')
    >>> in_points(0.123, 1), in_points(0.0321, 1), in_points(0.0034, 1)
    ('12 points', '3.2 points', '0.34 points')
    """
    number = _points(100 * size, size >= 0.01, digits)
    return f"{number} point{'' if number == '1' else 's'}"


def _points(number: float, whole: bool, digits: int) -> str:
    if whole:
        return f"{number:.{digits if abs(number) < 9.95 else 0}f}"
    return significant(number) if digits else decimal(number, 1)


def sized(difference: float, interval: Sequence[float | None] | None = None, digits: int = 0) -> str:
    """Write how large a difference is, whatever its direction, and its interval if there is one.

    Examples
    --------
    >>> sized(-0.15, (-0.2, -0.104)), sized(0.09), sized(-0.02, (-0.06, 0.01))
    ('15 points, 10 to 20', '9 points', '2 points, −1 to 6')
    """
    size, between = in_points(abs(difference), digits), interval_of_size(difference, interval, digits)
    return f"{size}, {between}" if between else size


def interval_of_size(difference: float, interval: Sequence[float | None] | None, digits: int = 0) -> str:
    """Write the interval of a difference as that of its size, in points; empty where there is none.

    Examples
    --------
    >>> interval_of_size(-0.15, (-0.2, -0.104)), interval_of_size(0.09, None)
    ('10 to 20', '')
    >>> interval_of_size(0.001, (3e-4, 0.0017), 1)
    '0.030 to 0.17'
    """
    if interval is None or interval[0] is None or interval[1] is None:
        return ""
    ends = sorted(100 * end * (-1 if difference < 0 else 1) for end in interval)
    low, high = (_points(end, abs(end) >= 0.95, digits) for end in ends)
    return f"{low} to {high}".replace("-", "\N{MINUS SIGN}")


def _beyond_groups(proof: Certificate, basis: str, words: Vocabulary, *, structure: bool) -> str:
    if proof.claims_hidden:
        return (
            f"On {basis}, the inputs say more of {words.how_often} than the {words.probability} does "
            f"({_p_value(proof)}), but the estimated field as a whole was not confirmed by itself"
        )
    if not structure:
        return "Beyond such groups, the estimated field claims nothing hidden"
    return f"The estimated field as a whole was not confirmed on {basis}"


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _not_found(proof: Certificate, words: Vocabulary, *, structure: bool) -> str:
    if not structure:
        return (
            f"No hidden miscalibration was found: the inputs did not help to predict {words.predicted} beyond what the "
            f"{words.probability} says ({_p_value(proof)})"
        )
    return (
        "Hidden miscalibration was not confirmed: what the estimator found does not show in rows that it had not seen "
        f"({_p_value(proof)})"
    )


def _power(proof: Certificate, basis: str) -> str:
    best, learned = proof.detectable, proof.detectable_learned
    takes = ", or ".join(_found_in(place) for place in learned if place.size is not None)
    # a field that is right everywhere is the best case only as far as its own test is the sharper one
    if takes and (best is None or any((place.average or 1.0) < best for place in learned if place.share == 1)):
        return f"On {basis}, it takes {takes} to be found with 80 % power"
    if best is None:
        return f"As many rows as these, {proof.n:,}, cannot tell such miscalibration from chance"
    size = f"{decimal(100 * best, 1)} points"
    at_best = (
        f"On {basis}, an average of {size} or more would have been found with 80 % power at best. That presumes errors "
        "of one size on all rows, in both directions, and a field that knows the direction on every row"
    )
    if not learned:
        return at_best
    never = "not even the largest errors would be found so often"
    return f"{at_best}. Where nobody knows the place beforehand, {f'that takes {takes}' if takes else never}"


def _found_in(place: DetectablePlace) -> str:
    if place.place == "halves":
        return (
            f"an average of {decimal(100 * place.average, 1)} points if two halves of the inputs are off in opposite "
            "directions"
        )
    return f"{in_points(place.size)} within one cluster of similar inputs with {percent(place.share)} of the rows"


def fate_words(fate: str | None, needed: UnitsNeeded | None) -> str:
    """Write the fate of a finding, empty where there is none.

    Examples
    --------
    >>> fate_words("corrected", None), fate_words("not known", UnitsNeeded(units=3_412, rows=3_412))
    ('corrected', 'not known, it would take about 3,500 rows')
    >>> fate_words("not known", UnitsNeeded(units=365, rows=30_000)), fate_words(None, None)
    ('not known, it would take about 370 units (30,000 rows)', '')
    """
    if fate != NOT_KNOWN or needed is None:
        return fate or ""
    return f"{fate}, it would take about {units_and_rows(needed.units, needed.rows)}"


def together_words(finding: Finding, findings: Sequence[Finding]) -> str:
    """Name the finding above without which a finding of a list does not show; empty where it shows by itself."""
    needed = finding.together_with
    return "" if needed is None else f", together with {findings[needed - 1].phrase}"


def correction_sentence(
    fates: Sequence[str],
    left: Sequence[tuple[str, Place]] = (),
    kind: Kind = ANSWER,
    *,
    slopes_left: str = "",
) -> str:
    """Say what the correction makes of the findings, and name those of which something is left.

    `fates`: of each finding, at least one (:func:`.sizes.fate_of`). `left`: sign and remainder of each shift that is
    not corrected and of which the interval excludes 0 after the correction. `slopes_left`: a clause on such slopes
    (:func:`.verdict.slopes_left`).

    Examples
    --------
    >>> law = ("over", Place("rows with subject = law", -0.17, (-0.29, -0.05)))
    >>> print(correction_sentence(["reduced", "corrected", "not known"], [law]))
    Of the 3 findings, 1 is corrected and 1 is reduced; of 1 this is not known. Compared with rows of equal corrected
    confidence, the model is still right less often on rows with subject = law (by 17 points, 5 to 29).
    >>> sums = ("over", Place("rows with subject = sums", 0.08, (0.02, 0.14)))
    >>> print(correction_sentence(["made worse"], [sums]))
    The finding is made worse. The correction goes too far: compared with rows of equal corrected confidence, the model
    is now right more often on rows with subject = sums (by 8 points, 2 to 14).
    >>> print(correction_sentence(["corrected"]), correction_sentence(["not known"]))
    The finding is corrected. Whether the finding is corrected is not known.
    """
    words = vocabulary(kind)
    # on the side of the finding, and beyond it; the most first
    by_size = sorted(left, key=lambda one: -abs(one[1].hidden))
    still, beyond = (
        [place for sign, place in by_size if ((place.hidden < 0) != (sign == "over")) == opposite]
        for opposite in (False, True)
    )
    compared, named = f"ompared with {words.equal_rows('corrected')}, {words.subject}", still[:MOST_PLACES]
    parts = [_counted(fates)]
    if named:
        parts.append(f"C{compared} {words.true('still')} {often_on(named, words)}")
    if too_far := beyond[: MOST_PLACES - len(named)]:
        parts.append(f"The correction goes too far: c{compared} {words.true('now')} {often_on(too_far, words)}")
    if more := len(left) - len(named) - len(too_far):
        parts[-1] += f"; the report lists {more} more"
    parts.append(f"{slopes_left[:1].upper()}{slopes_left[1:]}")
    return " ".join(f"{one}." for one in parts if one)


def _counted(fates: Sequence[str]) -> str:
    """Count the findings of each fate."""
    many, known = len(fates), [(fates.count(fate), fate) for fate in FATES if fate != NOT_KNOWN]
    known = [(count, fate) for count, fate in known if count]
    these = "finding is" if many == 1 else "findings are"
    if not known:
        return f"Whether the {these} corrected is not known"
    if known[0][0] == many:
        return f"{'The' if many == 1 else f'All {many}'} {these} {known[0][1]}"
    said = [f"{count} {'is' if count == 1 else 'are'} {fate}" for count, fate in known]
    unknown = many - sum(count for count, _ in known)
    rest = f"; of {unknown} this is not known" if unknown else ""
    return f"Of the {many} findings, {_listed(said)}{rest}"


def says(finding: Finding, words: Vocabulary) -> str:
    """Say how far the accuracy of a group rises with its confidence, and how often it is right at two levels of it.

    `finding`: a slope. Returns a clause: "accuracy hardly rises with confidence: of the answers given with 90 %
    confidence, 61 % are right, and of those given with 60 %, 58 %".
    """
    lower, upper, much = finding.lower, finding.upper, how_much(finding)
    so = f"{words.rate} {much} with {words.probability}{'' if much == HARDLY else ' than elsewhere'}"
    if lower is None or upper is None:
        return so
    levels = (words.percent(share or 0.0) for one in (upper, lower) for share in (one.confidence, one.accuracy.value))
    return f"{so}: {words.two_levels.format(*levels)}"


def how_much(finding: Finding) -> str:
    """Say whether the accuracy of a group hardly rises with its confidence, less than elsewhere, or more."""
    lower, upper, slope = finding.lower, finding.upper, finding.effect == SLOPE
    if lower is None or upper is None:
        return MORE if finding.sign == "under" else LESS
    rise, usual = (upper.accuracy.value or 0.0) - (lower.accuracy.value or 0.0), upper.expected - lower.expected
    # the sign of a shift is none of its slope
    if finding.sign == "under" if slope else rise > usual:
        return MORE
    return HARDLY if rise < LITTLE * usual else LESS


def rises(difference: Measure, words: Vocabulary) -> str:
    """Say how much less, or more, the rate of a group rises with its confidence.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> rises(Measure(value=-0.21, interval=(-0.3, -0.1)), vocabulary("answer"))
    'accuracy rises by 21 points less (10 to 30) from its lower to its upper third of confidence'
    """
    value = difference.value or 0.0
    between = interval_of_size(value, difference.interval, words.digits)
    return (
        f"{words.rate} rises by {in_points(abs(value), words.digits)} {'less' if value < 0 else 'more'}"
        f"{f' ({between})' if between else ''} from its lower to its upper third of {words.probability}"
    )


def slope_sentence(findings: Sequence[Finding], words: Vocabulary) -> str:
    """Say of the strongest slopes what they are, in a clause each.

    `findings`: slopes, the strongest first; at least one.
    """
    said = "; ".join(f"among {one.phrase}, {says(one, words)}" for one in findings[:MOST_SLOPES])
    more = len(findings) - MOST_SLOPES
    return f"{said}; the report lists {more} more such group{'s' if more > 1 else ''}" if more > 0 else said


def slopes_left(findings: Sequence[Finding], words: Vocabulary) -> str:
    """Say among which groups the rate still rises less, or more, with the corrected confidence.

    `findings`: slopes of which something is left beyond chance; at least one.
    """
    by_size = sorted(findings, key=lambda one: -abs(one.after.value or 0.0))
    said = "; ".join(f"among {one.phrase}, {rises(one.after, words)}" for one in by_size[:MOST_SLOPES])
    more = len(findings) - MOST_SLOPES
    return f"after the correction, {said}{f'; the report lists {more} more' if more > 0 else ''}"
