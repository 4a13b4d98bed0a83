"""Decide which new rows meet the conditions of a run's findings."""

from __future__ import annotations

from miscal.discovery.frames import frame_of_rows
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel
from miscal.findings.conditions import Frame
from miscal.runs.monitor.new_rows import NewLabelled


def frame_of(run: RunContent, model: SavedModel, rows: NewLabelled) -> Frame:
    """Put together what findings of a run ask of new rows.

    Parameters
    ----------
    run : RunContent
    model : SavedModel
        Of the run.
    rows : NewLabelled

    Returns
    -------
    Frame
        Columns that are inputs have the values that the model sees. The hidden field is only estimated where a finding
        rests on it.
    """
    metadata = {name: rows.columns[name] for name in run.summary.data.columns.metadata if name in rows.columns}
    hidden = None
    if any(one.condition.on_field for one in run.summary.findings):
        estimated = model.estimator.fitted.correct(rows.X, rows.confidence)
        hidden = estimated.delta - (rows.visible - rows.confidence)
    return frame_of_rows(metadata, rows.X, model.encoder, text=rows.text, clusters=run.load_clusters(), hidden=hidden)
