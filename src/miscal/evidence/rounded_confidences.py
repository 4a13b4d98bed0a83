"""Confidences that a model stated as round numbers: rows of different numbers are not compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miscal.base.number_wording import percent
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.evidence.blocks import in_turn
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
    *,
    kind: Kind = ANSWER,
) -> str | None:
    """Warn where many rows have a stated confidence to themselves, so that there is nothing to compare them with.

    Rows of near-equal confidence are compared as if they had the same rate of right outcomes but for a smooth trend.
    Of stated numbers that is not known: a model may be right far more often where it says 0.85 than where it says 0.84.
    Where all confidences are whole per cents, a row is therefore compared only with rows of the same number.

    Takes confidence (n,): of the rows that are tested; block (n,) int64: blocks that are tested one after the other:
    rows are compared within them alone; kind: what the confidence is the probability of. Returns str or None: The
    warning, without a full stop at its end.

    Examples
    --------
    >>> rare_values_warning(np.arange(101) / 100)[:86]
    'the confidences are 101 round numbers, and 100 % of the rows are the only one of their'
    >>> rare_values_warning(np.repeat([0.5, 0.8, 0.9], 100)) is None
    True
    """
    if not round_numbers(confidence).all():
        return None
    parts = [np.arange(len(confidence))] if block is None else in_turn(block)
    alone = sum(int(np.sum(np.unique(confidence[part], return_counts=True)[1] == 1)) for part in parts)
    if alone <= settings.lone_share * len(confidence):
        return None
    words = vocabulary(kind)
    where = "" if block is None else " in the block of rows that they are tested in"
    return (
        f"the {words.probabilities} are {len(np.unique(confidence))} round numbers, and "
        f"{percent(alone / len(confidence))} of the rows are the only one of their number{where}. {words.stated}, so a "
        "row is compared only with rows of the same number, and these rows say nothing of what is hidden"
    )
