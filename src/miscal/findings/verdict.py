"""Words of sizes, and of a finding: how far it is off, what the correction makes of it, how a rate rises."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.number_wording import decimal, significant, units_and_rows
from miscal.base.vocabulary import Vocabulary
from miscal.findings.ledger import SLOPE, Finding
from miscal.findings.ledger.ledger import UnitsNeeded
from miscal.findings.ledger.sizes import NOT_KNOWN

LITTLE = 0.25
"""Share of the rise of accuracy of rows of equal confidence below which it is said to hardly rise. Not tuned."""
HARDLY, LESS, MORE = "hardly rises", "rises less", "rises more"
"""How the accuracy of a group follows its confidence."""


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
