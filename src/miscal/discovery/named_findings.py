"""Findings of predictions and columns alone: which groups that columns name come true more or less often than others.

A run tells more: it also looks at the inputs, and at what a correction leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import is_frame
from miscal.base.checks import check_confidence, check_correct, check_lengths, check_weight
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.readers.in_memory import read
from miscal.data.readers.rows import TableRows, metadata_of
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.ledger import Found, find, named_groups


def named_findings(y_true: Any, y_prob: Any, by: Any, *, sample_weight: Any = None, seed: int = 0) -> Found:
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
    opened = read(table)
    frame = opened.load(opened.columns)
    n = check_lengths(y_true=y_true, y_prob=y_prob, by=frame, sample_weight=sample_weight)
    weight = None if sample_weight is None else check_weight(sample_weight, n)
    held = TableRows(frame, np.arange(n), None, (), n)
    triples = Triples(
        np.arange(n, dtype=np.float64)[:, None],
        check_confidence(y_prob, name="y_prob"),
        check_correct(y_true, name="y_true"),
        weight=weight,
        metadata={name: metadata_of(held, name) for name in frame.columns},
    )
    if weight is not None:
        triples = triples.take(np.flatnonzero(weight > 0))
        triples = replace(triples, row=np.arange(len(triples)))
    nothing = np.zeros(len(triples))
    rows = LabelledRows.of(
        triples.correct, triples.confidence, expected_outcome(triples, seed), hidden=nothing, row=triples.row,
        weight=triples.weight,
    )  # fmt: skip
    return find(rows, named_groups(triples.metadata), seed=seed)
