"""What a monitor says in sentences: the verdict first, then what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from miscal.report.terminal import wrapped
from miscal.runs.monitor.document import GroupNumbers, LookNumbers, Monitoring, QuestionNumbers
from miscal.runs.monitor.questions import FINDING, HIDDEN, INPUTS, RAW_HIDDEN, RAW_TOTAL, REGIME, TOTAL

SHOWN = 5
"""Groups that are named on a terminal."""

_REFIT = "run `miscal discover` again, with rows of this kind"


def verdict(
    looks: Sequence[LookNumbers],
    questions: Sequence[QuestionNumbers],
    groups: Sequence[GroupNumbers],
) -> tuple[str, ...]:
    """Say whether the correction still holds, and what to do if it does not.

    Parameters
    ----------
    looks, questions, groups
        Of the document.

    Returns
    -------
    tuple of str
        Sentences, of which the first is the verdict.
    """
    raised = [one for one in questions if one.alarm and one.answered is not None]
    said = list(_alarms(raised, groups, looks[-1])) if raised else [_calm(looks)]
    return (*said, *_raw(questions))


def _calm(looks: Sequence[LookNumbers]) -> str:
    rows = sum(one.rows for one in looks)
    return (
        f"No alarm: in {_count(rows, 'row')} and {_count(len(looks), 'look')}, nothing shows that the correction does "
        "not hold. Few rows show little, and a small change takes many rows to be seen."
    )


def _alarms(raised: Sequence[QuestionNumbers], groups: Sequence[GroupNumbers], last: LookNumbers) -> Iterator[str]:
    kinds = {one.kind for one in raised}
    since = min(one.answered or 0 for one in raised)
    broken = kinds - {INPUTS, "unsupported"}
    first = "the correction does not hold" if broken else "the inputs are no longer those of the run"
    yield f"ALARM since look {since}: {first}."
    for one in raised:
        yield _alarm(one, {group.key: group for group in groups}, last)
    if not broken:
        yield (
            "It is not shown that the corrected confidences are wrong on these inputs, but the correction was not "
            f"learned from their like: {_REFIT}."
        )


def _alarm(one: QuestionNumbers, groups: dict[str, GroupNumbers], last: LookNumbers) -> str:
    at = f"(since look {one.answered})"
    if one.kind == TOTAL:
        return (
            f"Of all rows, the corrected confidences are off {at}: at the last look they are {last.corrected:.1%} on "
            f"average, and {last.accuracy:.1%} of the outcomes are 1; {_REFIT}."
        )
    if one.kind == HIDDEN:
        return (
            f"Rows of equal corrected confidence are right at different rates, depending on their inputs {at}: the "
            f"correction misses something that newer rows show; {_REFIT}."
        )
    if one.kind == INPUTS:
        return f"The inputs can be told from those of the run {at}."
    if one.kind in (REGIME, FINDING):
        group = groups[one.key]
        if group.accuracy is None or group.corrected is None:
            return f"In {group.phrase}, the corrected confidences are off {at}; {_REFIT}."
        return (
            f"In {group.phrase}, the corrected confidences are off {at}: over all looks they are {group.corrected:.1%} "
            f"on average, and {group.accuracy:.1%} of {_count(group.n, 'outcome')} are 1; {_REFIT}."
        )
    return f"More rows are unlike all rows of the run than before {at}: they get the global correction only."


def _raw(questions: Sequence[QuestionNumbers]) -> Iterator[str]:
    answered = {one.kind: one.answered is not None for one in questions}
    if answered[RAW_HIDDEN]:
        yield (
            "What the run found is still there: among rows of equal raw confidence, the rows that it said would be "
            "right more often are."
        )
    if answered[RAW_TOTAL]:
        yield "The raw confidences are not calibrated."


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
    read: Sequence[str], look: LookNumbers, again: Again, group: str | None, uses_up: bool
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
    said += _again(again, look)
    if uses_up:
        said.append("the rows of the run that inputs are compared with are used up: changes of inputs are not seen")
    return tuple(said)


def _again(again: Again, look: LookNumbers) -> Iterator[str]:
    if again.equal:
        yield (
            f"{again.equal:,} of {look.rows:,} rows are equal to rows of earlier looks in inputs, confidence and "
            "outcome. Rows of these data are often equal, so these may be other rows, and they were counted; a column "
            "'id' would tell"
        )
    if again.alike:
        known = "their ids differ" if again.by_id else "not to the last digit"
        yield (
            f"{again.alike:,} of {look.rows:,} rows are equal to rows of earlier looks but for rounding ({known}), and "
            "were counted: if the file holds the same rows again, they now count twice; begin a new monitor with --out "
            "and give each row once"
        )


def undecided(description: str, why: str) -> str:
    """Say that a finding cannot be watched.

    Examples
    --------
    >>> undecided("year = 2001", "the rows have no column 'year'")
    "finding 'year = 2001': the rows have no column 'year'"
    """
    return f"finding {description!r}: {why}"


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
        Lines to print: the verdict, rows, means, findings that changed, what is left out, warnings, the page.
    """
    last = found.looks[-1]
    looks = f"{len(found.looks):,} look{'' if len(found.looks) == 1 else 's'}"
    told = [
        f"rows        {last.rows:,} new, {found.rows:,} in {looks}{_dropped(last.dropped)}",
        f"outcomes    {found.accuracy:.1%} are 1; mean confidence {found.corrected:.1%} corrected, "
        f"{found.confidence:.1%} raw",
        f"brier       {found.brier_corrected:.4f} corrected, {found.brier_raw:.4f} raw",
        *(f"not watched {one}" for one in found.left_out[:SHOWN]),
        *_more(len(found.left_out) - SHOWN),
        *(f"warning     {one}" for one in found.warnings),
    ]
    return [
        *(line for sentence in found.verdict for line in wrapped(sentence, 0)),
        "",
        *(line for one in told for line in wrapped(one, 12)),
        # a path is never broken: it is there to be copied
        f"page        {out / 'monitor.html'}",
    ]


def _dropped(n: int) -> str:
    return f"; {n:,} left out as invalid" if n else ""


def _more(n: int) -> list[str]:
    return [f"            and {n:,} more: see the page"] if n > 0 else []
