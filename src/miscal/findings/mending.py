"""What the correction leaves of a finding: the rule, and the sentence of the verdict that it is told by."""

from collections.abc import Sequence

from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.findings.places import Place
from miscal.findings.verdict import MOST_PLACES, often_on

MENDED, LEFT, REVERSED = "mended", "left", "reversed"
"""What can become of a finding."""

Interval = Sequence[float | None] | None


def mending(sign: str, after: Interval) -> str | None:
    """Say what the correction makes of a finding.

    Parameters
    ----------
    sign : {"over", "under"}
        The direction of the finding: right less often than rows of equal confidence, or more often.
    after : (float, float) or None
        Interval of the hidden residual that the correction leaves.

    Returns
    -------
    str or None
        ``"left"`` where the interval excludes 0 on the side of the finding: the correction does not mend it.
        ``"reversed"`` where it excludes 0 on the other side, ``"mended"`` where it holds 0, None where it is undefined.

    Examples
    --------
    >>> mending("over", (-0.3, -0.1)), mending("over", (-0.3, 0.0)), mending("over", (0.1, 0.2)), mending("over", None)
    ('left', 'mended', 'reversed', None)
    """
    if after is None or after[0] is None or after[1] is None:
        return None
    if after[0] <= 0 <= after[1]:
        return MENDED
    return LEFT if (after[1] < 0) == (sign == "over") else REVERSED


def mending_sentence(
    findings: Sequence[tuple[str, Place]],
    kind: Kind = ANSWER,
    *,
    slopes: Sequence[str] = (),
    slopes_left: str = "",
) -> str:
    """Say how many findings the correction mends, and name those that it does not, those of which most is left first.

    Parameters
    ----------
    findings : sequence of (str, Place)
        What became of each shift (:func:`mending`), and what the correction leaves of it.
    kind : {"answer", "event", "judge"}
        What the confidence is the probability of.
    slopes : sequence of str
        What became of each slope; there is at least one of either.
    slopes_left : str
        A clause on the slopes that are not mended (:func:`.slope_wording.slopes_left`).

    Examples
    --------
    >>> law, art = Place("rows with subject = law", -0.17, (-0.29, -0.05)), Place("rows with subject = art", 0.01)
    >>> print(mending_sentence([("left", law), ("mended", art)]))
    The correction mends 1 of the 2 findings: compared with rows of equal corrected confidence, the model is still right
    less often on rows with subject = law (by 17 points, 5 to 29).
    >>> print(mending_sentence([("mended", art)]))
    The correction mends the finding: beyond chance, its rows no longer differ from rows of equal corrected confidence.
    """
    words = vocabulary(kind)
    equal = words.equal_rows("corrected")
    many = len(findings) + len(slopes)
    count = sum(state == MENDED for state in (*(state for state, _ in findings), *slopes))
    if count == many:
        which, whose = ("the finding", "its") if many == 1 else (f"all {many} findings", "their")
        return f"The correction mends {which}: beyond chance, {whose} rows no longer differ from {equal}."
    left, turned = (_largest(findings, state) for state in (LEFT, REVERSED))
    told = left[:MOST_PLACES]
    parts = [f"{words.true('still')} {often_on(told, words)}"] if told else []
    if told_turned := turned[: MOST_PLACES - len(told)]:
        parts.append(f"{words.true('now')} {often_on(told_turned, words)}, the other way round than before")
    more = len(left) + len(turned) - len(told) - len(told_turned)
    rest = f"; the report lists {more} more that it does not mend" if more else ""
    compared = f"compared with {equal}, {words.subject} {', and '.join(parts)}{rest}"
    clauses = "; ".join([*([compared] if parts else []), *([slopes_left] if slopes_left else [])])
    return f"The correction {_mends(count, many)}: {clauses}."


def _mends(count: int, many: int) -> str:
    if many == 1:
        return "does not mend the finding"
    return f"mends {count or 'none'} of the {many} findings"


def _largest(findings: Sequence[tuple[str, Place]], state: str) -> list[Place]:
    return sorted((place for one, place in findings if one == state), key=lambda place: -abs(place.hidden))
