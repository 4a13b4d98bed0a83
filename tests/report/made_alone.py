"""What may be decided alone, and decisions at thresholds, as a run stores them."""

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.alone import MAX_ERRORS, asked_groups, decided_alone
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.decisions import Thresholds, decide


def made(n=2000, *, kind="answer", thresholds=(0.6,), cost=None, max_error=()):
    """Return them of a model that is too sure of what it says of one subject, which its correction does not see."""
    rng = np.random.default_rng(0)
    f, law = rng.beta(5, 1, n), np.arange(n) < n // 10
    y = (rng.random(n) < np.where(law, 0.5, f**0.5)).astype(float)
    rows, corrected = LabelledRows.of(y, f), f**0.7
    groups = asked_groups([(Value("subject", "<b>law</b>", "text"), law)], [], 1)
    near, asked = np.full(n, True), Thresholds.of(thresholds, cost, max_error)
    alone, curves = decided_alone(rows, LabelledRows.of(y, corrected), near, MAX_ERRORS, kind=kind, groups=groups)
    parts = {"alone": alone, "alone_curves": curves, "decisions": decide(rows, corrected, asked)}
    return {name: [one.model_dump(mode="json") for one in part] for name, part in parts.items()}, asked.chosen


def with_alone(kind="answer", **asked):
    def change(summary):
        parts, chosen = made(kind=kind, **asked)
        summary |= parts | {"kind": kind}
        summary["settings"] |= chosen

    return change
