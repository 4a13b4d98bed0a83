"""The tables of a run: the field at every row, findings, values of columns, decisions, and several classes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pydantic

from miscal.base.document import Measure, interval, plain
from miscal.base.errors import CorruptFile, command
from miscal.base.folds import named_units
from miscal.base.vocabulary import ANSWER, Kind
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.summary import ClassNumbers
from miscal.findings.decisions import Decision
from miscal.findings.ledger.document import ColumnValue, Finding

SIZES = ("residual", "hidden", "after", "conditional")
"""What has an interval, in columns of its own: ``hidden``, ``hidden_low``, ``hidden_high``."""
Tables = Mapping[str, tuple[ColumnValue, ...]]
"""The values of each column, by its name."""


def field_table(rows: FittedRows) -> pl.DataFrame:
    """Write down the field at every row that was used, in the order of the data: the content of ``field.parquet``.

    `row`: number of the row in the data, from 0; join on it, since rows may have been left out.
    `split`: train, val or test; null where all rows are evaluated.
    `fold`: where all rows are evaluated, the fold whose rows had no part in the values of the row; with evidence
        "time" its block, whose values come from the blocks before it. Else null.
    `unit`: rows of one number hang together and count once; null where every row counts by itself.
    `confidence, correct`: as given.
    `delta`: the field, in [-1, 1]: negative where over-confident.
    `mass`: how many neighbours the estimate rests on.
    `regime`: over, good or under; null where `delta` is no local estimate but the global map's.
    `hidden_regime`: the same, cut by the hidden part of the field.
    `corrected`: corrected confidence. Of several classes that of the class predicted, by the correction of all classes.
    `visible, hidden`: the two parts of `delta`.
    `supported`: whether enough of the rows learned from lie nearby to trust a local estimate.
    """
    triples, estimate, n = rows.triples, rows.estimate, len(rows.triples)
    split = [None] * n if triples.split is None else triples.split.tolist()
    fold = [None] * n if rows.fold is None else rows.fold
    return pl.DataFrame(
        {
            "row": triples.row,
            "split": pl.Series(split, dtype=pl.String),
            "fold": pl.Series(fold, dtype=pl.Int64),
            "unit": pl.Series([None] * n if triples.group is None else named_units(n, triples.group), dtype=pl.Int64),
            "confidence": triples.confidence,
            "correct": triples.correct.astype(np.int8),
            "delta": estimate.delta,
            "mass": pl.Series(estimate.mass, nan_to_null=True),
            "regime": pl.Series(rows.regime.tolist(), dtype=pl.String),
            "hidden_regime": pl.Series(rows.hidden_regime.tolist(), dtype=pl.String),
            "corrected": estimate.corrected,
            "visible": estimate.visible,
            "hidden": estimate.hidden,
            "supported": estimate.supported,
        }
    )


def decisions_table(decisions: Sequence[Decision]) -> pl.DataFrame:
    """Return what acting at each threshold leads to, a row for each, as :class:`Decision` says of its parts.

    ``before`` and ``after`` are by the confidences as given and by the corrected ones, of the rows that are acted on.
    ``promised`` and ``observed`` are the means of probability and outcome, both in [0, 1], with the 95 % interval of
    the latter.
    """
    seen = {"n": pl.Int64, **dict.fromkeys(("promised", "observed", "observed_low", "observed_high"), pl.Float64)}
    worth = ("before", "after", "all", "gain", "gain_low", "gain_high")
    schema = {
        "threshold": pl.Float64,
        "source": pl.String,
        **{f"{when}_{name}": of for when in ("before", "after") for name, of in seen.items()},
        **{f"net_benefit_{name}": pl.Float64 for name in worth},
    }
    rows = []
    for one in decisions:
        gain, promises = one.net_benefit.gain, []
        for side in (one.before, one.after):
            promises += [side.n, side.promised, side.observed.value, *(side.observed.interval or (None, None))]
        means = (one.net_benefit.before, one.net_benefit.after, one.net_benefit.all)
        rows.append((one.threshold, one.source, *promises, *means, gain.value, *(gain.interval or (None, None))))
    return pl.DataFrame(rows, schema=schema, orient="row")


def findings_table(findings: Sequence[Finding]) -> pl.DataFrame:
    """Write findings down, a row each.

    Returns the content of ``findings.parquet``; no rows where nothing was found.
    """
    return _table(findings, _findings_schema())


def _table(documents: Iterable[Finding | ColumnValue], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Write documents down, a row each: measures as a value and the two ends of the interval, conditions as JSON."""
    rows = []
    for one in documents:
        stored = one.model_dump(mode="json")
        stored["condition"] = json.dumps(stored["condition"])
        for name in SIZES:
            low, high = stored[name]["interval"] or (None, None)
            stored |= {name: stored[name]["value"], f"{name}_low": low, f"{name}_high": high}
        rows.append({name: stored[name] if name in stored else getattr(one, name) for name in schema})
    return pl.DataFrame(rows, schema=schema, orient="row")


def _ends(names: Sequence[str]) -> list[str]:
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def _findings_schema() -> dict[str, Any]:
    means = ("share", "accuracy", "confidence", "corrected", "visible")
    tested = ("odds_ratio", "p_value", "p_adjusted")
    return {
        "description": pl.String,
        "source": pl.String,
        "columns": pl.List(pl.String),
        "n": pl.Int64,
        **dict.fromkeys((*means, *_ends(("residual", "hidden", "conditional", "after")), *tested), pl.Float64),
        "sign": pl.String,
        "together_with": pl.Int64,
        "fate": pl.String,
        "units_needed": pl.Struct({"units": pl.Int64, "rows": pl.Int64}),
        "aliases": pl.List(pl.String),
        "rows": pl.List(pl.Int64),
        "condition": pl.String,
    }


@dataclass(frozen=True)
class ColumnTable:
    """The table of one column.

    `evidence`: which rows it is of: ``"all"`` rows, or the ``"test"`` rows alone. `n`: their number. `values`: in the
    order in which they are shown. `epsilon`: Half-width of the band of the run that counts as well calibrated.
    """

    column: str
    evidence: str
    n: int
    values: tuple[ColumnValue, ...]
    kind: Kind = ANSWER
    epsilon: float | None = None

    def to_json(self) -> str:
        """Return the table as JSON text, every number with an interval as ``{value, interval}``."""
        about = {"column": self.column, "kind": self.kind, "evidence": self.evidence, "n": self.n}
        values = [{"column": one.column, "value": one.value, **one.model_dump(mode="json")} for one in self.values]
        return json.dumps(plain(about | {"values": values}), indent=1, allow_nan=False) + "\n"


def columns_table(values: Iterable[ColumnValue]) -> pl.DataFrame:
    """Write the values of columns down, a row each.

    Returns the content of ``columns.parquet``; no rows where no column is named.
    """
    return _table(values, schema())


def schema() -> dict[str, Any]:
    """Return the columns of ``columns.parquet`` and their types."""
    return {
        "column": pl.String,
        "value": pl.String,
        "n": pl.Int64,
        **dict.fromkeys(("share", "accuracy", "confidence", *_ends(SIZES[:3])), pl.Float64),
        "mark": pl.String,
        "finding": pl.Int64,
        **dict.fromkeys(_ends(SIZES[3:]), pl.Float64),
        "condition": pl.String,
    }


def tables_of(frame: pl.DataFrame, *, name: str = "columns.parquet") -> Tables:
    """Read the tables of columns back; messages call the file `name`.

    Examples
    --------
    >>> dict(tables_of(columns_table(())))
    {}
    """
    missing = [column for column in schema() if column not in frame.columns]
    if missing:
        raise CorruptFile(f"{name}: column {', '.join(missing)} is missing; run {command('discover')} again")
    try:
        values = [_value(row) for row in frame.to_dicts()]
    except (ValueError, TypeError, pydantic.ValidationError) as error:
        raise CorruptFile(
            f"{name} holds no tables of columns ({str(error)[:200]}); run {command('discover')} again"
        ) from None
    return by_column(values)


def by_column(values: Iterable[ColumnValue]) -> Tables:
    """Group values, which lie column by column."""
    return {column: tuple(some) for column, some in groupby(values, key=lambda one: one.column)}


def _value(row: Mapping[str, Any]) -> ColumnValue:
    sizes = {
        name: Measure(value=row[name], interval=interval(row[f"{name}_low"], row[f"{name}_high"])) for name in SIZES
    }
    stored = {name: row[name] for name in ("column", "n", "share", "accuracy", "confidence", "mark", "finding")}
    return ColumnValue.model_validate({**stored, **sizes, "condition": json.loads(row["condition"])})


def class_findings_table(numbers: ClassNumbers | None) -> pl.DataFrame:
    """Write the findings of all classes down, a row each: the content of ``class_findings.parquet``.

    Returns ``class`` and the columns of ``findings.parquet``, class by class, the strongest first; no rows where there
    are none.
    """
    named = () if numbers is None else numbers.findings
    table = findings_table([one for _, one in named])
    return table.select(pl.Series("class", [name for name, _ in named], dtype=pl.String), pl.all())


def classes_table(numbers: ClassNumbers | None) -> pl.DataFrame:
    """Write the numbers of all classes down, a row each: the content of ``classes.parquet``.

    `class`: its name.
    `labels, predicted`: rows that have it, and rows in which it is the likeliest.
    `probability, rate`: its mean probability, and the share of rows that have it.
    `smece, brier, log_loss`: of the class as an event; each stands there with ``_corrected``, too.
    `looked_at`: whether groups were tested.
    `findings`: their number.
    """
    scores = ("smece", "brier", "log_loss")
    rows = [
        {
            "class": one.name, "labels": one.labels, "predicted": one.predicted, "probability": one.probability,
            "rate": one.rate, **{name: getattr(one.raw, name) for name in scores},
            **{f"{name}_corrected": getattr(one.corrected, name) for name in scores},
            "looked_at": one.looked_at, "findings": len(one.findings),
        }
        for one in (() if numbers is None else numbers.classes)
    ]  # fmt: skip
    numbers_of = ("probability", "rate", *scores, *(f"{name}_corrected" for name in scores))
    schema = {
        "class": pl.String, "labels": pl.Int64, "predicted": pl.Int64, **dict.fromkeys(numbers_of, pl.Float64),
        "looked_at": pl.Boolean, "findings": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")
