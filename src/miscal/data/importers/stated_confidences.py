"""Confidences that a model states in words: as percent or as probabilities, in an entry of a log or in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError, argument
from miscal.data.importers.imported_rows import ImportedRow, UnusableLog, UnusableRow, number

_OUTCOMES = ("score", "correct")
"""Keys of a score of several values that hold the outcome, the first of them that is there."""

_STATED = re.compile(
    r"confidence(?: score| level)?[\s\"'*_`]{0,8}[:=][\s\"'*_`]{0,8}"
    r"(\d{1,3}(?:\.\d{1,12})?)(?![\d.]*\d)\s{0,2}(%|percent)?",
    re.IGNORECASE,
)
"""As in the format that Humanity's Last Exam asks for: "Confidence: 85%"."""

_RIGHT = {"yes": 1, "no": 0, "true": 1, "false": 0, "correct": 1, "incorrect": 0, "c": 1, "i": 0, "1": 1, "0": 0}

NO_NUMBER = "the stated confidence is no number from 0 to 100"
"""Why a row is left out that states a confidence which cannot be used."""

IN_TEXT = "confidence_in_text"
"""Column that tells whether the answer's own text states a confidence."""


class Percent(float):
    """A confidence that was written with a per cent sign."""


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
        return outcome, confidence_of(value["confidence"])
    if isinstance(metadata, Mapping) and "confidence" in metadata:
        return value, confidence_of(metadata["confidence"])
    return None


def confidence_of(value: Any) -> float | None:
    """Return a confidence as it is written, in [0, 100]; None if it is no number there.

    Examples
    --------
    >>> confidence_of("75%"), confidence_of(0.5), confidence_of("sure"), confidence_of(101)
    (75.0, 0.5, None, None)
    """
    marked = isinstance(value, str) and value.strip().endswith("%")
    found = number(value.strip().removesuffix("%") if isinstance(value, str) else value)
    if found is None or not 0.0 <= found <= 100.0:
        return None
    return Percent(found) if marked else found


def in_text(text: Any) -> float | None:
    r"""Return the last confidence that a text states, as it is written; None if it states none from 0 to 100.

    Examples
    --------
    >>> in_text("Answer: Paris\\nConfidence: 85%"), in_text("**Confidence:** 0.9"), in_text("I am confident.")
    (85.0, 0.9, None)
    """
    found = _STATED.findall(text) if isinstance(text, str) else []
    if not found:
        return None
    value, mark = found[-1]
    return confidence_of(f"{value}%" if mark else value)


def outcome_of(value: Any) -> int:
    """Return 1 for what judges write where an answer is right, 0 where it is wrong.

    Raises
    ------
    UnusableRow
        If it is neither.

    Examples
    --------
    >>> outcome_of("yes"), outcome_of(False), outcome_of(1.0), outcome_of("Incorrect")
    (1, 0, 1, 0)
    """
    if isinstance(value, float | int) and value in (0, 1):
        return int(value)
    told = _RIGHT.get(value.strip().lower()) if isinstance(value, str) and len(value) < 20 else None
    if told is None:
        raise UnusableRow("the outcome is neither right nor wrong")
    return told


def shares_of(confidences: Sequence[float], percent: bool | None = None) -> list[float]:
    """Return stated confidences as probabilities, in [0, 1].

    Parameters
    ----------
    confidences : sequence of float
        All of one log, in [0, 100]. Those that were written with a per cent sign are percent, whatever the others are.
    percent : bool, optional
        Whether the others are percent. By default they are if one of them is above 1.

    Raises
    ------
    InputError
        If some lie above 1 and others between 0 and 1, and `percent` does not say which of the two they are; or if it
        is False and some lie above 1.

    Examples
    --------
    >>> shares_of([90, 0, 100]), shares_of([0.9, 1.0]), shares_of([0.9, Percent(50)])
    ([0.9, 0.0, 1.0], [0.9, 1.0], [0.9, 0.5])
    """
    bare = [one for one in confidences if not isinstance(one, Percent)]
    above = sum(one > 1 for one in bare)
    between = sum(0 < one < 1 for one in bare)
    if percent is False and above:
        raise InputError(f"{above} confidences are above 1, so that they are percent: leave out {argument('percent')}")
    if percent is None and above and between:
        raise InputError(
            f"{above} confidences are above 1 and {between} lie between 0 and 1: state them all as percent, or all as "
            "probabilities"
        )
    scale = 100.0 if percent or above else 1.0
    return [one / (100.0 if isinstance(one, Percent) else scale) for one in confidences]


def as_shares(path: Path, rows: Sequence[ImportedRow]) -> list[ImportedRow]:
    """Turn the confidences of rows, which are as they were stated, into probabilities.

    Raises
    ------
    UnusableLog
        If they are of two scales.
    """
    try:
        shares = shares_of([row.confidence for row in rows])
    except InputError as error:
        raise UnusableLog(f"{path}: {error}") from error
    return [replace(row, confidence=share) for row, share in zip(rows, shares, strict=True)]


def certain(path: Path, rows: Sequence[ImportedRow]) -> list[str]:
    """Warn of certainty that nobody may have stated: 100 is also what judges write where an answer states nothing.

    Where the texts of the answers are in the log, the answers of 100 % that state none are counted, beside the share of
    100 % among the answers that do state one. Where no text of the log states any, confidences come from elsewhere, and
    the texts tell nothing.

    Parameters
    ----------
    path : Path
        Of the log, for the message.
    rows : sequence of ImportedRow
        Those with stated confidences, as probabilities.
    """
    sure = [row for row in rows if row.confidence == 1.0]
    if not sure:
        return []
    note = f"{path.name}: {len(sure):,} of {len(rows):,} stated confidences are 100 %"
    own = [row for row in rows if row.metadata.get(IN_TEXT) is True]
    silent = [row for row in sure if row.metadata.get(IN_TEXT) is False]
    if own and silent:
        return [
            f"ALARM {note}, and the text of {len(silent):,} of them states none, so that they are most likely missing "
            f"values; of the answers that state one, {_share(own)} are at 100 %: leave them out with --where "
            f"'{IN_TEXT} == true' in miscal discover"
        ]
    if len(own) == len(rows):
        return []
    return [
        f"{note}; the judges of HLE and BrowseComp write 100 where an answer states none, so that some of these may be "
        "missing values"
    ]


def _share(rows: Sequence[ImportedRow]) -> str:
    return f"{sum(row.confidence == 1.0 for row in rows):,} of {len(rows):,}"
