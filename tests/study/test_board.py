"""The owner's questions: what the answers, the matrix and the page say of made-up tables."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.findings.residuals import holm
from miscal.study.answers import answers
from miscal.study.matrix import adjusted, matrices
from miscal.study.measures.groups import measure_board, measure_groups
from miscal.study.pages import write_pages
from miscal.study.table_columns import TABLES
from miscal.study.tables import schema
from miscal.study.vocabulary import ANSWERS

from .made_tables import frames, other_pairs, tables
from .pages.conftest import save
from .planted import planted


def cell(model, value, hidden, p, **more):
    known = {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "column": "topic"}
    ends = {"low": hidden - 0.02, "high": hidden + 0.02, "residual": hidden, "residual_low": hidden - 0.02}
    return known | ends | {
        "value": value, "n": 200, "hidden": hidden, "p_value": p, "residual_high": hidden + 0.02,
        "after": 0.0, "after_low": -0.02, "after_high": 0.02,
    } | more  # fmt: skip


CELLS = [
    cell("a", "law", -0.2, 1e-6), cell("b", "law", -0.15, 1e-5), cell("c", "law", -0.1, 0.3),
    cell("a", "art", 0.2, 1e-6), cell("b", "art", -0.2, 1e-6), cell("c", "art", 0.0, 0.9),
    cell("a", "sums", 0.01, 0.8), cell("b", "sums", 0.0, 0.7), cell("c", "sums", 0.3, 1e-9),
    cell("a", "few", 0.4, None), cell("b", "few", 0.4, None), cell("c", "few", 0.4, None),
]  # fmt: skip


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
    found = frames({"pairs": pairs, "board": board, "groups": CELLS} | more)
    return found | {"groups": adjusted(found["groups"])}


def sentence(name, found=None):
    known = found or made()
    every = answers(known, "auto", matrices(known["groups"]), ANSWERS)
    return next(one for one in every if one.name == name).sentence


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=30), st.data())
def test_all_tested_cells_of_a_method_are_one_family(p_values, data):
    method = data.draw(st.lists(st.sampled_from(["auto", "paper"]), min_size=len(p_values), max_size=len(p_values)))
    table = pl.DataFrame(
        {"method": method, "p_value": p_values, "p_adjusted": [None] * len(p_values)},
        schema={name: schema("groups")[name] for name in ("method", "p_value", "p_adjusted")},
    )
    found = adjusted(table)
    for one in ("auto", "paper"):
        own = found.filter(method=one)
        tested = own.drop_nulls("p_value")
        assert own["p_adjusted"].null_count() == own["p_value"].null_count()
        assert np.array_equal(tested["p_adjusted"].to_numpy(), holm(tested["p_value"].to_numpy()))


def test_the_matrix_begins_with_what_most_models_share():
    (matrix,) = matrices(made()["groups"])
    assert matrix.models == ("a", "b", "c")
    assert [line.value for line in matrix.lines][:1] == ["law"]
    assert {line.value: line.shared for line in matrix.lines} == {
        "law": True,
        "art": False,
        "sums": False,
        "few": False,
    }
    assert {line.value: len(line.marked) for line in matrix.lines} == {"law": 2, "art": 2, "sums": 1, "few": 0}


def test_each_question_is_answered_by_its_numbers():
    assert sentence("promises") == (
        "1 of 3 pairs promises more than it keeps: a by 10.0 points. c by 6.0 points keeps more than it promises."
    )
    assert "topic = law (2 of 3)" in sentence("together")
    assert "topic = sums (c)" in sentence("together")
    assert "art" not in sentence("together")
    # the half-width of b is .04, of which 2 points are half
    assert "b (about 1,500 more rows)" in sentence("few")
    assert "3 of 12 cells" in sentence("few")
    assert "lowers the log loss of 3 of 3 pairs" in sentence("corrected")
    assert sentence("elsewhere").startswith("This study does not say")


def test_one_model_alone_shares_nothing():
    alone = [one for one in CELLS if one["model"] == "a"]
    assert sentence("together", made(groups=alone)).startswith("No column names groups")


def test_the_page_of_ones_own_study_does_not_speak_of_the_paper(tmp_path):
    write_pages(save(tmp_path, made()))
    page = (tmp_path / "index.html").read_text()
    assert "the paper" not in page.lower()
    assert "paper.html" not in page
    assert not (tmp_path / "paper.html").exists()
    assert page.count("<td") == 12 + 3 * 8
    write_pages(tmp_path, paper=True)
    assert 'href="paper.html"' in (tmp_path / "index.html").read_text()
    write_pages(tmp_path)
    assert not (tmp_path / "paper.html").exists()


@pytest.mark.parametrize("method", ["paper", "auto"])
def test_groups_of_a_pair_agree_with_its_columns(method):
    result = planted(method)
    board, groups = measure_board(result)["board"], measure_groups(result)["groups"]
    assert {row["measure"] for row in board} == {"residual", "smece", "log_loss_corrected"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in board)
    own = {(row["column"], row["value"]): row for row in result.found.columns.iter_rows(named=True)}
    assert {(row["column"], row["value"]) for row in groups} == set(own)
    for row in groups:
        there = own[row["column"], row["value"]]
        assert row["n"] == there["n"]
        assert row["hidden"] == pytest.approx(there["hidden"])
        assert (row["p_value"] is None) is (there["n"] < 20)
    assert all(set(row) == set(TABLES["groups"].columns) for row in groups)


def test_made_up_studies_without_groups_have_a_page(tmp_path):
    write_pages(save(tmp_path, tables(other_pairs(2))))
    assert "No column names groups" in (tmp_path / "index.html").read_text()
