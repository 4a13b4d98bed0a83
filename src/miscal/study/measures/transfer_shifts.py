"""The table ``transfer_shifts``: whether what one model hides serves to correct another, question by question.

The correction of a model at a question comes from fits that have not seen that question. Its hidden part, in
log-odds, is how far it moves the confidence beyond the correction by the confidence alone. Here the hidden part of
one model, at the same question, is added to the other model's own correction by the confidence alone:

    logit(transferred) = logit(visible of the other) + logit(corrected) - logit(visible)   of the teacher

Neither part has seen the outcome that judges it: the visible part of the judged model comes from its other folds, the
hidden part from answers of another model to other questions. (That answers of two models to one question are alike
does no harm: the one that teaches has not seen its own answer to it either.) Inputs need not be of one space, as the
two are joined by the question. To use such a correction on new questions, the model that teaches has to be asked
them, too, for its field is read at its own input and confidence.

All savings of a data set have intervals that hold at once in 95 % of studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from miscal.calibration.metrics import log_losses
from miscal.calibration.metrics.scores import LOG_LOSS_CLIP
from miscal.evidence.simultaneous import simultaneous_margins
from miscal.findings.ledger import LEDGER_DEFAULTS
from miscal.study.measures.paired import PairedModels
from miscal.study.pair_result import TableRows
from miscal.study.pairs_together import ModelRows

Floats = NDArray[np.float64]

MOST_MODELS = 50
"""Models of a data set up to which each is tried on each: the tries grow with the square of their number."""
_ROUNDING = 1e-6
"""Log-odds below which a hidden part is none: parts are added and subtracted again."""


def measure_transfer_shifts(models: Sequence[ModelRows]) -> TableRows:
    """Correct each model by the hidden part of each other one, on the questions that both answered.

    Parameters
    ----------
    models : sequence of at least two ModelRows

    Returns
    -------
    TableRows
        Table ``transfer_shifts``, a row for each ordered pair of models with at least 20 questions that both
        answered once, where the one that teaches has a hidden part at all; none where the models are more than 50.
    """
    if len(models) > MOST_MODELS:
        return {"transfer_shifts": []}
    paired = PairedModels.of(models)
    shifts = [_shift(one) for one in models]
    found = [
        _judged(paired, one, other, shifts[one], both)
        for one, other in permutations(range(len(models)), 2)
        if np.abs(shifts[one]).max() > _ROUNDING
        and len((both := _both(paired, one, other))[0]) >= LEDGER_DEFAULTS.min_rows
    ]
    if not found:
        return {"transfer_shifts": []}
    margins = simultaneous_margins(np.stack([influence for _, influence in found], axis=1))
    return {
        "transfer_shifts": [
            row | {"saved_low": row["saved"] - float(margin), "saved_high": row["saved"] + float(margin)}
            for (row, _), margin in zip(found, margins, strict=True)
        ]
    }


def _shift(one: ModelRows) -> Floats:
    """Hidden part of the correction of each row, in log-odds; 0 but for rounding where there is none."""
    return _logit(one.corrected) - _logit(one.visible)


def _logit(confidence: Floats) -> Floats:
    return logit(np.clip(confidence, LOG_LOSS_CLIP, 1 - LOG_LOSS_CLIP))


def _both(paired: PairedModels, one: int, other: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return places of the other model whose question both answered once, and the row of the one for each.

    Of several answers nobody knows which belong together; in named groups they are to different questions.
    """
    question = paired.models[other].question[paired.at[other]]
    _, mine, theirs = np.intersect1d(question, paired.models[one].question, return_indices=True)
    once = _once(question)[mine] & _once(paired.models[one].question)[theirs]
    return mine[once], theirs[once]


def _once(question: NDArray[np.int64]) -> NDArray[np.bool_]:
    _, place, times = np.unique(question, return_inverse=True, return_counts=True)
    return times[place] == 1


def _judged(
    paired: PairedModels, one: int, other: int, shift: Floats, both: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[dict[str, Any], Floats]:
    """Return a row of the table, without its interval, and the influence of each cluster on what is saved."""
    inside, teaching = both
    judged, at = paired.models[other], paired.at[other][inside]
    visible = judged.visible[at]
    transferred = expit(_logit(visible) + shift[teaching])
    losses = {
        name: log_losses(judged.rows.correct[at], confidence)
        for name, confidence in {
            "raw": judged.rows.confidence[at],
            "visible": visible,
            "own": judged.corrected[at],
            "transferred": transferred,
        }.items()
    }
    saved, influence = paired.mean_of(other, losses["visible"] - losses["transferred"], inside)
    named = {name: judged.named[name] for name in ("dataset", "method")}
    row = named | {
        "pair_from": paired.models[one].named["pair"],
        "pair_to": judged.named["pair"],
        "n": len(at),
        **{f"log_loss_{name}": paired.mean_of(other, loss, inside)[0] for name, loss in losses.items()},
        "saved": saved,
    }
    return row, influence
