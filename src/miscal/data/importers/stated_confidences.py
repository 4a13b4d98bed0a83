"""Confidences that a model states in words, as scorers of Inspect write them down: as percent or as probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from miscal.base.errors import InputError, argument
from miscal.data.importers.imported_rows import number

_OUTCOMES = ("score", "correct")
"""Keys of a score of several values that hold the outcome, the first of them that is there."""


def stated(value: Any, metadata: Any) -> tuple[Any, float | None] | None:
    """Return the outcome and the confidence of a score as they are written; None where it states no confidence.

    The confidence is the entry ``confidence`` of the metadata, as in the evaluations of Inspect's collection (HLE,
    BrowseComp), or of the value, where this holds several.

    Parameters
    ----------
    value, metadata : object
        Of the score.

    Returns
    -------
    (object, float or None) or None
        The confidence is None where the entry is there, but is no number.

    Examples
    --------
    >>> stated("C", {"confidence": 90}), stated({"score": "I", "confidence": "75%"}, None), stated("C", {})
    (('C', 90.0), ('I', 75.0), None)
    """
    if isinstance(value, Mapping) and "confidence" in value:
        outcome = next((value[name] for name in _OUTCOMES if name in value), None)
        return outcome, _number(value["confidence"])
    if isinstance(metadata, Mapping) and "confidence" in metadata:
        return value, _number(metadata["confidence"])
    return None


def _number(value: Any) -> float | None:
    found = number(value.strip().removesuffix("%") if isinstance(value, str) else value)
    return found if found is not None and 0.0 <= found <= 100.0 else None


def scale_of(confidences: Sequence[float], percent: bool | None = None) -> float:
    """Return what stated confidences are parts of: 100 where they are percent, 1 where they are probabilities.

    Parameters
    ----------
    confidences : sequence of float
        All of one log, in [0, 100].
    percent : bool, optional
        Which of the two. By default they are percent if one of them is above 1.

    Raises
    ------
    InputError
        If some lie above 1 and others between 0 and 1, and `percent` does not say which of the two they are; or if it
        is False and some lie above 1.

    Examples
    --------
    >>> scale_of([90, 0, 100]), scale_of([0.9, 1.0])
    (100.0, 1.0)
    """
    above = sum(one > 1 for one in confidences)
    between = sum(0 < one < 1 for one in confidences)
    if percent is False and above:
        raise InputError(f"{above} confidences are above 1, so that they are percent: leave out {argument('percent')}")
    if percent is None and above and between:
        raise InputError(
            f"{above} confidences are above 1 and {between} lie between 0 and 1: state them all as percent, or all as "
            "probabilities"
        )
    return 100.0 if percent or above else 1.0
