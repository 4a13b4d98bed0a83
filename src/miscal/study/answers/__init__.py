"""The questions of the owner of a study, answered from its tables: a sentence, numbers with intervals, and a note.

One module answers one question.
"""

from __future__ import annotations

from collections.abc import Sequence

from miscal.study.answers.answer import Answer, Bar
from miscal.study.answers.best import which_is_best
from miscal.study.answers.corrected import what_correcting_leaves
from miscal.study.answers.elsewhere import whom_corrections_serve
from miscal.study.answers.few import which_have_too_few
from miscal.study.answers.promises import which_promise_more
from miscal.study.answers.ranked import who_is_ahead
from miscal.study.answers.together import where_they_fail_together
from miscal.study.matrix import GroupMatrix
from miscal.study.measures.groups import LOG_LOSS
from miscal.study.tables import LEARNED, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

__all__ = ["Answer", "Bar", "answers"]


def answers(tables: Tables, method: str, matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> list[Answer]:
    """Answer every question that the tables can answer.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
    method : {"paper", "auto"}
    matrices : sequence of GroupMatrix
        Of this method.
    words : StudyVocabulary

    Returns
    -------
    list of Answer
        In the order of the page. Where no data set has two models, nothing is asked that takes two.
    """
    ranked = who_is_ahead(tables, method, words)
    several = bool(of_method(tables["pairs"], method, LEARNED)["dataset"].is_duplicated().any())
    tried = several or not of_method(tables["transfer_corrections"], method).is_empty()
    return [
        which_promise_more(tables, method, words),
        *(one for one in ranked if one.name != LOG_LOSS),
        *([where_they_fail_together(tables, method, matrices, words)] if several else []),
        *([which_is_best(tables, method, words)] if several else []),
        what_correcting_leaves(tables, method),
        *(one for one in ranked if one.name == LOG_LOSS),
        *([whom_corrections_serve(tables, method, words)] if tried else []),
        which_have_too_few(tables, method, words),
    ]
