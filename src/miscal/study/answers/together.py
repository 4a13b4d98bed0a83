"""The question where all models fail together, and where only one."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.report.formatting import count
from miscal.report.texts import short
from miscal.study.answers.answer import Answer, group_name, listed
from miscal.study.matrix import GroupLine, GroupMatrix
from miscal.study.vocabulary import StudyVocabulary


def _together(matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> Answer:
    question = "Where do all of them fail together, and where only one?"
    lines = [(matrix, line) for matrix in matrices for line in matrix.lines if len(matrix.models) > 1]
    if not lines:
        return Answer("together", question, "No column names groups that two models on one data set share.")
    cells = sum(one is not None and one["p_value"] is not None for _, line in lines for one in line.cells)
    shared = [(matrix, line) for matrix, line in lines if line.shared]
    alone = [(matrix, line) for matrix, line in lines if len(line.marked) == 1]
    said = (
        f"Several models err in one direction, and none in the other, on {listed([_shared(*one) for one in shared])}."
        if shared
        else "On no group do two models err in one direction beyond chance, with none in the other."
    )
    if alone:
        named = [f"{group_name(line)} ({short(line.marked[0]['model'], 30)})" for _, line in alone]
        said += f" Beyond chance for one model alone: {listed(named)}."
    return Answer(
        "together",
        question,
        said,
        note=f"Each group is compared with rows of equal {words.probability}. A mark holds after Holm's adjustment "
        f"over all {count(cells)} tested cells of the matrix below, which are one family. That a model has no mark "
        "does not prove that nothing is hidden there.",
    )


def _shared(matrix: GroupMatrix, line: GroupLine) -> str:
    return f"{group_name(line)} ({len(line.marked)} of {len(matrix.models)})"
