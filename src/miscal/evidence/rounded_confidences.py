"""Confidences that were stated as round numbers: where the strata of near-equal confidence mix several of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miscal.evidence.blocks import in_turn
from miscal.evidence.conditional import strata
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

_ROUND = 100
"""Numbers of whole per cents count as stated."""


def round_numbers(confidence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark confidences of whole per cents, which a model states; of shape (n,).

    Examples
    --------
    >>> round_numbers(np.array([0.85, 0.8517])).tolist()
    [True, False]
    """
    scaled = confidence * _ROUND
    return np.abs(scaled - np.round(scaled)) <= 1e-6


def rare_values_warning(
    confidence: NDArray[np.float64],
    block: NDArray[np.int64] | None = None,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
) -> str | None:
    """Warn where rows are compared across stated confidences, because too few rows share one.

    Rows of near-equal confidence are compared as if they had the same rate of right outcomes but for a smooth trend.
    Of round numbers that is not known: a model may be right far more often where it says 0.85 than where it says 0.84.
    With 101 such values, an erratic curve and 100 rows, the p-value rejected 38 % at 5 %.

    Parameters
    ----------
    confidence : (n,) float64 in [0, 1]
        Of the rows that are tested.
    block : (n,) int64, optional
        Blocks that are tested one after the other: rows are compared within them alone. By default one block.
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
    if not round_numbers(confidence).all():
        return None
    parts = [np.arange(len(confidence))] if block is None else in_turn(block)
    mixed = sum(_mixed(confidence[part], settings.stratum_rows) for part in parts)
    if mixed <= settings.mixed_share * len(confidence):
        return None
    return (
        f"the confidences are {len(np.unique(confidence))} round numbers, many of them too rare to be compared by "
        "themselves: whatever is said of hidden miscalibration takes neighbouring numbers as alike. If the accuracy "
        "jumps from one number to the next, tests may reject too often, and what is visible is taken for hidden"
    )


def _mixed(confidence: NDArray[np.float64], rows: int) -> int:
    """Count the rows that are compared with rows of other confidences."""
    _, position, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    stratum = strata(confidence, rows)
    # a stratum holds several values if its rows are more than those of the first of them
    return int(np.sum(np.bincount(stratum)[stratum] > counts[position]))
