"""Columns that are computed from others where they are named: of a whole table, in pieces, and of rows alike."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.data.readers import open_table, read_triples
from miscal.data.readers.computed_columns import family, given_columns, pieces_with_computed, with_computed
from miscal.data.readers.pieces import open_pieces

TEXTS = ["one two  three", None, "", " four\tfive "]
COUNTS = [3, None, 0, 2]


def test_words_are_counted_and_blanks_stay_blank():
    table = with_computed(open_table({"answer": TEXTS}), ["words in answer", "topic"])
    assert table.columns == ("answer", "words in answer")
    assert table.load(["words in answer"])["words in answer"].to_list() == COUNTS


def test_a_column_that_is_there_is_taken_as_it_is():
    table = with_computed(open_table({"answer": ["a b"], "words in answer": [9]}), ["words in answer"])
    assert table.load(["words in answer"]).item() == 9


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_pieces_of_a_file_give_the_same(tmp_path, rows):
    pl.DataFrame({"answer": TEXTS, "n": range(4)}).write_csv(tmp_path / "a.csv")
    source = pieces_with_computed(open_pieces(tmp_path / "a.csv"), ["words in answer"])
    loaded = [source.load(piece, ["words in answer", "n"]) for piece in source.pieces(rows)]
    assert pl.concat(loaded)["words in answer"].to_list() == COUNTS


def test_any_kind_of_run_may_name_them():
    table = {"confidence": [0.2, 0.8] * 60, "correct": [0, 1] * 60, "answer": ["a b c d", "a"] * 60}
    triples = read_triples(table, features="words in answer")
    assert sorted(set(triples.X[:, 0].tolist())) == [1.0, 4.0]
    assert triples.source["columns"]["needed"] == ["confidence", "answer"]


@given(st.text(alphabet="abc-4/", min_size=1), st.sampled_from(["gpt", "claude", "qwen"]))
def test_organisation_and_size_do_not_change_the_family(organisation, name):
    assert family(f"{organisation}/{name}-4-large") == family(name.upper())


def test_kin_is_told_by_two_columns():
    name = "model is of the family of judge"
    table = with_computed(open_table({"model": ["gpt-4o", "qwen3", None], "judge": ["o3"] * 3}), [name])
    assert table.load([name])[name].to_list() == [True, False, None]
    assert given_columns([name], ["model", "judge"]) == ("model", "judge")
    assert given_columns([name], [name]) == (name,)
