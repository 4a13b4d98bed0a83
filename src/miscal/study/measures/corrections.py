"""The table ``corrections``: every region of the rows under every correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from miscal.discovery.estimating import corrections_by_name, testifying
from miscal.discovery.measurements import comparison
from miscal.discovery.summary import Comparison
from miscal.study.numbers.choosing import REGIONS
from miscal.study.rows import RawGeometry
from miscal.study.studied import Rows, Studied


def measure(studied: Studied) -> Rows:
    """Score raw and corrected confidences on all rows and on each regime of the uncorrected field.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    Rows
        Table ``corrections``.
    """
    compared: dict[str, Mapping[str, Comparison]] = {"learned": studied.found.summary.correction}
    if studied.raw is not None:
        compared["raw"] = _of_raw(studied, studied.raw)
    rows = [
        studied.named | {"geometry": geometry, "calibrator": name, "region": region} | _scores(scores, region)
        for geometry, by_name in compared.items()
        for name, scores in by_name.items()
        for region in REGIONS
    ]
    return {"corrections": rows}


def _scores(scores: Comparison, region: str) -> dict[str, Any]:
    score = getattr(scores, region)
    return {name: getattr(score, name) for name in ("n", "smece", "brier", "log_loss")}


def _of_raw(studied: Studied, raw: RawGeometry) -> Mapping[str, Comparison]:
    """Compare the raw field's correction with global ones learned from the same training rows."""
    test = testifying(studied.triples)
    corrected = studied.triples.confidence.copy()
    corrected[test] = raw.rows.corrected
    train = (studied.found.table["split"] == "train").to_numpy()
    values = corrections_by_name(studied.triples, corrected, [(train, np.ones(len(test), dtype=bool))])
    return comparison(raw.rows.correct, {name: value[test] for name, value in values.items()}, raw.rows.regime)
