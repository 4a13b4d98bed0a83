"""What a method's field shows on test rows: the gap between its regimes, and what can be proved of it."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from _data import RealSet
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.gap import worst_slice
from miscal.calibration.survey_design import correlation
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import FieldEstimate
from miscal.evidence.certificates import Certificate, certificate
from miscal.evidence.conditional import outcome_given_confidence
from miscal.findings.residuals import EPSILON


def gap_found(data: RealSet, seed: int, record: dict) -> float:
    """Worst-slice smECE gap of the raw confidences between the method's regimes; 0 where it finds none of 30 rows."""
    test = data.split(seed) == "test"
    f, delta = data.confidence[test], np.array(record["corrected"]) - data.confidence[test]
    regime = np.select([delta < -EPSILON, delta > EPSILON], ["over", "under"], "good")
    return worst_slice(data.correct[test], f, regime).value or 0.0


def hidden_limit(data: RealSet, seed: int, record: dict, isotonic: dict) -> float:
    """Lower 95 % limit of hidden miscalibration, what an isotonic map says being visible; 0 where none is proved."""
    test = data.split(seed) == "test"
    y, f, corrected = data.correct[test], data.confidence[test], np.array(record["corrected"])
    expected = outcome_given_confidence(data.correct[~test], data.confidence[~test], f)
    rows = LabelledRows.of(y, f, expected, delta=corrected - f, hidden=corrected - np.array(isotonic["corrected"]))
    with patch("miscal.evidence.settings.N_DRAWS", 499):
        return certificate(rows, random_state=seed).hidden.low


def claim_of(
    field: MiscalibrationField, found: FieldEstimate, y: np.ndarray, f: np.ndarray, test: np.ndarray, *, seed: int
) -> Certificate:
    """What the test rows allow to be said of a field's estimate of them, as in `miscal discover`."""
    expected = outcome_given_confidence(y[~test], f[~test], f[test])
    rows = LabelledRows.of(y[test], f[test], expected, delta=found.delta, hidden=found.ungated)
    return certificate(rows, random_state=seed)


def recovery(delta: np.ndarray, truth: np.ndarray) -> float | None:
    """Pearson r of a field with the truth, 0 for a constant field; None where the truth is constant."""
    return (correlation(delta, truth) or 0.0) if np.ptp(truth) else None
