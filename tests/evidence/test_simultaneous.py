"""Intervals that hold at once, over models and over looks, and ranks that follow from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from miscal.evidence.simultaneous import (
    SUMS,
    looking_multiplier,
    rank,
    running_interval,
    standard_error,
    student,
    unit_sums,
)


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
    assert ((found.low <= estimate) & (estimate <= found.high)).all()
    assert (found.difference_low == -found.difference_high.T).all()
    assert not (found.ahead & found.ahead.T).any()
    plain = ranks(estimate)[0]
    assert ((found.best_rank >= 1) & (found.best_rank <= plain)).all()
    assert ((plain <= found.worst_rank) & (found.worst_rank <= len(means))).all()


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


ERROR = 0.05


def sums_of(y, p, unit):
    return unit_sums(y - p, np.ones(len(y)), p, unit)


def drawn(rng, units, rows, spread=0.0, rate=0.3):
    """Outcomes of units that share a rate each, and the rate of all."""
    p = np.clip(rate + spread * rng.uniform(-1, 1, units), 0, 1)
    return (rng.random((units, rows)) < p[:, None]).astype(float).ravel(), np.repeat(np.arange(units), rows)


@given(st.floats(1e-6, 0.2), st.floats(1, 1e4))
def test_the_width_is_least_at_the_look_it_is_tuned_to_and_grows_slowly(error, later):
    first, then = looking_multiplier(error), looking_multiplier(error, later)
    assert norm.isf(error / 2) < first <= then
    assert then**2 <= first**2 + 1 + np.log(later)


@given(st.floats(0.001, 0.1))
def test_no_other_tuning_is_narrower(error):
    spent = -2 * np.log(error)
    mixed = np.geomspace(1e-3, 10, 2_000)
    assert looking_multiplier(error) <= np.sqrt((1 + mixed) * (np.log1p(1 / mixed) + spent)).min() + 1e-6


@pytest.mark.parametrize("units", [30, 60, 2_000])
def test_it_is_at_most_1_6_times_as_wide_as_an_interval_by_t_of_the_same_units(units):
    y, unit = drawn(np.random.default_rng(0), units, 50, spread=0.3)
    sums = sums_of(y, np.full(len(y), 0.3), unit)
    mean, radius = running_interval(sums, sums, ERROR)
    of_units = y.reshape(units, -1).mean(1)
    assert mean == pytest.approx(of_units.mean() - 0.3)
    by_t = t.isf(ERROR / 2, units - 1) * of_units.std(ddof=1) / np.sqrt(units)
    # of 30 units the tails of t are longer than those of the interval by t that it is compared with
    assert radius <= (1.72 if units < 60 else 1.6) * by_t


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_what_is_missed_at_any_of_many_looks_is_within_the_error(spread):
    rng, missed = np.random.default_rng(1), 0
    for _ in range(400):
        history = np.array(
            [sums_of(y, np.full(len(y), 0.3), unit) for y, unit in (drawn(rng, 15, 10, spread) for _ in range(20))]
        )
        mean, radius = running_interval(np.cumsum(history, 0), history[:1], ERROR)
        missed += bool((np.abs(mean) > radius).any())
    assert missed / 400 <= ERROR


@given(st.integers(1, 5), st.data())
def test_looks_add_up_however_rows_are_cut(parts, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    y, unit = drawn(rng, 40, 3)
    p = rng.uniform(0.1, 0.9, len(y))
    cuts = np.sort(rng.integers(0, 41, parts))
    pieces = [sums_of(y[at], p[at], unit[at]) for at in np.split(np.arange(120), 3 * cuts) if len(at)]
    np.testing.assert_allclose(sum(pieces), sums_of(y, p, unit), atol=1e-9)


def test_rows_that_are_copies_of_each_other_say_no_more_than_one():
    rng = np.random.default_rng(2)
    y, p = (rng.random(200) < 0.4).astype(float), np.full(200, 0.3)
    once = sums_of(y, p, np.arange(200))
    ten = sums_of(np.repeat(y, 10), np.repeat(p, 10), np.repeat(np.arange(200), 10))
    for one, two in zip(running_interval(once, once, ERROR), running_interval(ten, ten, ERROR), strict=True):
        assert two == pytest.approx(one)


@pytest.mark.parametrize(
    ("y", "p", "unit"),
    [
        (np.zeros(0), 0.5, np.zeros(0, int)),
        (np.ones(500), 0.5, np.zeros(500, int)),
        (np.tile([0.0, 1.0], 250), 0.5, np.arange(500) % 9),
        (np.tile([0.0, 1.0], 250), 0.5, np.maximum(np.arange(500) - 450, 0)),
        (np.zeros(400), 0.01, np.arange(400)),
    ],
    ids=["no rows", "one unit", "nine units", "one unit of nearly all rows", "four events expected"],
)
def test_where_too_little_is_known_nothing_is_said(y, p, unit):
    sums = sums_of(y, np.full(len(y), p), unit)
    assert np.isinf(running_interval(sums, sums, ERROR)[1])


def test_outcomes_that_happen_to_agree_do_not_make_an_interval_narrow():
    y, p = np.zeros(600), np.full(600, 0.01)
    sums = sums_of(y, p, np.arange(600))
    assert standard_error(sums) == pytest.approx(np.sqrt(0.01 * 0.99 / 600))
    mean, radius = running_interval(sums, sums, ERROR)
    assert abs(mean) < radius


def test_a_sum_that_never_moves_is_known():
    """The corrected confidences are the raw ones: nothing is lost or won, whatever the outcomes are."""
    sums = unit_sums(np.zeros(3), np.zeros(3), np.full(3, 0.5), np.arange(3))
    assert running_interval(sums, sums, ERROR) == (0.0, 0.0)
    assert len(sums) == len(SUMS)
