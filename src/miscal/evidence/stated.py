"""Confidences that were stated as round numbers: where the strata of near-equal confidence mix several of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miscal.evidence.conditional import strata
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

_ROUND = 100
"""Numbers of whole per cents count as stated."""


def rare_values_warning(confidence: NDArray[np.float64], settings: EvidenceSettings = EVIDENCE_DEFAULTS) -> str | None:
    """Warn where rows are compared across stated confidences, because too few rows share one.

    Rows of near-equal confidence are compared as if they had the same rate of right outcomes but for a smooth trend.
    Of round numbers that is not known: a model may be right far more often where it says 0.85 than where it says 0.84.
    With 101 such values, an erratic curve and 100 rows, the p-value rejected 38 % at 5 %.

    Parameters
    ----------
    confidence : (n,) float64 in [0, 1]
        Of the rows that are tested.
    settings : EvidenceSettings, optional
        Of which the rows of a stratum and the share of mixed rows are used.

    Returns
    -------
    str or None
        The warning, without a full stop at its end; None where there is nothing to warn of.

    Examples
    --------
    >>> stated = np.arange(101).repeat(2) / 100
    >>> rare_values_warning(stated)[:80]
    'the confidences are 101 round numbers, many of them too rare to be compared by t'
    >>> rare_values_warning(np.repeat([0.5, 0.8, 0.9], 100)) is None
    True
    """
    scaled = confidence * _ROUND
    if np.abs(scaled - np.round(scaled)).max(initial=0.0) > 1e-6:
        return None
    values, position, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    stratum = strata(confidence, settings.stratum_rows)
    # a stratum holds several values if its rows are more than those of the first of them
    mixed = np.bincount(stratum)[stratum] > counts[position]
    if mixed.sum() <= settings.mixed_share * len(mixed):
        return None
    return (
        f"the confidences are {len(values)} round numbers, many of them too rare to be compared by themselves: the "
        "test of hidden miscalibration takes neighbouring numbers as alike, and may reject too often if the model's "
        "accuracy jumps from one to the next"
    )
