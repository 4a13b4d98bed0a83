"""The paper's proposition 3.1: the variance of an average falls as its mass grows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.estimators.paper.readout import Readout


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    sigma=st.floats(0.02, 3.0),
    neighbours=st.none() | st.integers(1, 60),
)
def test_the_variance_given_the_inputs_is_at_most_a_constant_over_the_mass(seed, n, sigma, neighbours):
    """The constant is the largest variance of an outcome times that of the kernel, 1; the proposition names none."""
    rng = np.random.default_rng(seed)
    bank, query, rate = rng.normal(size=(n, 2)), rng.normal(size=(20, 2)), rng.random(n)
    # averages of the unit vectors are the shares of the rows, in which the average of any residuals is linear
    share, mass = Readout(neighbours).average(query, bank, np.eye(n), None, sigma)
    outcome = rate * (1 - rate)
    assert (np.square(share) @ outcome <= outcome.max() / mass * (1 + 1e-6)).all()


def test_the_bound_is_reached_where_all_rows_lie_together():
    share, mass = Readout().average(np.zeros((1, 1)), np.zeros((40, 1)), np.eye(40), None, sigma=1.0)
    assert mass[0] == pytest.approx(40)
    assert np.square(share[0]) @ np.full(40, 0.25) == pytest.approx(0.25 / mass[0])


def test_drawn_outcomes_have_that_variance():
    rng = np.random.default_rng(0)
    bank, query = rng.normal(size=(80, 2)), rng.normal(size=(5, 2))
    f, rate = rng.random(80), rng.random(80)
    share, mass = Readout().average(query, bank, np.eye(80), None, sigma=0.7)
    drawn = (rng.random((4000, 80)) < rate) - f
    averages, _ = Readout().average(query, bank, drawn.T, None, sigma=0.7)
    variance = averages.var(axis=1)
    assert variance == pytest.approx(np.square(share) @ (rate * (1 - rate)), rel=0.12)
    assert (variance <= 0.25 / mass * 1.12).all()
