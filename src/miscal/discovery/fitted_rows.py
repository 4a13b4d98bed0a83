"""The rows of a run with everything that is known of them: what its tests, tables and summary are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from miscal.base.document import Measure
from miscal.base.errors import InputError, argument
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.data.splits import MIN_SPLIT
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.honest import ChangedRows
from miscal.estimators.registry import FieldEstimate

if TYPE_CHECKING:
    from miscal.findings.ledger.document import Ledger


Evidence = Literal["all", "test", "time"]

ALL: Evidence = "all"
"""Every row is evaluated: each is judged by fits that never saw its outcome."""

TEST: Evidence = "test"
"""The rows of the split 'test' are evaluated, and nothing is learned from them."""

TIME: Evidence = "time"
"""Rows in the order of time: each is judged by a fit on strictly earlier rows. The first block only teaches."""


def evidence_of(triples: Triples, method: str, evidence: Evidence | None) -> Evidence:
    """Say which rows are evaluated: what the user asked for, or the default.

    `triples`: a split that they carry is the user's. `method`: the estimator. "paper" chooses on one validation split,
    so that its default is ``"test"``. `evidence`: what the user asked for.

    Examples
    --------
    >>> rows = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0])
    >>> evidence_of(rows, "auto", None), evidence_of(rows, "paper", None)
    ('all', 'test')
    """
    if evidence not in (None, ALL, TEST, TIME):
        raise InputError(f"evidence must be 'all', 'test' or 'time'; got {evidence!r}")
    if evidence in (ALL, TIME) and triples.split is not None:
        who = "every row be evaluated" if evidence == ALL else "rows are evaluated in the order of time"
        raise InputError(
            f"evidence {evidence!r} lets {who}, but the data name a split, whose test rows are set apart: leave the "
            "split out, or use evidence 'test'"
        )
    if evidence == TIME and triples.classes is not None:
        raise InputError(
            "evidence 'time' is not offered for several classes yet: use evidence 'all' or 'test', or give one class "
            f"as an event ({argument('probability', takes='COL')} {argument('event', takes='COL')} "
            f"{argument('positive', takes='VALUE')})"
        )
    if evidence == TIME:
        refuse_no_order(triples)
    evidence = evidence or (TEST if method == "paper" or triples.split is not None else ALL)
    if evidence != ALL and triples.split is None and triples.judged is not None and triples.judged.scale is not None:
        raise InputError(
            f"evidence {evidence!r} sets rows apart, but what the judge's scores stand for was learned from all rows "
            f"that people have judged: use evidence 'all', name the test rows ({argument('split', takes='COL')}), or "
            "give the judge's probability in place of its score"
        )
    return evidence


def refuse_no_order(triples: Triples) -> None:
    """Refuse rows without times, of one time, or in groups that span blocks of time.

    Examples
    --------
    >>> refuse_no_order(Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0]))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: evidence 'time' judges rows by earlier ones: name the column of times (`time`)
    """
    if triples.time is None:
        raise InputError(
            f"evidence 'time' judges rows by earlier ones: name the column of times ({argument('time', takes='COL')})"
        )
    block = triples.time_block
    if block.max() == 0:
        raise InputError(
            "evidence 'time' judges rows by earlier ones, but nearly all rows have one time: name another column with "
            f"{argument('time')}, or use evidence 'all'"
        )
    parts = [triples.time[block == number] for number in np.unique(block)]
    if any(one.max() >= two.min() for one, two in pairwise(parts)):
        raise InputError(
            "evidence 'time' judges rows by strictly earlier ones, but the groups reach so far in time that no five "
            f"blocks of time keep each of them together: group by time ({argument('group', 'COL:day')}), leave the "
            "groups out, or use evidence 'all'"
        )


def check_first_block(triples: Triples) -> None:
    """Refuse rows whose first block of time is too small to teach."""
    first = triples.correct[triples.time_block == 0]
    if len(first) < MIN_SPLIT["train"] or first.min() == first.max():
        raise InputError(
            f"evidence 'time': the first block of time only teaches, and needs at least {MIN_SPLIT['train']} rows with "
            f"both outcomes; it has {len(first)} rows, {int(first.sum())} of them with outcome 1: give more rows, or "
            "use evidence 'all'"
        )


MOST_ROWS = 2_000
"""Rows that are looked at: their differences vary little."""
MOST_CHANGED = 20_000
"""Rows of all columns together; of many columns, fewer rows each."""
LEAST_ROWS = 200
"""Of more columns than leave so many rows each, the first ones are measured."""

# stream of the rows that are looked at
_STREAM = 71


def blank_columns(triples: Triples) -> tuple[str, ...]:
    """Return the columns that are looked at: those that can be blank, the first ones of many."""
    return tuple(getattr(triples.encoder, "can_be_blank", ()))[: MOST_CHANGED // LEAST_ROWS]


def blanked_rows(triples: Triples, evaluated: np.ndarray, seed: int) -> ChangedRows:
    """Choose some evaluation rows at random, once for each column with that column blank, one column after the other.

    Examples
    --------
    >>> rows = Triples.of(np.zeros((3, 1)), confidence=[0.5] * 3, correct=[0, 1, 0])
    >>> len(blanked_rows(rows, np.full(3, True), 0)[0])
    0
    """
    columns, there = blank_columns(triples), np.flatnonzero(evaluated)
    size = min(MOST_ROWS, MOST_CHANGED // len(columns), len(there)) if columns else 0
    row = np.sort(np.random.default_rng((seed, _STREAM)).choice(there, size, replace=False))
    X = triples.X[row]
    blanked = [triples.encoder.blanked(X, column) for column in columns]
    return np.tile(row, len(columns)), np.concatenate([X[:0], *blanked])


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
    `blanked`: positions of some evaluation rows, by :func:`blanked_rows`, and their corrected confidences with columns
        blank, as honest as those of all rows.
    `by_time`: whether folds are blocks of time, each judged by the blocks before it.
    `regime, hidden_regime`, object (n,): ``"over"``, ``"good"``, ``"under"``, or None where the field is not supported:
        cut on the field, and on its hidden part. These and the following are None until they are found.
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
    blanked: tuple[np.ndarray, np.ndarray] | None = None
    by_time: bool = False
    regime: np.ndarray | None = None
    hidden_regime: np.ndarray | None = None
    ledger: Ledger | None = None

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
    def evaluation_rows(self) -> LabelledRows:
        """The evaluation rows."""
        return self.labelled(self.evaluated)

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

    @property
    def costs(self) -> dict[str, Measure]:
        """By how much the log loss changes where a column is blank in every row: mean differences, by the column."""
        if self.blanked is None or not len(self.blanked[0]):
            return {}
        columns, found = blank_columns(self.triples), {}
        for column, row, after in zip(columns, *(np.split(one, len(columns)) for one in self.blanked), strict=True):
            own, before = self.every.take(row), self.estimate.corrected[row]
            change = log_losses(own.correct, after) - log_losses(own.correct, before)
            found[column] = Measure.of(mean_interval(change, sample_weight=own.weight, groups=own.group))
        return found


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
