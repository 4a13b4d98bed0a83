"""The tables of a run as Python shows them: a dozen columns with plain names; or every column that is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from miscal.base.arrays import did_you_mean
from miscal.base.errors import InputError
from miscal.discovery.run import RunContent
from miscal.discovery.tables import class_findings_table, classes_table, decisions_table
from miscal.findings.ledger import Finding

Types = Mapping[str, Any]

_FINDING: Types = {
    "number": pl.Int64,
    "group": pl.String,
    "rows": pl.Int64,
    **dict.fromkeys(("predicted", "happened", "happened_low", "happened_high", "corrected"), pl.Float64),
    **dict.fromkeys(("hidden", "after"), pl.Float64),
    "fate": pl.String,
    "p_adjusted": pl.Float64,
}
_FIELD = {
    **{"row": "row", "confidence": "predicted", "correct": "happened"},
    **{"corrected": "corrected_out_of_fold", "delta": "delta_out_of_fold"},
    **{name: name for name in ("visible", "hidden", "regime", "hidden_regime", "supported")},
}
_COLUMNS = {
    **{"column": "column", "value": "value", "n": "rows", "confidence": "predicted", "accuracy": "happened"},
    **{name: name for name in ("hidden", "hidden_low", "hidden_high", "after", "mark", "finding")},
}
_CLASSES = {
    **{"class": "class", "labels": "labels", "predicted": "chosen", "probability": "predicted", "rate": "happened"},
    **{"smece": "smece", "smece_corrected": "smece_after"},
    **{"log_loss": "log_loss", "log_loss_corrected": "log_loss_after"},
    **{"looked_at": "tested", "findings": "findings"},
}
_DECISIONS = {
    **{"threshold": "threshold", "source": "source", "before_n": "rows"},
    **{"before_promised": "predicted", "before_observed": "happened"},
    **{"before_observed_low": "happened_low", "before_observed_high": "happened_high"},
    **{"before_p_adjusted": "p_adjusted", "after_n": "rows_after"},
    **{"after_promised": "predicted_after", "after_observed": "happened_after"},
    **{"net_benefit_gain": "net_benefit_gain"},
}
_MAP = {"row": "row", "learned_1": "x", "learned_2": "y"}
"""Columns that are shown, by their names in the files, and how they are called."""


def _findings(findings: Iterable[Finding]) -> pl.DataFrame:
    rows = []
    for number, one in enumerate(findings, start=1):
        low, high = one.happened.interval or (None, None)
        means = (one.confidence, one.accuracy, low, high, one.corrected)
        left = (one.hidden.value, one.after.value, one.fate, one.p_adjusted)
        rows.append((number, one.description, one.n, *means, *left))
    return pl.DataFrame(rows, schema=_FINDING, orient="row")


def _class_findings(content: RunContent) -> pl.DataFrame:
    classes = () if content.summary.classes is None else content.summary.classes.classes
    each = [_findings(one.findings).select(pl.lit(one.name).alias("class"), pl.exclude("fate")) for one in classes]
    return pl.concat([_findings(()).select(pl.lit("").alias("class"), pl.exclude("fate")), *each])


def _chosen(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.select(pl.col(name).alias(shown) for name, shown in names.items() if name in table.columns)


_TABLES: dict[str, tuple[Callable[[RunContent], pl.DataFrame], Callable[[RunContent], pl.DataFrame]]] = {
    "findings": (lambda run: run.findings, lambda run: _findings(run.summary.findings)),
    "field": (
        lambda run: run.table,
        lambda run: _chosen(run.table, _FIELD).with_columns(run.evaluated.alias("evaluated")),
    ),
    "columns": (lambda run: run.columns, lambda run: _chosen(run.columns, _COLUMNS)),
    "classes": (
        lambda run: classes_table(run.summary.classes),
        lambda run: _chosen(classes_table(run.summary.classes), _CLASSES),
    ),
    "class_findings": (lambda run: class_findings_table(run.summary.classes), _class_findings),
    "decisions": (
        lambda run: decisions_table(run.summary.decisions),
        lambda run: _chosen(decisions_table(run.summary.decisions), _DECISIONS),
    ),
    "map": (lambda run: run.map, lambda run: _chosen(run.map, _MAP)),
}
"""The tables of a run, each with all columns and with those that are shown."""


def table_of(content: RunContent, name: str, *, wide: bool = False) -> pl.DataFrame:
    """Return a table of a run: at most twelve columns with plain names, or all that its file has."""
    if name not in _TABLES:
        raise InputError(f"name must be one of {', '.join(_TABLES)}; got {name!r}{did_you_mean(name, _TABLES)}")
    whole, shown = _TABLES[name]
    return (whole if wide else shown)(content)
