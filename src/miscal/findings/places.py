"""Choose the regions that the verdict names: those that are right more or less often than rows of equal confidence.

This differs from being over- or under-confident. Where all rows are over-confident, a region that is exactly as
over-confident as the others hides nothing, and a region that is less so does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.judging import hidden_residual, strata_of
from miscal.findings.residuals import holm
from miscal.findings.settings import FINDINGS_DEFAULTS, FindingsSettings

Region = tuple[str | int, np.ndarray]
"""A name or number, and which rows are in it: bool, shape (n,)."""


@dataclass(frozen=True)
class Place:
    """A region to name in the verdict.

    Attributes
    ----------
    name : str or int
        What the region is called, with quotation marks if it is a name; or its number, where it is named later.
    hidden : float
        How much more often its rows are right than rows of like confidence: negative where less often.
    interval : tuple of float, optional
        95 % interval of it.
    """

    name: str | int
    hidden: float
    interval: tuple[float, float] | None = None


def places(
    rows: LabelledRows,
    parts: Sequence[Region],
    whole: Sequence[Region] = (),
    settings: FindingsSettings = FINDINGS_DEFAULTS,
) -> list[Place]:
    """Choose what the verdict names.

    Parameters
    ----------
    rows : LabelledRows
        Their outcomes had no part in choosing the regions they are in.
    parts : sequence of (str, ndarray of bool, shape (n,))
        Named parts of the data.
    whole : sequence of (str, ndarray of bool, shape (n,))
        Larger regions, told only where no part is.
    settings : FindingsSettings, optional
        The significance, and how many rows of near-equal confidence are compared.

    Returns
    -------
    list of Place
        Those parts that are right more or less often than other rows of near-equal confidence
        (:func:`~miscal.findings.judging.hidden_residual`), at 0.05 after Holm's adjustment over parts and larger
        regions together; if there is none, those larger regions. Those that carry most (size times rows) come first. A
        region is left out if more than half of its rows are in stronger ones: it would tell the same again.

    Examples
    --------
    >>> typical, worse = np.arange(400) < 300, np.arange(400) >= 300
    >>> y = np.r_[np.arange(300) % 5 < 3, np.zeros(100)]
    >>> rows = LabelledRows(y, np.full(400, 0.9), np.full(400, 0.45))
    >>> found = places(rows, [("typical", typical), ("worse", worse)])
    >>> [(place.name, round(place.hidden, 2)) for place in found]
    [('worse', -0.45), ('typical', 0.15)]
    """
    stratum, regions = strata_of(rows, settings), [*parts, *whole]
    residuals = [hidden_residual(rows, inside, stratum, settings) for _, inside in regions]
    adjusted = holm(np.array([1.0 if one.p_value is None else one.p_value for one in residuals]))
    kept = [
        (at >= len(parts), -abs(one.value) * inside.sum(), Place(name, one.value), inside)
        for at, ((name, inside), one, p_value) in enumerate(zip(regions, residuals, adjusted, strict=True))
        if p_value < settings.significance
    ]
    kept.sort(key=lambda item: item[:2])
    places, covered = [], np.zeros(len(rows), dtype=bool)
    for larger, _, place, inside in kept:
        # larger regions only where no part is told
        if larger == kept[0][0] and 2 * np.sum(inside & covered) <= inside.sum():
            places.append(place)
            covered |= inside
    return places
