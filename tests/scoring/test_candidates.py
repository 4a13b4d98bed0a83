"""Tokens: what a candidate adds, whatever the tokenizer does at the join; truncation; poisoned rows."""

from hypothesis import given
from hypothesis import strategies as st

from miscal.scoring import Question
from miscal.scoring.candidates import encode, split_joint
from miscal.scoring.questions import question_items, text_items

IDS = st.lists(st.integers(0, 3), max_size=6)


@given(IDS, st.lists(IDS, min_size=1, max_size=4))
def test_context_and_what_is_added_make_the_joint(prompt, joints):
    context, added = split_joint(prompt, joints)
    assert context == prompt[: len(context)]
    assert [context + ids for ids in added] == joints


@given(IDS, st.lists(IDS, min_size=1, max_size=4))
def test_a_tokenizer_that_does_not_merge_keeps_the_prompt_whole(prompt, tails):
    context, added = split_joint(prompt, [prompt + tail for tail in tails])
    assert (context, added) == (prompt, tails)


def by_character(texts):
    return [[0, *map(ord, text)] for text in texts]


def merging(texts):
    """Make one token of a colon and the blank behind it."""
    return [[0, *map(ord, text.replace(": ", "\x01"))] for text in texts]


def item_of(question="What?", choices=("yes", "no")):
    return question_items([Question("q", question, choices, 0)])[0]


def test_a_join_that_merges_is_seen_and_scored_from_before_it():
    encoded, failed = encode([item_of()], merging, max_length=999, n_lead=1)
    assert not failed
    assert encoded[0].moved
    assert encoded[0].added == ((1, ord("A")), (1, ord("B")))
    assert encoded[0].context[-1] == ord("s")


def test_truncation_keeps_the_leading_token_and_the_end_and_counts():
    item = item_of("x" * 500)
    whole = encode([item], by_character, max_length=9999, n_lead=1)[0][0]
    cut = encode([item], by_character, max_length=102, n_lead=1)[0][0]
    assert (len(cut.context), cut.cut) == (100, len(whole.context) - 100)
    assert cut.context[0] == 0
    assert cut.context[1:] == whole.context[-99:]
    assert cut.added == whole.added
    assert whole.cut == 0


def test_a_poisoned_row_is_marked_and_the_others_go_on():
    def fussy(texts):
        if any("bad" in text for text in texts):
            raise ValueError("cannot encode")
        return by_character(texts)

    items = question_items(
        [Question(f"q{k}", text, ("yes", "no"), 0) for k, text in enumerate(["ok", "bad", "", "ok"])]
    )
    encoded, failed = encode(items, fussy, max_length=999, n_lead=1)
    assert [row.row for row in encoded] == [0, 3]
    assert failed == {1: "tokenising: ValueError: cannot encode", 2: "empty question"}


def test_candidates_that_cannot_be_scored_are_marked():
    long = question_items([Question("q", "?", ("x" * 200, "y"), 0)], form="text")
    assert "longer than the 100 tokens" in encode(long, by_character, max_length=100, n_lead=1)[1][0]
    assert "adds no token" in encode([item_of()], lambda texts: [[7, 8]] * len(texts), max_length=99)[1][0]
    assert "no tokens" in encode(text_items(["x"]), lambda texts: [[] for _ in texts], max_length=99)[1][0]
