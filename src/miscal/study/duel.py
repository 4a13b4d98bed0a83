"""Our method against the paper's on one pair: which leaves the lower log loss on the same unseen rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.discovery.run import Run
from miscal.study.studied import Labels


def duel_rows(labels: Labels, auto: Run, paper: Run, unit: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Compare the corrections of two methods, row by row.

    Parameters
    ----------
    labels : Labels
    auto, paper : Run
        Of the same rows, in the same order, by either method.
    unit : (n,) int64
        Rows that count as one, because their inputs are equal or their group is.

    Returns
    -------
    list of dict
        The row of table ``duels``; none where no row testifies in both. The interval is Student's, over units (Liang
        and Zeger, 1986).
    """
    tables = auto.table, paper.table
    testify = np.logical_and.reduce([table["split"].fill_null("test").to_numpy() == "test" for table in tables])
    at = np.flatnonzero(testify)
    if not len(at):
        return []
    correct = tables[0]["correct"].to_numpy()[at].astype(np.float64)
    ours, theirs = (log_losses(correct, table["corrected"].to_numpy()[at]) for table in tables)
    saved = mean_interval(theirs - ours, groups=unit[at])
    low, high = saved.interval or (None, None)
    return [
        {
            "pair": labels.pair,
            "dataset": labels.dataset,
            "model": labels.model,
            "n": len(at),
            "log_loss_auto": float(ours.mean()),
            "log_loss_paper": float(theirs.mean()),
            "saved": saved.value,
            "saved_low": low,
            "saved_high": high,
        }
    ]
