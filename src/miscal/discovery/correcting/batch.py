"""One piece of new rows corrected: the table that is written, and what is told of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miscal.data.readers import NewRows
from miscal.discovery.correcting.tally import Tally

if TYPE_CHECKING:
    from miscal.data.encoders import Encoder
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

# fewer rows than this say little about directions
_LEAST_ROWS = 200
_SAMPLE = 4_096


def correct_rows(field: Estimator, rows: NewRows) -> pl.DataFrame:
    """Correct new rows.

    Parameters
    ----------
    field : Estimator
    rows : NewRows

    Returns
    -------
    polars.DataFrame
        With the columns of ``SCHEMA``.
    """
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
        told = field.correct(rows.X, f[rows.whole])
        if told.mass is not None:
            mass[rows.whole] = told.mass
        local &= told.local
        at = rows.whole[local]
        supported[at], corrected[at], delta[at] = told.supported[local], told.corrected[local], told.delta[local]
        off = rows.whole[~told.local]
        corrected[off], delta[off] = told.corrected[~told.local], told.delta[~told.local]
        reason[off] = [words or FAR for words in reason[off]]
    columns = {"row": rows.row, "delta": delta, "corrected": corrected, "mass": mass, "supported": supported}
    return pl.DataFrame(
        [
            *(pl.Series(name, values, dtype=SCHEMA[name], nan_to_null=True) for name, values in columns.items()),
            pl.Series("reason", reason.tolist(), dtype=pl.String),
        ]
    )


def tally_of(rows: NewRows, table: pl.DataFrame, field: Estimator, encoder: Encoder) -> Tally:
    """Count what is told of a piece.

    Parameters
    ----------
    rows : NewRows
    table : polars.DataFrame
        From :func:`correct_rows`.
    field : Estimator
    encoder : Encoder

    Returns
    -------
    Tally
    """
    far, changed, directions = _differences(rows, field, encoder)
    return Tally(
        **rows.counts,
        written=len(table),
        far=int((table["reason"] == FAR).sum()),
        # every row without a local estimate has a reason
        global_only=int((table["reason"].is_not_null() & table["corrected"].is_not_null()).sum()),
        empty=table["corrected"].null_count(),
        faults=rows.faults,
        unknown={one.what: dict(Counter(one.values)) for one in rows.unknown},
        unknown_rows={one.what: len(one.rows) for one in rows.unknown},
        far_values=far,
        changed=changed,
        directions=directions,
    )


def _differences(
    rows: NewRows, field: Estimator, encoder: Encoder
) -> tuple[dict[str, int], dict[str, int], list[float]]:
    """Rows by column with far or changed values; how the first rows' directions compare, where that can be said."""
    unlike = getattr(field, "unlike", None)
    if unlike is None or not len(rows.X):
        return {}, {}, []
    # the directions of some rows are enough, and only they are counted where columns have no names
    names = _number_names(encoder)
    told = unlike(rows.X if names else rows.X[:_SAMPLE])
    count = lambda values: {name: int(values[i]) for i, name in names.items() if values[i]}  # noqa: E731
    enough = told.known_directions is not None and len(rows.X) >= _LEAST_ROWS and not names
    return count(told.far), count(told.changed), [told.known_directions] if enough else []


def _number_names(encoder: Encoder) -> dict[int, str]:
    """Columns of x that hold numbers of named columns, by their place."""
    types = getattr(encoder, "column_types", None)
    if types is None:
        return {}
    names: Sequence[str] = encoder.names or ()
    return {i: name for i, name in enumerate(names) if types.get(name) == "number"}
