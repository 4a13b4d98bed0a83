"""The three lines of a study: short, of its tables alone, and never against them."""

import json
from itertools import product

import polars as pl
import pytest

from miscal.study.pages import write_pages
from miscal.study.tables import ANSWERS, EVENTS
from miscal.study.verdict import headline_of, study_lines

from ..report.read_page import check_lines, check_terminal
from .made_tables import frames, other_pairs, papers_pairs, tables
from .pages.conftest import save
from .test_board import made

RANKS = {
    "ahead": ((1, 1), (2, 3), (2, 3)),
    "tie of two": ((1, 2), (1, 2), (3, 3)),
    "tie of all": ((1, 3), (1, 3), (1, 3)),
    "first": ((1, 2), (2, 3), (2, 3)),
}
SAVED = {"helps": (0.05, 0.15), "no gain": (-0.05, 0.15), "harms": (-0.15, -0.05), "unknown": (None, None)}
LONG = "a model with a very long name of many words"


def board(ranks=None, saved="helps", shared=True, name="a"):
    """Tables of three models, the first of which has this name."""
    low, high = SAVED[saved]
    found = made()
    pairs = found["pairs"].with_columns(
        log_loss_saved_low=pl.lit(low, pl.Float64), log_loss_saved_high=pl.lit(high, pl.Float64)
    )
    found |= {"pairs": pairs} | (
        {} if shared else frames({}) | {one: found[one] for one in ("board", "groups")} | {"pairs": pairs}
    )
    if ranks is not None:
        rows = [
            {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "measure": "log_loss_corrected",
             "n": 500, "common": True, "value": 0.01 * k, "low": 0.0, "high": 0.02 * k, "best_rank": best,
             "worst_rank": worst}
            for k, (model, (best, worst)) in enumerate(zip("abc", RANKS[ranks], strict=True), start=1)
        ]  # fmt: skip
        found |= {"rankings": frames({"rankings": rows})["rankings"]}
    renamed = pl.col("model").replace("a", name)
    return {key: one.with_columns(renamed) if "model" in one.columns else one for key, one in found.items()}


@pytest.mark.parametrize("words", [ANSWERS, EVENTS, ANSWERS | {"model": "origin", "models": "origins"}])
def test_lines_are_short_and_of_one_mind_in_every_state(words):
    for ranks, saved, shared, name, planned in product((None, *RANKS), SAVED, (True, False), ("a", LONG), (3, 40)):
        found = board(ranks, saved, shared, name)
        lines = headline_of(found, words, planned)
        check_lines(lines)
        assert lines.headline.startswith("Take ") == (ranks == "ahead")
        assert lines.headline.startswith(f"No {words['model']} ") == (ranks not in (None, "ahead"))
        assert lines.reason.startswith("They fail together") == shared
        assert ("Use the correction of all pairs" in lines.action) == (saved == "helps")
        assert ("Leave them uncorrected" in lines.action) == (saved in ("no gain", "harms"))
        assert ("Not finished" in lines.action) == (planned == 40)
        check_terminal(study_lines(found, words, lines))


@pytest.mark.parametrize(("common", "taken"), [(True, True), (False, False)])
def test_a_model_is_taken_only_where_all_answered_the_same(common, taken):
    found = board("ahead")
    found["rankings"] = found["rankings"].with_columns(common=pl.lit(common))
    said = headline_of(found, ANSWERS, 3).headline
    assert said.startswith("Take a:") is taken
    assert "a" in said.replace(":", " ").rstrip(".").split()


def test_of_several_data_sets_it_is_said_on_how_many_one_is_ahead():
    rows = [
        {"pair": f"{dataset}.{model}", "dataset": dataset, "model": model, "method": "auto", "n": 500, "common": True,
         "measure": "log_loss_corrected", "value": 0.4, "low": 0.3, "high": 0.5, "best_rank": best, "worst_rank": worst}
        for dataset, ranks in {"d": (1, 1), "e": (1, 1), "f": (1, 2)}.items()
        for model, (best, worst) in {"a": ranks, "b": (2 if ranks == (1, 1) else 1, 2)}.items()
    ]  # fmt: skip
    found = board() | {"rankings": frames({"rankings": rows})["rankings"]}
    assert headline_of(found, ANSWERS, 3).headline.startswith("Take a on 2 of 3 data sets:")


@pytest.mark.parametrize(
    "pairs", [[], other_pairs(1), other_pairs(2), other_pairs(9), other_pairs(40), papers_pairs(12)]
)
def test_any_study_has_three_lines_and_thirty_on_the_terminal(pairs):
    found = tables(pairs)
    lines = headline_of(found, ANSWERS, len(pairs))
    check_lines(lines)
    check_terminal(study_lines(found, ANSWERS, lines))


def test_the_page_and_the_summary_say_the_same_lines(tmp_path):
    write_pages(save(tmp_path, board("ahead")))
    said = json.loads((tmp_path / "summary.json").read_text())["answer"]
    page = (tmp_path / "index.html").read_text()
    assert said["headline"] in page
    assert page.index(said["headline"]) < page.index(said["reason"]) < page.index('class="bars"')
