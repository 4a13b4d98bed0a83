"""The question which model is best calibrated in each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from miscal.report.texts import short
from miscal.study.answers.answer import Answer, listed
from miscal.study.matrix import GroupMatrix
from miscal.study.vocabulary import StudyVocabulary


def which_is_best(matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> Answer:
    """Say which model is best calibrated in each group."""
    question = "Which is best calibrated in each group?"
    wins: dict[str, int] = {}
    clear = n = 0
    for matrix in matrices:
        for line in matrix.lines:
            known = [one for one in line.cells if one is not None and one["residual_low"] is not None]
            if len(matrix.models) < 2 or len(known) < 2:
                continue
            best, next_best = sorted(known, key=lambda one: abs(one["residual"]))[:2]
            n += 1
            wins[best["model"]] = wins.get(best["model"], 0) + 1
            clear += _farthest(best) < _nearest(next_best)
    if not n:
        return Answer("best", question, "No group has rows of two models.")
    ranked = sorted(wins.items(), key=lambda one: -one[1])
    named = listed([f"{short(model, 40)} in {times}" for model, times in ranked])
    said = (
        f"Of {n} groups, the smallest difference between {words.rate} and {words.probability} is that of {named}. "
        f"It is apart from the next by intervals that do not meet in {clear}; elsewhere it is a tie."
    )
    return Answer("best", question, said, note="Intervals at 95 %, each by itself; the matrix has every group.")


def _farthest(one: dict[str, Any]) -> float:
    return max(abs(one["residual_low"]), abs(one["residual_high"]))


def _nearest(one: dict[str, Any]) -> float:
    low, high = one["residual_low"], one["residual_high"]
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high))
