"""The tables ``deferral`` and ``deferral_gains``: answering only where the model is confident, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.calibration.metrics import DeferralGain, deferral_gains, risk_at_coverage
from miscal.study.outcome import prediction
from miscal.study.studied import Rows, Studied

COVERAGES = tuple(np.linspace(0.05, 1.0, 20).round(2).tolist())
"""Coverages of the curve: 0.05, 0.10, ..., 1."""


def measure(studied: Studied) -> Rows:
    """Compute risk at every coverage by raw and corrected confidences, and what correcting gains; learned geometry.

    Where the confidence is of an event, the more likely side is the answer, and rows are ranked by its probability.
    Correction may change the answer then, so that even without deferral the risk may change.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    Rows
        Tables ``deferral`` and ``deferral_gains``.
    """
    rows, settings = studied.learned, studied.settings
    confidences = {"raw": rows.confidence, "corrected": rows.corrected}
    ranked = {name: prediction(rows.correct, f, studied.labels.outcome) for name, f in confidences.items()}
    curve = [
        studied.named | {"score": name, "coverage": coverage, "risk": float(risk)}
        for name, (right, score) in ranked.items()
        for coverage, risk in zip(COVERAGES, risk_at_coverage(right, score, COVERAGES), strict=True)
    ]
    (right, before), (right_after, after) = ranked.values()
    gains = deferral_gains(
        right,
        before,
        after,
        correct_after=right_after,
        groups=studied.groups,
        n_draws=settings.bootstrap_draws,
        random_state=settings.seed,
    )
    return {"deferral": curve, "deferral_gains": [studied.named | _gain(gain) for gain in gains]}


def _gain(found: DeferralGain) -> dict[str, Any]:
    return {
        "at": "area" if found.at is None else f"{found.at:g}",
        "raw": found.before,
        "corrected": found.after,
        "gain": found.gain,
        "gain_low": found.interval[0],
        "gain_high": found.interval[1],
    }
