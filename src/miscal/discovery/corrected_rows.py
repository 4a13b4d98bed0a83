"""New rows corrected by a saved field: a table with a row for each, and the reason where an estimate is less sure."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.data.readers import NewRows
from miscal.estimators.registry import Estimator

FAR = "far from all rows that the model was fitted on"
"""Reason of a row that the field has no local estimate for."""

SCHEMA = {
    "row": pl.Int64,
    "delta": pl.Float64,
    "corrected": pl.Float64,
    "mass": pl.Float64,
    "supported": pl.Boolean,
    "reason": pl.String,
}
"""Columns of the table; of several classes there are more, see :func:`schema_of`."""

PREDICTED = "predicted"
"""Column of the top label: the class with the largest of the probabilities that were given, whose confidence it is."""


def schema_of(classes: Any) -> dict[str, Any]:
    """Return the columns of the table, for a model of these classes (`SavedClasses` or None)."""
    if classes is None:
        return dict(SCHEMA)
    return {**SCHEMA, PREDICTED: pl.String} | dict.fromkeys(map(_column, classes.read.names), pl.Float64)


def _column(name: str) -> str:
    return f"corrected_{name}"


def correct_rows(field: Estimator, rows: NewRows, classes: Any = None) -> pl.DataFrame:
    """Correct new rows.

    `classes`: of several classes: `corrected` is then the corrected probability of the top label, and the table has
    those of all classes. ``delta`` is in any case what the field estimates.
    """
    f, n = rows.confidence, len(rows)
    known = np.isfinite(f)
    corrected, mass, supported = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, bool)
    corrected[known] = np.clip(field.global_map_.apply(f[known]), 0.0, 1.0)
    delta = corrected - f
    reason = rows.reason.copy()
    local = np.full(len(rows.whole), True)
    for unknown in rows.unknown:
        if unknown.as_blank:
            continue
        local[unknown.rows] = False
        # the first thing that is unknown of a row is its reason
        for at, words in zip(rows.whole[unknown.rows], unknown.reasons, strict=True):
            reason[at] = reason[at] or words
    if len(rows.whole):
        correction = field.correct(rows.X, f[rows.whole])
        if correction.mass is not None:
            mass[rows.whole] = correction.mass
        local &= correction.local
        at = rows.whole[local]
        supported[at], corrected[at], delta[at] = (
            correction.supported[local],
            correction.corrected[local],
            correction.delta[local],
        )
        off = rows.whole[~correction.local]
        corrected[off], delta[off] = correction.corrected[~correction.local], correction.delta[~correction.local]
        reason[off] = [words or FAR for words in reason[off]]
        for at, words in zip(rows.whole, rows.taken_as_blank, strict=True):
            reason[at] = reason[at] or words
    of_classes: list[pl.Series] = []
    if classes is not None:
        of_classes, corrected = _corrected_classes(classes, rows, local)
    columns = {"row": rows.row, "delta": delta, "corrected": corrected, "mass": mass, "supported": supported}
    return pl.DataFrame(
        [
            *(pl.Series(name, values, dtype=SCHEMA[name], nan_to_null=True) for name, values in columns.items()),
            pl.Series("reason", reason.tolist(), dtype=pl.String),
            *of_classes,
        ]
    )


def _corrected_classes(
    classes: Any, rows: NewRows, local: NDArray[np.bool_]
) -> tuple[list[pl.Series], NDArray[np.float64]]:
    """Return top label and corrected probabilities of each class, and those of the top label."""
    given: Any = rows.probability
    known, inside = np.isfinite(rows.confidence), np.zeros(len(rows), bool)
    inside[rows.whole[local]] = True
    found = np.full_like(given, np.nan)
    found[known] = classes.correct(rows.X[local], given[known], inside[known])
    top = np.where(known, np.nan_to_num(given).argmax(axis=1), 0)
    predicted = [classes.read.names[k] if there else None for k, there in zip(top, known, strict=True)]
    columns = [pl.Series(PREDICTED, predicted, dtype=pl.String)]
    for name, values in zip(classes.read.names, found.T, strict=True):
        columns.append(pl.Series(_column(name), values, dtype=pl.Float64, nan_to_null=True))
    return columns, found[np.arange(len(found)), top]


def only_blank(table: pl.DataFrame, rows: NewRows) -> pl.Series:
    """Rows of a table whose reason is no more than that a column was taken as blank: they have a local estimate."""
    return table["reason"].is_in([words for words in set(rows.taken_as_blank) if words is not None])
