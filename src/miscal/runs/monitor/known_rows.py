"""Read the rows of a run with the corrected confidences that were honest for each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.base.folds import named_units
from miscal.data.triples import Triples
from miscal.discovery.frames import frame_of_rows
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel
from miscal.findings.conditions import Frame
from miscal.runs.monitor.new_rows import NewLabelled

MOST_TRIED = 1_000
"""Rows by which it is told whether the saved model corrects at all. Not tuned."""
UNMOVED = 1e-9
"""Correction of a confidence that is none."""


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows of a run.

    Attributes
    ----------
    rows : NewLabelled
        Corrected by fits that had not seen their outcomes; without columns of inputs where the data cannot be read.
    frame : Frame or None
        What findings and values ask of them; None where the data cannot be read.
    """

    rows: NewLabelled
    frame: Frame | None


def known_rows(run: RunContent, model: SavedModel, triples: Triples | None) -> KnownRows:
    """Put together the rows of a run.

    Parameters
    ----------
    run : RunContent
    model : SavedModel
        Of the run.
    triples : Triples or None
        Its rows as read again; None where they cannot be.

    Returns
    -------
    KnownRows
    """
    table = run.table
    columns = {name: table[name].cast(float).to_numpy() for name in ("confidence", "correct", "corrected", "visible")}
    visible = np.clip(columns["confidence"] + columns["visible"], 0.0, 1.0)
    if triples is not None and _idle(model, triples):
        # the fits of the run may have corrected them where the saved one, from all rows, does not
        columns["corrected"] = columns["confidence"]
    unit = np.arange(len(table))
    if "unit" in table.columns and not table["unit"].null_count():
        unit = table["unit"].to_numpy()
    elif triples is not None and triples.group is not None:
        unit = named_units(len(table), triples.group.astype(str))
    order = np.argsort(unit, kind="stable")
    # a row without a corrected confidence shows nothing
    order = order[run.evaluated.to_numpy()[order]]
    order = order[np.isfinite(columns["corrected"][order]) & np.isfinite(visible[order])]
    rows = NewLabelled(
        X=(np.zeros((len(table), 0)) if triples is None else triples.X)[order],
        correct=columns["correct"][order],
        confidence=columns["confidence"][order],
        corrected=np.clip(columns["corrected"][order], 0.0, 1.0),
        visible=visible[order],
        regime=table["regime"].to_numpy()[order],
        supported=table["supported"].to_numpy()[order],
        unit=np.unique(unit[order], return_inverse=True)[1],
        group=None,
        columns={},
        text=None,
    )
    return KnownRows(rows, None if triples is None else _frame(run, model, triples, order))


def _idle(model: SavedModel, triples: Triples) -> bool:
    """Whether the saved model leaves confidences as they are."""
    some = slice(0, MOST_TRIED)
    corrected = model.estimator.fitted.correct(triples.X[some], triples.confidence[some])
    return bool(np.all(np.abs(corrected.delta) < UNMOVED))


def _frame(run: RunContent, model: SavedModel, triples: Triples, order: np.ndarray) -> Frame:
    taken = triples.take(order)
    hidden = run.table["hidden"].cast(float).to_numpy()[order]
    return frame_of_rows(
        taken.metadata, taken.X, model.encoder, text=taken.text, clusters=run.load_clusters(), hidden=hidden
    )
