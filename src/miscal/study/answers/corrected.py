"""The question what correcting each model leaves."""

from __future__ import annotations

import polars as pl

from miscal.study.answers.answer import Answer, bars_of, pairs_in_words
from miscal.study.matrix import holds
from miscal.study.tables import LEARNED, Tables, of_method


def what_correcting_leaves(tables: Tables, method: str) -> Answer:
    """Say whose log loss the correction lowers, and which marked groups it leaves."""
    question = "What does correcting each of them leave?"
    some = of_method(tables["pairs"], method, LEARNED)
    known = some.with_columns(value=pl.col("log_loss_saved"), low=pl.col("log_loss_saved_low"),
                              high=pl.col("log_loss_saved_high"))  # fmt: skip
    bars = bars_of(tables, known)
    if not bars:
        return Answer("corrected", question, "No pair is corrected yet.")
    helped, harmed = sum(one.low > 0 for one in bars), sum(one.high < 0 for one in bars)
    marked = [one for one in of_method(tables["groups"], method).iter_rows(named=True) if holds(one)]
    left = sum(one["after_low"] is not None and not one["after_low"] <= 0 <= one["after_high"] for one in marked)
    if len(bars) == 1:
        verb = "lowers" if helped else "raises" if harmed else "neither lowers nor raises"
        said = f"The correction {verb} the log loss of {bars[0].name}, beyond chance."
    else:
        said = (
            f"The correction lowers the log loss of {helped or 'none'} of {pairs_in_words(len(bars))} and raises that "
            f"of {harmed or 'none'}, beyond chance."
        )
    if marked:
        said += (
            f" Of {len(marked)} marked {'cell' if len(marked) == 1 else 'cells'} of the matrix, the interval of what "
            f"it leaves excludes 0 in {left or 'none'}."
        )
    return Answer("corrected", question, said, tuple(sorted(bars, key=lambda one: -one.value)), "log loss",
                  "Log loss saved per row, on rows that the correction has not seen, with the 95 % interval of each by "
                  "itself. Right of 0: corrected is better.")  # fmt: skip
