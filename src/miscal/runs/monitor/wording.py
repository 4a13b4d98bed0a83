"""Write what a monitor found as sentences, the verdict first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from miscal.base.number_wording import percent
from miscal.base.shown import Diagram, Shown
from miscal.base.terminal import fact_lines, wrapped
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.report.formatting import points, signed
from miscal.report.precision import decimals_for
from miscal.report.texts import begin
from miscal.runs.monitor.alarms import VALUES
from miscal.runs.monitor.document import (
    AdviceNumbers,
    AlarmNumbers,
    LookNumbers,
    MonitoredGroup,
    Monitoring,
    QuestionNumbers,
)
from miscal.runs.monitor.lines import FEATURE, GAIN, GROUPS, LEVEL, RISE, SLOPE
from miscal.runs.monitor.questions import HIDDEN, INPUTS, RAW_HIDDEN, RAW_TOTAL, TOTAL, UNSUPPORTED

SHOWN = 5
"""Groups and alarms that are named on a terminal."""

_REFIT = "run `miscal discover` again, with rows of this kind"


def verdict(
    looks: Sequence[LookNumbers],
    questions: Sequence[QuestionNumbers],
    groups: Sequence[MonitoredGroup],
    alarms: Sequence[AlarmNumbers],
    advice: AdviceNumbers,
    words: Vocabulary,
) -> tuple[str, ...]:
    """Say whether something changed for the worse, how the last look went, and whether to learn anew.

    Parameters
    ----------
    looks, questions, groups, alarms, advice
        Of the document.
    words : Vocabulary
        Of the run.

    Returns
    -------
    tuple of str
        Sentences, of which the first is the verdict.
    """
    said = list(_alarms(alarms, groups, words)) if alarms else [_calm(looks, words)]
    return (*said, *_worse(looks[-1], words), _advice(advice, questions, words), *_raw(questions, words))


def _calm(looks: Sequence[LookNumbers], words: Vocabulary) -> str:
    rows = sum(one.rows for one in looks)
    return (
        f"No alarm: in {_count(rows, 'row')} and {_count(len(looks), 'look')}, nothing shows that the correction is "
        f"worse than the raw {words.probabilities}, or worse than when it was made. Few rows show little, and a "
        "small change takes many rows to be seen."
    )


def _alarms(alarms: Sequence[AlarmNumbers], groups: Sequence[MonitoredGroup], words: Vocabulary) -> Iterator[str]:
    kinds = {one.kind for one in alarms}
    since = min(one.raised for one in alarms)
    broken = kinds - {INPUTS, UNSUPPORTED}
    if GAIN in kinds:
        first = f"the correction does not hold; the corrected {words.probabilities} are worse than the raw ones"
    elif broken:
        first = "the correction does not hold; it is worse than when it was made"
    else:
        first = "the inputs are no longer those of the run"
    yield f"ALARM since look {since}: {first}."
    phrases = {group.key: group.phrase for group in groups}
    for one in alarms[:SHOWN]:
        yield f"{_alarm(one, phrases, words)}."
    if len(alarms) > SHOWN:
        yield f"{_count(len(alarms) - SHOWN, 'more line')} changed: see the page."
    if broken:
        yield f"What to do: find out what changed, and {_REFIT}."
    else:
        yield (
            f"It is not shown that the corrected {words.probabilities} are {words.off} on these inputs, but the "
            f"correction was not learned from their like: {_REFIT}."
        )


def _alarm(one: AlarmNumbers, phrases: dict[str, str], words: Vocabulary) -> str:
    """Say what a line raised, without a full stop: where, since when, and the numbers of these looks."""
    if one.kind == INPUTS:
        return f"The inputs can be told from those of the run (since look {one.raised})"
    if one.kind == UNSUPPORTED:
        return (
            f"More rows are unlike all rows of the run than before (since look {one.raised}): they get the global "
            "correction only"
        )
    if one.since is None or one.accuracy is None or one.corrected is None or one.n is None:
        return f"{_where(one, phrases, words)} (since look {one.raised})"
    span = f"look {one.start}" if one.start == one.raised else f"looks {one.start} to {one.raised}"
    numbers = (
        f"in {span}, the corrected {words.probabilities} are {percent(one.corrected, 1)} on average, and "
        f"{percent(one.accuracy, 1)} of {_count(one.n, 'outcome')} are 1"
    )
    if one.shift is not None and one.before is not None:
        numbers += f": a shift of {signed(one.shift, 2)} in log-odds, against {signed(one.before, 2)} in the run"
    if one.kind == GAIN:
        numbers = f"in {span}, they lose {one.shift or 0.0:.4f} nats of log loss for each of {_count(one.n, 'row')}"
    first, last = one.since
    began = f"with look {first}" if first == last else f"with one of the looks {first} to {last}"
    together = "" if one.proven else ", which brings most of the evidence and would not prove it alone"
    return f"{_where(one, phrases, words)} (seen at look {one.raised}; it began {began}){together}: {numbers}"


def _where(one: AlarmNumbers, phrases: dict[str, str], words: Vocabulary) -> str:
    corrected = f"the corrected {words.probabilities}"
    if one.kind in GROUPS:
        return f"In {phrases.get(one.key, one.about)}, {corrected} are off"
    side = "less" if (one.shift or 0.0) < 0 else "more"
    return {
        LEVEL: f"Of all rows, {corrected} are off",
        GAIN: f"{begin(corrected)} are worse than the raw ones",
        SLOPE: f"The higher the corrected {words.probability}, the {side} often outcomes are 1 than it says",
        RISE: f"The higher {one.about}, the {side} often outcomes are 1 than {corrected} say",
        FEATURE: f"The larger {one.about!r}, the {side} often outcomes are 1 than {corrected} say",
        VALUES: f"Over the values of {one.about!r} together, {corrected} are off",
    }[one.kind]


def _worse(last: LookNumbers, words: Vocabulary) -> Iterator[str]:
    """Say that the corrected confidences of the last look scored worse than the raw ones, where they did."""
    lost, worse = last.lost.value, last.brier_corrected > last.brier_raw
    if lost is None or (lost <= 0 and not worse):
        return
    ends = "" if last.lost.interval is None else f" ({' to '.join(_nats(end) for end in last.lost.interval)})"
    yield (
        f"At the last look, the corrected {words.probabilities} scored worse than the raw ones: log loss "
        f"{_nats(lost)}{ends}, Brier score {last.brier_corrected:.4f} against {last.brier_raw:.4f}. One look shows "
        "little: the interval is of this look alone."
    )


def _nats(value: float | None) -> str:
    return "?" if value is None else signed(value, 4)


def _advice(advice: AdviceNumbers, questions: Sequence[QuestionNumbers], words: Vocabulary) -> str:
    rows = _count(advice.rows, "new row")
    if not advice.refit:
        return f"Advice: none. In {rows}, nothing shows that a correction learned anew would be better."
    answered = {one.kind: one.answered for one in questions}
    why = []
    if answered[HIDDEN] is not None:
        why.append(
            f"{words.in_rows(words.equal_rows('corrected'))} at different rates, depending on their inputs "
            f"(since look {answered[HIDDEN]})"
        )
    if answered[TOTAL] is not None:
        why.append(
            f"level or slope of the corrected {words.probabilities} could be better (since look {answered[TOTAL]})"
        )
    return f"Advice: refit. You have {rows}, and {' and '.join(why)}. This alone is no alarm."


def _raw(questions: Sequence[QuestionNumbers], words: Vocabulary) -> Iterator[str]:
    answered = {one.kind: one.answered is not None for one in questions}
    if answered[RAW_HIDDEN]:
        yield (f"What the run found is still there: among {words.equal_rows('raw')}, {words.as_said}.")
    if answered[RAW_TOTAL]:
        yield f"The raw {words.probabilities} are not calibrated."


@dataclass(frozen=True)
class Again:
    """Rows of a look that look like earlier ones.

    Attributes
    ----------
    equal : int
        Equal to earlier ones, no more than chance explains; 0 where ids tell rows apart.
    alike : int
        Equal but for rounding, where these are many; else 0.
    by_id : bool
        Whether ids tell rows apart.
    """

    equal: int
    alike: int
    by_id: bool


def warnings_of(
    read: Sequence[str], look: LookNumbers, again: Again, group: str | None, uses_up: bool, words: Vocabulary
) -> tuple[str, ...]:
    """Say what whoever reads the numbers must know.

    Parameters
    ----------
    read : sequence of str
        From the reading of the rows.
    look : LookNumbers
        The last look.
    again : Again
    group : str or None
        Column of groups.
    uses_up : bool
        Whether the rows of the run that inputs are compared with are used up.
    words : Vocabulary
        Of the run.

    Returns
    -------
    tuple of str
    """
    said = list(read)
    if look.returning:
        said.append(
            f"{look.returning:,} of {look.rows:,} rows are of groups of {group!r} that came at earlier looks. Rows of "
            "a group depend on each other, and across looks this is not allowed for: keep the rows of a group "
            "together in one file, or take the evidence as too strong"
        )
    said += _again(again, look, words)
    if uses_up:
        said.append("the rows of the run that inputs are compared with are used up: changes of inputs are not seen")
    return tuple(said)


def _again(again: Again, look: LookNumbers, words: Vocabulary) -> Iterator[str]:
    if again.equal:
        yield (
            f"{again.equal:,} of {look.rows:,} rows are equal to rows of earlier looks in inputs, {words.probability} "
            "and outcome. Rows of these data are often equal, so these may be other rows, and they were counted; a "
            "column 'id' would tell"
        )
    if again.alike:
        known = "their ids differ" if again.by_id else "not to the last digit"
        yield (
            f"{again.alike:,} of {look.rows:,} rows are equal to rows of earlier looks but for rounding ({known}), and "
            "were counted: if the file holds the same rows again, they now count twice; begin a new monitor with --out "
            "and give each row once"
        )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def monitor_lines(found: Monitoring, out: Path) -> list[str]:
    """Tell what a look found.

    Parameters
    ----------
    found : Monitoring
        All looks so far.
    out : Path
        The folder of the monitor.

    Returns
    -------
    list of str
        Lines to print: the verdict, rows, means, groups of the last look, what is left out, warnings, the page.
    """
    return [
        *(line for sentence in found.verdict for line in wrapped(sentence, 0)),
        "",
        *fact_lines(monitor_facts(found)),
        # a path is never broken: it is there to be copied
        f"page        {out / 'monitor.html'}",
    ]


def monitor_facts(found: Monitoring) -> list[tuple[str, str]]:
    """Tell of rows, means and groups of the last look, say what is left out, and warn."""
    last, words = found.looks[-1], vocabulary(found.kind)
    looks = f"{len(found.looks):,} look{'' if len(found.looks) == 1 else 's'}"
    dropped = f"; {last.dropped:,} left out as invalid" if last.dropped else ""
    more = len(found.left_out) - SHOWN
    means = f"mean {words.probability} {percent(found.corrected, 1)} corrected, {percent(found.confidence, 1)} raw"
    return [
        ("rows", f"{last.rows:,} new, {found.rows:,} in {looks}{dropped}"),
        ("outcomes", f"{percent(found.accuracy, 1)} are 1; {means}"),
        ("brier", f"{found.brier_corrected:.4f} corrected, {found.brier_raw:.4f} raw"),
        *(("this look", one) for one in _farthest(found)),
        *(("not watched", one) for one in found.left_out[:SHOWN]),
        *([("", f"and {more:,} more: see the page")] if more > 0 else []),
        *(("warning", one) for one in found.warnings),
    ]


def shown_monitoring(found: Monitoring) -> Shown:
    """Return what a monitor shows of itself: an alarm, its verdict, and the course of the evidence."""
    first, *others = found.verdict
    low, high = min(*found.evidence, found.line, 0.0), max(*found.evidence, found.line)
    height = lambda value: (value - low) / (high - low or 1.0)  # noqa: E731
    n = len(found.evidence)
    course = Diagram(
        "The evidence that the correction no longer holds, look by look; an alarm is raised above the dashed line.",
        tuple((k + 0.5) / n for k in range(n)),
        tuple(height(value) for value in found.evidence),
        tuple(f"look {k}" for k in range(1, n + 1)),
        level=height(found.line),
        joined=True,
    )
    return Shown(
        title=f"Monitor of {found.run} after {_count(n, 'look')}",
        alarms=(first,) if found.alarm else (),
        sentences=tuple(others) if found.alarm else found.verdict,
        facts=tuple(monitor_facts(found)),
        diagram=course,
    )


def _farthest(found: Monitoring) -> Iterator[str]:
    """Name the groups whose corrected confidences are clearly off at the last look, the farthest off first."""
    words, decimals = vocabulary(found.kind), decimals_for(found.epsilon)
    last = [(one, one.looks[-1].residual) for one in found.lines if one.kind in GROUPS]
    off = [
        (abs(residual.value), one.about, residual)
        for one, residual in last
        if residual.value is not None and residual.interval is not None and _clear(residual.interval)
    ]
    for _, about, residual in sorted(off, key=lambda each: -each[0])[:SHOWN]:
        low, high = residual.interval or (None, None)
        yield (
            f"{about}: outcomes less corrected {words.probability} "
            f"{points(residual.value, decimals)} points ({points(low, decimals)} to {points(high, decimals)}, this "
            "group and look alone)"
        )


def _clear(ends: tuple[float | None, float | None]) -> bool:
    low, high = ends
    return low is not None and high is not None and not low <= 0 <= high
