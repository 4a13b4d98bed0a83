"""Write what a comparison found as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from miscal.base.document import Interval, Measure
from miscal.base.number_wording import score
from miscal.base.shown import Shown, SignedBar
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.findings.slope_wording import rises
from miscal.findings.verdict import in_points
from miscal.runs.compare.document import (
    FieldAgreement,
    GroupPair,
    GroupSide,
    MeasurePair,
    NearerCounts,
    RunComparison,
    RunPair,
    SlopePair,
    SlopeSide,
)

MOST_NAMED = 2
"""Groups named in a sentence; the rest are counted."""


def headline(
    a: str, b: str, measures: dict[str, MeasurePair], *, rows: str, same_answers: bool, words: Vocabulary
) -> str:
    """Say which run is better calibrated, and by how much.

    Examples
    --------
    >>> from miscal.base.document import MeasureAgainstNull
    >>> from miscal.base.vocabulary import vocabulary
    >>> error = MeasurePair(a=Measure(value=0.02), b=Measure(value=0.05), better="a",
    ...     difference=MeasureAgainstNull(value=-0.03, interval=(-0.04, -0.02)))
    >>> print(headline("new", "old", {"calibration_error": error}, rows="on 900 rows", same_answers=False,
    ...     words=vocabulary("answer")))
    new is better calibrated than old on 900 rows: recalibration would lower its Brier score by 0.020 and that of old \
by 0.050, a difference of 0.030 [0.020, 0.040].
    """
    if same_answers:
        return (
            f"{a} and {b} have the same {words.probabilities} and outcomes {rows}, so they are calibrated alike; only "
            "the fields estimated from them can differ."
        )
    error = measures["calibration_error"]
    if error.difference.value is None:
        return f"There are too few rows to say whether {a} or {b} is better calibrated."
    if error.better is None:
        ends = error.difference.interval
        allowing = "" if ends is None or ends[0] <= 0 <= ends[1] else ", allowing for all that is compared here,"
        return (
            f"{a} and {b} cannot be told apart in calibration {rows}{allowing}: recalibration would lower the Brier "
            f"score of {a} by {_saving(error.a)} and that of {b} by {_saving(error.b)}, a difference of "
            f"{_apart(error.difference)}."
        )
    one, two = (a, b) if error.better == "a" else (b, a)
    less, more = (error.a, error.b) if error.better == "a" else (error.b, error.a)
    larger = error.difference if error.better == "b" else turned(error.difference)
    return (
        f"{one} is better calibrated than {two} {rows}: recalibration would lower its Brier score by {_saving(less)} "
        f"and that of {two} by {_saving(more)}, a difference of {_apart(larger)}."
    )


def turned(measure: Measure) -> Measure:
    """Return a difference with its sides exchanged.

    Examples
    --------
    >>> turned(Measure(value=0.2, interval=(0.1, 0.3))).interval
    (-0.3, -0.1)
    """
    value, interval = measure.value, measure.interval
    ends = None if interval is None else (-interval[1], -interval[0])
    return Measure(value=None if value is None else -value, interval=ends)


def averages(a: str, b: str, measures: dict[str, MeasurePair], words: Vocabulary) -> str:
    """Say how sure and how often right both runs are."""
    sure, right = measures["confidence"], measures["accuracy"]
    means = {"a": a, "b": b} | {
        f"{name}_{side}": words.percent(getattr(one, side).value)
        for name, one in (("probability", sure), ("rate", right))
        for side in ("a", "b")
    }
    return words.both_averages.format(**means)


def differences(a: str, b: str, found: Sequence[GroupPair], candidates: int, words: Vocabulary) -> str | None:
    """Say where the hidden residuals differ most; None where no group was tested."""
    if not candidates:
        return None
    if not found:
        return (
            f"Beyond what reliability diagrams show, they are not shown to differ in any of the {candidates:,} groups "
            "tested."
        )
    phrases = [
        f"{one.description}: there {_hidden(a, one.a, words)} and {_hidden(b, one.b, words)}"
        for one in found[:MOST_NAMED]
    ]
    rest = f"; {len(found) - len(phrases)} more such groups are listed" if len(found) > len(phrases) else ""
    return (
        f"Beyond what reliability diagrams show, they differ most where {', and where '.join(phrases)}, beside "
        f"{words.equal_rows()}{rest}."
    )


def failures(a: str, b: str, groups: Sequence[GroupPair], words: Vocabulary) -> str | None:
    """Say where both miss in one direction; None where nothing shows that."""
    shared = [one for one in groups if one.both]
    if not shared:
        return None
    parts = []
    for sign, often in {"over": "less often", "under": "more often"}.items():
        names = [one.description for one in shown_of(shared, sign)]
        more = sum(one.both == sign for one in shared) - len(names)
        if names:
            parts.append(f"{often} where {'; '.join(names)}{f' (and {more} more)' if more else ''}")
    return f"Beside {words.equal_rows()}, {words.of_both.format(a=a, b=b)} {', and '.join(parts)}."


def slopes(a: str, b: str, found: Sequence[SlopePair], words: Vocabulary) -> str | None:
    """Say how much less, or more, the confidence of each run says in the groups of their slopes; None without any."""
    if not found:
        return None
    told = "; ".join(
        f"where {one.description}, {_rise(a, one.a, words)}, and {_rise(b, one.b, words)}" for one in found[:MOST_NAMED]
    )
    rest = f"; {len(found) - MOST_NAMED} more such groups are listed" if len(found) > MOST_NAMED else ""
    return f"Beside {words.equal_rows()}, {told}{rest}."


def _rise(run: str, side: SlopeSide | None, words: Vocabulary) -> str:
    return f"{run} has too few rows" if side is None else f"under {run} {rises(side.rise, words)}"


def shown_of(groups: Sequence[GroupPair], sign: str) -> list[GroupPair]:
    """Return the first groups that both runs miss in this direction."""
    return [one for one in groups if one.both == sign][:MOST_NAMED]


def nearer(a: str, b: str, groups: Sequence[GroupPair], counts: NearerCounts) -> str | None:
    """Say where each run is better calibrated; None where there are no values of columns.

    Examples
    --------
    >>> nearer("new", "old", (), NearerCounts(a=0, b=0, neither=9))
    'Neither is shown to be better calibrated on any of 9 values of columns.'
    """
    total = counts.a + counts.b + counts.neither
    if total == 0:
        return None
    if counts.a + counts.b == 0:
        return f"Neither is shown to be better calibrated on any of {_values(total)} of columns."
    one, two = (
        _shown_better(name, side, groups, count) for name, side, count in ((a, "a", counts.a), (b, "b", counts.b))
    )
    return f"Of {_values(total)} of columns, {one}, and {two}."


def _shown_better(name: str, side: str, groups: Sequence[GroupPair], count: int) -> str:
    named = [one.description for one in groups if one.nearer == side][:MOST_NAMED]
    first = f" (first of them {'; '.join(named)})" if named else ""
    return f"{name} is shown to be better calibrated on {count or 'none'}{first}"


def _values(total: int) -> str:
    return f"{total:,} value{'' if total == 1 else 's'}"


def fields(agreement: FieldAgreement | None) -> str | None:
    """Say how alike the hidden fields are; None where that is undefined."""
    if agreement is None or agreement.hidden.value is None:
        return None
    return (
        f"The hidden fields of the two runs have a correlation of {agreement.hidden.value:.2f} "
        f"{_ends(agreement.hidden.interval, 2)} over these rows."
    )


def _apart(difference: Measure) -> str:
    # no minus before what rounds to zero
    return f"{score(difference.value)} {_ends(difference.interval)}"


def _saving(measure: Measure) -> str:
    # what is below zero is zero up to noise
    return score(max(measure.value, 0.0))


def _ends(interval: Interval, digits: int = 3) -> str:
    if interval is None or None in interval:
        return "[undefined]"
    # no minus before what rounds to zero
    low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"[{low}, {high}]"


def _hidden(run: str, side: GroupSide | None, words: Vocabulary) -> str:
    if side is None or side.hidden.value is None:
        return f"{run} has no rows"
    much = in_points(abs(side.hidden.value), words.digits)
    return f"{words.of_run.format(run=run)} {much} {'less' if side.hidden.value < 0 else 'more'} often"


def comparison_lines(found: RunComparison, out: Path) -> list[str]:
    """Tell what a comparison found.

    Parameters
    ----------
    found : RunComparison
        The comparison.
    out : Path
        Where it was written.

    Returns
    -------
    list of str
        Lines to print.
    """
    words = vocabulary(found.kind)
    return [
        *confidence_lines(found),
        *(line for pair in found.pairs for line in _pair(pair, words)),
        f"{'page':<19}{out / 'compare.html'}",
    ]


def confidence_lines(found: RunComparison) -> list[str]:
    """Tell the numbers of several confidences of one table, and the differences of every two; empty without any."""
    if not found.confidences:
        return []
    facts = [f"{about}: {text}" for about, text in confidence_facts(found)]
    return [*facts, ""]


def confidence_facts(found: RunComparison) -> list[tuple[str, str]]:
    """Tell of each confidence, and of every two, as what it is about and what is said."""
    each = [
        (
            one.name,
            f"log loss {_within(one.log_loss)}, after correction {_within(one.log_loss_after)}; area under the "
            f"risk-coverage curve {_within(one.risk_coverage_area)}; smECE {_within(one.smece)}; "
            + (f"findings {one.findings:,}: {'; '.join(one.worst)}" if one.worst else "no findings"),
        )
        for one in found.confidences
    ]
    both = [
        (
            f"{one.a} minus {one.b}",
            f"log loss {_within(one.log_loss, signed=True)}, after correction "
            f"{_within(one.log_loss_after, signed=True)}, area {_within(one.risk_coverage_area, signed=True)}",
        )
        for one in found.confidence_differences
    ]
    left = [("left out", f"{found.left_out:,} rows that lack one of the confidences")] if found.left_out else []
    told = "intervals of differences hold for all pairs at once (Bonferroni), at 95 %"
    return [*each, *both, *left, *([("note", told)] if len(both) > 1 else [])]


def _within(measure: Measure, *, signed: bool = False) -> str:
    if measure.value is None:
        return "undefined"
    write = _signed if signed else score
    ends = measure.interval
    shown = "" if ends is None or ends[0] is None or ends[1] is None else f" [{write(ends[0])}, {write(ends[1])}]"
    return f"{write(measure.value)}{shown}"


def shown_comparison(found: RunComparison) -> Shown:
    """Return what a comparison shows of itself: its verdicts, where the runs differ, and the numbers of each pair."""
    words, pairs = vocabulary(found.kind), found.pairs
    bars = [_differing(one, pair, words) for pair in pairs for one in pair.differences[: MOST_NAMED + 1]]
    named = len(pairs) > 1
    facts = [
        (f"{pair.a} and {pair.b}: {about}" if named else about, text)
        for pair in pairs
        for about, text in pair_facts(pair, words)
    ]
    return Shown(
        title=f"Comparison of {len(found.runs)} runs: {', '.join(one.name for one in found.runs)}",
        sentences=tuple(sentence for pair in pairs for sentence in pair.verdict),
        bars=tuple(bars),
        facts=(*confidence_facts(found), *facts),
    )


def _differing(one: GroupPair, pair: RunPair, words: Vocabulary) -> SignedBar:
    said = f"{_hidden(pair.a, one.a, words)} and {_hidden(pair.b, one.b, words)}, beside {words.equal_rows()}"
    value = None if one.hidden is None else one.hidden.value
    return SignedBar(one.description, value or 0.0, said)


def _pair(pair: RunPair, words: Vocabulary) -> list[str]:
    return [*pair.verdict, "", *(f"{about:<19}{text}" for about, text in pair_facts(pair, words)), ""]


def pair_facts(pair: RunPair, words: Vocabulary) -> list[tuple[str, str]]:
    """Tell of the rows of a pair, of all its measures, and what must be known of them."""
    compared = f"{pair.n_a:,}" if pair.same_rows else f"{pair.n_a:,} and {pair.n_b:,}"
    alone = f"; {pair.left_out_a:,} and {pair.left_out_b:,} have no match" if pair.same_rows else ""
    names = {"accuracy": words.rate, "confidence": words.probability}
    return [
        ("rows", f"{compared} ({pair.matched_by}){alone}"),
        *((names.get(name, name.replace("_", " ")), _measure(one)) for name, one in pair.measures.items()),
        *(("note", note) for note in pair.notes),
    ]


def _measure(one: MeasurePair) -> str:
    if one.a.value is None or one.b.value is None:
        return "too few rows"
    ends = one.difference.interval
    shown = "" if ends is None or None in ends else f" [{_signed(ends[0])}, {_signed(ends[1])}]"
    return f"{score(one.a.value)} and {score(one.b.value)}, difference {_signed(one.difference.value)}{shown}"


def _signed(value: float) -> str:
    written = score(value)
    return written if written.startswith("-") else f"+{written}"
