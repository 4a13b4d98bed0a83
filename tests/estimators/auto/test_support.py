"""Laws of the support: every row learned from lies in it, and nothing far away does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.estimators.auto.inputs import find_support


def inputs(seed, n=600, p=3):
    return np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)


@given(st.integers(0, 1000), st.integers(1, 40), st.floats(0.0, 1.0))
def test_every_row_learned_from_is_supported(seed, place, spread):
    x = inputs(seed)
    x[:place] = 20 + spread * x[:place]
    support = find_support(x, np.arange(300, 400), np.random.default_rng(seed))
    assert support.holds(x).all()
    assert not support.holds(x[:1] * 10).any()


def test_nearly_all_new_rows_of_the_same_kind_are_supported():
    support = find_support(inputs(0), np.arange(200), np.random.default_rng(0))
    assert support.holds(inputs(1, 5000)).mean() > 0.99


def test_an_outlier_changes_no_reach():
    x = inputs(0)
    plain = find_support(x, np.arange(200), np.random.default_rng(0))
    x[7] = 1e6
    stretched = find_support(x, np.arange(200), np.random.default_rng(0))
    assert stretched.reach < 1.5 * plain.reach
    assert stretched.holds(x).all()


@pytest.mark.parametrize("value", [0.0, 3.7, 1e4])
def test_inputs_all_alike_support_themselves_alone(value):
    x = np.full((300, 4), value, np.float32)
    support = find_support(x, np.arange(50), np.random.default_rng(0))
    assert support.holds(x).all()
    assert not support.holds(x + 1).any()
