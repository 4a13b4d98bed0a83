"""What a comparison says, in sentences: the first one first."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.discovery.comparing.document import FieldAgreement, GroupPair, GroupSide, MeasurePair, NearerCounts
from miscal.discovery.summary import Interval, Measure

NAMED = 2
"""Groups named in a sentence; the rest are counted."""


def headline(a: str, b: str, measures: dict[str, MeasurePair], *, rows: str, same_answers: bool) -> str:
    """Say which run is better calibrated.

    Examples
    --------
    >>> from miscal.discovery.summary import MeasureAgainstNull
    >>> smece = MeasurePair(a=Measure(value=0.08), b=Measure(value=0.12), better="a",
    ...     difference=MeasureAgainstNull(value=-0.04, interval=(-0.05, -0.03)))
    >>> print(headline("new", "old", {"smece": smece}, rows="on 900 shared rows", same_answers=False))
    new is better calibrated than old on 900 shared rows: its smECE is 0.040 lower [0.030, 0.050], 0.080 against 0.120.
    """
    if same_answers:
        return (
            f"{a} and {b} have the same confidences and outcomes {rows}, so they are calibrated alike; only the fields "
            "estimated from them can differ."
        )
    smece = measures["smece"]
    if smece.better is None:
        return (
            f"{a} and {b} cannot be told apart in calibration {rows}: the smECE of {a} is {_lower(smece.difference)}, "
            f"{_value(smece.a)} against {_value(smece.b)}."
        )
    first, second = (a, b) if smece.better == "a" else (b, a)
    values = (smece.a, smece.b) if smece.better == "a" else (smece.b, smece.a)
    lower = smece.difference if smece.better == "a" else turned(smece.difference)
    return (
        f"{first} is better calibrated than {second} {rows}: its smECE is {_lower(lower)}, "
        f"{_value(values[0])} against {_value(values[1])}."
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


def averages(a: str, b: str, measures: dict[str, MeasurePair]) -> str:
    """Say how sure and how often right both runs are."""
    sure, right = measures["confidence"], measures["accuracy"]
    return (
        f"{a} says {sure.a.value:.0%} and is right {right.a.value:.0%} of the time; "
        f"{b} says {sure.b.value:.0%} and is right {right.b.value:.0%}."
    )


def differences(a: str, b: str, found: Sequence[GroupPair], candidates: int) -> str | None:
    """Say where the hidden residuals differ most; None where no group was tested."""
    if not candidates:
        return None
    if not found:
        return (
            f"Beyond what reliability diagrams show, they are not shown to differ in any of the {candidates:,} groups "
            "tested."
        )
    told = [f"{one.description}: there {a} {_hidden(one.a)} and {b} {_hidden(one.b)}" for one in found[:NAMED]]
    rest = f"; {len(found) - len(told)} more such groups are listed" if len(found) > len(told) else ""
    return (
        f"Beyond what reliability diagrams show, they differ most where {', and where '.join(told)}, beside rows of "
        f"equal confidence{rest}."
    )


def failures(a: str, b: str, groups: Sequence[GroupPair]) -> str | None:
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
    return f"Beside rows of equal confidence, both {a} and {b} are right {', and '.join(parts)}."


def shown_of(groups: Sequence[GroupPair], sign: str) -> list[GroupPair]:
    """Return the first groups that both runs miss in this direction."""
    return [one for one in groups if one.both == sign][:NAMED]


def nearer(a: str, b: str, counts: NearerCounts) -> str | None:
    """Say of how many values of columns each run is better calibrated; None where there are no values."""
    if counts.a + counts.b + counts.neither == 0:
        return None
    total = counts.a + counts.b + counts.neither
    return (
        f"Of {total:,} values of columns, {a} is shown to be better calibrated on average on {counts.a:,}, {b} on "
        f"{counts.b:,}."
    )


def fields(agreement: FieldAgreement | None) -> str | None:
    """Say how alike the hidden fields are; None where that is undefined."""
    if agreement is None or agreement.hidden.value is None:
        return None
    return (
        f"The hidden fields of the two runs have a correlation of {agreement.hidden.value:.2f} "
        f"{_ends(agreement.hidden.interval, 2)} over these rows."
    )


def _lower(difference: Measure) -> str:
    """Write a difference as so much lower or higher, with the interval on that side."""
    if difference.value > 0:
        return f"{difference.value:.3f} higher {_ends(difference.interval)}"
    turned_round = turned(difference)
    return f"{abs(turned_round.value):.3f} lower {_ends(turned_round.interval)}"


def _ends(interval: Interval, digits: int = 3) -> str:
    if interval is None or None in interval:
        return "[undefined]"
    # no minus before what rounds to zero
    low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"[{low}, {high}]"


def _value(measure: Measure) -> str:
    return f"{measure.value:.3f}"


def _hidden(side: GroupSide | None) -> str:
    if side is None or side.hidden.value is None:
        return "has no rows"
    size = abs(round(100 * side.hidden.value))
    return f"is right {size} point{'' if size == 1 else 's'} {'less' if side.hidden.value < 0 else 'more'} often"
