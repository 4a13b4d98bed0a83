"""The owner's questions: what the answers, the matrix and the page say of made-up tables."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.findings.residuals import holm
from miscal.study.answers import answers, matrices
from miscal.study.measures import measure_board
from miscal.study.pages import write_pages
from miscal.study.tables import ANSWERS, TABLES, adjust
from miscal.study.together import measure_groups, model_rows

from .conftest import save
from .made_tables import frames
from .planted import planted

pytestmark = pytest.mark.whole


def cell(model, value, hidden, p, **more):
    known = {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "column": "topic"}
    ends = {"low": hidden - 0.02, "high": hidden + 0.02, "residual": hidden, "residual_low": hidden - 0.02}
    return known | ends | {
        "value": value, "n": 200, "hidden": hidden, "p_value": p, "residual_high": hidden + 0.02,
        "after": 0.0, "after_low": -0.02, "after_high": 0.02,
    } | more  # fmt: skip


VALUE = {"kind": "value", "column": "topic", "of": "text"}
CELLS = [
    cell("a", "law", -0.2, 1e-6), cell("b", "law", -0.15, 1e-5), cell("c", "law", -0.1, 0.3),
    cell("a", "art", 0.2, 1e-6), cell("b", "art", -0.2, 1e-6), cell("c", "art", 0.0, 0.9),
    cell("a", "sums", 0.01, 0.8), cell("b", "sums", 0.0, 0.7), cell("c", "sums", 0.3, 1e-9),
    cell("a", "few", 0.4, None), cell("b", "few", 0.4, None), cell("c", "few", 0.4, None),
]  # fmt: skip


def shared(finding, kind, words, condition, effects, **more):
    """Rows of the table of shared findings, one for each model."""
    known = {"dataset": "d", "method": "auto", "finding": finding, "kind": kind, "description": words, "n": 600}
    known |= {"condition": json.dumps(condition), "models": 3, "effect": -0.15, "effect_low": -0.2, "effect_high": -0.1}
    known |= {"given_others": False}
    known |= {"p_shared": 1e-9, "p_shared_adjusted": 1e-7, "p_difference": 0.4, "p_difference_adjusted": 1.0} | more
    return [
        known | {"pair": f"d.{model}", "model": model, "n_model": 200, "model_effect": effect}
        for model, effect in zip("abc", effects, strict=True)
    ]  # fmt: skip


SHARED = shared(1, "shared", "topic = law", VALUE | {"value": "law"}, (-0.2, -0.15, 0.01)) + shared(
    2, "differing", "topic = art", VALUE | {"value": "art"}, (0.2, -0.2, None),
    p_shared_adjusted=None, p_difference=1e-6, p_difference_adjusted=1e-4,
)  # fmt: skip


def made(**more):
    """Tables of three models on one data set, with the cells above."""
    pairs = [
        {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "geometry": "learned",
         "outcome": "answer", "n_test": 500, "accuracy": 0.6, "confidence": 0.7, "log_loss_saved": 0.1,
         "log_loss_saved_low": 0.05, "log_loss_saved_high": 0.15}
        for model in "abc"
    ]  # fmt: skip
    board = [
        {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "measure": "residual", "n": 500,
         "value": value, "low": value - 0.04, "high": value + 0.04}
        for model, value in zip("abc", (-0.1, 0.01, 0.06), strict=True)
    ]  # fmt: skip
    found = frames({"pairs": pairs, "board": board, "groups": CELLS, "shared_findings": SHARED} | more)
    return found | {"groups": adjust(found["groups"])}


def facts(name, found=None):
    """What is said to a question, each fact with its names; None where it is not asked."""
    every = {one["name"]: one for one in answers(found or made(), "auto", ANSWERS)}
    return [(fact["said"], *fact["names"]) for fact in every[name]["facts"]] if name in every else None


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=30), st.data())
def test_all_tested_cells_of_a_method_are_one_family(p_values, data):
    method = data.draw(st.lists(st.sampled_from(["auto", "paper"]), min_size=len(p_values), max_size=len(p_values)))
    table = pl.DataFrame(
        {"method": method, "p_value": p_values, "p_adjusted": [None] * len(p_values)},
        schema={name: TABLES["groups"][name] for name in ("method", "p_value", "p_adjusted")},
    )
    found = adjust(table)
    for one in ("auto", "paper"):
        own = found.filter(method=one)
        tested = own.drop_nulls("p_value")
        assert own["p_adjusted"].null_count() == own["p_value"].null_count()
        assert np.array_equal(tested["p_adjusted"].to_numpy(), holm(tested["p_value"].to_numpy()))


def test_the_matrix_begins_with_what_all_models_share():
    found = made()
    (matrix,) = matrices(found["groups"], found["shared_findings"])
    assert matrix["models"] == ["a", "b", "c"]
    found = [(line["name"], line["finding"], len(line["marked"])) for line in matrix["lines"]]
    lines = [("law", 1, 2), ("sums", None, 1), ("art", None, 2), ("few", None, 0)]
    assert found == [(f"topic = {value}", *more) for value, *more in lines]


def test_each_question_is_answered_by_its_numbers():
    assert facts("promises") == [("1 of 3", "a by 10.0 points"), ("1 of 3", "c by 6.0 points")]
    shared, apart, alone = facts("together")
    assert shared == ("1", "topic = law, 15.0 points lower (10.0 to 20.0; in 2 of 3)")
    assert apart == ("1", "topic = art, from \u221220.0 (b) to +20.0 (a)")
    assert alone == ("1", "topic = sums (c)")
    # the half-width of b is .04, of which 2 points are half
    assert facts("few") == [("1 of 3", "b: about 1,500 more rows"), ("3 of 12",)]
    assert facts("corrected")[:2] == [("3 of 3",), ("none of 3",)]
    assert facts("elsewhere") is None


def ranking(models, **more):
    """Rows of the table of rankings for models with (value, best rank, worst rank), by one measure unless more say."""
    return [
        {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "measure": "hidden_cost", "n": 500,
         "common": True, "value": value, "low": value - 0.01, "high": value + 0.01, "best_rank": best,
         "worst_rank": worst} | more
        for model, (value, best, worst) in models.items()
    ]  # fmt: skip


@pytest.mark.parametrize(("ranks", "first"), [
    ({"a": (1, 1), "b": (2, 3), "c": (2, 3)}, "a"),
    ({"a": (1, 2), "b": (1, 2), "c": (3, 3)}, "ab"),
    ({"a": (1, 3), "b": (1, 3), "c": (1, 3)}, "abc"),
    ({"a": (1, 2), "b": (2, 2), "c": (2, 3)}, "a"),
])  # fmt: skip
def test_who_is_ahead_is_said_and_a_tie_is_called_one(ranks, first):
    models = {model: (0.1, *own) for model, own in ranks.items()}
    ahead = ranks["a"] == (1, 1)
    found = facts("hidden_cost", made(rankings=ranking(models)))
    assert found == ([("1 of 3", "a: 0.100")] if ahead else [("none of 3",), (f"{len(first)} of 3", *first)])
    rows = [row for k in range(5) for row in ranking(models, dataset=f"d{k}")]
    [(said, *named)] = facts("hidden_cost", made(rankings=rows))
    assert (said, len(named)) == (("5 of 5", 5) if ahead else ("none of 5", 0))


def test_the_best_of_each_group_is_named_or_the_tie_is():
    named = {"method": "auto", "dataset": "d", "column": "topic", "n": 50, "residual": 0.1}
    rows = [
        named | {"pair": f"d.{model}", "model": model, "value": value, "best_rank": best, "worst_rank": worst}
        for value, ranks in {"law": ((1, 1), (2, 2)), "art": ((1, 2), (1, 2))}.items()
        for model, (best, worst) in zip("ab", ranks, strict=True)
    ]
    assert facts("best", made(group_rankings=rows)) == [("1 of 2", "a in 1")]
    assert facts("best") is None


def test_whom_a_correction_serves_is_counted_by_intervals():
    row = {"dataset": "d", "method": "auto", "pair_from": "d.a", "log_loss_own": 0.5, "log_loss_transferred": 0.51}
    rows = [
        row | {"pair_to": f"d.{model}", "saved": saved, "saved_low": saved - 0.01, "saved_high": saved + 0.01}
        for model, saved in (("b", 0.02), ("c", -0.03))
    ]
    found = facts("elsewhere", made(transfer_shifts=rows))
    assert found == [("1 of 2", "from a to b"), ("1 of 2",), ("2 of 2",)]


def test_what_hidden_error_would_have_been_found_is_said():
    sizes, rows = pl.Series([0.08, 0.1, None]), pl.Series([1280, 2000, None])
    known = made()["pairs"].with_columns(detectable_share=pl.lit(0.1), detectable=sizes, rows_for_5_points=rows)
    found = facts("few", made() | {"pairs": known})
    assert found[1:3] == [("8.0 points", "a: about 1,300 rows for 5 points"), ("1", "c")]


def test_values_of_texts_come_before_bins_of_equal_rank():
    sizes = {"a": 0.3, "b": 0.2, "c": 0.1, "d": 0.0}
    cells = [cell("a", value, size, 0.9, bin=value in "ab") for value, size in sizes.items()]
    (matrix,) = matrices(made(groups=cells)["groups"], made()["shared_findings"].clear())
    assert [line["value"] for line in matrix["lines"]] == ["c", "d", "a", "b"]


def test_cells_lead_to_findings_and_models_to_reports(tmp_path):
    found = [one | {"finding": 2 if one["value"] == "law" else None} for one in CELLS]
    out = save(tmp_path, made(groups=found))
    for model in "abc":
        place = out / "pairs" / f"d.{model}" / "auto"
        place.mkdir(parents=True)
        (place / "report.html").write_text("")
    write_pages(out)
    page = (out / "index.html").read_text()
    matrix = page[page.index('id="matrix"') : page.index('id="pairs"')]
    assert matrix.count('#finding-2"') == 3
    assert matrix.count('report.html"') == 3


def test_nothing_is_said_of_what_models_share_where_that_failed():
    assert facts("together", made(shared_findings=[]))[0] == ("none",)
    failed = [{"pair": "d.a", "dataset": "d", "model": "a", "step": "together auto", "message": "a bug"}]
    [(said,)] = facts("together", made(shared_findings=[], failures=failed))
    assert "failures" in said


def test_a_group_of_a_shared_finding_stands_first_and_is_no_matter_of_one_model():
    found = made(shared_findings=shared(1, "shared", "topic = sums", VALUE | {"value": "sums"}, (0.1, 0.1, 0.3)))
    (matrix,) = matrices(found["groups"], found["shared_findings"])
    assert [line["name"] for line in matrix["lines"] if line["finding"]] == ["topic = sums"]
    assert matrix["lines"][0]["finding"] == 1
    assert facts("together", found)[2] == ("none",)


def test_the_page_of_ones_own_study_does_not_speak_of_the_paper(tmp_path):
    write_pages(save(tmp_path, made()))
    page = (tmp_path / "index.html").read_text()
    assert "the paper" not in page.lower()
    assert "paper.html" not in page
    assert not (tmp_path / "paper.html").exists()
    assert page.count("<td") == 12 + 3 * 13
    write_pages(tmp_path, paper=True)
    assert 'href="paper.html"' in (tmp_path / "index.html").read_text()
    write_pages(tmp_path)
    assert not (tmp_path / "paper.html").exists()


def test_what_is_compared_is_called_by_the_column_of_the_plan(tmp_path):
    out = save(tmp_path, made())
    (out / "plan.json").write_text(json.dumps({"pairs": [], "by": "origin"}))
    write_pages(out)
    page = (out / "index.html").read_text()
    assert "3 origins on d" in page
    assert ">Origin</th>" in page
    assert "(2 of 3 origins)" in json.loads((out / "summary.json").read_text())["answer"]["reason"]


@pytest.mark.parametrize("method", ["paper", "auto"])
def test_groups_of_a_pair_agree_with_its_columns(method):
    result = planted(method)
    board, alone = measure_board(result)["board"], model_rows(result, np.arange(len(result.triples)))
    groups = measure_groups([alone])["groups"]
    assert {row["measure"] for row in board} == {"residual", "smece", "alone", "alone_raw"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in board if row["low"] is not None)
    [at] = [one for one in result.found.summary.alone if one.max_error == 0.05]
    assert [row["value"] for row in board[2:]] == [at.share.value, at.raw.share]
    own = {(row["column"], row["value"]): row for row in result.found.columns.iter_rows(named=True)}
    assert {(row["column"], row["value"]) for row in groups} == set(own)
    for row in groups:
        there = own[row["column"], row["value"]]
        assert row["n"] == there["n"]
        assert row["hidden"] == pytest.approx(there["hidden"])
        assert row["residual"] == pytest.approx(there["residual"])
        assert row["finding"] == there["finding"]
        assert (row["p_value"] is None) is (there["n"] < 20)
    assert all(set(row) == set(TABLES["groups"]) for row in groups)


def test_of_one_model_nothing_is_asked_that_takes_two():
    found = made()
    alone = {
        name: table.filter(pl.col("model") == "a") if "model" in table.columns else table
        for name, table in found.items()
    }
    of_two = ("rankings", "group_rankings", "shared_findings", "transfer_shifts")
    alone |= {name: alone[name].clear() for name in of_two}
    assert [one["name"] for one in answers(alone, "auto", ANSWERS)] == ["promises", "corrected", "few"]
    assert facts("promises", alone)[0] == ("1 of 1", "a by 10.0 points")
