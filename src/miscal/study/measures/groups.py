"""What a pair adds to the tables ``board`` and ``groups``: what models are compared by, and its named groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import log_losses
from miscal.discovery.column_tables import tables_of
from miscal.findings.conditions.kinds.value import Value
from miscal.findings.judging import hidden_residual, strata_of
from miscal.findings.ledger import LEDGER_DEFAULTS, ColumnValue
from miscal.runs.compare.estimates import clustered_mean
from miscal.study.pair_result import PairResult, TableRows, labelled_rows, named_columns

RESIDUAL, SMECE, LOG_LOSS = "residual", "smece", "log_loss_corrected"
"""Measures of the table ``board``."""


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


def measure_groups(result: PairResult) -> TableRows:
    """Measure every value of the named columns, and test it against rows of equal confidence.

    Returns
    -------
    TableRows
        Table ``groups``. The hidden residual, its interval and its p-value are those of
        :func:`miscal.findings.judging.hidden_residual`; groups of fewer rows than the ledger tests have no p-value.
        ``p_adjusted`` is filled in once all pairs are known.
    """
    tables = tables_of(result.found.columns)
    if not tables:
        return {"groups": []}
    rows, frame = labelled_rows(result), named_columns(result)
    stratum = strata_of(rows)
    found = [
        _row(result, one, rows, one.condition.rows(frame), stratum) for values in tables.values() for one in values
    ]
    return {"groups": found}


def _row(
    result: PairResult, one: ColumnValue, rows: LabelledRows, inside: np.ndarray, stratum: np.ndarray
) -> dict[str, Any]:
    n, least = int(inside.sum()), LEDGER_DEFAULTS.min_rows
    hidden = hidden_residual(rows, inside, stratum)
    tested = min(n, len(inside) - n) >= least
    return result.named | {
        "column": one.column,
        "value": one.value,
        "bin": not isinstance(one.condition, Value),
        "n": n,
        **_ends("residual", one.residual),
        "hidden": hidden.value,
        "low": None if hidden.interval is None else hidden.interval[0],
        "high": None if hidden.interval is None else hidden.interval[1],
        "p_value": hidden.p_value if tested else None,
        "p_adjusted": None,
        **_ends("after", one.after),
        "finding": one.finding,
    }


def _ends(name: str, size: Measure) -> dict[str, float | None]:
    low, high = size.interval or (None, None)
    return {name: size.value, f"{name}_low": low, f"{name}_high": high}
