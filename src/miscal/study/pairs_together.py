"""The rows of all pairs on one data set, as far as measures that look at them together need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.checked_rows import take_rows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.findings.conditions import Condition
from miscal.findings.ledger import column_groups, value_words, with_features
from miscal.findings.shared_findings import shared_columns
from miscal.study.pair_result import PairResult


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The evaluation rows of one pair; arrays of shape (n,).

    Attributes
    ----------
    named : mapping of str to str
        The columns that its tables begin with: pair, dataset, model, method.
    rows : LabelledRows
        Outcomes, confidences, and E[y | f] learned from other rows; with the named groups, if there are any.
    after : LabelledRows
        The same rows after the correction: `confidence` is the corrected one, by fits that have not seen the row's
        outcome, and `expected` is E[y | corrected confidence], learned from other questions.
    columns : mapping of str to array
        Columns that may name groups.
    text : tuple of n str, or None
        Texts whose terms may name groups.
    question : int64
        Numbers of the questions, the same for one question in all pairs of the data set.
    visible : float64 in [0, 1]
        Confidences corrected by the visible part of the field alone, a function of the confidence.
    globally_corrected : float64 in [0, 1]
        Confidences corrected by the map of the confidence alone that does best on rows that it is not judged on.
    findings : mapping of Condition to int
        Number of the finding of the pair's report that is the rows of a condition, or accounts for them.
    """

    named: Mapping[str, Any]
    rows: LabelledRows
    after: LabelledRows
    columns: Mapping[str, np.ndarray]
    text: tuple[str, ...] | None
    question: NDArray[np.int64]
    visible: NDArray[np.float64]
    globally_corrected: NDArray[np.float64]
    findings: Mapping[Condition, int]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def corrected(self) -> NDArray[np.float64]:
        """The corrected confidences."""
        return self.after.confidence


@dataclass(frozen=True, eq=False)
class CommonGroup:
    """A value of a column that all models have, or a bin of its numbers or dates that is the same for all.

    `rows` are its rows of each model, arrays of indexes; empty where a model has none.
    """

    column: str
    condition: Condition
    rows: tuple[NDArray[np.int64], ...]

    @property
    def value(self) -> str:
        """The value in words, without its column."""
        return value_words(self.column, self.condition)


def model_rows(result: PairResult, question: NDArray[np.int64]) -> ModelRows:
    """Take the evaluation rows of a pair, whose rows have questions (n,) from `same_questions`."""
    triples, learned = result.triples, result.learned
    at = np.flatnonzero(evaluated_rows(triples))
    expected = expected_outcome(triples, result.pair.seed)
    rows = LabelledRows.of(learned.correct, learned.confidence, expected[at], group=result.groups)
    columns = with_features(triples.metadata, triples.X, triples.encoder)
    values = [one for some in result.found.tables.values() for one in some]
    # what is expected of a corrected confidence is learned from other questions
    inputs = question[at, None].astype(np.float64)
    asked = Triples(inputs, learned.corrected, rows.correct, group=question[at])
    return ModelRows(
        named=result.named,
        rows=rows,
        after=replace(rows, confidence=learned.corrected, expected=expected_outcome(asked, result.pair.seed)),
        columns={name: take_rows(column, at) for name, column in columns.items()},
        text=None if triples.text is None else tuple(triples.text[row] for row in at),
        question=question[at],
        visible=np.clip(learned.confidence + learned.visible, 0.0, 1.0),
        globally_corrected=result.globally_corrected,
        findings={one.condition: one.finding for one in values if one.finding is not None},
    )


def common_groups(models: Sequence[ModelRows]) -> list[CommonGroup]:
    """List the values of the columns that all models have; numbers and dates are cut into the same bins for all.

    They are those that the ledger of shared findings tests (:func:`miscal.findings.shared.find_shared`), column by
    column; values without any row are left out.
    """
    ends = np.cumsum([len(one) for one in models])[:-1]
    found = []
    for part in column_groups(shared_columns([one.columns for one in models])):
        codes = np.split(part.codes, ends)
        for cell, condition in enumerate(part.cells):
            rows = tuple(np.flatnonzero(own == cell) for own in codes)
            if any(map(len, rows)):
                found.append(CommonGroup(part.column, condition, rows))
    return found
