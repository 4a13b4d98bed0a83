"""Which groups have a slope to be tested, and which share of the family-wise error each candidate gets."""

from __future__ import annotations

import numpy as np

from miscal.findings.ledger.groups import CLUSTER, TREND, VALUE, Groups
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings


def slope_places(groups: Groups, settings: LedgerSettings = LEDGER_DEFAULTS) -> list[int]:
    """Places of the groups whose slopes are candidates: values and bins of columns, and their missing values.

    Intervals, pairs and terms are many, and would cost every value its significance; clusters are described by values.
    """
    return value_cells(groups) if settings.slope_share_of_error > 0 else []


def value_cells(groups: Groups) -> list[int]:
    """List the groups that are a value or a bin of a column."""
    cells = [cell for part in groups.columns for cell in part.cells]
    places = (place(cell) for cell in cells for place in (groups.places.get, groups.others_than))
    return list(dict.fromkeys(place for place in places if place is not None))


def error_shares(kinds: np.ndarray, settings: LedgerSettings = LEDGER_DEFAULTS) -> np.ndarray:
    """Share of the family-wise error that each candidate gets, (m,); they sum to 1.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import TERM
    >>> error_shares(np.array([VALUE, VALUE, TERM])).round(2).tolist()
    [0.36, 0.36, 0.28]
    >>> error_shares(np.array([VALUE, TERM, CLUSTER, CLUSTER])).round(2).tolist()
    [0.65, 0.25, 0.05, 0.05]
    >>> error_shares(np.array([TERM, TERM])).tolist()
    [0.5, 0.5]
    """
    clusters = kinds == CLUSTER
    # there is one trend of a column: it stands among its values
    values = np.isin(kinds, (VALUE, TREND))
    others = ~clusters & ~values
    share, left = np.zeros(len(kinds)), 1.0
    # each gets its share of what is left, or all of it where there is nothing else
    parts = [(clusters, settings.cluster_share_of_error), (values, settings.value_share), (others, 1.0)]
    for place, (some, of_left) in enumerate(parts):
        if some.any():
            alone = not any(other.any() for other, _ in parts[place + 1 :])
            share[some] = left * (1.0 if alone else of_left) / some.sum()
            left -= float(share[some].sum())
    return share
