"""Several confidences of one answer: which is the column ``confidence``, and which have columns of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from miscal.base.arrays import did_you_mean
from miscal.base.errors import InputError, argument
from miscal.data.importers.imported_rows import ImportedRow, Row, confidence_names, number


def chosen_confidence(
    rows: Sequence[Row], confidence: str | None, columns: Sequence[str] | None
) -> tuple[list[Row], list[str]]:
    """Take one of several confidences as the confidence of each row, and tell of the others.

    Parameters
    ----------
    rows : sequence of ImportedRow or of JudgedRow
    confidence : str, optional
        Name of the one to take; by default the first.
    columns : sequence of str, optional
        Those to keep, also of numeric metadata in [0, 1]; by default all that the importer found.

    Returns
    -------
    (list of rows, list of str)
        Rows that have the confidence, and notes.

    Raises
    ------
    InputError
        If a name is none of the confidences, or no row has the one that is taken.
    """
    known = confidence_names(rows)
    names = list(columns or known)
    if not names and confidence is None:
        return list(rows), []
    kept = [replace(row, confidences={name: _value(row, name) for name in names}) for row in _answers(rows)]
    for name in [*names, *([confidence] if confidence else [])]:
        if all(row.confidences.get(name) is None for row in kept):
            hint = did_you_mean(name, known, aside=True)
            found = f"the confidences there are {', '.join(known)}" if known else "there is one confidence alone"
            raise InputError(f"{name!r} is no confidence between 0 and 1 of these logs: {found}{hint}")
    taken = confidence or names[0]
    having = [replace(row, confidence=value) for row in kept if (value := row.confidences.get(taken)) is not None]
    notes = [f"column confidence is {taken}; confidences of each answer: {', '.join(names)}"]
    if len(having) < len(kept):
        notes.append(f"{len(kept) - len(having):,} rows left out: there is no {taken}")
    if len(names) > 1:
        notes.append(f"compare them: miscal compare DATA --confidence-columns {','.join(names[:8])} --out DIR")
    return list(having), notes


def _answers(rows: Sequence[Row]) -> list[ImportedRow]:
    answers = [row for row in rows if isinstance(row, ImportedRow)]
    if len(answers) < len(rows):
        raise InputError(
            f"{argument('confidence')} names one of several confidences of a model; these logs hold scores of judges, "
            "in the columns judge and human"
        )
    return answers


def _value(row: ImportedRow, name: str) -> float | None:
    found = number(row.confidences.get(name, row.metadata.get(name)))
    return found if found is not None and not math.isnan(found) and 0.0 <= found <= 1.0 else None
