"""What ``method="auto"`` chose from, each candidate measured by itself on rows with a known field.

Its choice is by out-of-fold log loss. Of its table the fitted model keeps, and so can be measured: the global map, the
kernels, the trees, the shift by cluster, the local shift, and what it returns (the stack, one of these alone, or the
global map where it claims no structure). Without a claim it keeps the local shift alone: read from the global map, it
is then what it passed by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from miscal.calibration.survey_design import correlation
from miscal.estimators.auto import AutoField
from miscal.estimators.auto.local import LOCAL, LocalMember


def judged_candidates(field: AutoField, X: np.ndarray, confidence: np.ndarray, truth: np.ndarray) -> list[dict]:
    """Candidates with out-of-fold log loss and recovery.

    Parameters
    ----------
    field : AutoField
        Fitted.
    X : array of shape (n, d)
    confidence : array of shape (n,), in [0, 1]
    truth : array of shape (n,)
        The true field, negative where over-confident.

    Returns
    -------
    list of dict
        name, log_loss (nats), r, chosen (of exactly one True).
    """
    losses = {row["name"]: row["log_loss"] for row in field.selection_}
    # the stack, whose members are marked too, stands last
    returned = [row["name"] for row in field.selection_ if row["chosen"]][-1]
    rows: list[dict[str, Any]] = []
    for name, delta in _fields(field, X, confidence, returned).items():
        rows.append({
            "name": name,
            # a local shift outside the stack has no row of its own in the table
            "log_loss": losses.get(name),
            "r": correlation(delta, truth),
            "chosen": name == returned,
        })  # fmt: skip
    return rows


def _fields(field: AutoField, X: np.ndarray, confidence: np.ndarray, returned: str) -> dict[str, np.ndarray]:
    model = field.model_
    (at, _), base = model.query(X, confidence), model.base(confidence)
    shifts, local = {}, LocalMember()
    if model.structure and model.portfolio is not None:
        shifts, local = model.portfolio.first_shifts(at), model.portfolio.later.get(LOCAL, local)
    shifts |= {LOCAL: local.shift(at)}
    found = {f"global map: {model.global_map.name}": base - confidence}
    found |= {name: expit(at.offset + shift) - confidence for name, shift in shifts.items()}
    return found | {returned: field.estimate(X, confidence).delta}
