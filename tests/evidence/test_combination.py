"""Laws of p-values that are combined."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from miscal.evidence.blocks import either, rank_among_draws

p_values = st.floats(1e-12, 1)


@given(p_values, p_values)
def test_two_tests_cost_at_most_twice_the_smaller_p_value(one, other):
    least = min(one, other, 0.5)
    assert least * (1 - 1e-9) <= either([one, other]) <= min(0.5, 2 * least) * (1 + 1e-9)
    assert either([one, other]) == pytest.approx(either([other, one]))


@given(p_values, st.lists(p_values, min_size=2, max_size=8))
def test_a_larger_p_value_never_makes_the_combination_smaller(one, others):
    combined = [either([one, other]) for other in sorted(others)]
    assert all(before <= after * (1 + 1e-9) for before, after in pairwise(combined))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 1.0])
def test_two_normal_tests_reject_as_often_as_they_say(correlation):
    z = np.random.default_rng(0).standard_normal((2, 20_000))
    z[1] = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
    assert np.mean([either(pair) <= 0.05 for pair in norm.sf(z).T]) == pytest.approx(0.052, abs=0.005)


@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 10_000))
def test_the_rank_is_a_p_value(draws, kinds, seed):
    statistics = np.random.default_rng(seed).random((draws, kinds))
    found = rank_among_draws(statistics)
    assert 1 / draws <= found <= 1
    largest = statistics.copy()
    largest[0] = 2.0
    assert rank_among_draws(largest) == 1 / draws
    assert rank_among_draws(np.ones((draws, kinds))) == 1
