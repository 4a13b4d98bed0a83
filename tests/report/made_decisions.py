"""Decisions as a run stores them, of a model that is too sure of itself."""

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.decisions import Thresholds, decide


def decided(n=400, *, thresholds=(), cost=None):
    """Decisions of a model that is too sure of all it says, most of all of one finding."""
    rng = np.random.default_rng(0)
    f = rng.beta(3, 2, n)
    y = (rng.random(n) < f - 0.3 * f**2).astype(float)
    law = np.arange(n) < n // 3
    rows = LabelledRows.of(np.where(law & (rng.random(n) < 0.8), 0.0, y), f)
    asked = Thresholds.of(thresholds, cost)
    found = decide(rows, np.clip(f - 0.3, 0, 1), asked, members=[law], candidates=1)
    return [one.model_dump(mode="json") for one in found], asked.chosen


def with_decisions(kind="answer", **asked):
    def change(summary):
        summary["decisions"], chosen = decided(**asked)
        summary["settings"] |= chosen
        summary["kind"] = kind

    return change
