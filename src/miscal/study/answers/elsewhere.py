"""The question whether the correction of one model serves another."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from miscal.report.texts import short
from miscal.study.answers.answer import Answer, Bar, listed
from miscal.study.tables import Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

QUESTION = "Does the correction of one model serve another?"
_DRAWN = 40
"""Tries that the picture shows; the table has all."""


def whom_corrections_serve(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say whose hidden part lowers the log loss of which other models, and what saved fields do elsewhere."""
    shifts, fields = (of_method(tables[name], method) for name in ("transfer_shifts", "transfer_corrections"))
    said = [_shifted(tables, shifts, words), _applied(fields)]
    said = [one for one in said if one]
    if not said:
        return Answer(
            "elsewhere",
            QUESTION,
            "This study does not say. It takes two models that answered the same "
            f"{words.rows}, and a correction that depends on more than the {words.probability}; a plan with "
            "transfer: true also tries corrections on other data sets.",
        )
    bars = _bars(tables, shifts if shifts.height else fields)
    return Answer("elsewhere", QUESTION, " ".join(said), bars, "log loss", _note(words, shifts))


def _shifted(tables: Tables, shifts: pl.DataFrame, words: StudyVocabulary) -> str:
    if shifts.is_empty():
        return ""
    better, worse = shifts.filter(pl.col("saved_low") > 0), shifts.filter(pl.col("saved_high") < 0)
    tries = f"{shifts.height} {'try' if shifts.height == 1 else 'tries'}"
    said = (
        f"What the correction of one model knows beyond the {words.probability} serves another on the same "
        f"{words.rows} in {better.height or 'none'} of {tries}, and harms in {worse.height or 'none'}."
    )
    if better.height and better.height < shifts.height:
        said += f" Most of all {listed(_names(tables, better.sort('saved', descending=True)))}."
    own = int((shifts["log_loss_own"] <= shifts["log_loss_transferred"]).sum())
    return f"{said} A model's own correction does at least as well in {own}."


def _applied(fields: pl.DataFrame) -> str:
    some = fields.drop_nulls(["saved", "saved_low", "saved_high"])
    if some.is_empty():
        return ""
    better, worse = int((some["saved_low"] > 0).sum()), int((some["saved_high"] < 0).sum())
    return (
        f"The saved field of another pair, on inputs that it has not seen, lowers the log loss in {better or 'none'} "
        f"of {some.height} {'try' if some.height == 1 else 'tries'}, and raises it in {worse or 'none'}."
    )


def _bars(tables: Tables, some: pl.DataFrame) -> tuple[Bar, ...]:
    known = some.drop_nulls(["saved", "saved_low", "saved_high"]).sort("saved", descending=True).head(_DRAWN)
    return tuple(
        Bar(name, one["saved"], one["saved_low"], one["saved_high"], one["pair_to"])
        for name, one in zip(_names(tables, known), known.iter_rows(named=True), strict=True)
    )


def _names(tables: Tables, some: pl.DataFrame) -> list[str]:
    """Name the two models of each try, with their data sets where the study has several."""
    pairs = {pair: names for pair, *names in tables["pairs"].select("pair", "model", "dataset").iter_rows()}
    several, unknown = tables["pairs"]["dataset"].n_unique() > 1, ["", ""]
    tries = some.select("pair_from", "pair_to").iter_rows()
    return [_name(pairs.get(one, unknown), pairs.get(other, unknown), several) for one, other in tries]


def _name(teacher: Sequence[str], judged: Sequence[str], several: bool) -> str:
    """Name a try by two models; each is given with its data set."""
    (one, taught), (other, asked) = ([short(name, 30) for name in names] for names in (teacher, judged))
    if not several:
        return f"from {one} to {other}"
    return f"from {one} to {other} on {asked}" if taught == asked else f"from {one} on {taught} to {other} on {asked}"


def _note(words: StudyVocabulary, shifts: pl.DataFrame) -> str:
    if shifts.is_empty():
        return "Log loss saved per row by the correction of another pair, with the 95 % interval of each by itself."
    return (
        f"Log loss saved per row when the hidden part of the first model's correction, in log-odds, is added to the "
        f"second model's own correction by the {words.probability} alone, on {words.rows} whose outcomes neither has "
        "seen. All intervals of a data set hold at once at 95 %. On new rows the first model has to be asked, too."
    )
