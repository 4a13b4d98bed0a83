"""The rows of a run with everything that is known of them: what its tests, tables and summary are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.missing_columns import BlankedRows
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField
from miscal.findings import Subregime, Subregimes

if TYPE_CHECKING:
    from miscal.discovery.findings import Ledger

Evidence = Literal["all", "test", "time"]

ALL: Evidence = "all"
"""Every row is evaluated: each is judged by fits that never saw its outcome."""

TEST: Evidence = "test"
"""The rows of the split 'test' are evaluated, and nothing is learned from them."""


TIME: Evidence = "time"
"""Rows in the order of time: each is judged by a fit on strictly earlier rows. The first block only teaches."""


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The rows of a run, a field fitted to them, honest estimates of each, and what was found of them.

    `triples`: with their split; without one where all rows are evaluated.
    `model`: the field that is saved: fitted on train and validation rows, or on all rows where all are evaluated.
    `estimate`: honest estimates of all rows: by K-fold; of the rows of a split 'test' by the model; with evidence
        "time" by fits on earlier blocks.
    `expected`, float64 (n,): E[y | f] at each row, learned from rows outside its fold; from those that are not test
        rows, if there are such; with evidence "time" from earlier blocks.
    `expected_corrected`, float64 (n,): E[y | corrected confidence] at each row, learned from the same other rows.
    `corrections`, str (n,): confidences by the name of the correction, none of which has seen the outcome of an
        evaluation row; ``"raw"`` has none.
    `fold`, int64 (n,): fold of each row where all are evaluated; with evidence "time" its block, of which 0 only
        teaches.
    `forward`: where all rows are evaluated: estimates by fits on earlier folds only, for tests that are exact.
    `block`, int64 (n,): the fold where `forward` is known, else -1.
    `sample`, bool (n,): the rows that the field was learned from, where they are a sample. The other rows are the last
        fold, and the last block: their values come from the field that is saved.
    `blanked`: some evaluation rows, with columns blank.
    `changed`: their corrected confidences, as honest as those of `estimate`.
    `by_time`: whether folds are blocks of time, each judged by the blocks before it.
    `evaluation_rows`: the evaluation rows, built from the others.
    `regime, hidden_regime`, object (n,): ``"over"``, ``"good"``, ``"under"``, or None where the field is not supported:
        cut on the field, and on its hidden part. These and the following are None until they are found.
    `subregimes, hidden_subregimes`: named parts of each.
    `ledger`: the findings.
    """

    triples: Triples
    model: MiscalibrationField
    estimate: FieldEstimate
    expected: np.ndarray
    expected_corrected: np.ndarray
    corrections: dict[str, np.ndarray]
    fold: np.ndarray | None = None
    forward: FieldEstimate | None = None
    block: np.ndarray | None = None
    sample: np.ndarray | None = None
    blanked: BlankedRows | None = None
    changed: np.ndarray | None = None
    by_time: bool = False
    evaluation_rows: LabelledRows = None  # type: ignore[assignment]
    regime: np.ndarray | None = None
    hidden_regime: np.ndarray | None = None
    subregimes: Subregimes | None = None
    hidden_subregimes: Subregimes | None = None
    ledger: Ledger | None = None

    def __post_init__(self) -> None:
        if self.evaluation_rows is None:
            # the class is frozen for everyone but its own making
            object.__setattr__(self, "evaluation_rows", self.labelled(self.evaluated))

    @property
    def evidence(self) -> Evidence:
        """Which rows are evaluated."""
        if self.by_time:
            return TIME
        return ALL if self.triples.split is None else TEST

    @property
    def evaluated(self) -> np.ndarray:
        """Mask of the evaluation rows: bool, shape (n,)."""
        return self.fold > 0 if self.by_time else evaluated_rows(self.triples)

    @property
    def teaches(self) -> np.ndarray:
        """Mask of the rows that the model learned from: bool, shape (n,)."""
        if self.sample is not None:
            return self.sample
        split = self.triples.split
        return np.ones(len(self.triples), dtype=bool) if split is None else split != "test"

    @property
    def parts(self) -> tuple[Subregime, ...]:
        """The parts of both fields, those of the whole field first."""
        return self.subregimes.table + self.hidden_subregimes.table

    def labelled(self, inside: np.ndarray, estimate: FieldEstimate | None = None, **known: np.ndarray) -> LabelledRows:
        """Build the rows of a mask, and estimate from these how strongly the outcomes of a group hang together.

        `inside`, bool (n,). `estimate`: of all rows; by default the honest estimate by all other rows. `**known`, (n,):
        columns of :class:`LabelledRows` that differ from what the run holds.
        """
        triples, estimate = self.triples, estimate or self.estimate
        columns = {"correct": triples.correct, "confidence": triples.confidence, "expected": self.expected}
        columns |= {"delta": estimate.delta, "hidden": estimate.hidden, "row": triples.row}
        columns |= {"group": triples.group, "weight": triples.weight} | known
        some = {name: None if v is None else v[inside] for name, v in columns.items()}
        return LabelledRows.of(**some, factor=triples.counted_by.factor)

    @cached_property
    def corrected(self) -> LabelledRows:
        """The evaluation rows as their corrections leave them."""
        known = {"confidence": self.estimate.corrected, "expected": self.expected_corrected}
        return self.labelled(self.evaluated, **known)

    @cached_property
    def every(self) -> LabelledRows:
        """All rows, which hang together as the outcomes of the evaluation rows show."""
        if self.evidence == ALL:
            return self.evaluation_rows
        known, group = self.evaluation_rows.design, self.triples.group
        every = self.labelled(np.ones(len(self.triples), dtype=bool), group=None)
        if known is None or known.group is None:
            return every
        number = np.unique(group, return_inverse=True)[1].astype(np.int64)
        return replace(every, design=replace(known, group=number, weight=every.weight))


def evaluated_rows(triples: Triples) -> np.ndarray:
    """Mark the evaluation rows: the test rows of a split, all rows where there is none; bool, shape (n,).

    Examples
    --------
    >>> rows = {"confidence": [0.5, 0.9], "correct": [1, 0]}
    >>> evaluated_rows(Triples.of([[0.0], [1.0]], **rows)).tolist()
    [True, True]
    >>> evaluated_rows(Triples.of([[0.0], [1.0]], **rows, split=["train", "test"])).tolist()
    [False, True]
    """
    return np.ones(len(triples), dtype=bool) if triples.split is None else triples.split == "test"
