"""Words of sizes, and of a finding: how far it is off, what the correction makes of it, how a rate rises."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.number_wording import decimal, significant, units_and_rows
from miscal.findings.ledger.ledger import Finding, UnitsNeeded
from miscal.findings.ledger.sizes import NOT_KNOWN


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
    return "" if needed is None else f", together with {findings[needed - 1].condition.phrase}"
