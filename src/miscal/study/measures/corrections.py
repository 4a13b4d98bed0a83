"""The tables ``corrections``, ``deferral`` and ``deferral_gains``: what correcting confidences changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import DeferralGain, deferral_gains, risk_at_coverage
from miscal.discovery.estimating import corrections_by_name
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.discovery.measurements import comparison
from miscal.discovery.summary import Comparison
from miscal.study.outcome_kind import prediction
from miscal.study.pair_result import PairResult, RawGeometry, TableRows
from miscal.study.tables import REGIONS


def measure_corrections(result: PairResult) -> TableRows:
    """Score raw and corrected confidences on all rows and on each regime of the uncorrected field.

    Returns
    -------
    TableRows
        Table ``corrections``.
    """
    compared: dict[str, Mapping[str, Comparison]] = {"learned": result.found.summary.correction}
    if result.raw is not None:
        compared["raw"] = _of_raw(result, result.raw)
    rows = [
        result.named
        | {"geometry": geometry, "calibrator": name, "region": region}
        | {score: getattr(getattr(scores, region), score) for score in ("n", "smece", "brier", "log_loss")}
        for geometry, by_name in compared.items()
        for name, scores in by_name.items()
        for region in REGIONS
    ]
    return {"corrections": rows}


def _of_raw(result: PairResult, raw: RawGeometry) -> Mapping[str, Comparison]:
    """Compare the raw field's correction with global ones learned from the same training rows."""
    test = evaluated_rows(result.triples)
    corrected = result.triples.confidence.copy()
    corrected[test] = raw.rows.corrected
    train = (result.found.table["split"] == "train").to_numpy()
    values = corrections_by_name(result.triples, corrected, [(train, np.ones(len(test), dtype=bool))])
    labelled = LabelledRows.of(raw.rows.correct, raw.rows.confidence)
    return comparison(labelled, {name: value[test] for name, value in values.items()}, raw.rows.regime)


COVERAGES = tuple(np.linspace(0.05, 1.0, 20).round(2).tolist())
"""Coverages of the curve: 0.05, 0.10, ..., 1."""


def measure_deferral(result: PairResult) -> TableRows:
    """Compute risk at every coverage by raw and corrected confidences, and what correcting gains; learned geometry.

    Where the confidence is of an event, the more likely side is the answer, and rows are ranked by its probability.
    Correction may change the answer then, so that even without deferral the risk may change.

    Returns
    -------
    TableRows
        Tables ``deferral`` and ``deferral_gains``.
    """
    rows, settings = result.learned, result.settings
    confidences = {"raw": rows.confidence, "corrected": rows.corrected}
    ranked = {name: prediction(rows.correct, f, result.labels.outcome) for name, f in confidences.items()}
    curve = [
        result.named | {"score": name, "coverage": coverage, "risk": float(risk)}
        for name, (right, score) in ranked.items()
        for coverage, risk in zip(COVERAGES, risk_at_coverage(right, score, COVERAGES), strict=True)
    ]
    (right, before), (right_after, after) = ranked.values()
    gains = deferral_gains(
        right,
        before,
        after,
        correct_after=right_after,
        groups=result.groups,
        n_draws=settings.bootstrap_draws,
        random_state=settings.seed,
    )
    return {"deferral": curve, "deferral_gains": [result.named | _gain(gain) for gain in gains]}


def _gain(found: DeferralGain) -> dict[str, Any]:
    return {
        "at": "area" if found.at is None else f"{found.at:g}",
        "raw": found.before,
        "corrected": found.after,
        "gain": found.gain,
        "gain_low": found.interval[0],
        "gain_high": found.interval[1],
    }
