"""Items: what the model is shown, which candidates it weighs, and how the slots of pairs are dealt."""

import numpy as np
import pytest

from miscal.scoring import PreferencePair, Question
from miscal.scoring.questions import FORMS, chosen_first, pair_items, question_items


def test_letters_are_those_of_the_options_that_exist():
    for n in (2, 4, 10, 26):
        item = question_items([Question("q", "?", tuple(map(str, range(n))), 0)])[0]
        assert item.candidates == tuple(f" {chr(65 + k)}" for k in range(n))


def test_other_forms_ask_for_the_text_of_the_choice():
    for form in FORMS[1:]:
        item = question_items([Question("q", "?", ("red ", "blue"), 0)], form=form)[0]
        assert item.candidates == (" red ", " blue")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Question("q", "  ", ("a", "b"), 0), "empty"),
        (Question("q", "?", ("a",), 0), "got 1"),
        (Question("q", "?", tuple(map(str, range(27))), 0), "got 27"),
        (Question("q", "?", ("a", "b"), 2), "outside"),
        (Question("q", "?", ("a", "b"), -1), "outside"),
    ],
)
def test_a_bad_question_is_marked_with_its_reason(question, said):
    assert said in question_items([question])[0].problem


def test_the_coin_is_fair_seeded_and_independent_of_order():
    ids = [f"pair {row}" for row in range(4000)]
    first = np.array([chosen_first(row, 0) for row in ids])
    assert abs(first.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(ids))
    other = np.array([chosen_first(row, 1) for row in ids])
    assert abs((first == other).mean() - 0.5) < 4 * 0.5 / np.sqrt(len(ids))
    pairs = [PreferencePair(row, "prompt", "good", "bad") for row in ids[:50]]
    golds = {item.id: item.gold for item in pair_items(pairs)}
    assert golds == {item.id: item.gold for item in pair_items(pairs[::-1])}


def test_gold_is_the_slot_of_the_chosen_response():
    for item in pair_items([PreferencePair(f"p{row}", "prompt", "good", "bad") for row in range(40)]):
        assert item.choices[item.gold] == "good"
        slots = item.prompt.split("## Response A:\n")[1]
        assert slots.startswith(item.choices[0])
        assert item.rule == "first"
