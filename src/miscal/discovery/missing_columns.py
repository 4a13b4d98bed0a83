"""What the correction loses where new rows lack a column: measured on rows of the run, without another fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.base.document import Measure
from miscal.base.json_values import interval, number
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.data.triples import Triples
from miscal.estimators.honest import ChangedRows

MOST_ROWS = 2_000
"""Rows that are looked at: their differences vary little."""
MOST_CHANGED = 20_000
"""Rows of all columns together; of many columns, fewer rows each."""
LEAST_ROWS = 200
"""Of more columns than leave so many rows each, the first ones are measured."""

# stream of the rows that are looked at
_STREAM = 71


@dataclass(frozen=True, eq=False)
class BlankedRows:
    """Some rows, once for each column with that column blank.

    `row`, int64 (m,): positions of the rows.
    """

    columns: tuple[str, ...]
    row: np.ndarray

    @classmethod
    def of(cls, triples: Triples, evaluated: np.ndarray, seed: int) -> BlankedRows:
        """Choose rows among the evaluation rows, at random; none where no column can be blank.

        Examples
        --------
        >>> rows = Triples.of(np.zeros((3, 1)), confidence=[0.5] * 3, correct=[0, 1, 0])
        >>> BlankedRows.of(rows, np.full(3, True), 0).columns
        ()
        """
        columns = tuple(getattr(triples.encoder, "can_be_blank", ()))[: MOST_CHANGED // LEAST_ROWS]
        there = np.flatnonzero(evaluated)
        size = min(MOST_ROWS, MOST_CHANGED // len(columns), len(there)) if columns else 0
        chosen = np.random.default_rng((seed, _STREAM)).choice(there, size, replace=False)
        return cls(columns, np.sort(chosen))

    def changed(self, triples: Triples) -> ChangedRows:
        """Return the rows of all columns, one column after the other."""
        X = triples.X[self.row]
        blanked = [triples.encoder.blanked(X, column) for column in self.columns]
        return ChangedRows(np.tile(self.row, len(self.columns)), np.concatenate([X[:0], *blanked]))


def costs(
    blanked: BlankedRows | None, changed: np.ndarray | None, every: LabelledRows, corrected: np.ndarray
) -> dict[str, Measure]:
    """Measure by how much the log loss changes where a column is blank in every row.

    `changed`, float64 (c * m,): confidences corrected without each column, one column after the other. `every`: all n
    rows. `corrected`, float64 (n,): their confidences corrected with all columns. Returns mean differences by column,
    with 95 % intervals; positive where the correction is worse without it.

    Examples
    --------
    >>> rows = LabelledRows.of(np.array([0.0, 1.0] * 50), np.full(100, 0.5))
    >>> found = costs(BlankedRows(("age",), np.arange(100)), np.full(100, 0.5), rows, 0.1 + 0.8 * rows.correct)
    >>> round(found["age"].value, 3)
    0.588
    """
    if blanked is None or changed is None:
        return {}
    outcome, before = every.correct[blanked.row], corrected[blanked.row]
    parts = np.reshape(changed, (len(blanked.columns), len(blanked.row)))
    some = {"sample_weight": every.weight, "groups": every.group}
    some = {name: None if values is None else values[blanked.row] for name, values in some.items()}
    found = {}
    for column, after in zip(blanked.columns, parts, strict=True):
        difference = mean_interval(log_losses(outcome, after) - log_losses(outcome, before), **some)
        limits = interval(*(difference.interval or (None, None)))
        found[column] = Measure(value=number(difference.value), interval=limits)
    return found
