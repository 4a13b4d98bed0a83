"""The packaged demo: whole, small, free of duplicates, and what its columns say of each other."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import FileError, InputError
from miscal.scoring import demo
from miscal.scoring.model_source import packaged_smollm2


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
