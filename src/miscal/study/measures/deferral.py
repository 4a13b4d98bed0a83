"""The tables ``deferral`` and ``deferral_gains``: answering only where the model is confident, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.calibration.metrics import DeferralGain, deferral_gains, risk_at_coverage
from miscal.study.studied import Rows, Studied

COVERAGES = tuple(np.linspace(0.05, 1.0, 20).round(2).tolist())
"""Coverages of the curve: 0.05, 0.10, ..., 1."""


def measure(studied: Studied) -> Rows:
    """Compute risk at every coverage by raw and corrected confidences, and what correcting gains; learned geometry.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    Rows
        Tables ``deferral`` and ``deferral_gains``.
    """
    rows, settings = studied.learned, studied.settings
    scores = {"raw": rows.confidence, "corrected": rows.corrected}
    curve = [
        studied.named | {"score": name, "coverage": coverage, "risk": float(risk)}
        for name, score in scores.items()
        for coverage, risk in zip(COVERAGES, risk_at_coverage(rows.correct, score, COVERAGES), strict=True)
    ]
    gains = deferral_gains(rows.correct, *scores.values(), n_draws=settings.bootstrap_draws, random_state=settings.seed)
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
