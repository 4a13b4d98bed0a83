"""Write what a monitor found as sentences, the verdict first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from miscal.base.number_wording import percent
from miscal.base.shown import Diagram, Shown
from miscal.base.terminal import fact_lines, wrapped
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.summary import Measure, Summary
from miscal.report.formatting import decimals_for, points, signed
from miscal.runs.monitor.document import LookNumbers, Monitoring, QuestionNumbers
from miscal.runs.monitor.questions import BROKEN, FINDING, GAIN, HOLDS, LEVEL, THRESHOLD, UNKNOWN

SHOWN = 5
"""Findings, and things not asked, that are named in sentences."""
FEW_ROWS = 300
"""Rows of a run below which it is said what it could not know."""


def verdict(found: Monitoring) -> tuple[str, ...]:
    """Say whether the correction holds: of all rows, against none, at findings and at thresholds.

    Parameters
    ----------
    found : Monitoring
        With all its numbers.

    Returns
    -------
    tuple of str
        Sentences, of which the first is the verdict.
    """
    return tuple(_sentences(found))


def _sentences(found: Monitoring) -> Iterator[str]:
    words = vocabulary(found.kind)
    (level,) = (one for one in found.questions if one.kind == LEVEL)
    (gain,) = (one for one in found.questions if one.kind == GAIN)
    rows = f"{_count(found.rows, 'row')} and {_count(len(found.looks), 'look')}"
    if found.alarm:
        why = [
            *(["outcomes are not what it says"] if level.state == BROKEN else []),
            *([f"it is worse than the raw {words.probabilities}"] if gain.state == BROKEN else []),
        ]
        yield f"ALARM since look {found.raised}: the correction does not hold; {' and '.join(why)}."
    elif level.state == HOLDS:
        yield f"No alarm: in {rows}, the correction holds for all rows together."
    else:
        yield f"No alarm: in {rows}, it is not known whether the correction holds for all rows together."
    yield f"All rows: {_answer(level, found)}."
    yield f"Against the raw {words.probabilities}: {_answer(gain, found)}."
    for kind, what in ((FINDING, "finding"), (THRESHOLD, "side of a threshold")):
        yield from _several([one for one in found.questions if one.kind == kind], what, found)
    if found.known < FEW_ROWS:
        reach = points(max(level.allowed), decimals_for(found.epsilon)).removeprefix("+")
        yield (
            f"What cannot be known: the run has {_count(found.known, 'row')}, and could not tell whether its corrected "
            f"{words.probabilities} were already off by up to {reach} points when they were made. So much counts as no "
            f"change; whether less than that is a change is not known. `miscal discover` with {FEW_ROWS} rows or more "
            "narrows it."
        )
    if found.alarm:
        yield "What to do: find out what changed, and run `miscal discover` again, with rows of this kind."


def _several(asked: Sequence[QuestionNumbers], what: str, found: Monitoring) -> Iterator[str]:
    """Count the answers of one kind, and tell those that do not hold."""
    if not asked:
        return
    of = {state: [one for one in asked if one.state == state] for state in (HOLDS, BROKEN, UNKNOWN)}
    plural = {"finding": "findings", "side of a threshold": "sides of thresholds"}[what]
    yield (
        f"Of {len(asked)} {what if len(asked) == 1 else plural}, the correction holds in {len(of[HOLDS])}, does not "
        f"hold in {len(of[BROKEN])}, and in {len(of[UNKNOWN])} it is not known."
    )
    farthest = sorted(of[BROKEN], key=lambda one: -abs(one.rows.value.value or 0.0))
    # neighbouring thresholds say nearly the same
    for one in farthest[: SHOWN if asked[0].kind == FINDING else 1]:
        yield f"{f'In {one.phrase}' if one.phrase else one.about.capitalize()}: {_answer(one, found)}."


def _answer(one: QuestionNumbers, found: Monitoring) -> str:
    """Say the answer to a question, with the numbers that it rests on."""
    words, rows = vocabulary(found.kind), one.rows
    span = f"look {rows.first}" if rows.first == rows.last else f"looks {rows.first} to {rows.last}"
    if one.state == BROKEN:
        state = f"does not hold (shown by {span})"
    elif one.kind == GAIN and one.state == HOLDS:
        state = "no worse"
    else:
        state = one.state
    if one.kind == GAIN:
        state = state.replace("does not hold", "worse")
        return f"{state}; log loss {numbers(one, found)}"
    if rows.observed is None or rows.corrected is None:
        return f"{state}; no rows"
    return (
        f"{state}; of {_count(rows.n, 'row')}, {percent(rows.observed, 1)} {words.come_true}, and the corrected "
        f"{words.probabilities} say {percent(rows.corrected, 1)}: {numbers(one, found)}"
    )


def numbers(one: QuestionNumbers, found: Monitoring) -> str:
    """Write value, interval and zone of a question.

    Parameters
    ----------
    one : QuestionNumbers
    found : Monitoring
        Of which it is.
    """
    low, high = one.allowed
    value = written(one.rows.value, one.kind, found)
    right = f"up to {_number(high, one.kind, found)}" if low is None else _ends((low, high), one.kind, found)
    enough = "" if one.rows.value.interval else ", too few units for an interval"
    return f"{value}{enough}; allowed: {right}"


def written(measure: Measure, kind: str, found: Monitoring) -> str:
    """Write a value in points (of the gain: in nats), with its interval."""
    if measure.value is None:
        return "no rows"
    unit = "" if kind == GAIN else " points"
    ends = f" ({_ends(measure.interval, kind, found)})" if measure.interval else ""
    return f"{_number(measure.value, kind, found)}{unit}{ends}"


def _ends(ends: tuple[float | None, float | None], kind: str, found: Monitoring) -> str:
    return " to ".join(_number(end, kind, found) for end in ends)


def _number(value: float | None, kind: str, found: Monitoring) -> str:
    if kind == GAIN:
        return signed(value or 0.0, 4)
    return points(value, decimals_for(found.epsilon))


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
    read: Sequence[str], look: LookNumbers, again: Again, group: str | None, summary: Summary
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
    summary : Summary
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
            "together in one file, or take the intervals as too narrow"
        )
    said += _again(again, look, vocabulary(summary.kind))
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
        Lines to print: the verdict, rows, means, what is left out, warnings, the page.
    """
    return [
        *(line for sentence in found.verdict for line in wrapped(sentence, 0)),
        "",
        *fact_lines(monitor_facts(found)),
        # a path is never broken: it is there to be copied
        f"page        {out / 'monitor.html'}",
    ]


def monitor_facts(found: Monitoring) -> list[tuple[str, str]]:
    """Tell of rows, means and the last look, say what is left out, and warn."""
    last, words = found.looks[-1], vocabulary(found.kind)
    looks = f"{len(found.looks):,} look{'' if len(found.looks) == 1 else 's'}"
    dropped = f"; {last.dropped:,} left out as invalid" if last.dropped else ""
    by = "" if found.unit == "row" else f"; counted by {found.unit}: {last.units:,} new"
    more = len(found.left_out) - SHOWN
    means = f"mean {words.probability} {percent(found.corrected, 1)} corrected, {percent(found.confidence, 1)} raw"
    return [
        ("rows", f"{last.rows:,} new, {found.rows:,} in {looks}{dropped}{by}"),
        ("outcomes", f"{percent(found.accuracy, 1)} are 1; {means}"),
        ("brier", f"{found.brier_corrected:.4f} corrected, {found.brier_raw:.4f} raw"),
        (
            "this look",
            f"{percent(last.accuracy, 1)} are 1; corrected {percent(last.corrected, 1)}; log loss, corrected less raw, "
            f"{signed(last.lost, 4)}",
        ),
        *(("not asked", one) for one in found.left_out[:SHOWN]),
        *([("", f"and {more:,} more: see the page")] if more > 0 else []),
        *(("warning", one) for one in found.warnings),
    ]


def shown_monitoring(found: Monitoring) -> Shown:
    """Return what a monitor shows of itself: an alarm, its verdict, and how far outcomes were off after each look."""
    first, *others = found.verdict
    (level,) = (one for one in found.questions if one.kind == LEVEL)
    values = [one.value or 0.0 for one in level.course]
    low, high = min(*values, 0.0), max(*values, 0.0)
    height = lambda value: (value - low) / (high - low or 1.0)  # noqa: E731
    n = len(values)
    course = Diagram(
        f"Outcomes less corrected {vocabulary(found.kind).probabilities}, of all rows so far, after each look; the "
        "dashed line is none.",
        tuple((k + 0.5) / n for k in range(n)),
        tuple(height(value) for value in values),
        tuple(f"look {k}" for k in range(1, n + 1)),
        level=height(0.0),
        joined=True,
    )
    return Shown(
        title=f"Monitor of {found.run} after {_count(n, 'look')}",
        alarms=(first,) if found.alarm else (),
        sentences=tuple(others) if found.alarm else found.verdict,
        facts=tuple(monitor_facts(found)),
        diagram=course,
    )
