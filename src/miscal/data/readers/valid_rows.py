"""Refuse rows that cannot be used, or leave them out."""

from __future__ import annotations

import numpy as np

from miscal.base.arrays import row_list
from miscal.base.checks import EXTREME_WEIGHTS, extreme_weights, other_unit, outside_unit
from miscal.base.errors import InputError, argument
from miscal.data.readers.roles import Roles
from miscal.data.readers.rows import TableRows, XSource, invalid_inputs, label, missing, numbers, refuse_invalid_inputs


def valid_rows(rows: TableRows, roles: Roles, inputs: XSource, *, drop: bool) -> tuple[TableRows, tuple[str, ...]]:
    """Refuse or drop rows that are not complete."""
    if not drop:
        refuse_invalid_inputs(rows, inputs)
        return rows, ()
    bad = {roles.confidence: _invalid_confidence(rows, roles), roles.correct: missing(rows, roles.correct)}
    if roles.weight is not None:
        bad[roles.weight] = missing(rows, roles.weight)
    bad |= invalid_inputs(rows, inputs)
    any_bad = np.any(list(bad.values()), axis=0)
    if not any_bad.any():
        return rows, ()
    parts = ", ".join(f"{int(mask.sum())} by {column!r}" for column, mask in bad.items() if mask.any())
    note = f"{int(any_bad.sum())} of {len(any_bad)} rows were dropped as invalid: {parts}"
    if any_bad.all():
        raise InputError(f"no valid row is left: {note}")
    return rows.take(~any_bad), (note,)


def _invalid_confidence(rows: TableRows, roles: Roles) -> np.ndarray:
    bad = missing(rows, roles.confidence)
    values = numbers(rows, roles.confidence, roles.labels[0])
    if not bad.all() and other_unit(values[~bad]):
        return bad  # a column in the wrong unit is refused as a whole, not dropped row by row
    return bad | outside_unit(np.where(bad, 0.0, values))


def weighed(rows: TableRows, roles: Roles) -> tuple[TableRows, np.ndarray | None, tuple[str, ...]]:
    """Leave out the rows of weight 0; the weights of the others."""
    if roles.weight is None:
        return rows, None, ()
    values = numbers(rows, roles.weight, label("weight", roles.weight))
    bad = ~(values >= 0) | np.isinf(values)
    if bad.any():
        raise InputError(
            f"{label('weight', roles.weight)} must hold finite numbers of at least 0; {int(bad.sum())} of {len(bad)} "
            f"are not ({row_list(bad, rows.row)}): correct them, or drop these rows with {argument('where')}"
        )
    if extreme_weights(values):
        raise InputError(
            f"{label('weight', roles.weight)} {EXTREME_WEIGHTS}; got a largest one of {values.max():.3g}: divide all "
            "by their mean"
        )
    kept = values > 0
    if not kept.any():
        raise InputError(f"{label('weight', roles.weight)} is 0 in all {len(kept)} rows: no row would count")
    if kept.all():
        return rows, values, ()
    said = f"{int((~kept).sum()):,} of {len(kept):,} rows were left out: their weight is 0"
    return rows.take(kept), values[kept], (said,)
