"""Rows that a judge scored, of which people have judged some."""

import numpy as np
import pytest

from miscal.base.errors import InputError
from miscal.data.readers.read import read_triples, reread


def _table(n: int = 240, **columns):
    rng = np.random.default_rng(0)
    score = rng.integers(1, 6, n)
    human = np.where(rng.random(n) < score / 6, "approve", "reject").astype(object)
    human[rng.random(n) < 0.4] = None
    answer = ["word " * int(k) + str(row) for row, k in enumerate(rng.integers(3, 60, n))]
    known = {"model": rng.choice(["gpt-4o", "qwen3"], n).tolist(), "judge_model": ["gpt-4o-mini"] * n}
    known |= {"answer": answer, "judge": score.tolist(), "human": human.tolist()}
    return known | columns


def _read(table, **options):
    return read_triples(table, judge="judge", human="human", **options)


def test_rows_without_a_verdict_are_set_apart():
    table = _table()
    triples = _read(table)
    blank = sum(one is None for one in table["human"])
    assert triples.kind == "judge"
    assert (len(triples), len(triples.judged.unjudged)) == (240 - blank, blank)
    assert sorted([*triples.row, *triples.judged.unjudged.row]) == list(range(240))
    assert set(triples.metadata) == {"model"}
    assert triples.judged.unjudged.X.shape[1] == triples.X.shape[1]


def test_equal_scores_stand_for_one_probability_everywhere():
    table = _table()
    triples = _read(table)
    score = np.array(table["judge"])
    both = np.concatenate([triples.confidence, triples.judged.unjudged.confidence])
    rows = np.concatenate([triples.row, triples.judged.unjudged.row])
    for level in range(1, 6):
        assert len(set(both[score[rows] == level])) == 1
    assert abs(triples.confidence.mean() - triples.correct.mean()) < 0.01


def test_a_probability_is_taken_as_it_stands():
    p = np.random.default_rng(1).uniform(size=240)
    triples = _read(_table(judge=p.tolist()))
    assert triples.judged.scale is None
    assert np.array_equal(triples.confidence, p[triples.row])


@pytest.mark.parametrize(
    ("words", "positive"), [(("fail", "pass"), None), (("REJECTED", "Approved"), None), (("-", "ok"), "ok")]
)
def test_verdicts_may_be_words(words, positive):
    human = [words[one == "approve"] if one is not None else None for one in _table()["human"]]
    as_words = _read(_table(human=human), positive=positive)
    assert np.array_equal(as_words.correct, _read(_table()).correct)


def test_a_judge_may_pass_or_fail():
    judged = ["pass" if one > 3 else "fail" for one in _table()["judge"]]
    scale = _read(_table(judge=judged)).judged.scale
    assert scale.words == ("fail", "pass")
    assert scale.approval[0] < scale.approval[1]


def test_test_rows_have_no_part_in_the_scale():
    split = ["train"] * 160 + ["val"] * 20 + ["test"] * 60
    table = _table(split=split)
    before = _read(table, split="split").judged.scale
    turned = {"approve": "reject", "reject": "approve", None: None}
    table["human"][180:] = [turned[one] for one in table["human"][180:]]
    assert _read(table, split="split").judged.scale == before


def test_a_second_reading_is_the_same(tmp_path):
    import polars as pl

    pl.DataFrame(_table(p=[0.5] * 240)).write_parquet(tmp_path / "a.parquet")
    first = read_triples(tmp_path / "a.parquet", judge="judge", human="human", labelling_probability="p")
    again = reread(first.source)
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.confidence, again.confidence)
    assert again.judged.labelling.tolist() == [0.5] * len(again)


def test_the_chance_of_being_judged_stays_with_its_row_where_others_are_dropped():
    p, size = np.linspace(0.1, 0.9, 240), np.arange(240.0)
    size[[3, 100, 101, 102]] = np.inf
    columns = _table(p=p.tolist(), size=size.tolist())
    triples = _read(columns, labelling_probability="p", features="size", on_invalid="drop")
    assert not {3, 100, 101, 102} & {*triples.row.tolist()}
    assert triples.judged.labelling.tolist() == p[triples.row].tolist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"judge": ["good", "poor", "fair"] * 80}, "scores are numbers, higher where the judge approves more"),
        ({"judge": [3] * 240}, "is 3 in all rows"),
        ({"judge": [None, *[3, 4] * 119, 1]}, "1 of 240 values are missing"),
        ({"human": [None] * 240}, "holds no verdict"),
        ({"human": ["a", "b"] * 120}, "say which value is an approval"),
        ({"human": [1, 5] * 120}, "say which value is an approval"),
        ({"p": [0.0] * 240}, "no probabilities above 0 and up to 1"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(columns, message):
    options = {"labelling_probability": "p"} if "p" in columns else {}
    with pytest.raises(InputError, match=message) as refused:
        _read(_table(**columns), **options)
    assert "\n" not in str(refused.value)


def test_a_judge_does_not_mix_with_other_kinds():
    with pytest.raises(InputError, match="do not mix"):
        _read(_table(), confidence="judge")
    with pytest.raises(InputError, match="name a judge, too"):
        read_triples(_table(), confidence="judge", correct="human", labelling_probability="judge")
