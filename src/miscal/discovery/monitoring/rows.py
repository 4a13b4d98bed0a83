"""New labelled rows: read as `miscal calibrate` reads rows, corrected by the saved model, with outcomes and groups."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.checks import check_correct
from miscal.base.errors import InputError
from miscal.data.readers import open_table
from miscal.data.readers.columns import find
from miscal.data.readers.rows import TableRows, label, metadata_of, missing, refuse_missing, texts
from miscal.data.triples import check_group
from miscal.discovery.correcting.batch import correct_rows, tally_of
from miscal.discovery.correcting.tally import warnings
from miscal.discovery.run import Run
from miscal.discovery.saved_model import SavedModel
from miscal.findings import cut

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ON_INVALID = ("error", "drop")
"""What may be done about rows that cannot be used."""


@dataclass(frozen=True, eq=False)
class NewLabelled:
    """New labelled rows, those of a group side by side, groups in the order in which they first came.

    Attributes
    ----------
    X : (n, d) float32
    correct : (n,) float64, 0 or 1
    confidence, corrected, visible : (n,) float64 in [0, 1]
        As given; corrected by the saved model; and by its global map alone.
    regime : (n,) object
        "over", "good" or "under" by the saved model; None where it has no local estimate.
    supported : (n,) bool
    unit : (n,) int64
        Number of the group, in rising order; of the row where there are no groups.
    group : (n,) object or None
        Values of the group's column, as text.
    columns : dict of str to (n,) array
        What findings are named by.
    text : tuple of n str or None
    """

    X: np.ndarray
    correct: Floats
    confidence: Floats
    corrected: Floats
    visible: Floats
    regime: np.ndarray
    supported: NDArray[np.bool_]
    unit: Ints
    group: np.ndarray | None
    columns: dict[str, np.ndarray]
    text: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def units(self) -> int:
        """Number of groups."""
        return int(self.unit[-1]) + 1


@dataclass(frozen=True, eq=False)
class Read:
    """Rows that were read, with what must be told of them.

    Attributes
    ----------
    rows : NewLabelled
    columns : dict
        Columns taken for confidence, outcome, inputs and group.
    dropped : int
    notes : tuple of str
    """

    rows: NewLabelled
    columns: dict[str, Any]
    dropped: int
    notes: tuple[str, ...]


def read_labelled(
    run: Run,
    model: SavedModel,
    data: Any,
    *,
    correct: str | None = None,
    group: str | None = None,
    on_invalid: str = "error",
    encoding: str = "utf-8",
    **options: Any,
) -> Read:
    """Read new labelled rows and correct them.

    Parameters
    ----------
    run : Run
    model : SavedModel
        Of the run.
    data : path or table
        As for :func:`miscal.data.readers.read_triples`.
    correct, group : str, optional
        Columns; by default those of the run.
    on_invalid : {"error", "drop"}, default "error"
    encoding : str, default "utf-8"
    **options
        Further options of :func:`miscal.data.readers.open_new_rows`.

    Returns
    -------
    Read

    Raises
    ------
    MiscalError
        If the data do not offer what the model and the monitor need.
    """
    if on_invalid not in ON_INVALID:
        raise InputError(f"on_invalid must be 'error' or 'drop'; got {on_invalid!r}")
    opened = model.open(data, on_invalid=on_invalid, encoding=encoding, **options)
    table = open_table(data, encoding=encoding)
    outcome = find(correct or run.summary.data.columns.correct or "correct", table.columns, what="correct")
    if outcome == opened.confidence:
        raise InputError(f"confidence and correct must be two columns; both are {outcome!r}")
    if group is not None:
        find(group, table.columns, what="group (--group COL names another column)")
    named = [name for name in _naming(run) if name in table.columns]
    shown = run.summary.data.columns.text
    shown = shown if shown in table.columns else None
    (piece,) = opened.pieces(1 << 62)
    new = opened.read(piece)
    wanted = dict.fromkeys(name for name in (outcome, group, shown, *named) if name is not None)
    frame = table.load(list(wanted))[new.row]
    if len(new) == 0:
        raise InputError("no row is left to look at: correct the condition of --where, or the invalid values")
    beside = TableRows(frame, new.row, None, (), len(new))
    keep = np.full(len(new), True)
    if on_invalid == "drop":
        keep &= ~missing(beside, outcome)
        if group is not None:
            keep &= ~missing(beside, group)
        if not keep.any():
            raise InputError(f"no row is left: {label('correct', outcome)} is missing in all {len(keep)} rows")
    refuse_missing(beside.take(keep), [name for name in (outcome, group) if name is not None])
    told = correct_rows(model.estimator.fitted, new)
    values = {
        "X": new.X,
        "confidence": new.confidence,
        "corrected": told["corrected"].to_numpy(),
        "visible": np.clip(model.estimator.fitted.global_map_.apply(new.confidence), 0.0, 1.0),
        "supported": told["supported"].to_numpy(),
        "delta": told["delta"].to_numpy(),
    }
    rows = _ordered(
        {name: array[keep] for name, array in values.items()},
        beside.take(keep),
        outcome,
        group,
        named,
        shown,
        float(run.summary.settings.get("epsilon") or 0.05),
    )
    tally = tally_of(new, told, model.estimator.fitted, opened.encoder)
    left = new.counts["dropped"] + int((~keep).sum())
    said = (f"{int((~keep).sum()):,} rows without outcome or group were left out",) if not keep.all() else ()
    columns = {**opened.columns, "correct": outcome, "group": group}
    return Read(rows, columns, left, (*warnings(tally, opened, model.estimator.fitted), *said))


def _naming(run: Run) -> list[str]:
    """Columns that findings of the run are named by."""
    return list(dict.fromkeys(name for one in run.summary.findings for name in one.columns))


def _ordered(
    values: dict[str, np.ndarray],
    beside: TableRows,
    outcome: str,
    group: str | None,
    named: list[str],
    shown: str | None,
    epsilon: float,
) -> NewLabelled:
    correct = check_correct(beside.frame[outcome], name=label("correct", outcome), rows=beside.row)
    names, unit = None, np.arange(len(correct))
    if group is not None:
        names = check_group(beside.frame[group].cast(str).to_numpy(), name=label("group", group), rows=beside.row)
        _, first, number = np.unique(names.astype(str), return_index=True, return_inverse=True)
        unit = np.argsort(np.argsort(first))[number]
    order = np.argsort(unit, kind="stable")
    text = None if shown is None else texts(beside, shown)
    return NewLabelled(
        X=values["X"][order],
        correct=correct[order],
        confidence=values["confidence"][order],
        corrected=values["corrected"][order],
        visible=values["visible"][order],
        regime=cut(values["delta"], epsilon, values["supported"])[order],
        supported=values["supported"][order],
        unit=unit[order],
        group=None if names is None else names[order],
        columns={name: metadata_of(beside, name)[order] for name in named},
        text=None if text is None else tuple(text[i] for i in order),
    )


def name_of(data: Any) -> str:
    """Say what the data are called: the name of the file, or that they were in memory."""
    return Path(data).name if isinstance(data, (str, Path)) else "rows in memory"
