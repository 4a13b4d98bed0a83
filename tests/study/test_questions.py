"""Which rows of several pairs are answers to the same question."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.data.triples import InputLayout, Triples
from miscal.study.steps import digests, same_questions


def asked(keys, content=None, group=None):
    columns = {"key": keys, "content": content or [None] * len(keys), "group": group or [None] * len(keys)}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String), strict=False)


def questions(*pairs, sources=("id", "id")):
    return same_questions(pairs, sources)


def partition(numbers):
    """Say which rows share a number, whatever the numbers are."""
    return {frozenset(np.flatnonzero(numbers == one).tolist()) for one in np.unique(numbers)}


@given(st.permutations(list("abcdef")), st.permutations(list("cdefgh")))
def test_rows_of_equal_ids_are_one_question_in_whatever_order(one, other):
    first, second = questions(asked(one), asked(other))
    for i, key in enumerate(one):
        for j, twin in enumerate(other):
            assert (first[i] == second[j]) == (key == twin)


def test_numbers_of_rows_are_believed_only_within_one_file():
    rows = ["0", "1", "2", "3"]
    same = questions(asked(rows), asked(rows), sources=("a.csv", "a.csv"))
    assert same[0].tolist() == same[1].tolist()
    apart = questions(asked(rows), asked(rows), sources=("a.csv", "b.csv"))
    assert not set(apart[0]) & set(apart[1])


def test_rows_of_one_long_file_are_told_by_their_content():
    one = asked(["0", "1"], ["x", "y"])
    other = asked(["2", "3"], ["y", "x"])
    first, second = questions(one, other)
    assert first.tolist() == second[::-1].tolist()


def test_without_partners_every_row_is_a_question_of_its_own():
    numbers = np.concatenate(questions(asked(["a", "a"]), asked(["b", "c"])))
    assert len(np.unique(numbers)) == 4


def test_rows_of_a_group_count_as_one_question_with_all_that_hangs_on_them():
    # question b hangs on group 1 by the first pair, and on group 2 by the second
    one, other = asked(["a", "b"], group=["1", "1"]), asked(["b", "c"], group=["2", "2"])
    assert partition(np.concatenate(questions(one, other))) == {frozenset(range(4))}


def test_what_hangs_together_in_one_pair_does_so_in_a_pair_without_groups():
    one, other = asked(["a", "b", "c"], group=["1", "1", "2"]), asked(["c", "b", "a"])
    first, second = questions(one, other)
    assert first[0] == first[1] == second[1] == second[2] != first[2] == second[0]


@pytest.mark.parametrize(("table", "told"), [(False, True), (True, False)])
def test_equal_columns_of_a_table_are_different_cases(table, told):
    triples = Triples.of(np.zeros((2, 3)), confidence=[0.2, 0.3], correct=[0, 1])
    layout = InputLayout(places=3, table=table)
    assert (digests(Triples(**{**vars(triples), "layout": layout})) is not None) == told


def test_minus_zero_is_zero():
    one, other = digests(Triples.of([[0.0], [-0.0]], confidence=[0.2, 0.3], correct=[0, 1]))
    assert one == other
