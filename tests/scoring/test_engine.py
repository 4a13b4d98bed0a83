"""The batch plan and the runner: every row once, memory running out, numbers that are none."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError, ResourceError
from miscal.scoring import FakeModel, Question
from miscal.scoring.engine import Encoded, Runner, encode, ran_out_of_memory, split_joint
from miscal.scoring.forward import Evaluated
from miscal.scoring.questions import PreferencePair, pair_items, question_items
from miscal.scoring.scorer import plan


def row_of(row: int, length: int, n_added: int = 1) -> Encoded:
    return Encoded(row, tuple(range(length)), ((1,) * n_added, (2,)), 0, False)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), max_size=40), st.integers(1, 200))
def test_the_plan_holds_every_row_once_within_the_budget(sizes, budget):
    rows = [row_of(at, length, added) for at, (length, added) in enumerate(sizes)]
    batches = plan(rows, budget)
    assert sorted(row.row for batch in batches for row in batch) == list(range(len(rows)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(row.cost for row in batch) <= budget
    assert plan(rows[::-1], budget) == batches
    with pytest.raises(InputError, match="batch_tokens"):
        plan(rows, 0)


class Cramped(FakeModel):
    """Has memory for a few rows only, and says so in the words of some library."""

    def __init__(self, most_rows: int, error: Exception) -> None:
        super().__init__()
        self.most_rows, self.error, self.calls = most_rows, error, []

    def evaluate(self, batch) -> Evaluated:
        self.calls.append(len(batch))
        if len(batch) > self.most_rows:
            raise self.error
        return super().evaluate(batch)


SHORTAGES = [
    MemoryError(),
    RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("std::bad_alloc"),
]


@pytest.mark.parametrize(
    ("most_rows", "error"), [*((most, MemoryError()) for most in (64, 32, 1)), *((7, error) for error in SHORTAGES)]
)
def test_halving_changes_no_result_and_is_remembered(most_rows, error):
    rows = [row_of(at, 5 + at % 3) for at in range(64)]
    plain, model = Runner(FakeModel()).run(rows), Cramped(most_rows, error)
    runner = Runner(model)
    cramped = runner.run(rows)
    np.testing.assert_equal((cramped.log_probs, cramped.hidden), (plain.log_probs, plain.hidden))
    assert list(cramped.log_probs) == list(plain.log_probs)
    model.calls.clear()
    runner.run(rows)
    assert max(model.calls) <= most_rows


def test_a_single_row_that_does_not_fit_is_an_error_that_says_so():
    with pytest.raises(ResourceError, match="single row of 5 tokens"):
        Runner(Cramped(0, MemoryError())).run([row_of(0, 5), row_of(1, 5)])


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="index out of range"):
        Runner(Cramped(0, RuntimeError("index out of range"))).run([row_of(0, 5)])
    assert not ran_out_of_memory(ValueError("out of memory"))


class Fussy(FakeModel):
    """Cannot take certain tokens, as a model whose tokenizer knows more tokens than it has embeddings."""

    def evaluate(self, batch) -> Evaluated:
        if any(max(row.context) > 90 for row in batch):
            raise IndexError("index out of range in self")
        return super().evaluate(batch)


def test_a_row_that_the_model_cannot_take_is_marked_and_its_neighbours_go_on():
    rows = [row_of(at, 5 + 30 * at) for at in range(4)]
    result, plain = Runner(Fussy()).run(rows), Runner(FakeModel()).run(rows)
    assert result.failed == {3: "the model failed: IndexError: index out of range in self"}
    np.testing.assert_equal(result.hidden, {row: plain.hidden[row] for row in range(3)})
    alone = Runner(Fussy()).run(rows[3:])
    assert (alone.log_probs, set(alone.failed)) == ({}, {3})


def test_a_token_that_a_real_model_does_not_have(llama):
    beyond = Encoded(1, (0, 5, 10**6), ((5,), (6,)), 0, False)
    result = Runner(llama).run([row_of(0, 9), beyond, row_of(2, 9)])
    assert list(result.log_probs) == [0, 2]
    assert "IndexError" in result.failed[1]


def test_a_model_that_dies_on_the_way_ends_the_run():
    class Dies(Fussy):
        broken = False

        def evaluate(self, batch):
            self.broken |= len(batch) == 1 and max(batch[0].context) > 90
            if self.broken:
                raise RuntimeError("unspecified launch failure")
            return super().evaluate(batch)

    with pytest.raises(RuntimeError, match="launch"):
        Runner(Dies()).run([row_of(at, 5 + 30 * at) for at in range(4)])


def test_rows_with_numbers_that_are_not_finite_are_set_aside():
    class Broken(FakeModel):
        def evaluate(self, batch):
            done = super().evaluate(batch)
            done.hidden[1, 0] = np.nan
            done.log_probs[2][0] = -np.inf
            return done

    result = Runner(Broken()).run([row_of(at, 4 + at) for at in range(4)])
    assert list(result.log_probs) == list(result.hidden) == [0, 3]
    assert set(result.failed) == {1, 2}


IDS = st.lists(st.integers(0, 3), max_size=6)


@given(IDS, st.lists(IDS, min_size=1, max_size=4))
def test_the_context_is_the_longest_beginning_of_the_prompt_that_all_joints_have(prompt, joints):
    context, added = split_joint(prompt, joints)
    assert context == prompt[: len(context)]
    assert [context + ids for ids in added] == joints
    longer = prompt[: len(context) + 1]
    assert context == prompt or any(joint[: len(longer)] != longer for joint in joints)


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


def test_it_does_not_matter_whether_a_blank_ends_the_prompt_or_begins_the_letters():
    # the paper's prompt for preferences ends in the blank; a tokenizer that merges makes one token of both all the same
    pair, template = PreferencePair("p", "Which?", "this", "that"), "{prompt} {response_a} {response_b}:"
    paper, ours = (pair_items([pair], template=template + end)[0] for end in (" ", ""))
    assert (paper.candidates, ours.candidates) == (("A", "B"), (" A", " B"))

    def with_letters(texts):
        return by_character([text.replace(" A", "\x02").replace(" B", "\x03") for text in texts])

    (one, two), failed = encode([paper, ours], with_letters, max_length=999, n_lead=1)
    assert not failed
    assert (one.context, one.added) == (two.context, two.added)
    assert (one.added, one.moved, two.moved) == (((2,), (3,)), True, False)


TEXT = st.text(st.sampled_from("aAB: .\n\t?é中") | st.characters(codec="utf-8"), max_size=12)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    question=TEXT, choices=st.lists(TEXT, min_size=2, max_size=4), form=st.sampled_from(["letter", "text"]), end=TEXT
)
def test_joining_the_last_line_gives_the_ids_of_joining_the_whole(llama, question, choices, form, end):
    template = "Question: {question}\n\n{choices}\n" + (f"{end}:" if "{" not in end else "so:")
    item = question_items([Question("q", f"{question}?", tuple(choices), 0)], form=form, template=template)[0]
    for tokenize, n_lead in ((llama.tokenize, llama.n_lead), (by_character, 1), (merging, 1), (by_line, 1)):
        prompt, *joints = tokenize([item.prompt, *(item.prompt + c for c in item.candidates)])
        expected = split_joint(prompt, joints)
        encoded, failed = encode([item], tokenize, max_length=10_000, n_lead=n_lead)
        if not all(expected[1]):
            assert failed
            continue
        assert (list(encoded[0].context), [list(ids) for ids in encoded[0].added]) == expected


def by_line(texts):
    """Make one token of every line: whatever is joined reaches back to its first token."""
    return [[0, *(hash(line) for line in text.split("\n"))] for text in texts]


def test_long_prompts_are_tokenised_once_and_not_once_per_candidate(llama):
    lengths = []

    def counting(texts):
        lengths.extend(map(len, texts))
        return llama.tokenize(texts)

    items = question_items([Question(f"q{k}", "long " * 200, ("a", "b", "c", "d"), 0) for k in range(10)])
    encode(items, counting, max_length=9999, n_lead=1)
    assert sum(lengths) < 1.05 * sum(len(item.prompt) for item in items)


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
    assert failed == {1: "it cannot be tokenised: ValueError: cannot encode", 2: "empty question"}


def test_candidates_that_cannot_be_scored_are_marked():
    long = question_items([Question("q", "?", ("x" * 200, "y"), 0)], form="text")
    assert "longer than the 100 tokens" in encode(long, by_character, max_length=100, n_lead=1)[1][0]
    assert "adds no token" in encode([item_of()], lambda texts: [[7, 8]] * len(texts), max_length=99)[1][0]
    assert "no tokens" in encode([item_of()], lambda texts: [[] for _ in texts], max_length=99)[1][0]
