"""Answers are found by the names of their columns, and told by the choices that they stand for."""

import numpy as np
import polars as pl
import pytest

from miscal.data.readers.names import GIVEN, RIGHT, answer_columns
from miscal.data.readers.outcomes import answers_of
from miscal.data.readers.read import read_triples


@pytest.mark.parametrize(
    ("names", "given", "right", "unknown"),
    [
        (["predicted", "answer_index"], "predicted", "answer_index", None),
        (["predicted", "answer"], "predicted", "answer", None),
        (["answer", "target"], "answer", "target", None),
        (["answer"], None, None, "answer"),
        (["Response", "gold", "answer"], "Response", "gold", None),
        (["age"], None, None, None),
    ],
)
def test_whose_answer_it_is_follows_from_what_else_there_is(names, given, right, unknown):
    wanted = {GIVEN: given, RIGHT: right, unknown: unknown}
    assert answer_columns(names)[0] == {what: name for what, name in wanted.items() if name}


def test_a_column_with_another_part_is_no_answer():
    assert GIVEN not in answer_columns(["prediction", "target"], ["prediction"])[0]


def test_answers_are_told_by_their_choices():
    table = pl.DataFrame(
        {"predicted": [1, 5, None], "gold": ["B", "other", ""], "choices": [["yes", "no"], ["a", "b"], ["c", "d"]]}
    )
    found = answers_of(table, *answer_columns(table.columns)[:2])
    assert found["model's answer"].tolist() == ["no", "5", None]
    assert found["right answer"].tolist() == ["B: no", "other", None]


def test_flags_are_no_answers():
    table = pl.DataFrame({"target": [0, 1, 1]})
    assert answers_of(table, *answer_columns(table.columns)[:2]) == {}


def test_triples_keep_the_answers_of_their_rows():
    rng = np.random.default_rng(0)
    n = 200
    f = rng.uniform(size=n)
    answer = [f"a{i}" for i in range(n)]
    table = {"confidence": f, "correct": rng.uniform(size=n) < f, "answer": answer, "age": rng.normal(size=n)}
    triples = read_triples(table, features="age").take([5, 3])
    assert triples.answers["answer"].tolist() == ["a5", "a3"]
