"""Where something is hidden: regions that are right more or less often than rows of like confidence.

This differs from being over- or under-confident. Where all rows are over-confident, a region that is exactly as
over-confident as the others hides nothing, and a region that is less so does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miscal.findings.residuals import binomial_residual, holm
from miscal.findings.settings import FINDINGS_DEFAULTS, FindingsSettings


@dataclass(frozen=True)
class Place:
    """A region to name in the verdict.

    Attributes
    ----------
    name : str
        What the region is called, with quotation marks if it is a name.
    hidden : float
        Mean of y - mu(f) over its test rows: negative where they are less often right than rows of like confidence.
    """

    name: str
    hidden: float


def places(
    correct: np.ndarray,
    rate: np.ndarray,
    regions: Sequence[tuple[str, np.ndarray]],
    settings: FindingsSettings = FINDINGS_DEFAULTS,
) -> list[Place]:
    """Choose what the verdict names.

    Parameters
    ----------
    correct, rate : ndarray of float64, shape (n,)
        Outcomes of the test rows, and mu(f), the rate of y given the confidence alone.
    regions : sequence of (str, ndarray of bool, shape (n,))
        Name, and which test rows are in it.
    settings : FindingsSettings, optional
        The significance.

    Returns
    -------
    list of Place
        Those whose mean of y - mu(f) differs from 0, at 0.05 after Holm's adjustment; those that carry most (size times
        rows) first.

    Examples
    --------
    >>> typical, worse = np.arange(400) < 300, np.arange(400) >= 300
    >>> y, rate = np.r_[np.arange(300) % 5 < 3, np.zeros(100)], np.full(400, 0.6)
    >>> places(y, rate, [("typical", typical), ("worse", worse)])
    [Place(name='worse', hidden=-0.6)]
    """
    residuals = [binomial_residual(correct[rows], rate[rows]) for _, rows in regions]
    adjusted = holm(np.array([1.0 if one.p_value is None else one.p_value for one in residuals]))
    kept = [
        (-abs(one.value) * rows.sum(), Place(name, one.value))
        for (name, rows), one, p_value in zip(regions, residuals, adjusted, strict=True)
        if p_value < settings.significance
    ]
    return [place for _, place in sorted(kept, key=lambda item: item[0])]
