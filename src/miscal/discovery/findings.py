"""The findings of a run: evaluation rows, the outcomes expected of them, and the ledger of named groups."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from miscal.base.json_values import clean_text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import ALL, TEST, TIME, FittedRows
from miscal.discovery.summary import FindingsMethod
from miscal.evidence.settings import EVIDENCE_DEFAULTS
from miscal.findings.input_clusters import InputClusters
from miscal.findings.ledger import (
    ADJUSTMENTS,
    LEDGER_DEFAULTS,
    ColumnValue,
    Finding,
    LedgerSettings,
    SequentialField,
    clusters_of,
    find,
    named_groups,
    number_of_cuts,
    readable,
    slope_places,
    with_clusters,
    with_features,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Ledger:
    """The findings of a run.

    `findings`: the strongest first. `accounted`: values of columns that differ by themselves and that the findings
    account for. `method`: how they were chosen. `clusters`: how inputs were clustered, by which a new row is placed;
    None where they were not. `values`: every value of every named column. `members`, bool (n,): the rows of each
    finding, among all rows of the run.
    """

    findings: tuple[Finding, ...]
    accounted: tuple[Finding, ...]
    method: FindingsMethod
    clusters: InputClusters | None = None
    values: tuple[ColumnValue, ...] = ()
    members: tuple[np.ndarray, ...] = ()


def write_ledger(
    rows: FittedRows,
    *,
    own_split: bool,
    seed: int,
    error: float = 1.0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> Ledger:
    """Test named groups and clusters of inputs of the rows that may be evaluated, and the ends of the hidden field.

    `rows`: with honest estimates, and E[y | f] of each. `own_split`: whether the user set the test rows apart: then
    they alone are evaluated. `seed`: of the folds, of the clusters, and of the order of rows of equal confidence.
    `error`: share of the family-wise error that it may spend.
    """
    # named groups and clusters are fixed before any outcome is seen: all rows may be evaluated, unless some were set
    # apart, or E[y | f] is only to be learned from what came before
    by_time = rows.evidence == TIME
    evidence = TIME if by_time else TEST if own_split else ALL
    witness = rows.evaluated if own_split or by_time else np.ones(len(rows.triples), dtype=bool)
    triples = rows.triples.take(witness)
    columns = with_features(triples.metadata, triples.X, triples.encoder)
    clusters = clusters_of(triples.places, own_units=readable(triples.encoder, triples.X), seed=seed, settings=settings)
    groups = with_clusters(named_groups(columns, triples.text, settings), clusters)
    field, witnesses = _sequential(rows, witness), rows.evaluation_rows
    if evidence != rows.evidence:
        witnesses = rows.labelled(witness, expected=expected_outcome(replace(triples, split=None), seed))
    corrected = _corrected(rows, witness, seed)
    error = error if witnesses.n_units >= EVIDENCE_DEFAULTS.least_units else 0.0
    found = find(witnesses, groups, field=field, corrected=corrected, seed=seed, error=error, settings=settings)
    cuts = 0 if field is None else number_of_cuts(settings)
    method = FindingsMethod(
        candidates=len(groups) + len(slope_places(groups, settings)) + cuts,
        adjustment=ADJUSTMENTS[settings.adjustment],
        level=settings.significance,
        evidence=evidence,
        n=len(triples),
    )
    # metadata was named by the user, features may be many
    metadata = {clean_text(name) for name in triples.metadata}
    values = tuple(sorted(found.values, key=lambda one: one.column not in metadata))
    members = tuple(_among_all(inside, witness) for inside in found.members)
    return Ledger(found.findings, found.accounted, method, clusters.space, values, members)


def _among_all(inside: np.ndarray, witness: np.ndarray) -> np.ndarray:
    """Mark rows of the ledger among all rows of the run."""
    rows = witness.copy()
    rows[witness] = inside
    return rows


def _corrected(rows: FittedRows, witness: np.ndarray, seed: int) -> LabelledRows:
    """Return the rows of the ledger as their corrections leave them, with E[y | corrected] learned from other rows."""
    if np.array_equal(witness, rows.evaluated):
        return rows.corrected
    # where all rows are evaluated to the ledger, none is set apart to learn this from
    corrected = rows.estimate.corrected
    expected = expected_outcome(replace(rows.triples, split=None), seed, corrected)
    return rows.labelled(witness, confidence=corrected, expected=expected)


def _sequential(rows: FittedRows, witness: np.ndarray) -> SequentialField | None:
    """Take the hidden field where rows before taught it: those of earlier folds or, at test rows, all others."""
    if rows.evidence == TEST:
        hidden, block = np.where(rows.evaluated, rows.estimate.hidden, np.nan), rows.evaluated.astype(np.int64)
    elif rows.forward is not None and rows.block is not None:
        hidden, block = np.where(rows.block >= 0, rows.forward.hidden, np.nan), rows.block
    else:
        return None
    return SequentialField(hidden[witness], block[witness])


def findings_table(findings: Sequence[Finding]) -> "pl.DataFrame":
    """Write findings down, a row each.

    Returns the content of ``findings.parquet``; no rows where nothing was found.
    """
    import polars as pl

    rows = []
    for one in findings:
        stored = one.model_dump(mode="json")
        values = {name: json.dumps(stored[name]) for name in ("condition", "made_of", *_ALONG)} | {"explained": None}
        for name in _SIZES:
            low, high = stored[name]["interval"] or (None, None)
            values |= {name: stored[name]["value"], f"{name}_low": low, f"{name}_high": high}
        rows.append({**stored, **values})
    return pl.DataFrame([{name: row[name] for name in _schema()} for row in rows], schema=_schema(), orient="row")


_SIZES = ("hidden", "before", "conditional", "after")
_ALONG = ("lower", "upper", "curve")
"""How often a group with a slope is right along its confidences."""


def _schema() -> dict:
    import polars as pl

    means = ("share", "accuracy", "confidence", "residual", "visible")
    sizes = [f"{name}{end}" for name in _SIZES for end in ("", "_low", "_high")]
    tested = ("odds_ratio", "p_value", "p_adjusted")
    return {
        "description": pl.String,
        "source": pl.String,
        "effect": pl.String,
        "columns": pl.List(pl.String),
        "n": pl.Int64,
        **dict.fromkeys((*means, *sizes, *tested), pl.Float64),
        "sign": pl.String,
        "together_with": pl.Int64,
        "fate": pl.String,
        "rows_needed": pl.Int64,
        "explained": pl.Float64,
        "aliases": pl.List(pl.String),
        "rows": pl.List(pl.Int64),
        "condition": pl.String,
        "made_of": pl.String,
        **dict.fromkeys(_ALONG, pl.String),
    }
