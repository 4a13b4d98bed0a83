"""The rows of all pairs on one data set, as far as measures that look at them together need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.discovery.column_tables import tables_of
from miscal.discovery.fitted_rows import testifying
from miscal.study.pair_result import PairResult, labelled_rows, named_columns


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows of one pair that testify; arrays of shape (n,).

    Attributes
    ----------
    named : mapping of str to str
        The columns that its tables begin with: pair, dataset, model, method.
    rows : LabelledRows
        Outcomes, confidences, and E[y | f] learned from other rows; with the named groups, if there are any.
    corrected : float64 in [0, 1]
        Confidences corrected by fits that have not seen the row's outcome.
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
    groups : mapping of (str, str) to int64 array
        Rows of each group of the table ``groups``, by column and value.
    """

    named: Mapping[str, Any]
    rows: LabelledRows
    corrected: NDArray[np.float64]
    columns: Mapping[str, np.ndarray]
    text: tuple[str, ...] | None
    question: NDArray[np.int64]
    visible: NDArray[np.float64]
    globally_corrected: NDArray[np.float64]
    groups: Mapping[tuple[str, str], NDArray[np.int64]]

    def __len__(self) -> int:
        return len(self.rows)


def model_rows(result: PairResult, question: NDArray[np.int64]) -> ModelRows:
    """Take the rows of a pair that testify.

    Parameters
    ----------
    result : PairResult
    question : (n,) int64
        Of all rows of the pair, from :func:`miscal.study.questions.same_questions`.
    """
    triples, at = result.triples, np.flatnonzero(testifying(result.triples))
    learned, frame = result.learned, named_columns(result)
    values = [one for some in tables_of(result.found.columns).values() for one in some]
    return ModelRows(
        named=result.named,
        rows=labelled_rows(result),
        corrected=learned.corrected,
        columns=frame.columns,
        text=None if triples.text is None else tuple(triples.text[row] for row in at),
        question=question[at],
        visible=np.clip(learned.confidence + learned.visible, 0.0, 1.0),
        globally_corrected=result.globally_corrected,
        groups={(one.column, one.value): np.flatnonzero(one.condition.rows(frame)) for one in values},
    )


def columns_of_all(models: Sequence[ModelRows]) -> list[str]:
    """Name the columns that all models have, in the order of the first.

    Examples
    --------
    >>> from types import SimpleNamespace as Rows
    >>> columns_of_all([Rows(columns={"b": 0, "a": 0}), Rows(columns={"a": 0, "b": 0, "c": 0})])
    ['b', 'a']
    """
    return [name for name in models[0].columns if all(name in one.columns for one in models)]
