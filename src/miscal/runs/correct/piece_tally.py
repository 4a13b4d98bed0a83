"""What a piece of corrected rows adds to the counts that a command prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from miscal.data.readers import NewRows
from miscal.discovery.corrected_rows import FAR, only_blank
from miscal.estimators.input_profile import rows_to_look_at
from miscal.runs.correct.tally import Tally

if TYPE_CHECKING:
    from miscal.data.encoders import Encoder
    from miscal.estimators.protocol import Estimator
    from miscal.estimators.saved import SavedEstimator


def tally_of(rows: NewRows, table: pl.DataFrame, saved: SavedEstimator, encoder: Encoder, n: int) -> Tally:
    """Count what is told of a piece.

    Parameters
    ----------
    rows : NewRows
    table : polars.DataFrame
        From :func:`correct_rows`.
    saved : SavedEstimator
    encoder : Encoder
    n : int
        Rows of all pieces together.
    """
    far, changed = _differences(rows, saved.fitted, encoder)
    blank = only_blank(table, rows)
    return Tally(
        **rows.counts,
        written=len(table),
        far=int((table["reason"] == FAR).sum()),
        # every row without a local estimate has a reason
        global_only=int((table["reason"].is_not_null() & table["corrected"].is_not_null() & ~blank).sum()),
        blank=dict(Counter(words for words in rows.blank if words is not None)),
        empty=table["corrected"].null_count(),
        faults=rows.faults,
        unknown={one.what: dict(Counter(one.values)) for one in rows.unknown},
        unknown_rows={one.what: len(one.rows) for one in rows.unknown},
        far_values=far,
        changed=changed,
        looked_at=_looked_at(rows, saved, encoder, n),
        digest=rows.digest,
    )


def _differences(rows: NewRows, field: Estimator, encoder: Encoder) -> tuple[dict[str, int], dict[str, int]]:
    """Rows by named column with far or changed values."""
    unlike, names = getattr(field, "unlike", None), _number_names(encoder)
    if unlike is None or not names or not len(rows.X):
        return {}, {}
    tally = unlike(rows.X)
    count = lambda values: {name: int(values[i]) for i, name in names.items() if values[i]}  # noqa: E731
    return count(tally.far), count(tally.changed)


def _looked_at(rows: NewRows, saved: SavedEstimator, encoder: Encoder, n: int) -> list[list[float]]:
    """Measure some rows, by the profile of the fit's inputs: a random order, then the measures, for each."""
    # texts are put into numbers by the model itself, from words that the rows of the fit held
    if saved.inputs is None or encoder.kind.startswith("text"):
        return []
    at, order = rows_to_look_at(rows.row[rows.whole], n)
    # columns that are taken as blank differ from what they were, as was asked for
    at, order = (values[rows.blank[at] == None] for values in (at, order))  # noqa: E711  element by element
    measures = saved.inputs.measures(rows.X[at])
    return [[float(place), *values] for place, values in zip(order, measures.tolist(), strict=True)]


def _number_names(encoder: Encoder) -> dict[int, str]:
    """Columns of x that hold numbers of named columns, by their place."""
    types = getattr(encoder, "column_types", None)
    if types is None:
        return {}
    names: Sequence[str] = encoder.names or ()
    return {i: name for i, name in enumerate(names) if types.get(name) == "number"}
