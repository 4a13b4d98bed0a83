"""Formulas of confidence and outcome."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miscal.scoring.scorer import outcome, scale

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
    candidates = (" aé", " abcd")
    assert scale("letter", candidates, np.array([1, 2])).tolist() == [1, 1]
    assert scale("text", candidates, np.array([1, 2])).tolist() == [1, 1]
    assert scale("text_per_token", candidates, np.array([1, 2])).tolist() == [1, 2]
    assert scale("text_per_byte", candidates, np.array([1, 2])).tolist() == [3, 4]
    result = outcome(np.array([-2.0, -3.0]), gold=1, rule="top", divisor=np.array([1.0, 2.0]))
    assert result.correct == 1
    assert result.mass == pytest.approx(np.exp(-2) + np.exp(-3))
