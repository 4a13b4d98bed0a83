"""From a question to an answer: prompts, items, samples, confidence and outcome; and the packaged demo."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miscal.base.errors import FileError, InputError
from miscal.scoring import PreferencePair, Question, demo
from miscal.scoring.command import draw
from miscal.scoring.model_source import packaged_smollm2
from miscal.scoring.questions import FORMS, check_template, chosen_first, pair_items, question_items, read_template
from miscal.scoring.scorer import outcome, scale

# --- prompts ---------------------------------------------------------------------------------------------------------


def prompt_of(question, choices):
    return question_items([Question("q", question, tuple(choices), 0)])[0].prompt


def test_prompts_are_the_papers():
    assert prompt_of("Why?", ("x", "y")) == "Question: Why?\n\nA. x\nB. y\n\nThe correct answer is:"
    pair = pair_items([PreferencePair("p", "P", "one", "two")])[0]
    assert pair.prompt.split("\n") == [
        "Act as an impartial judge and evaluate the quality of two candidate responses (Response A and Response B) to "
        "the user query displayed below. Make your decision based on which response is more helpful while not being "
        "harmful.",
        *("", "## Context and Query:", "P"),
        *("", "## Response A:", pair.choices[0]),
        *("", "## Response B:", pair.choices[1]),
        *("", "## Your Choice:", "In this context, the Assistant should respond with Response "),
    ]


@given(st.text(), st.lists(st.text(), min_size=2, max_size=26))
def test_question_and_choices_stay_verbatim(question, choices):
    shown = prompt_of(question, choices)
    assert shown.startswith(f"Question: {question}\n\nA. {choices[0]}\nB. {choices[1]}")
    assert shown.endswith(f". {choices[-1]}\n\nThe correct answer is:")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{question}", "choices"),
        ("{question} {choices} {other}", "other"),
        ("{question} {choices} is: ", "white space"),
        ("{question.__class__} {choices}", "question"),
        ("{prompt} {response_a} {response_b}\n", "white space"),
        ("{prompt} {response_a} {response_b}  ", "white space"),
    ],
)
def test_wrong_templates_are_refused(template, said):
    with pytest.raises(InputError, match=said):
        check_template(template, "preference" if "{prompt}" in template else "choice")


def test_a_template_file_loses_one_line_break_and_nothing_else(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text("\n{question}\n{choices}\nAnswer:\n", encoding="utf-8")
    assert read_template(path, "choice") == "\n{question}\n{choices}\nAnswer:"
    path.write_bytes(b"\xff\xfe{question}")
    with pytest.raises(FileError, match="UTF-8"):
        read_template(path, "choice")


# --- items -----------------------------------------------------------------------------------------------------------


def test_candidates_are_the_letters_of_the_options_that_exist_or_their_texts():
    for n in (2, 4, 10, 26):
        item = question_items([Question("q", "?", tuple(map(str, range(n))), 0)])[0]
        assert item.candidates == tuple(f" {chr(65 + k)}" for k in range(n))
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
    first, other = (np.array([chosen_first(row, seed) for row in ids]) for seed in (0, 1))
    for heads in (first, first == other):
        assert abs(heads.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(ids))
    pairs = [PreferencePair(row, "prompt", "good", "bad") for row in ids[:50]]
    items = pair_items(pairs)
    assert {item.id: item.gold for item in items} == {item.id: item.gold for item in pair_items(pairs[::-1])}
    for item in items:
        assert item.choices[item.gold] == "good"
        assert item.prompt.split("## Response A:\n")[1].startswith(item.choices[0])
        assert item.rule == "first"


# --- samples ---------------------------------------------------------------------------------------------------------

CATEGORIES = st.lists(st.sampled_from(["law", "art", "physics", None]), min_size=1, max_size=60)


def ids(n: int) -> list[str]:
    return [f"q{row}" for row in range(n)]


@given(CATEGORIES, st.integers(1, 70), st.integers(0, 2**70))
def test_each_category_has_its_share_rounded_up_or_down(categories, limit, seed):
    n = len(categories)
    rows, sample = draw(ids(n), {"category": categories}, limit, seed)
    assert rows == sorted(set(rows))
    assert len(rows) == min(limit, n)
    assert (sample is None) == (limit >= n)
    drawn = Counter(categories[row] for row in rows)
    for name, size in Counter(categories).items():
        assert abs(drawn[name] - size * min(limit, n) / n) < 1


@given(CATEGORIES, st.integers(0, 9), st.randoms())
def test_the_order_of_the_rows_changes_nothing(categories, seed, random):
    order = list(range(len(categories)))
    random.shuffle(order)
    names = ids(len(categories))
    limit = (len(names) + 1) // 2
    straight, _ = draw(names, {"category": categories}, limit, seed)
    shuffled, _ = draw([names[k] for k in order], {"category": [categories[k] for k in order]}, limit, seed)
    assert {names[row] for row in straight} == {names[order[row]] for row in shuffled}


@pytest.mark.parametrize("columns", [{}, {"category": ["law"] * 5 + ["art"] * 15}])
def test_every_row_has_the_same_chance(columns):
    n_seeds, drawn = 2000, Counter()
    for seed in range(n_seeds):
        drawn.update(draw(ids(20), columns, 6, seed)[0])
    expected = n_seeds * 6 / 20
    assert all(abs(drawn[row] - expected) < 4.5 * (expected * 0.7) ** 0.5 for row in range(20))


def test_the_first_known_column_is_taken():
    columns = {"source": ["x"] * 4, "subject": list("abab"), "category": list("cccd")}
    assert draw(ids(4), columns, 2, 0)[1]["strata"] == "category"
    assert draw(ids(4), {"source": ["x"] * 4}, 2, 0)[1]["strata"] is None


# --- confidence and outcome ------------------------------------------------------------------------------------------

LOG_PROBS = arrays(np.float64, st.integers(2, 10), elements=st.floats(-60, 0))


@given(LOG_PROBS, st.data())
def test_laws_of_top_confidence(log_probs, data):
    gold = data.draw(st.integers(0, len(log_probs) - 1))
    result = outcome(log_probs, gold=gold, rule="top")
    assert result.probs.sum() == pytest.approx(1)
    assert 1 / len(log_probs) - 1e-12 <= result.confidence <= 1
    assert result.probs[result.predicted] == result.probs.max() == result.confidence
    assert result.correct == (result.predicted == gold)
    shifted = outcome(log_probs - 5, gold=gold, rule="top")
    np.testing.assert_allclose(shifted.probs, result.probs, atol=1e-12)
    assert 0 <= shifted.mass <= result.mass <= 1


@given(LOG_PROBS.filter(lambda values: len(values) == 2), st.integers(0, 1))
def test_laws_of_preference(log_probs, gold):
    result = outcome(log_probs, gold=gold, rule="first")
    swapped = outcome(log_probs[::-1].copy(), gold=1 - gold, rule="first")
    assert result.confidence + swapped.confidence == pytest.approx(1)
    assert result.correct + swapped.correct == 1


def test_the_first_of_equals_is_taken():
    result = outcome(np.log([0.2, 0.4, 0.4]), gold=2, rule="top")
    assert (result.predicted, result.correct) == (1, 0)
    assert result.tied
    assert not outcome(np.log([0.2, 0.2, 0.6]), gold=2, rule="top").tied


def test_length_normalisation_divides_by_tokens_or_bytes():
    n_tokens = np.array([1, 2])
    by_form = [scale(form, (" aé", " abcd"), n_tokens).tolist() for form in FORMS]
    assert dict(zip(FORMS, by_form, strict=True)) == {
        "letter": [1, 1], "text": [1, 1], "text_per_token": [1, 2], "text_per_byte": [3, 4]
    }  # fmt: skip
    result = outcome(np.array([-2.0, -3.0]), gold=1, rule="top", divisor=np.array([1.0, 2.0]))
    assert result.correct == 1
    assert result.mass == pytest.approx(np.exp(-2) + np.exp(-3))


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return demo.read()


def test_size_and_spread(table):
    assert demo.path().stat().st_size < 8_000_000
    assert len(table) >= 6000
    assert table["domain"].n_unique() >= 8
    assert table["domain"].value_counts()["count"].min() >= 100


def test_no_question_occurs_twice(table):
    assert table["text"].n_unique() == table["question"].n_unique() == table["id"].n_unique() == len(table)


def test_confidence_and_outcome_follow_from_the_choice_probabilities(table):
    probs = np.stack(table["choice_probs"].to_list())
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(table["confidence"], probs.max(axis=1), atol=1e-5)
    assert (table["correct"] == (table["predicted"] == table["answer_index"])).all()
    assert table["candidate_mass"].is_between(0, 1).all()


def test_texts_hold_question_and_choices(table):
    for row in table.sample(50, seed=0).iter_rows(named=True):
        assert row["text"].startswith(row["question"])
        assert row["text"].endswith(f"D. {row['choices'][3]}")


def test_triples_and_questions(table):
    triples, questions = demo.load(), demo.questions()
    assert len(triples) == len(questions) == len(table)
    assert triples.X.shape[1] == demo.DIMENSIONS
    assert np.unique(triples.X, axis=0).shape[0] > 0.99 * len(table)
    assert demo.candidate_form() in ("letter", "text", "text_per_token", "text_per_byte")
    assert questions[7].choices == tuple(table["choices"][7])


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_principal_components_keep_the_largest_distances(seed, dimensions):
    X = np.random.default_rng(seed).normal(size=(12, 6)).astype(np.float32)
    scores, kept = demo.principal_components(X, dimensions)
    assert 0 < kept <= 1 + 1e-12
    centred = X - X.mean(axis=0)
    assert np.square(scores).sum() == pytest.approx(kept * np.square(centred).sum(), rel=1e-4)
    np.testing.assert_allclose(scores.T @ scores, np.diag(np.square(scores).sum(axis=0)), atol=1e-3)
    with pytest.raises(InputError, match="1 to 6"):
        demo.principal_components(X, 7)


@pytest.mark.slow
@pytest.mark.model
def test_the_model_asked_again_answers_as_it_did(table):
    try:
        packaged_smollm2()
    except FileError as error:
        pytest.skip(str(error))
    again = demo.live(limit=12)
    first = table.head(12)
    assert again.X.shape == (12, 12)
    assert list(again.text) == first["text"].to_list()
    assert list(again.metadata["domain"]) == first["domain"].to_list()
    # the packaged answers need not have been given in this machine's precision
    difference = np.abs(again.confidence - first["confidence"].to_numpy())
    assert difference.max() < 0.1
    assert difference.mean() < 0.02
    np.testing.assert_array_equal(again.correct, first["correct"])
