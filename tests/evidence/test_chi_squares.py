"""The law of weighted sums of squared normal numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from miscal.evidence.sums import chi_squares_p_value

weights = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8).map(np.array)


@given(st.floats(0.01, 200.0), st.integers(1, 12))
def test_equal_weights_have_the_law_of_chi_squared(total, many):
    assert chi_squares_p_value(total, np.ones(many)) == pytest.approx(float(chi2.sf(total, many)), rel=1e-9, abs=1e-300)


@given(weights, st.floats(0.05, 20.0), st.floats(0.01, 50.0))
def test_the_scale_does_not_matter_and_larger_sums_are_rarer(some, times, scale):
    total = times * some.sum()
    p_value = chi_squares_p_value(total, some)
    assert 0 < p_value <= 1
    assert chi_squares_p_value(scale * total, scale * some) == pytest.approx(p_value, rel=1e-4, abs=1e-300)
    assert chi_squares_p_value(1.2 * total, some) <= p_value * (1 + 1e-6)


@given(weights, st.floats(0.05, 10.0))
def test_weights_that_are_not_above_0_are_left_out(some, times):
    total = times * some.sum()
    assert chi_squares_p_value(total, np.r_[some, 0.0, -0.3]) == chi_squares_p_value(total, some)


@pytest.mark.parametrize("some", [[3.0, 1.0, 1.0], [1.0, 0.1], [5.0] + [1.0] * 6])
def test_tails_are_those_of_draws(some):
    some, n = np.array(some), 400_000
    sums = (np.random.default_rng(0).normal(size=(n, len(some))) ** 2) @ some
    for share in (0.5, 0.05, 0.001):
        total = float(np.quantile(sums, 1 - share))
        # an approximation to within a tenth, and four standard errors of the share drawn
        assert abs(chi_squares_p_value(total, some) - share) <= 0.1 * share + 4 * np.sqrt(share / n)


def test_no_weight_or_no_sum_is_no_surprise():
    assert chi_squares_p_value(3.0, np.zeros(3)) == chi_squares_p_value(0.0, np.ones(2)) == 1.0
