"""What the scores of a judge stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miscal.base.folders import built, state_of
from miscal.data.judged import MOST_LEVELS, JudgeScale


@given(
    arrays(np.float64, 60, elements=st.integers(-3, 30).map(float)),
    arrays(np.float64, 60, elements=st.sampled_from([0.0, 1.0])),
)
def test_a_scale_never_falls_and_never_says_never(score, approved):
    approved[:2] = 0.0, 1.0
    scale = JudgeScale.fit(score, approved)
    found = scale.probability(np.sort(score))
    assert (np.diff(found) >= -1e-12).all()
    assert ((found > 0) & (found < 1)).all()
    assert built(JudgeScale, *state_of(scale)) == scale


@given(st.permutations(range(40)), st.floats(0.1, 5), st.floats(-9, 9))
def test_order_of_rows_and_units_do_not_matter(order, factor, shift):
    rng = np.random.default_rng(0)
    score, approved = rng.integers(1, 6, 40).astype(float), (rng.random(40) < 0.6).astype(float)
    first = JudgeScale.fit(score, approved).probability(score)
    moved = factor * score + shift
    again = JudgeScale.fit(moved[order], approved[order]).probability(moved)
    assert np.allclose(first, again)


def test_a_repeated_row_equals_weight_two():
    rng = np.random.default_rng(1)
    score, approved = rng.integers(1, 6, 200).astype(float), (rng.random(200) < 0.5).astype(float)
    weight = rng.integers(1, 3, 200)
    twice = np.repeat(np.arange(200), weight)
    by_weight = JudgeScale.fit(score, approved, weight.astype(float))
    # the added answers of each score are worth a row of mean weight, so that they differ a little
    assert np.allclose(by_weight.approval, JudgeScale.fit(score[twice], approved[twice]).approval, atol=0.01)


def test_scales_of_many_scores_are_mapped_by_a_curve():
    rng = np.random.default_rng(2)
    score = rng.uniform(0, 100, 4000)
    chance = 1 / (1 + np.exp(-(score - 50) / 15))
    scale = JudgeScale.fit(score, (rng.random(4000) < chance).astype(float))
    assert len(scale.scores) > MOST_LEVELS
    assert np.abs(scale.probability(score) - chance).max() < 0.05


@pytest.mark.parametrize("broken", [{"scores": [2.0, 1.0]}, {"approval": [0.9, 0.1]}, {"approval": [0.1, 1.5]}])
def test_a_damaged_scale_is_refused(broken):
    with pytest.raises(ValueError, match="rise"):
        built(JudgeScale, state_of(JudgeScale((1.0, 2.0), (0.1, 0.9)))[0] | broken, {})
