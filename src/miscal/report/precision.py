"""How many decimals the numbers of a run need: as many as tell its own threshold from nothing."""

import math

from miscal.discovery.summary import Summary
from miscal.report.formatting import finite

USUAL, MOST = 1, 4


def decimals_of(summary: Summary) -> int:
    """Return the decimals of differences and sizes in percentage points.

    One is enough where the band that counts as well calibrated is a point or wider; of rare events it is narrower.
    Scores such as the log loss have two more.

    Examples
    --------
    >>> [decimals_for(band) for band in (0.05, 0.01, 0.001, 0.00025, None)]
    [1, 1, 2, 3, 1]
    """
    return decimals_for(finite(summary.settings.get("epsilon")))


def decimals_for(epsilon: float | None) -> int:
    """Return the decimals for a band of this half-width, in probability; a tenth of it is told."""
    if not epsilon:
        return USUAL
    return min(MOST, max(USUAL, math.ceil(1 - math.log10(100 * epsilon) - 1e-9)))
