"""The questions which model is ahead, by what its confidences cost, what is hidden costs, and what is left."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from miscal.report.formatting import count, metric
from miscal.report.texts import short
from miscal.study.answers.answer import Answer, Bar, label, listed
from miscal.study.measures.groups import LOG_LOSS
from miscal.study.measures.rankings import CALIBRATION_COST, HIDDEN_COST
from miscal.study.tables import Tables, of_method
from miscal.study.vocabulary import StudyVocabulary


class Measure(NamedTuple):
    """A measure that models are ranked by: its question, what it ranks by, in words, its size, and how it is made."""

    name: str
    question: str
    subject: str
    size: str
    note: str


MEASURES = (
    Measure(
        CALIBRATION_COST,
        "Which {probabilities} are best calibrated, and what does it cost that they are not?",
        "in calibration",
        "its errors cost {} of log loss per row",
        "What a map of the {probability} alone saves per row, in log loss, where it has not seen the row: what a "
        "reliability diagram can show.",
    ),
    Measure(
        HIDDEN_COST,
        "Which hide the least, and what does it cost?",
        "in what is hidden",
        "what the correction finds costs {} of log loss per row",
        "What the correction saves per row, in log loss, beyond the best map of the {probability} alone: errors that "
        "cancel among rows of equal {probability}. What the correction did not find is not in it.",
    ),
    Measure(
        LOG_LOSS,
        "Which is best once it is corrected?",
        "once corrected",
        "its log loss is {} per row",
        "Log loss per row of the corrected {probabilities}, on rows that the correction has not seen: it rewards a "
        "model for telling apart what it knows.",
    ),
)


def who_is_ahead(tables: Tables, method: str, words: StudyVocabulary) -> list[Answer]:
    """Say of each measure which model is shown to be ahead on each data set, and where it is a tie."""
    known = of_method(tables["rankings"], method)
    return [
        _answer(tables, measure, some, words)
        for measure in MEASURES
        if not (some := known.filter(pl.col("measure") == measure.name)).is_empty()
    ]


def _answer(tables: Tables, measure: Measure, some: pl.DataFrame, words: StudyVocabulary) -> Answer:
    some = some.sort("dataset", "best_rank", "worst_rank", "value", maintain_order=True)
    parts = [own for _, own in some.group_by("dataset", maintain_order=True)]
    said = _overall(parts, measure) if len(parts) > _SAID else _each(parts, measure)
    bars = [
        Bar(label(tables, one), one["value"], one["low"], one["high"], one["pair"],
            f"rank {ranks(one['best_rank'], one['worst_rank'])}")
        for one in some.iter_rows(named=True)
    ]  # fmt: skip
    return Answer(measure.name, words.fill(measure.question), said, tuple(bars), "log loss",
                  f"{words.fill(measure.note)} {_compared(some, words)}", ordered=True)  # fmt: skip


_SAID = 3
"""Data sets up to which a sentence speaks of each."""


def _each(parts: list[pl.DataFrame], measure: Measure) -> str:
    """Say who is ahead on each data set."""
    subject = f"{measure.subject[0].upper()}{measure.subject[1:]}"
    if len(parts) == 1:
        return f"{subject}, {_standing(parts[0], measure)}."
    each = [f"on {short(own['dataset'][0], 30)}, {_standing(own, measure)}" for own in parts]
    return f"{subject}: {'; '.join(each)}."


def _standing(own: pl.DataFrame, measure: Measure) -> str:
    alone, tied = _first(own)
    others = own.height - len(tied)
    if alone is not None:
        behind = "the other one" if others == 1 else f"all {others} others"
        size = measure.size.format(metric(alone["value"]))
        return f"{short(alone['model'], 40)} is shown to be ahead of {behind}: {size}"
    if len(tied) == 1:
        return f"{short(tied[0], 40)} comes first, but is not shown to be ahead of all others"
    said = f"{listed([short(model, 40) for model in tied])} tie for the first place"
    if not others:
        return f"{said}, none of them shown to be behind another"
    each = "the other one is" if others == 1 else f"each of the {count(others)} others is"
    return f"{said}, and {each} shown to be behind some model"


def _first(own: pl.DataFrame) -> tuple[dict | None, list[str]]:
    """Return the row of the model that is ahead of all others, if there is one, and all models that may be first."""
    may = own.filter(pl.col("best_rank") == 1)
    alone = may.filter(pl.col("worst_rank") == 1)
    return (None if alone.is_empty() else alone.row(0, named=True)), may["model"].to_list()


def _overall(parts: list[pl.DataFrame], measure: Measure) -> str:
    wins: dict[str, int] = {}
    for own in parts:
        alone, _ = _first(own)
        if alone is not None:
            wins[alone["model"]] = wins.get(alone["model"], 0) + 1
    clear = sum(wins.values())
    if not clear:
        return f"On none of {len(parts)} data sets is one model shown to be ahead of all others {measure.subject}."
    named = listed([f"{short(model, 40)} on {n}" for model, n in sorted(wins.items(), key=lambda one: -one[1])])
    said = (
        f"On {clear} of {len(parts)} data sets one model is shown to be ahead of all others {measure.subject}: {named}."
    )
    return said if clear == len(parts) else f"{said} On the other {len(parts) - clear} the first place is tied."


def ranks(best: int, worst: int) -> str:
    """Write the ranks that a model may have.

    Examples
    --------
    >>> ranks(1, 1), ranks(1, 3)
    ('1', '1\u20133')
    """
    return str(best) if best == worst else f"{best}\u2013{worst}"


def _compared(some: pl.DataFrame, words: StudyVocabulary) -> str:
    rows = f"the {words.rows} that all models of a data set {words.judged}"
    over = f"On {rows}" if some["common"].all() else f"Each on its own rows where {rows} are less than half of some"
    return (
        f"{over}. Intervals, comparisons and ranks of a data set all hold at once at 95 %; a tie means that neither "
        "is shown to be ahead."
    )
