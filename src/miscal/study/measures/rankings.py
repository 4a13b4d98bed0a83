"""The table ``rankings``: the models of a data set in order, with intervals and ranks that hold all at once.

The log loss of a model's confidences is the sum of three means, each of which is ranked:

    calibration cost    what a map of the confidence alone saves: what a reliability diagram can show
    hidden cost         what the correction saves beyond such a map: errors that cancel in a reliability diagram
    log loss after      what is left when the correction is done

Maps and corrections come from fits that have not seen the row's outcome, so that the three are plain means over rows,
in nats, which may be negative: a map that is learned for nothing costs a little. A mean has an exact influence
function, which absolute and binned calibration errors, and SmoothECE, have not where nothing is wrong; those also
grow with noise, so that fewer rows look worse. Models that answered the same questions are compared question by
question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics import log_losses
from miscal.evidence.rankings import Ranking, rank
from miscal.study.measures.paired import PairedModels
from miscal.study.pair_result import TableRows
from miscal.study.pairs_together import ModelRows
from miscal.study.tables import CALIBRATION_COST, HIDDEN_COST, LOG_LOSS


def _losses(one: ModelRows, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
    return log_losses(one.rows.correct, confidence)


RANKED: Mapping[str, Callable[[ModelRows], NDArray[np.float64]]] = {
    CALIBRATION_COST: lambda one: _losses(one, one.rows.confidence) - _losses(one, one.globally_corrected),
    HIDDEN_COST: lambda one: _losses(one, one.globally_corrected) - _losses(one, one.corrected),
    LOG_LOSS: lambda one: _losses(one, one.corrected),
}
"""What models are ranked by, and its value at each row; lower is better."""


def measure_rankings(models: Sequence[ModelRows]) -> TableRows:
    """Rank the models of a data set by each measure.

    Parameters
    ----------
    models : sequence of at least two ModelRows

    Returns
    -------
    TableRows
        Table ``rankings``, a row for each measure and model. Intervals, comparisons and ranks of one measure are all
        right at once in 95 % of studies (:func:`miscal.evidence.rankings.rank`).
    """
    paired = PairedModels.of(models)
    rows = []
    for name, value in RANKED.items():
        found = rank(*paired.means([value(one) for one in models]), higher_is_better=False)
        rows += _rows(paired, found, name)
    return {"rankings": rows}


def _rows(paired: PairedModels, found: Ranking, measure: str) -> list[dict]:
    return [
        {
            **one.named,
            "measure": measure,
            "n": len(paired.at[k]),
            "common": paired.common,
            "value": float(found.estimate[k]),
            "low": float(found.low[k]),
            "high": float(found.high[k]),
            "best_rank": int(found.best_rank[k]),
            "worst_rank": int(found.worst_rank[k]),
        }
        for k, one in enumerate(paired.models)
    ]
