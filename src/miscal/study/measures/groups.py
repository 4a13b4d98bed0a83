"""The tables ``board`` and ``groups``: what models are compared by, and the values of the columns that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from miscal.base.document import Measure
from miscal.calibration.metrics import log_losses
from miscal.findings.conditions import Value
from miscal.findings.judging import hidden_residual, strata_of
from miscal.findings.ledger import LEDGER_DEFAULTS
from miscal.findings.ledger.sizes import left_by, residual_size
from miscal.runs.compare.estimates import clustered_mean
from miscal.study.pair_result import PairResult, TableRows
from miscal.study.pairs_together import CommonGroup, ModelRows, common_groups
from miscal.study.tables import LOG_LOSS, RESIDUAL, SMECE


def measure_board(result: PairResult) -> TableRows:
    """Measure what models are compared by, each with its interval.

    Returns
    -------
    TableRows
        Table ``board``.
    """
    rows, smece = result.learned, result.found.summary.global_.smece
    ends = smece.interval or (None, None)
    own = {
        RESIDUAL: _mean(rows.correct - rows.confidence, result.unit),
        SMECE: (smece.value, *ends),
        LOG_LOSS: _mean(log_losses(rows.correct, rows.corrected), result.unit),
    }
    return {
        "board": [
            result.named | {"measure": name, "n": len(rows.correct), "value": value, "low": low, "high": high}
            for name, (value, low, high) in own.items()
        ]
    }


def _mean(values: np.ndarray, unit: np.ndarray) -> tuple[float, float | None, float | None]:
    mean = clustered_mean(values, unit)
    low, high = mean.interval(0) or (None, None)
    return float(mean.value[0]), low, high


def measure_groups(models: Sequence[ModelRows]) -> TableRows:
    """Measure every value of the columns that all models have, and test it against rows of equal confidence.

    Returns
    -------
    TableRows
        Table ``groups``, a row for each model and each group that it has rows of. The hidden residual, its interval and
        its p-value are those of :func:`miscal.findings.judging.hidden_residual`; groups of fewer rows than the ledger
        tests have no p-value. ``p_adjusted`` is filled in once all pairs are known.
    """
    groups = common_groups(models)
    return {"groups": [row for place, one in enumerate(models) for row in _of_model(one, place, groups)]}


def _of_model(model: ModelRows, place: int, groups: Sequence[CommonGroup]) -> Iterator[dict[str, Any]]:
    stratum = strata_of(model.rows)
    for group in groups:
        if len(group.rows[place]):
            yield _row(model, group, group.rows[place], stratum)


def _row(model: ModelRows, group: CommonGroup, at: np.ndarray, stratum: np.ndarray) -> dict[str, Any]:
    inside = np.zeros(len(model), dtype=bool)
    inside[at] = True
    hidden = hidden_residual(model.rows, inside, stratum)
    tested = min(len(at), len(model) - len(at)) >= LEDGER_DEFAULTS.min_rows
    return {
        **model.named,
        "column": group.column,
        "value": group.value,
        "bin": not isinstance(group.condition, Value),
        "n": len(at),
        **_ends("residual", residual_size(model.rows.take(at), LEDGER_DEFAULTS.significance)),
        "hidden": hidden.value,
        "low": None if hidden.interval is None else hidden.interval[0],
        "high": None if hidden.interval is None else hidden.interval[1],
        "p_value": hidden.p_value if tested else None,
        "p_adjusted": None,
        **_ends("after", left_by(model.after, at, LEDGER_DEFAULTS.significance)),
        "finding": model.findings.get(group.condition),
    }


def _ends(name: str, size: Measure) -> dict[str, float | None]:
    low, high = size.interval or (None, None)
    return {name: size.value, f"{name}_low": low, f"{name}_high": high}
