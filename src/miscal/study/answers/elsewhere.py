"""The question whether the correction of one model serves another."""

from __future__ import annotations

from miscal.study.answers.answer import Answer, Bar
from miscal.study.tables import Tables, of_method


def whom_corrections_serve(tables: Tables, method: str) -> Answer:
    """Say which corrections lower the log loss of another pair."""
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
