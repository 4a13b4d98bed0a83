"""Words of sizes, and of a finding: how far it is off, what the correction makes of it, how a rate rises."""

from __future__ import annotations

import math
from collections.abc import Sequence

from miscal.base.number_wording import units_and_rows
from miscal.findings.ledger.document import Finding, UnitsNeeded
from miscal.findings.ledger.sizes import NOT_KNOWN

_MOST_PLACES = 4
"""Decimals of points."""


def in_points(size: float, digits: int = 0) -> str:
    """Write a size in whole points, or with a digit that is not zero.

    `size`: at least 0. `digits`: 1 of rates that are often small: then a size of less than ten points has two digits.

    Examples
    --------
    >>> in_points(0.123), in_points(0.01), in_points(0.0034), in_points(0.000234), in_points(0.0)
    ('12 points', '1 point', '0.3 points', '0.02 points', '0 points')
    >>> in_points(0.123, 1), in_points(0.0321, 1), in_points(0.0034, 1)
    ('12 points', '3.2 points', '0.34 points')
    """
    [number] = alike_points([size], digits)
    return f"{number} point{'' if number == '1' else 's'}"


def alike_points(differences: Sequence[float], digits: int = 0) -> list[str]:
    """Write a difference and others beside it in points, with decimals for the first that show none of them as zero.

    Examples
    --------
    >>> alike_points([-0.068, -0.1, -0.0066], 1), alike_points([0.12, 0.004, 0.221])
    (['-6.8', '-10.0', '-0.7'], ['12.0', '0.4', '22.1'])
    """
    points = [100 * one for one in differences]
    first = abs(points[0])
    places = 0 if first >= 9.95 or not first else digits
    if digits and 0 < first < 0.95:
        places = 1 - math.floor(math.log10(first))
    while places < _MOST_PLACES and any(one and not round(one, places) for one in points):
        places += 1
    return [f"{one:.{places}f}" for one in points]


def interval_of_size(difference: float, interval: Sequence[float | None] | None, digits: int = 0) -> str:
    """Write the interval of a difference as that of its size, in points; empty where there is none.

    Examples
    --------
    >>> interval_of_size(-0.15, (-0.2, -0.104)), interval_of_size(0.09, None)
    ('10 to 20', '')
    >>> interval_of_size(0.001, (3e-4, 0.0017), 1)
    '0.03 to 0.17'
    """
    if interval is None or interval[0] is None or interval[1] is None:
        return ""
    ends = sorted(end * (-1 if difference < 0 else 1) for end in interval)
    _, low, high = alike_points([abs(difference), *ends], digits)
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
