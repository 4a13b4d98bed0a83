"""Find the model's answer and the right one among the columns, so that examples can show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from miscal.base.arrays import column_of

GIVEN, RIGHT = "model's answer", "right answer"
"""What the two are called; an answer of which no name tells whose it is, is called by its column."""

_GIVEN = (
    *("predicted", "predicted_answer", "model_answer", "given_answer", "chosen_answer", "prediction", "response"),
    *("completion", "predicted_label", "predicted_class", "pred_label", "pred_class"),
)
_RIGHT = (
    *("answer_index", "right_answer", "correct_answer", "gold", "gold_answer", "target", "ground_truth", "answer_key"),
    *("reference", "reference_answer", "expected_answer", "true_answer", "true_label", "true_class"),
)
_EITHER = ("answer",)
_CHOICES = ("choices", "options")
ONE_ANSWER = 0.25
"""Share of the rows by which an answer is given more often than it can be right before that is said. Not tuned."""

_LENGTH = 400
"""Characters of an answer that are kept."""


@dataclass(frozen=True)
class AnswerColumns:
    """Columns that hold answers; None where there is none.

    Attributes
    ----------
    given, right : str or None
        The model's answer, and the right one.
    unknown : str or None
        An answer of which its name does not tell whose it is.
    choices : str or None
        Lists of texts, into which answers may be numbers from 0 or letters from A.
    keys : tuple of str
        All columns of right answers beside the model's: what tells the outcome, and no row has before it.
    """

    given: str | None = None
    right: str | None = None
    unknown: str | None = None
    choices: str | None = None
    keys: tuple[str, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that there are."""
        named = (self.given, self.right, self.unknown, self.choices)
        return tuple(dict.fromkeys(name for name in named if name is not None))


NO_ANSWERS = AnswerColumns()


def answer_columns(columns: Sequence[str], taken: Iterable[str] = ()) -> AnswerColumns:
    """Find the columns by their names, in any case.

    `columns`: of a table; `taken`: columns that play another part: confidence, outcome, weight and the like.

    Examples
    --------
    >>> answer_columns(["id", "Predicted", "answer", "choices"])
    AnswerColumns(given='Predicted', right='answer', unknown=None, choices='choices')
    >>> answer_columns(["answer"]).unknown
    'answer'
    """
    free = {name.lower(): name for name in columns if name not in set(taken)}
    given, right, either, choices = (
        next((free[name] for name in names if name in free), None) for names in (_GIVEN, _RIGHT, _EITHER, _CHOICES)
    )
    # beside the model's answer, a column called answer is the key, and beside a key, it is what the model said
    if either is not None and given is not None and right is None:
        right, either = either, None
    elif either is not None and right is not None and given is None:
        given, either = either, None
    elif given is not None and right is not None:
        either = None
    named = [free[name] for name in (*_RIGHT, *_EITHER) if name in free and free[name] not in (given, either)]
    return AnswerColumns(given, right, either, choices, () if given is None or right is None else tuple(named))


def answers_of(frame: pl.DataFrame, columns: AnswerColumns) -> dict[str, np.ndarray]:
    """Read the answers of each row as text.

    They are keyed by what they are called, None where a row has none. Numbers and letters of choices are followed
    by the choice. A column of nothing but 0 and 1 without choices is left out: it is no answer that a person gives.

    Examples
    --------
    >>> table = pl.DataFrame({"predicted": [1, 0], "answer": ["A", "A"], "choices": [["yes", "no"]] * 2})
    >>> {name: list(shown) for name, shown in answers_of(table, answer_columns(table.columns)).items()}
    {"model's answer": ['no', 'yes'], 'right answer': ['A: yes', 'A: yes']}
    """
    choices = None if columns.choices is None else column_of(frame, columns.choices)
    if choices is not None and choices.dtype != pl.List(pl.String):
        choices = None
    named = {GIVEN: columns.given, RIGHT: columns.right, columns.unknown or "": columns.unknown}
    found = {}
    for name, column in named.items():
        if column is None:
            continue
        values = column_of(frame, column)
        if values.dtype.is_nested() or values.dtype == pl.Object:
            continue
        if choices is None and values.dtype.is_numeric() and set(values.drop_nulls().unique().to_list()) <= {0, 1}:
            continue
        listed = [None] * len(frame) if choices is None else choices.to_list()
        found[name] = np.array([_answer(value, of) for value, of in zip(values.to_list(), listed, strict=True)], object)
    return found


def one_answer(frame: pl.DataFrame, columns: AnswerColumns, correct: np.ndarray) -> tuple[str, int, str] | None:
    """Return the answer that a model gives far more often than this can be right; None where there is none.

    With it: in how many rows, and a sentence that says so.

    An answer of most rows may well be right that often: it can be right in the rows where it was given and is, and in
    those where another one was.

    `frame`: n rows, with the columns.

    Examples
    --------
    >>> table = pl.DataFrame({"predicted": ["A"] * 80 + ["B"] * 20})
    >>> one_answer(table, answer_columns(table.columns), np.arange(100) % 4 == 0)[-1]
    "the model gives one answer (A) in 80 of 100 rows (column 'predicted'): it is right in 20 of them, ..."
    >>> one_answer(table, answer_columns(table.columns), np.arange(100) % 4 > 0)
    """
    if columns.given is None or (values := column_of(frame, columns.given)).dtype.is_nested():
        return None
    given_answers, n = np.array([None if one is None else str(one) for one in values.to_list()], object), len(frame)
    [(name, _)] = Counter(given_answers).most_common(1)
    same = given_answers == name
    given, right = int(same.sum()), int(correct[same].sum())
    most = right + n - given
    if name is None or given - most < ONE_ANSWER * n:
        return None
    shown = f" ({name})" if len(name) == 1 else ""
    said = f"the model gives one answer{shown} in {given:,} of {n:,} rows (column {columns.given!r}): it is right in "
    return name, given, f"{said}{right:,} of them, so that it can be the right answer in {most:,} rows at most"


def _answer(value: object, choices: Sequence[str] | None) -> str | None:
    if value is None or value != value or value == "":
        return None
    text = str(value)[:_LENGTH]
    if not choices:
        return text
    if isinstance(value, int) and not isinstance(value, bool):
        return choices[value][:_LENGTH] if 0 <= value < len(choices) else text
    place = ord(text) - ord("A") if len(text) == 1 else -1
    return f"{text}: {choices[place][:_LENGTH]}" if 0 <= place < len(choices) else text
