"""Calibration of scores that state a confidence: what the metrics for Inspect compute, without Inspect.

Every function takes a list of (value, metadata), one for each score, and whether the confidences are percent. Scores
that cannot be used are left out with a warning. Where none is left the result is NaN, which is how Inspect writes that
there is no score: an error here would cost the evaluation all its other scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from logging import getLogger
from typing import Any

import numpy as np

from miscal import metrics
from miscal.base.errors import InputError
from miscal.data.importers.imported_rows import UnusableRow
from miscal.data.importers.stated_confidences import shares_of, stated
from miscal.data.importers.tools.inspect import right_or_wrong

logger = getLogger(__name__)

Scores = Sequence[tuple[Any, Any]]


def smece(scores: Scores, percent: bool | None = None) -> float:
    """Smooth calibration error of the scores, in [0, 1].

    Examples
    --------
    >>> round(smece([("C", {"confidence": 90})] * 9 + [("I", {"confidence": 90})]), 3)
    0.0
    """
    return _measured(metrics.smece, scores, percent)


def brier(scores: Scores, percent: bool | None = None) -> float:
    """Brier score of the scores, in [0, 1].

    Examples
    --------
    >>> brier([("C", {"confidence": 100}), ("I", {"confidence": 100})])
    0.5
    """
    return _measured(metrics.brier, scores, percent)


def overconfidence(scores: Scores, percent: bool | None = None) -> float:
    """Mean confidence minus accuracy, in [-1, 1].

    Examples
    --------
    >>> overconfidence([("C", {"confidence": 100}), ("I", {"confidence": 100})])
    0.5
    """
    return _measured(lambda correct, confidence: np.mean(confidence) - np.mean(correct), scores, percent)


def _measured(measure: Any, scores: Scores, percent: bool | None) -> float:
    correct, confidence = _triples(scores)
    if not correct:
        logger.warning("miscal: no score has a confidence and is right or wrong, so that there is nothing to measure")
        return math.nan
    try:
        shares = np.asarray(shares_of(confidence, percent))
    except InputError as error:
        logger.warning("miscal: %s; or say which by percent=True", error)
        return math.nan
    return float(measure(np.asarray(correct), shares))


def _triples(scores: Scores) -> tuple[list[int], list[float]]:
    """Return outcomes and confidences as they are stated, of the scores that have both."""
    correct, confidence, left_out = [], [], Counter()
    for value, metadata in scores:
        outcome, said = stated(value, metadata) or (None, None)
        if said is None:
            left_out["no confidence from 0 to 100 is stated"] += 1
            continue
        try:
            correct.append(right_or_wrong(outcome))
        except UnusableRow as reason:
            left_out[str(reason)] += 1
            continue
        confidence.append(said)
    for reason, n in left_out.items():
        logger.warning("miscal: %d of %d scores are left out: %s", n, len(scores), reason)
    return correct, confidence
