"""The questions of the owner of a study, answered from its tables: a sentence, numbers with intervals, and a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.report.formatting import count, percent, points
from miscal.report.texts import short
from miscal.study.matrix import GroupLine, GroupMatrix, holds
from miscal.study.measures.groups import RESIDUAL
from miscal.study.tables import LEARNED, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

NARROW = 0.02
"""Half-width of the interval of a mean residual at which a pair has rows enough to say how much it promises."""
_NAMED = 4
"""Names that a sentence lists before it counts the rest."""


@dataclass(frozen=True)
class Bar:
    """A number of a picture, with its interval; in points of probability, or in log loss.

    Attributes
    ----------
    name : str
    value : float
    low, high : float
        Ends of its 95 % interval.
    pair : str or None
        The pair whose report says more.
    """

    name: str
    value: float
    low: float
    high: float
    pair: str | None = None


@dataclass(frozen=True)
class Answer:
    """A question and its answer.

    Attributes
    ----------
    name : str
        Of its place on the page.
    question, sentence : str
    bars : tuple of Bar
        Its picture; empty where there is nothing to show.
    unit : {"points", "log loss"}
        Of the bars.
    note : str
        What is presumed.
    """

    name: str
    question: str
    sentence: str
    bars: tuple[Bar, ...] = ()
    unit: str = "points"
    note: str = ""


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
        In the order of the page.
    """
    return [
        _promises(tables, method, words),
        _together(matrices, words),
        _best(matrices, words),
        _corrected(tables, method),
        _elsewhere(tables, method),
        _few(tables, method, words),
    ]


# --- which promise more than they keep ------------------------------------------------------------------------------


def _promises(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    bars = _bars(tables, of_method(tables["board"], method).filter(pl.col("measure") == RESIDUAL))
    more = sorted((one for one in bars if one.high < 0), key=lambda one: one.value)
    less = sorted((one for one in bars if one.low > 0), key=lambda one: -one.value)
    if not bars:
        said = "No pair has an interval yet."
    elif not more:
        said = f"None of the {_models(len(bars))} promises more than it keeps, beyond chance."
    else:
        said = (
            f"{len(more)} of {_models(len(bars))} {'promises' if len(more) == 1 else 'promise'} more than "
            f"{'it keeps' if len(more) == 1 else 'they keep'}: {_listed([_with_size(one) for one in more])}."
        )
    if less:
        verb = "keeps more than it promises" if len(less) == 1 else "keep more than they promise"
        said += f" {_listed([_with_size(one) for one in less])} {verb}."
    return Answer(
        "promises",
        "Which models promise more than they keep, and by how much?",
        said,
        tuple(sorted(bars, key=lambda one: one.value)),
        note=f"The {words.rate} less the mean {words.probability}, in points, with the 95 % interval of each by "
        f"itself. Left of 0: {words.over}.",
    )


def _with_size(one: Bar) -> str:
    return f"{one.name} by {points(abs(one.value)).lstrip('+')} points"


# --- where they fail together -------------------------------------------------------------------------------------


def _together(matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> Answer:
    question = "Where do all of them fail together, and where only one?"
    lines = [(matrix, line) for matrix in matrices for line in matrix.lines if len(matrix.models) > 1]
    if not lines:
        return Answer("together", question, "No column names groups that two models on one data set share.")
    cells = sum(one is not None and one["p_value"] is not None for _, line in lines for one in line.cells)
    shared = [(matrix, line) for matrix, line in lines if line.shared]
    alone = [(matrix, line) for matrix, line in lines if len(line.marked) == 1]
    said = (
        f"Several models err in one direction, and none in the other, on {_listed([_shared(*one) for one in shared])}."
        if shared
        else "On no group do two models err in one direction beyond chance, with none in the other."
    )
    if alone:
        named = [f"{_group(line)} ({short(line.marked[0]['model'], 30)})" for _, line in alone]
        said += f" Beyond chance for one model alone: {_listed(named)}."
    return Answer(
        "together",
        question,
        said,
        note=f"Each group is compared with rows of equal {words.probability}. A mark holds after Holm's adjustment "
        f"over all {count(cells)} tested cells of the matrix below, which are one family. That a model has no mark "
        "does not prove that nothing is hidden there.",
    )


def _shared(matrix: GroupMatrix, line: GroupLine) -> str:
    return f"{_group(line)} ({len(line.marked)} of {len(matrix.models)})"


def _group(line: GroupLine) -> str:
    return f"{short(line.column, 30)} = {short(line.value, 40)}"


# --- which is best calibrated in each group -----------------------------------------------------------------------


def _best(matrices: Sequence[GroupMatrix], words: StudyVocabulary) -> Answer:
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
    named = _listed([f"{short(model, 40)} in {times}" for model, times in ranked])
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


# --- what correcting changes --------------------------------------------------------------------------------------


def _corrected(tables: Tables, method: str) -> Answer:
    question = "What does correcting each of them leave?"
    some = of_method(tables["pairs"], method, LEARNED)
    known = some.with_columns(value=pl.col("log_loss_saved"), low=pl.col("log_loss_saved_low"),
                              high=pl.col("log_loss_saved_high"))  # fmt: skip
    bars = _bars(tables, known)
    if not bars:
        return Answer("corrected", question, "No pair is corrected yet.")
    helped, harmed = sum(one.low > 0 for one in bars), sum(one.high < 0 for one in bars)
    marked = [one for one in of_method(tables["groups"], method).iter_rows(named=True) if holds(one)]
    left = sum(one["after_low"] is not None and not one["after_low"] <= 0 <= one["after_high"] for one in marked)
    said = (
        f"The correction lowers the log loss of {helped} of {_models(len(bars))} and raises that of {harmed}, beyond "
        "chance."
    )
    if marked:
        said += (
            f" Of {len(marked)} marked {'cell' if len(marked) == 1 else 'cells'} of the matrix, the interval of what "
            f"it leaves excludes 0 in {left}."
        )
    return Answer("corrected", question, said, tuple(sorted(bars, key=lambda one: -one.value)), "log loss",
                  "Log loss saved per row, on rows that the correction has not seen, with the 95 % interval of each by "
                  "itself. Right of 0: corrected is better.")  # fmt: skip


def _elsewhere(tables: Tables, method: str) -> Answer:
    question = "Does the correction of one model serve another?"
    some = of_method(tables["transfer_corrections"], method).drop_nulls(["saved", "saved_low", "saved_high"])
    if some.is_empty():
        return Answer(
            "elsewhere",
            question,
            "This study does not say. A plan asks with transfer: true, and it takes two models whose inputs are of one "
            "space, and questions of the one that the other has not learned from.",
        )
    better, worse = (some["saved_low"] > 0).sum(), (some["saved_high"] < 0).sum()
    own = (some["log_loss_own"] <= some["log_loss_transferred"]).sum()
    names = dict(tables["pairs"].select("pair", "model").iter_rows())
    bars = [
        Bar(f"{names.get(one['pair_from'], '')} for {names.get(one['pair_to'], '')}", one["saved"], one["saved_low"],
            one["saved_high"], one["pair_to"])
        for one in some.iter_rows(named=True)
    ]  # fmt: skip
    said = (
        f"The correction of another pair lowers the log loss in {better} of {some.height} tries and raises it in "
        f"{worse}, beyond chance. A pair's own correction does at least as well in {own}."
    )
    return Answer("elsewhere", question, said, tuple(sorted(bars, key=lambda one: -one.value)[:40]), "log loss",
                  "Log loss saved per row by the correction of another pair.")  # fmt: skip


# --- which have too few rows --------------------------------------------------------------------------------------


def _few(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    question = "Which have too few rows to say, and how many more would it take?"
    told = of_method(tables["board"], method).filter(pl.col("measure") == RESIDUAL).drop_nulls(["low", "high"])
    short_of = []
    for one in told.iter_rows(named=True):
        half = (one["high"] - one["low"]) / 2
        if half > NARROW and one["low"] <= 0 <= one["high"]:
            short_of.append((_label(tables, one), int(np.ceil(one["n"] * ((half / NARROW) ** 2 - 1))), half))
    cells = of_method(tables["groups"], method)
    untested = int(cells["p_value"].is_null().sum())
    if short_of:
        named = _listed([f"{name} (about {count(more)} more rows)" for name, more, _ in short_of])
        said = f"Whether they promise too much cannot be said to within {percent(NARROW, 0)} of {named}."
    else:
        said = (
            f"Every pair has rows enough to say whether it promises too much: its interval excludes 0, or is narrower "
            f"than {percent(NARROW, 0)} either way."
        )
    if untested:
        said += f" {count(untested)} of {count(cells.height)} cells of the matrix have too few rows to be tested."
    return Answer("few", question, said, note="The width of an interval falls with the square root of the rows; rows "
                  "that hang together are presumed to do so as they do here.")  # fmt: skip


# --- names --------------------------------------------------------------------------------------------------------


def _bars(tables: Tables, some: pl.DataFrame) -> list[Bar]:
    known = some.drop_nulls(["value", "low", "high"])
    return [
        Bar(_label(tables, one), one["value"], one["low"], one["high"], one["pair"])
        for one in known.iter_rows(named=True)
    ]


def _label(tables: Tables, row: dict[str, Any]) -> str:
    """Name a pair by its model; with its data set where the study has several."""
    model = short(row["model"], 40)
    return model if tables["pairs"]["dataset"].n_unique() < 2 else f"{model} on {short(row['dataset'], 30)}"


def _models(n: int) -> str:
    return f"{n} pair{'' if n == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    first = list(names[:_NAMED])
    if len(names) > _NAMED:
        return f"{', '.join(first)} and {len(names) - _NAMED} more"
    return first[0] if len(first) == 1 else f"{', '.join(first[:-1])} and {first[-1]}"
