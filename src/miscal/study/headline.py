"""A study in three lines: which model is best calibrated, where they fail together, and what to do; and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from miscal.base.arrays import counted
from miscal.base.shown import first_words
from miscal.discovery.answer import spoken
from miscal.discovery.summary_parts import Answer
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.verdict import in_points
from miscal.report.formatting import metric, points
from miscal.report.opening import aligned, cut, opening_lines
from miscal.study.aggregates import beyond_chance
from miscal.study.answers import in_order, label, ranks
from miscal.study.matrix import shared_lines
from miscal.study.tables import CALIBRATION_COST, LEARNED, RESIDUAL, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

MOST_WORDS, LONGEST = 6, 40
"""Words of a group's name, and characters of a model's, in a sentence; the page holds the whole names."""
MOST_PRINTED = 16
"""Pairs that are printed; the page has all."""


def headline_of(tables: Tables, method: str, words: StudyVocabulary, n_planned: int) -> Answer:
    """Say in three lines what a study found."""
    if tables["pairs"].is_empty():
        return Answer(
            headline="Nothing can be said yet: no pair is finished.",
            reason="No pair is finished.",
            action="Run the same command again: it goes on where it stopped.",
        )
    return Answer(
        headline=_headline(tables, method),
        reason=_reason(tables, method, words),
        action=_action(tables, method, n_planned),
    )


def _headline(tables: Tables, method: str) -> str:
    """Say which model is best calibrated, or that it is a tie; of models that have no other, who promises too much."""
    ranked = in_order(of_method(tables["rankings"], method), CALIBRATION_COST)
    ranked = ranked.filter(pl.len().over("dataset") > 1)
    n, leaders = ranked["dataset"].n_unique(), ranked.filter(best_rank=1, worst_rank=1)
    if not n:
        return _promise(tables, method) or "It is not known yet which models promise more than they keep."
    if n > 1:
        if leaders.is_empty():
            return f"No model is shown to be best calibrated on any of {n} data sets."
        [(first, wins)], tied = Counter(leaders["model"]).most_common(1), n - leaders.height
        rest = f"; on {tied} it is a tie" if tied else ""
        return f"{_name(first)} is best calibrated on {wins} of {n} data sets{rest}."
    if leaders.height:
        first, cost = _name(leaders["model"][0]), metric(max(leaders["value"][0], 0.0))
        return f"{first} is best calibrated of {ranked.height} models: its errors cost {cost} of log loss."
    tie = ranked.filter(best_rank=1).height
    if tie == 1:
        return f"{_name(ranked['model'][0])} comes first of {ranked.height} models, but is not shown to be best."
    which = "all" if tie == ranked.height else f"{tie} of {ranked.height}"
    return f"No model is shown to be best calibrated: {which} tie for the first place."


def _residuals(tables: Tables, method: str) -> pl.DataFrame:
    own = of_method(tables["board"], method).filter(measure=RESIDUAL)
    return own.drop_nulls(["value", "low", "high"]).sort("value")


def _promise(tables: Tables, method: str) -> str | None:
    """Say in how many pairs more is promised than kept, and where most; None without an interval."""
    own = _residuals(tables, method)
    if own.is_empty():
        return None
    more, first = own.filter(pl.col("high") < 0).height, own.row(0, named=True)
    said = f"More is promised than kept in {more or 'none'} of {counted(own.height, 'pair')}"
    return said + (f", most by {_label(tables, first)}: {in_points(abs(first['value']))}." if more else ".")


def _reason(tables: Tables, method: str, words: StudyVocabulary) -> str:
    """Say where the models fail together, or that they are not shown to."""
    found = [one for one in shared_lines(of_method(tables["shared_findings"], method)) if one["shared"]]
    own = of_method(tables["pairs"], method, LEARNED)
    if found:
        one = max(found, key=lambda line: abs(line["size"][0]))
        effect, name = one["size"][0], first_words(one["description"], MOST_WORDS)
        apart = f"{in_points(abs(effect))} {'lower' if effect < 0 else 'higher'}"
        return (
            f"They fail together, {name}: {words.rate} {apart} than at equal {words.probability} ({one['agreement']})."
        )
    if own["dataset"].is_duplicated().any():
        return " ".join(filter(None, ["No group was found where they fail together.", _promise(tables, method)]))
    proved = (own["p_hidden"] < SIGNIFICANCE).sum()
    return f"Hidden miscalibration is shown in {proved} of {counted(own.height, 'pair')}, each by itself."


def _action(tables: Tables, method: str, n_planned: int) -> str:
    """Say what is left to be run, and which models to correct."""
    own = of_method(tables["pairs"], method, LEARNED)
    n, failed = tables["pairs"]["pair"].n_unique(), tables["failures"].height
    known, helped, harmed = own.select(**beyond_chance("log_loss_saved")).row(0)
    if not known:
        said = "Go on: no pair is corrected yet."
    elif not helped:
        said = (
            f"Leave them uncorrected: correcting lowers the log loss of none of {counted(known, 'pair')} beyond chance."
        )
    else:
        which = "all pairs" if helped == known else f"{helped} of {counted(known, 'pair')}"
        said = (
            f"Use the correction of {which}: log loss falls beyond chance{f'; in {harmed} it rises' if harmed else ''}."
        )
    if failed:
        said += f" Mend {counted(failed, 'failure')}, and run again."
    elif n < n_planned:
        said += f" Not finished: {n_planned - n} of {n_planned} pairs."
    return said


def _name(model: str) -> str:
    """Return a model's name as it stands in a sentence."""
    return cut(first_words(model, 2), LONGEST)


def _label(tables: Tables, row: dict[str, Any]) -> str:
    many = tables["pairs"]["dataset"].n_unique() > 1
    return _name(row["model"]) + (f" on {_name(row['dataset'])}" if many else "")


def study_lines(tables: Tables, method: str, answer: Answer) -> tuple[str, ...]:
    """Return what is printed of a study: its three lines, and a table of its pairs."""
    three, own = opening_lines(answer), of_method(tables["pairs"], method, LEARNED)
    if own.is_empty():
        return tuple(three)
    ranked = in_order(of_method(tables["rankings"], method), CALIBRATION_COST).with_row_index("place")
    ranked = ranked.select("pair", "place", "best_rank", "worst_rank", cost="value")
    residuals = _residuals(tables, method).select("pair", "value", "low", "high")
    rows = own.join(ranked, on="pair", how="left").join(residuals, on="pair", how="left")
    rows = rows.sort("place", nulls_last=True, maintain_order=True).to_dicts()
    heads = ("model", "rows", "says", "comes true", "off, points", "cost", "rank", "saved")
    table = [_line(tables, row) for row in rows[:MOST_PRINTED]]
    more = [f"{len(rows) - MOST_PRINTED} more: see the page"] if len(rows) > MOST_PRINTED else []
    return (*three, "", *aligned(heads, table), *more, "")


def _line(tables: Tables, row: dict[str, Any]) -> Sequence[str]:
    known = lambda value, write: "" if value is None else write(value)  # noqa: E731
    value, low, high = (known(row[name], points) for name in ("value", "low", "high"))
    return (
        cut(label(tables, row), 26),
        f"{row['n_test']:,}",
        known(row["confidence"], spoken),
        known(row["accuracy"], spoken),
        f"{value} ({low} to {high})" if value else "",
        known(row["cost"], lambda cost: metric(max(cost, 0.0))),
        "" if row["place"] is None else ranks(row),
        known(row["log_loss_saved"], metric),
    )
