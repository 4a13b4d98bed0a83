"""The findings of a run, and of predictions and columns alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import is_frame
from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.base.document import clean_text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.readers.opening import open_source
from miscal.data.readers.rows import metadata_of
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import ALL, TIME, FittedRows
from miscal.discovery.several_classes import ClassRun
from miscal.evidence.settings import LEAST_UNITS
from miscal.findings.conditions.condition import readable, with_features
from miscal.findings.ledger.clusters import with_clusters
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import ADJUSTMENT, FindingsMethod, Ledger, find
from miscal.findings.ledger.settings import LEDGER_DEFAULTS


def write_ledger(
    rows: FittedRows,
    *,
    own_split: bool,
    seed: int,
    several: ClassRun | None = None,
) -> Ledger:
    """Test named groups and clusters of inputs of the rows that may be evaluated.

    `rows`: with honest estimates, and E[y | f] of each. `own_split`: whether the user set the test rows apart: then
    they alone are evaluated. `seed`: of the folds, of the clusters, and of the order of rows of equal confidence.
    `several`: what is known of several classes, which take their share of the error.
    """
    # named groups and clusters are fixed before any outcome is seen: all rows may be evaluated, unless some were set
    # apart, or E[y | f] is only to be learned from what came before
    evidence = rows.evidence if own_split or rows.evidence == TIME else ALL
    witness = rows.evaluated if evidence == rows.evidence else np.ones(len(rows.triples), dtype=bool)
    triples = rows.triples if witness.all() else rows.triples.take(witness)
    columns = with_features(triples.metadata, triples.X, triples.encoder)
    groups, own_units = named_groups(columns, triples.text), readable(triples.encoder, triples.X)
    groups, space = with_clusters(groups, triples.places, own_units=own_units, seed=seed)
    witnesses, corrected = rows.evaluation_rows, rows.corrected
    if evidence != rows.evidence:
        # where all rows are evaluated to the ledger, none is set apart to learn E[y | f] from
        every, f = replace(rows.triples, split=None), rows.estimate.corrected
        witnesses = rows.labelled(witness, expected=expected_outcome(every, seed))
        corrected = rows.labelled(witness, confidence=f, expected=expected_outcome(every, seed, f))
    error = 1.0 if several is None else several.error_left
    error = error if witnesses.n_units >= LEAST_UNITS else 0.0
    found = find(witnesses, groups, corrected=corrected, seed=seed, error=error)
    many = 0 if several is None else len(several.ledgers)
    share = (
        "; of the error of all, a half is for the top label, and the other half for the "
        f"{many} classes looked at, in equal parts"
    )
    share = share if many else ""
    method = FindingsMethod(
        candidates=len(groups),
        adjustment=ADJUSTMENT + share,
        level=LEDGER_DEFAULTS.significance,
        evidence=evidence,
        n=len(triples),
        not_crossed=groups.not_crossed,
        by_rows=found.by_rows,
    )
    # metadata was named by the user, features may be many
    metadata = {clean_text(name) for name in triples.metadata}
    values = tuple(sorted(found.values, key=lambda one: one.column not in metadata))
    members = tuple(np.zeros(len(witness), bool) for _ in found.members)
    for among_all, inside in zip(members, found.members, strict=True):
        among_all[witness] = inside
    return replace(found, values=values, members=members, method=method, clusters=space)


def named_findings(y_true: Any, y_prob: Any, by: Any, *, sample_weight: Any = None, seed: int = 0) -> Ledger:
    """Write the ledger of the groups that columns name, and the tables of these columns.

    `y_true`, (n,): outcomes, 0 or 1. `y_prob`, (n,): probabilities in [0, 1]. `by`, (n,): what names groups. Values
    without a name are called by that of their series, or "by". `sample_weight`, (n,): Non-negative; rows of weight 0
    are left out. Returns findings, the strongest first, tested together as those of a run are; and every value of the
    columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = rng.random(600) < np.where(kind == "law", 0.3, 0.7)
    >>> [one.description for one in named_findings(y, np.full(600, 0.5), {"kind": kind}).findings]
    ['kind = law']
    """
    table = (
        by if is_frame(by) or isinstance(by, (Mapping, pl.LazyFrame)) else {str(getattr(by, "name", None) or "by"): by}
    )
    opened = open_source(table)
    frame = opened.load(opened.columns)
    n = check_lengths(y_true=y_true, y_prob=y_prob, by=frame, sample_weight=sample_weight)
    weight = None if sample_weight is None else check_weight(sample_weight, n)
    triples = Triples(
        np.arange(n, dtype=np.float64)[:, None],
        check_confidence(y_prob, name="y_prob"),
        check_correct(y_true, name="y_true"),
        weight=weight,
        metadata={name: metadata_of(frame, name) for name in frame.columns},
    )
    if weight is not None:
        triples = triples.take(np.flatnonzero(weight > 0))
        triples = replace(triples, row=np.arange(len(triples)))
    rows = LabelledRows.of(
        triples.correct, triples.confidence, expected_outcome(triples, seed), row=triples.row,
        weight=triples.weight,
    )  # fmt: skip
    return find(rows, named_groups(triples.metadata), seed=seed)
