"""Whether a correction learned on one model or data set helps on another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics.scores import log_losses
from miscal.runs.compare.estimates import mean_of
from miscal.runs.compare.rows import TEXT, Match, kind_of
from miscal.study.transfer.runs import OpenRun, same_space, side, unseen


def correction_rows(a: OpenRun, b: OpenRun, match: Match | None, method: str) -> list[dict[str, Any]]:
    """Correct the rows of one pair by the saved field of another.

    Questions that taught the field are left out, with whatever counts as one with them. Where all rows of a pair
    testify, its saved field has learned from all of them, so that no question that both pairs share is judged.

    Parameters
    ----------
    a : OpenRun
        The pair whose saved field corrects.
    b : OpenRun
        The pair whose rows that testify are judged.
    match : Match or None
        From :func:`miscal.study.transfer.runs.shared`.
    method : str
        What the table calls the method.

    Returns
    -------
    list of dict
        One row of table ``transfer_corrections``; none where the inputs are not of one space, as
        :func:`miscal.study.transfer.runs.space_of` tells it, where no row is left to judge, or where two pairs of one
        data set do not say which of their questions are the same. The interval of the paired saving is Student's, over
        questions that count as one (Liang and Zeger, 1986).
    """
    unknown = a.labels.dataset == b.labels.dataset and match is None
    if unknown or not same_space(a.space, b.space):
        return []
    at = np.flatnonzero(unseen(b, a, match))
    if not len(at):
        return []
    correct, confidence = b.rows.correct[at], b.rows.confidence[at]
    transferred = log_losses(correct, _corrected(a, b, at))
    raw, own = log_losses(correct, confidence), log_losses(correct, b.rows.corrected[at])
    saved = mean_of(side(b, at), raw - transferred)
    low, high = saved.interval(0) or (None, None)
    return [
        {
            "method": method,
            "pair_from": a.labels.pair,
            "pair_to": b.labels.pair,
            "n": len(at),
            "log_loss_raw": float(raw.mean()),
            "log_loss_own": float(own.mean()),
            "log_loss_transferred": float(transferred.mean()),
            "saved": float(saved.value[0]),
            "saved_low": low,
            "saved_high": high,
        }
    ]


def _corrected(a: OpenRun, b: OpenRun, at: NDArray[np.int64]) -> np.ndarray:
    """Return the confidences of rows of `b`, corrected by the saved field of `a`."""
    source = b.rows.source
    given = source["options"]
    taken = ("confidence", "embeddings", "embedding_rows", "where", "encoding", "csv_escape")
    options = {name: given.get(name) for name in taken}
    if kind_of(source) == TEXT:
        options["text"] = source["columns"]["text"]
    # rows that the run itself dropped may be in the file; they are not asked for
    table = a.rows.run.load_model().correct(source["path"], on_invalid="null", **options)
    place = np.searchsorted(table["row"].to_numpy(), b.rows.row[at])
    return table["corrected"].to_numpy()[place]
