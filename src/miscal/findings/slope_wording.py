"""Say of a group that its confidence says less, or more, than that of other rows."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.vocabulary import Vocabulary
from miscal.findings.ledger import SLOPE, Finding
from miscal.findings.verdict import in_points, interval_of_size

MOST_SLOPES = 2
"""Slopes that the verdict tells in full; the report lists all."""
LITTLE = 0.25
"""Share of the rise of accuracy of rows of equal confidence below which confidence is said to say little. Not tuned."""


def says(finding: Finding, words: Vocabulary) -> str:
    """Say how much the confidence of a group says, and how often it is right where it is sure and where it is not.

    Parameters
    ----------
    finding : Finding
        A slope.
    words : Vocabulary
        Of the kind of its probability.

    Returns
    -------
    str
        A clause: "the confidence says little: of the answers given with 90 % confidence, 61 % are right, and of those
        given with 60 %, 58 %".
    """
    lower, upper = finding.lower, finding.upper
    much = f"the {words.probability} says {how_much(finding)}"
    if lower is None or upper is None:
        return much
    levels = (words.percent(share or 0.0) for one in (upper, lower) for share in (one.confidence, one.accuracy.value))
    return f"{much}: {words.two_levels.format(*levels)}"


def how_much(finding: Finding) -> str:
    """Say whether the confidence of a group says little, less than elsewhere, or more."""
    lower, upper, slope = finding.lower, finding.upper, finding.effect == SLOPE
    if lower is None or upper is None:
        return "more than elsewhere" if finding.sign == "under" else "less than elsewhere"
    rise, usual = (upper.accuracy.value or 0.0) - (lower.accuracy.value or 0.0), upper.expected - lower.expected
    # the sign of a shift is none of its slope
    if finding.sign == "under" if slope else rise > usual:
        return "more than elsewhere"
    return "little" if rise < LITTLE * usual else "less than elsewhere"


def rises(difference: Measure, words: Vocabulary, adverb: str = "") -> str:
    """Say how much less, or more, the rate of a group rises with its confidence; it "still" does so, for example.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> rises(Measure(value=-0.21, interval=(-0.3, -0.1)), vocabulary("answer"))
    'accuracy rises by 21 points less (10 to 30) from its lower to its upper third of confidence'
    """
    value = difference.value or 0.0
    between, so = interval_of_size(value, difference.interval, words.digits), f" {adverb}" if adverb else ""
    return (
        f"{words.rate}{so} rises by {in_points(abs(value), words.digits)} {'less' if value < 0 else 'more'}"
        f"{f' ({between})' if between else ''} from its lower to its upper third of {words.probability}"
    )


def slope_sentence(findings: Sequence[Finding], words: Vocabulary) -> str:
    """Say of the strongest slopes what they are, in a clause each.

    Parameters
    ----------
    findings : sequence of Finding
        Slopes, the strongest first; at least one.
    words : Vocabulary
    """
    told = "; ".join(f"among {one.phrase}, {says(one, words)}" for one in findings[:MOST_SLOPES])
    more = len(findings) - MOST_SLOPES
    return f"{told}; the report lists {more} more such group{'s' if more > 1 else ''}" if more > 0 else told


def slopes_left(findings: Sequence[Finding], words: Vocabulary) -> str:
    """Say among which groups the corrected confidence still says less than among other rows, or more.

    Parameters
    ----------
    findings : sequence of Finding
        Slopes of which something is left beyond chance; at least one.
    words : Vocabulary
    """
    named: dict[str, list[str]] = {}
    for one in sorted(findings, key=lambda one: -abs(one.after.value or 0.0))[:MOST_SLOPES]:
        much = "less" if (one.after.value or 0.0) < 0 else "more"
        named.setdefault(much, []).append(f"{one.phrase} ({rises(one.after, words)})")
    told = ", and ".join(f"{much} than elsewhere among {' and '.join(some)}" for much, some in named.items())
    more = len(findings) - MOST_SLOPES
    rest = f"; the report lists {more} more" if more > 0 else ""
    return f"the corrected {words.probability} says {told}{rest}"
