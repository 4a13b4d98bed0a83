"""The question which model is best calibrated in each group."""

from __future__ import annotations

import polars as pl

from miscal.report.texts import short
from miscal.study.answers.answer import Answer, listed
from miscal.study.tables import Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

QUESTION = "Which is best calibrated in each group?"


def which_is_best(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say in how many groups a model is shown to be ahead of all others, and in how many it is a tie."""
    first = firsts(of_method(tables["group_rankings"], method))
    if first.is_empty():
        return Answer("best", QUESTION, "No group has rows enough of two models on one data set.")
    clear = first.filter("clear")
    n, tied = first.height, first.height - clear.height
    if clear.is_empty():
        said = f"In none of {n} groups is one model shown to be better calibrated than all others: each is a tie."
    else:
        wins = clear.group_by("first", maintain_order=True).len("n").sort("n", descending=True, maintain_order=True)
        named = listed([f"{short(model, 40)} in {times}" for model, times in wins.iter_rows()])
        said = f"In {clear.height} of {n} groups one model is shown to be better calibrated than all others: {named}."
        if tied:
            said += " The other one is a tie." if tied == 1 else f" The other {tied} are ties."
    return Answer("best", QUESTION, said, note=_note(words))


def _note(words: StudyVocabulary) -> str:
    return (
        f"By the absolute difference of {words.rate} and mean {words.probability}, which errors within a group may "
        "cancel. Models are compared on the same rows; all comparisons of all groups of a data set are one family, and "
        "hold at once at 95 %."
    )


def firsts(groups: pl.DataFrame) -> pl.DataFrame:
    """Return who is first in each group: a row for each, in their order.

    Parameters
    ----------
    groups : polars.DataFrame
        Rows of the table ``group_rankings`` of one method.

    Returns
    -------
    polars.DataFrame
        Columns dataset, column, value, n_models, clear (whether one model is shown to be ahead of all others), first
        (the one of the smallest difference), and tied (list of others that no model is shown to be ahead of).

    Examples
    --------
    >>> table = pl.DataFrame({"dataset": "d", "column": "c", "value": "v", "model": ["a", "b", "c"],
    ...                       "residual": [0.02, -0.01, 0.3], "best_rank": [1, 1, 3], "worst_rank": [2, 2, 3]})
    >>> firsts(table).select("n_models", "clear", "first", "tied").row(0)
    (3, False, 'b', ['a'])
    """
    key = ["dataset", "column", "value"]
    may = pl.col("best_rank") == 1
    ordered = pl.col("model").filter(may).sort_by(pl.col("residual").filter(may).abs())
    return groups.group_by(key, maintain_order=True).agg(
        n_models=pl.len(), clear=(pl.col("worst_rank") == 1).any(), first=ordered.first(), tied=ordered.slice(1)
    )
