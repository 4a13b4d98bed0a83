"""A study in three lines: which model is best calibrated, where they fail together, and what to do; and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from miscal.base.shown import first_words
from miscal.discovery.answer import spoken
from miscal.discovery.summary_parts import Answer
from miscal.findings.verdict import in_points
from miscal.report.formatting import metric, points
from miscal.report.opening import aligned, cut, opening_lines
from miscal.study.answers import in_order, label, ranks
from miscal.study.matrix import shared_lines
from miscal.study.tables import CALIBRATION_COST, LEARNED, RESIDUAL, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary, count_of

MOST_WORDS, LONGEST = 6, 40
"""Words of a group's name, and characters of a model's, in a sentence; the page holds the whole names."""
MOST_PRINTED = 16
"""Pairs that are printed; the page has all."""


def headline_of(tables: Tables, method: str, words: StudyVocabulary, n_planned: int) -> Answer:
    """Say in three lines what a study found."""
    return Answer(
        headline=_headline(tables, method),
        reason=_reason(tables, method, words),
        action=_action(tables, method, n_planned),
    )


def _headline(tables: Tables, method: str) -> str:
    """Say which model is best calibrated, or that it is a tie; of models that have no other, who promises too much."""
    if tables["pairs"].is_empty():
        return "Nothing can be said yet: no pair is finished."
    ranked = in_order(of_method(tables["rankings"], method), CALIBRATION_COST)
    parts = [own for _, own in ranked.group_by("dataset", maintain_order=True) if own.height > 1]
    if not parts:
        return _promise(tables, method) or "It is not known yet which models promise more than they keep."
    leaders = [own.filter(best_rank=1, worst_rank=1) for own in parts]
    if len(parts) > 1:
        wins = Counter(one["model"][0] for one in leaders if one.height)
        if not wins:
            return f"No model is shown to be best calibrated on any of {len(parts)} data sets."
        (first, n), tied = wins.most_common(1)[0], len(parts) - wins.total()
        rest = f"; on {tied} it is a tie" if tied else ""
        return f"{_name(first)} is best calibrated on {n} of {len(parts)} data sets{rest}."
    [own], [leader] = parts, leaders
    if leader.height:
        cost = metric(max(leader["value"][0], 0.0))
        first = _name(leader["model"][0])
        return f"{first} is best calibrated of {own.height} models: its errors cost {cost} of log loss."
    tie = own.filter(best_rank=1).height
    if tie == 1:
        return f"{_name(own['model'][0])} comes first of {own.height} models, but is not shown to be best calibrated."
    which = "all" if tie == own.height else f"{tie} of {own.height}"
    return f"No model is shown to be best calibrated: {which} tie for the first place."


def _residuals(tables: Tables, method: str) -> pl.DataFrame:
    own = of_method(tables["board"], method).filter(measure=RESIDUAL)
    return own.drop_nulls(["value", "low", "high"]).sort("value")


def _promise(tables: Tables, method: str) -> str | None:
    """Say which pair promises most beyond what it keeps, or how many do; None without an interval."""
    own = _residuals(tables, method)
    if own.is_empty():
        return None
    more, first = own.filter(pl.col("high") < 0), own.row(0, named=True)
    by = in_points(abs(first["value"]))
    if own.height == 1:
        verb = f"promises {by} more than it keeps" if more.height else "is not shown to promise more than it keeps"
        return f"{_label(tables, first)} {verb}."
    if more.is_empty():
        return f"None of {count_of(own.height, 'pair')} is shown to promise more than it keeps."
    of = f"{more.height} of {count_of(own.height, 'pair')} {'promises' if more.height == 1 else 'promise'}"
    return f"{of} too much: {'most ' if more.height > 1 else ''}{_label(tables, first)}, by {by}."


def _reason(tables: Tables, method: str, words: StudyVocabulary) -> str:
    """Say where the models fail together, or that they are not shown to."""
    if tables["pairs"].is_empty():
        return "No pair is finished."
    found = [one for one in shared_lines(of_method(tables["shared_findings"], method)) if one.shared]
    several = bool(of_method(tables["pairs"], method, LEARNED)["dataset"].is_duplicated().any())
    if found:
        one = max(found, key=lambda line: abs(line.reported[0]))
        effect, name = one.reported[0], first_words(one.finding["description"], MOST_WORDS)
        side = "lower" if effect < 0 else "higher"
        size = in_points(abs(effect))
        beside = f"than at equal {words.probability} ({one.agreement})"
        return f"They fail together, {name}: {words.rate} {size} {side} {beside}."
    if several:
        promise = _promise(tables, method)
        return f"No group was found where they fail together.{f' {promise}' if promise else ''}"
    proved = int((of_method(tables["pairs"], method, LEARNED)["p_hidden"] < 0.05).sum())
    of = count_of(of_method(tables["pairs"], method, LEARNED).height, "pair")
    return f"Hidden miscalibration is shown in {proved} of {of}, each by itself."


def _action(tables: Tables, method: str, n_planned: int) -> str:
    """Say what is left to be run, and which models to correct."""
    own = of_method(tables["pairs"], method, LEARNED)
    n, failed = tables["pairs"]["pair"].n_unique(), tables["failures"].height
    if not n:
        return "Run the same command again: it goes on where it stopped."
    known = own.drop_nulls(["log_loss_saved_low", "log_loss_saved_high"])
    helped, harmed = int((known["log_loss_saved_low"] > 0).sum()), int((known["log_loss_saved_high"] < 0).sum())
    if known.is_empty():
        said = "Go on: no pair is corrected yet."
    elif not helped:
        which, whose = ("it", "") if known.height == 1 else ("them", f" of any of {count_of(known.height, 'pair')}")
        said = f"Leave {which} uncorrected: correcting does not lower the log loss{whose} beyond chance."
    elif known.height == 1:
        said = "Use the correction: log loss falls beyond chance."
    else:
        which = "all pairs" if helped == known.height else f"{helped} of {count_of(known.height, 'pair')}"
        rises = f"; in {harmed} it rises" if harmed else ""
        said = f"Use the correction of {which}: log loss falls beyond chance{rises}."
    if failed:
        said += f" Mend {count_of(failed, 'failure')}, and run again."
    elif n < n_planned:
        said += f" Not finished: {n_planned - n} of {n_planned} pairs."
    return said


def _name(model: str) -> str:
    """Return a model's name as it stands in a sentence."""
    words = model.split()
    return cut(" ".join(words[:2]) + (" …" if len(words) > 2 else ""), LONGEST)


def _label(tables: Tables, row: dict[str, Any]) -> str:
    many = tables["pairs"]["dataset"].n_unique() > 1
    return _name(row["model"]) + (f" on {_name(row['dataset'])}" if many else "")


def study_lines(tables: Tables, method: str, answer: Answer) -> tuple[str, ...]:
    """Return what is printed of a study: its three lines, and a table of its pairs."""
    own = of_method(tables["pairs"], method, LEARNED)
    if own.is_empty():
        return tuple(opening_lines(answer))
    residuals = {row["pair"]: row for row in _residuals(tables, method).iter_rows(named=True)}
    ranked = in_order(of_method(tables["rankings"], method), CALIBRATION_COST)
    order = {row["pair"]: row for row in ranked.iter_rows(named=True)}
    places = {pair: place for place, pair in enumerate(order)}
    rows = sorted(own.iter_rows(named=True), key=lambda row: places.get(row["pair"], len(places)))
    heads = ("model", "rows", "says", "comes true", "off, points", "cost", "rank", "saved")
    table = [_line(tables, row, residuals.get(row["pair"]), order.get(row["pair"])) for row in rows[:MOST_PRINTED]]
    more = len(rows) - len(table)
    return (
        *opening_lines(answer), "", *aligned(heads, table), *([f"{more} more: see the page"] if more else []), "",
    )  # fmt: skip


def _line(
    tables: Tables, row: dict[str, Any], residual: dict[str, Any] | None, rank: dict[str, Any] | None
) -> Sequence[str]:
    value, low, high = ("" if residual is None else points(residual[name]) for name in ("value", "low", "high"))
    apart = f"{value} ({low} to {high})" if value else ""
    saved = row["log_loss_saved"]
    return (
        cut(label(tables, row), 26),
        f"{row['n_test']:,}",
        *("" if row[name] is None else spoken(row[name]) for name in ("confidence", "accuracy")),
        apart,
        "" if rank is None else metric(max(rank["value"], 0.0)),
        "" if rank is None else ranks(rank),
        "" if saved is None else metric(saved),
    )
