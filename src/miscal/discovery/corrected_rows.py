"""New rows corrected by a saved field: a table with a row for each, and the reason where an estimate is less sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miscal.data.readers import NewRows

if TYPE_CHECKING:
    from miscal.estimators.protocol import Estimator

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
"""Columns of the table."""


def correct_rows(field: Estimator, rows: NewRows) -> pl.DataFrame:
    """Correct new rows."""
    f, n = rows.confidence, len(rows)
    known = np.isfinite(f)
    corrected, mass, supported = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, bool)
    corrected[known] = np.clip(field.global_map_.apply(f[known]), 0.0, 1.0)
    delta = corrected - f
    reason = rows.reason.copy()
    local = np.full(len(rows.whole), True)
    for unknown in rows.unknown:
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
        for at, words in zip(rows.whole, rows.blank, strict=True):
            reason[at] = reason[at] or words
    columns = {"row": rows.row, "delta": delta, "corrected": corrected, "mass": mass, "supported": supported}
    return pl.DataFrame(
        [
            *(pl.Series(name, values, dtype=SCHEMA[name], nan_to_null=True) for name, values in columns.items()),
            pl.Series("reason", reason.tolist(), dtype=pl.String),
        ]
    )


def only_blank(table: pl.DataFrame, rows: NewRows) -> pl.Series:
    """Rows of a table whose reason is no more than that a column was taken as blank: they have a local estimate."""
    return table["reason"].is_in([words for words in set(rows.blank) if words is not None])
