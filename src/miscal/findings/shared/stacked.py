"""The answers of several models to the same questions, one below the other: each model is a part of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.frame import numbers_of
from miscal.findings.ledger import LEDGER_DEFAULTS, LedgerSettings

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """The answers of one model; arrays of shape (n,).

    Attributes
    ----------
    model : str
        Which no other model is called.
    rows : LabelledRows
        Outcomes, confidences and E[y | f] of this model, learned from other rows.
    question : int64
        Equal numbers are one question, in all models. Outcomes of one question may hang together; rows of a named group
        must be of one question, too.
    columns : mapping of str to array
        What may name groups; those that all models have are looked at.
    text : sequence of n str, optional
    corrected : LabelledRows, optional
        The same rows after a correction that has not seen their outcomes: `confidence` is the corrected one, and
        `expected` is E[y | corrected confidence].
    """

    model: str
    rows: LabelledRows
    question: Ints
    columns: Mapping[str, np.ndarray]
    text: Sequence[str] | None = None
    corrected: LabelledRows | None = None


@dataclass(frozen=True, eq=False)
class Stacked:
    """The rows of all models; arrays of shape (n,).

    Attributes
    ----------
    models : tuple of str
        In the order of their parts.
    rows : LabelledRows
        With a part for each model, and the questions as groups.
    columns : dict of str to array
    text : list of n str, or None
    corrected : LabelledRows or None
        Where all models have a correction.
    """

    models: tuple[str, ...]
    rows: LabelledRows
    columns: dict[str, np.ndarray]
    text: list[str] | None
    corrected: LabelledRows | None

    def settings(self, base: LedgerSettings = LEDGER_DEFAULTS) -> LedgerSettings:
        """Adapt the settings of a ledger to rows of several models.

        A group needs as many questions as it needs rows of one model, and what names questions names no groups. Slopes
        and combinations beyond pairs are left out: they cost every other group its significance.
        """
        group = self.rows.group
        per_question = 1.0 if group is None else len(group) / len(np.unique(group))
        return replace(
            base,
            min_rows=int(np.ceil(base.min_rows * per_question)),
            identifier_share=base.identifier_share / per_question,
            slope_share_of_error=0.0,
            combined_numbers=0,
        )


def stacked(models: Sequence[ModelAnswers]) -> Stacked:
    """Stack the rows of some models, in an order that depends on neither the order of models nor that of rows.

    Parameters
    ----------
    models : sequence of ModelAnswers
        At least one.

    Examples
    --------
    >>> y, half = np.array([1.0, 0.0]), np.full(2, 0.5)
    >>> one, two = (ModelAnswers(name, LabelledRows(y, half, half), np.arange(2), {}) for name in "ba")
    >>> together = stacked([one, two])
    >>> together.models, together.rows.part.tolist(), together.rows.group.tolist()
    (('a', 'b'), [0, 0, 1, 1], [0, 1, 0, 1])
    """
    models = [_ordered(one) for one in sorted(models, key=lambda one: one.model)]
    part = np.repeat(np.arange(len(models)), [len(one.rows) for one in models])
    group = np.unique(np.concatenate([one.question for one in models]), return_inverse=True)[1].ravel()
    corrected = [one.corrected for one in models if one.corrected is not None]
    return Stacked(
        tuple(one.model for one in models),
        _joined([one.rows for one in models], part, group),
        shared_columns([one.columns for one in models]),
        None if any(one.text is None for one in models) else [text for one in models for text in one.text or ()],
        _joined(corrected, part, group) if len(corrected) == len(models) else None,
    )


def _ordered(one: ModelAnswers) -> ModelAnswers:
    order = np.lexsort((one.rows.correct, one.rows.confidence, one.question))
    return replace(
        one,
        rows=one.rows.take(order),
        question=one.question[order],
        columns={name: values[order] for name, values in one.columns.items()},
        text=None if one.text is None else [one.text[row] for row in order],
        corrected=None if one.corrected is None else one.corrected.take(order),
    )


def _joined(rows: Sequence[LabelledRows], part: Ints, group: Ints) -> LabelledRows:
    correct, confidence, expected, weight = (
        np.concatenate([getattr(one, name) for one in rows]) for name in ("correct", "confidence", "expected", "mass")
    )
    return LabelledRows.of(
        correct, confidence, expected, group=group, weight=weight, part=part, row=np.arange(len(part))
    )


def shared_columns(models: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Join the columns that all models have, unless one holds numbers where another holds text or dates.

    Parameters
    ----------
    models : sequence of mapping of str to array of shape (n,)
        The columns of each model.

    Examples
    --------
    >>> one, two = {"kind": np.array(["a"]), "age": np.ones(1)}, {"kind": np.array(["b"])}
    >>> {name: values.tolist() for name, values in shared_columns([one, two]).items()}
    {'kind': ['a', 'b']}
    """
    found = {}
    for name in models[0]:
        if all(name in one for one in models):
            parts = [one[name] for one in models]
            kinds = {(numbers is None, dates) for numbers, dates in map(numbers_of, parts)}
            if len(kinds) == 1:
                found[name] = np.concatenate(parts)
    return found
