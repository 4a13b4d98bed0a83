"""Every kind of probability has words of its own, and none of another's."""

import dataclasses
import re

import pytest

from miscal.base.vocabulary import EVENT, JUDGE, KINDS, vocabulary

OF_ANSWERS = re.compile(r"\b(answers?|right|wrong|accurac|confiden|correct\b|sure|unsure)", re.IGNORECASE)


def everything_said(kind):
    words = vocabulary(kind)
    fields = [str(value) for value in dataclasses.asdict(words).values()]
    made = [words.comes_true(), words.comes_true("still"), words.equal_rows("corrected"), words.than_equal_rows()]
    return fields + made + [words.often(sign) for sign in ("over", "under")]


def test_an_event_is_never_told_in_words_of_answers():
    assert not [said for said in everything_said(EVENT) if OF_ANSWERS.search(said)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_phrase_has_blanks_to_spare(kind):
    made = everything_said(kind)
    assert not [said for said in made if "  " in said]


def test_kinds_differ_in_what_they_say():
    answer, event, judge = map(vocabulary, KINDS)
    assert answer.comes_true("now") == "the model is now right"
    assert event.comes_true("now") == "the event now happens"
    assert judge.comes_true("now") == "answers are now approved"


def test_a_judge_is_never_told_in_words_of_confidence():
    assert not [said for said in everything_said(JUDGE) if re.search(r"confiden|\bsure|accurac", said)]
