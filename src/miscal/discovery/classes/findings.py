"""Findings of each class as an event of its own, as one family with those of the top label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import FittedRows
from miscal.findings.conditions import Value
from miscal.findings.ledger import (
    SHIFT,
    Finding,
    Found,
    LedgerSettings,
    find,
    named_groups,
    slope_places,
    with_features,
)

MOST_CLASSES = 20
"""Classes that are looked at, those of most labels: each takes its share of the error from all others."""

LEAST_LABELS = 30
"""Rows that a class needs, and the others together: of fewer, no group could tell."""

TOP_LABEL_ERROR = 0.5
"""Share of the family-wise error for the findings of the top label; the classes looked at divide the rest equally."""


@dataclass(frozen=True, eq=False)
class ClassLedgers:
    """The ledgers of classes.

    `found`: by the place of the class. `error`: share of the family-wise error of each; 0 where none was looked at.
    `candidates`: tests of each.
    """

    found: dict[int, Found]
    error: float
    candidates: int


def looked_at(labels: np.ndarray) -> list[int]:
    """Choose the classes that are looked at, by how many rows have each, (K,): those of most first.

    Examples
    --------
    >>> looked_at(np.array([40, 10, 500, 60]))
    [2, 3, 0]
    """
    enough = (labels >= LEAST_LABELS) & (labels.sum() - labels >= LEAST_LABELS)
    by_size = np.argsort(-labels, kind="stable")
    return [int(k) for k in by_size if enough[k]][:MOST_CLASSES]


def class_rows(rows: FittedRows, probability: np.ndarray, k: int, witness: np.ndarray, seed: int) -> LabelledRows:
    """Return some rows with class `k` as the event, by these probabilities of all classes."""
    triples = rows.triples
    p, happened = probability[:, k], (triples.classes.code == k).astype(np.float64)
    # where all rows are evaluated to the ledger, none is set apart to learn E[y | p] from
    split = None if witness.all() else triples.split
    expected = expected_outcome(replace(triples, confidence=p, correct=happened, split=split), seed)
    nothing = np.zeros(len(p))
    return rows.labelled(witness, correct=happened, confidence=p, expected=expected, delta=nothing, hidden=nothing)


def class_ledgers(
    rows: FittedRows, corrected: np.ndarray, *, own_split: bool, seed: int, settings: LedgerSettings
) -> ClassLedgers:
    """Test for each class in which groups it is the label more or less often than its probability says.

    Terms of texts and clusters of inputs are tested for the top label alone: they are many, and every class would pay
    for all of them.

    `rows`: of several classes. `corrected`, (n, K) float64: corrected probabilities that have not seen the rows'
    classes. `own_split`: whether the user set the test rows apart: then they alone are evaluated.
    """
    witness = rows.evaluated if own_split else np.ones(len(rows.triples), dtype=bool)
    triples = rows.triples.take(witness)
    groups = named_groups(with_features(triples.metadata, triples.X, triples.encoder), None, settings)
    chosen = looked_at(np.bincount(triples.classes.code, minlength=len(triples.classes.names)))
    if not chosen:
        return ClassLedgers({}, 0.0, 0)
    error = (1 - TOP_LABEL_ERROR) / len(chosen)
    found = {}
    for k in chosen:
        before, after = (
            class_rows(rows, probability, k, witness, seed)
            for probability in (rows.triples.classes.probability, corrected)
        )
        found[k] = find(before, groups, corrected=after, seed=seed, error=error, settings=settings)
    return ClassLedgers(found, error, len(groups) + len(slope_places(groups, settings)))


def confused(findings: Sequence[Finding], label: str, column: str) -> list[tuple[int, str, Finding]]:
    """Return the findings of a class whose group is another class being predicted: place from 1, and that class."""
    named = [(place, one, one.condition) for place, one in enumerate(findings, start=1)]
    return [
        (place, str(condition.value), one)
        for place, one, condition in named
        if isinstance(condition, Value) and condition.column == column and one.effect == SHIFT
        and str(condition.value) != label
    ]  # fmt: skip
