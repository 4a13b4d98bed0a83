"""The layers behind a claim, without a run: fields learned from earlier folds alone, and the certificate of them."""

from __future__ import annotations

import numpy as np

from miscal.base.folds import assign_folds
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.certificates import Certificate, certificate

FOLDS = 4


def learned_in_turn(rows: Triples, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fold of each row, and its hidden field, learned by auto from earlier folds: as it is, and gated."""
    fold = assign_folds(np.arange(len(rows)), FOLDS, np.random.default_rng(seed))
    raw, gated = np.zeros((2, len(rows)))
    for k in range(1, FOLDS):
        past, now = fold < k, fold == k
        fitted = MiscalibrationField(random_state=seed, n_jobs=1).fit_triples(rows.take(past))
        found = fitted.estimate(rows.X[now], rows.confidence[now])
        raw[now], gated[now] = found.ungated, found.hidden
    return fold, raw, gated


def proof_of(
    rows: Triples, fold: np.ndarray, field: np.ndarray, expected: np.ndarray, p_structure: float | None, seed: int
) -> Certificate:
    """Certify a hidden field on all folds but the first."""
    tested = fold > 0
    rows, field = rows.take(tested), field[tested]
    known = {"delta": 0 * field, "hidden": field, "block": fold[tested]}
    judged = LabelledRows.of(rows.correct, rows.confidence, expected[tested], **known)
    return certificate(judged, p_structure=p_structure, random_state=seed)
