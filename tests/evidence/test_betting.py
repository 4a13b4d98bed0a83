"""Bets: fair by enumeration, never broke, and the same however the rows are cut into looks."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from miscal.evidence.assignments import tilted_log_factor
from miscal.evidence.betting import (
    Capital,
    clipped_logit,
    of_units,
    rate_log_factors,
    running_interval,
    shift_log_factors,
)

BETS = np.array([-1.0, -0.3, 0.3, 1.0])
rates = st.lists(st.floats(0.02, 0.98), min_size=1, max_size=5).map(np.array)


def expected_capital(p, truth, bets, tolerance=0.0, unit=None):
    """Capital after rows whose outcomes are 1 at rates `truth`, averaged over all outcomes."""
    unit = np.arange(len(p)) if unit is None else unit
    mean = 0.0
    for outcome in product([0.0, 1.0], repeat=len(p)):
        y = np.array(outcome)
        weight = np.prod(np.where(y == 1, truth, 1 - truth))
        factors = of_units(shift_log_factors(y, p, bets, tolerance), unit)
        mean += weight * np.exp(Capital.begin(len(bets)).after(factors)[0].log_value)
    return mean


@given(rates)
def test_on_average_nothing_is_won_while_the_confidences_are_right(p):
    assert expected_capital(p, p, BETS) == pytest.approx(1.0, rel=1e-9)


@given(rates, st.floats(-0.4, 0.4))
def test_nor_while_they_are_off_by_no_more_than_the_tolerance(p, off):
    assert expected_capital(p, expit(clipped_logit(p) + off), BETS, tolerance=0.4) <= 1 + 1e-9


def test_it_grows_where_they_are_off_by_more():
    p = np.array([0.5, 0.6, 0.7])
    assert expected_capital(p, expit(clipped_logit(p) + 1.0), np.array([1.0]), tolerance=0.2) > 1.1


def test_rows_of_a_group_may_be_equal_to_each_other():
    """Two rows with one outcome between them: as one step the bet is fair, as two it would not be."""
    p = np.array([0.5, 0.5])
    both = [np.zeros(2), np.ones(2)]
    one = [
        np.exp(Capital.begin(4).after(of_units(shift_log_factors(y, p, BETS), np.zeros(2, int)))[0].log_value)
        for y in both
    ]
    two = [np.exp(Capital.begin(4).after(shift_log_factors(y, p, BETS))[0].log_value) for y in both]
    assert np.mean(one) == pytest.approx(1.0)
    assert np.mean(two) > 1.05


def test_the_order_of_rows_within_a_group_is_irrelevant():
    rng = np.random.default_rng(0)
    y, p, unit = (rng.random(40) < 0.5).astype(float), rng.uniform(0.1, 0.9, 40), np.repeat(np.arange(10), 4)
    mixed = np.lexsort([rng.random(40), unit])
    one = of_units(shift_log_factors(y, p, BETS), unit)
    two = of_units(shift_log_factors(y[mixed], p[mixed], BETS), unit)
    np.testing.assert_allclose(one, two, rtol=1e-12)


@given(st.integers(0, 60), st.integers(0, 2**31))
def test_looking_in_between_changes_nothing(cut, seed):
    rng = np.random.default_rng(seed)
    y, p = (rng.random(60) < 0.4).astype(float), rng.uniform(0.2, 0.9, 60)
    factors = shift_log_factors(y, p, BETS)
    whole, course = Capital.begin(4).after(factors)
    first, before = Capital.begin(4).after(factors[:cut])
    second, after = first.after(factors[cut:])
    np.testing.assert_allclose(np.r_[before, after], course, atol=1e-10)
    assert second.log_peak == pytest.approx(whole.log_peak)
    assert second.steps == whole.steps == 60


def test_the_worst_outcomes_leave_something():
    p = np.r_[np.zeros(500), np.ones(500)]
    y = np.r_[np.ones(500), np.zeros(500)]
    for outcome in (y, 1 - y):
        capital, course = Capital.begin(4).after(shift_log_factors(outcome, p, BETS))
        assert np.isfinite(course).all()
        assert np.exp(course).min() > 0
        assert capital.log_peak >= 0


def test_confidences_of_0_and_1_that_are_right_win_nothing():
    p = np.r_[np.zeros(1_000), np.ones(1_000)]
    factors = shift_log_factors(p, p, BETS)
    assert (factors <= 0).all()


def test_a_change_after_a_long_calm_is_seen_sooner_for_the_reserve():
    rng = np.random.default_rng(1)
    p = np.full(12_000, 0.7)
    y = (rng.random(12_000) < np.where(np.arange(12_000) < 10_000, 0.7, 0.5)).astype(float)
    factors = shift_log_factors(y, p, np.array([-0.85]))
    kept, _ = Capital.begin(1).after(factors)
    assert kept.log_peak > np.log(1_000)
    assert factors.sum() < 0


def test_the_smallest_rates_allowed_win_nothing():
    for truth in (0.05, 0.2):
        mean = 0.0
        for hits in product([False, True], repeat=4):
            weight = np.prod(np.where(hits, truth, 1 - truth))
            factors = rate_log_factors(np.array(hits), 0.2, np.array([2.0, 8.0]))
            mean += weight * np.exp(Capital.begin(2).after(factors)[0].log_value)
        assert mean <= 1 + 1e-12
        assert (mean == pytest.approx(1.0)) == (truth == 0.2)


@given(st.integers(1, 6), st.integers(0, 2**31))
def test_assignments_are_bet_on_fairly_whatever_the_offsets(n, seed):
    rng = np.random.default_rng(seed)
    offset, tilts = 2 * rng.normal(size=n), 3 * rng.normal(size=(n, 2))
    weight = np.exp(offset)
    for ones in range(n + 1):
        mean, all_of_them = np.zeros(2), 0.0
        for chosen in combinations(range(n), ones):
            y = np.zeros(n)
            y[list(chosen)] = 1
            share = np.prod(weight[list(chosen)])
            mean += share * np.exp(tilted_log_factor(y, offset, tilts, np.zeros(n, int)))
            all_of_them += share
        np.testing.assert_allclose(mean / all_of_them, 1.0, rtol=1e-9)


def test_strata_are_bet_on_apart():
    rng = np.random.default_rng(2)
    y, offset, tilts = (rng.random(30) < 0.5).astype(float), rng.normal(size=30), rng.normal(size=(30, 3))
    stratum = rng.integers(0, 4, 30)
    parts = [
        tilted_log_factor(y[at], offset[at], tilts[at], np.zeros(at.sum(), int))
        for at in (stratum == k for k in range(4))
    ]
    np.testing.assert_allclose(tilted_log_factor(y, offset, tilts, stratum), np.sum(parts, 0), atol=1e-10)
    moved = tilts + rng.normal(size=4)[stratum][:, None]
    np.testing.assert_allclose(tilted_log_factor(y, offset, moved, stratum), np.sum(parts, 0), atol=1e-8)


def test_large_strata_do_not_underflow():
    rng = np.random.default_rng(3)
    y = (rng.random(2_000) < 0.3).astype(float)
    factor = tilted_log_factor(y, np.zeros(2_000), rng.choice([-0.5, 0.5], (2_000, 1)), np.zeros(2_000, int))
    assert np.isfinite(factor).all()
    assert -400 < factor[0] < 50


@pytest.mark.slow
def test_the_running_interval_holds_at_all_times_together():
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(1_000):
        values = np.cumsum((rng.random(2_000) < 0.5) - 0.5)
        ends = [running_interval(values[n - 1], n) for n in range(1, 2_001, 20)]
        missed += any(low > 0 or high < 0 for low, high in ends)
    assert missed <= 50
