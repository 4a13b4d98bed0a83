"""One pair compared with itself: the corrections of both methods on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.discovery.run import RunContent
from miscal.study.plan import StudyPair
from miscal.study.tables import attributes, with_ends


def duel_rows(pair: StudyPair, auto: RunContent, paper: RunContent, unit: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Compare the corrections of two methods on the same rows, in the same order: the row of the table ``duels``.

    There is none where no row is evaluated in both. `unit`, (n,), numbers the rows that count as one, because their
    inputs are equal or their group is; the interval is Student's, over units (Liang and Zeger, 1986).
    """
    tables = auto.table, paper.table
    evaluated = np.logical_and.reduce([table["split"].fill_null("test").to_numpy() == "test" for table in tables])
    at = np.flatnonzero(evaluated)
    if not len(at):
        return []
    correct = tables[0]["correct"].to_numpy()[at].astype(np.float64)
    ours, theirs = (log_losses(correct, table["corrected"].to_numpy()[at]) for table in tables)
    saved = mean_interval(theirs - ours, groups=unit[at])
    return [
        {
            **attributes(pair, "pair", "dataset", "model"),
            "n": len(at),
            "log_loss_auto": float(ours.mean()),
            "log_loss_paper": float(theirs.mean()),
            **with_ends("saved", saved.value, saved.interval),
        }
    ]
