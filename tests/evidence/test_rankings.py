"""Rankings: intervals of a table hold all at once, ranks follow from them, and equal models are tied."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.evidence.rankings import rank, student


def table(seed, means, questions=300, shared=1.0):
    """Values of models on the same questions, whose difficulty they share."""
    rng = np.random.default_rng(seed)
    values = np.asarray(means) + shared * rng.normal(size=(questions, 1)) + rng.normal(size=(questions, len(means)))
    mean = values.mean(0)
    return mean, (values - mean) / questions


def ranks(means):
    """Best and worst rank of each model, ties counted both ways."""
    means = np.asarray(means)
    ahead = (means[None, :] > means[:, None]).sum(1)
    return 1 + ahead, len(means) - (means[None, :] < means[:, None]).sum(1)


@given(st.integers(0, 1_000), st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=6))
@settings(max_examples=25)
def test_intervals_hold_their_estimates_and_ranks_follow_from_differences(seed, means):
    estimate, influence = table(seed, means)
    found = rank(estimate, influence, n_draws=199, random_state=seed)
    m = len(means)
    assert (found.low <= estimate).all()
    assert (estimate <= found.high).all()
    assert (found.difference_low == -found.difference_high.T).all()
    assert not (found.ahead & found.ahead.T).any()
    assert (found.best_rank >= 1).all()
    assert (found.best_rank <= found.worst_rank).all()
    assert (found.worst_rank <= m).all()
    plain = ranks(estimate)[0]
    assert ((found.best_rank <= plain) & (plain <= found.worst_rank)).all()


@given(st.integers(0, 1_000))
@settings(max_examples=15)
def test_lower_is_better_turns_the_order_and_nothing_else(seed):
    estimate, influence = table(seed, [0.0, 0.3, 0.6])
    one = rank(estimate, influence, n_draws=199)
    other = rank(-estimate, -influence, higher_is_better=False, n_draws=199)
    assert (one.ahead == other.ahead).all()
    assert (one.best_rank == other.best_rank).all()
    assert one.low == pytest.approx(-other.high)


def test_shared_questions_tell_apart_what_their_own_intervals_do_not():
    estimate, influence = table(0, [0.0, 0.5], shared=5.0)
    found = rank(estimate, influence)
    assert found.ahead[1, 0]
    assert found.low[1] < found.high[0]
    assert found.best_rank.tolist() == [2, 1]


def test_models_that_are_alike_on_every_question_are_tied():
    estimate, influence = table(1, [0.0, 0.0])
    influence[:, 1], estimate[1] = influence[:, 0], estimate[0]
    found = rank(estimate, influence)
    assert found.tied(0, 1)
    assert found.difference_high[0, 1] == 0
    assert (found.best_rank == 1).all()
    assert (found.worst_rank == 2).all()


def test_more_models_cost_more_and_one_model_costs_what_an_interval_costs():
    estimate, influence = table(2, [0.0] * 20, questions=1_000)
    alone, all_ = (rank(estimate[:m], influence[:, :m]) for m in (1, 20))
    error = np.sqrt(np.sum(influence[:, 0] ** 2))
    assert (alone.high[0] - alone.low[0]) / error / 2 == pytest.approx(1.96, abs=0.12)
    assert (all_.high[0] - all_.low[0]) / error / 2 > 2.6


def test_few_questions_cost_what_they_cost_at_the_level_of_the_whole_table():
    """An allowance at 95 % for each pair alone told two of 12 equal models apart in 5 to 9 % of tables."""
    claimed = [rank(*table(seed, [0.0] * 12, 15), n_draws=199, random_state=seed).ahead.any() for seed in range(400)]
    assert np.mean(claimed) < 0.05
    few = np.array([15.0])
    assert student(3.4, few) / 3.4 > student(1.96, few) / 1.96 > 1


@pytest.mark.slow
@pytest.mark.parametrize("means", [[0.0] * 8, [0.0, 0.0, 0.0, 0.2, 0.2, 0.4], [0.1 * k for k in range(10)]])
@pytest.mark.parametrize("questions", [30, 300])
def test_intervals_and_ranks_of_a_table_hold_all_at_once(means, questions):
    best, worst = ranks(means)
    held = np.zeros(2)
    for seed in range(400):
        found = rank(*table(seed, means, questions), n_draws=499, random_state=seed)
        held[0] += ((found.low <= means) & (means <= found.high)).all()
        held[1] += ((found.best_rank <= best) & (worst <= found.worst_rank)).all()
    assert (held / 400 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)).all(), held
