"""The kernel score: what it computes, what it does not depend on, and how often it is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest

from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.blocks import needed, together
from miscal.evidence.conditional import given_count, strata
from miscal.evidence.kernel_score import (
    _factors,
    _shuffled_deviation,
    columns_alone,
    shuffles,
    smoothed_residuals,
    smoothers_of,
)
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

FEW = EvidenceSettings(n_draws=99, least_score_draws=99)
seeds = st.integers(0, 10_000)


def world(n, seed, hidden=0.0, columns=4):
    """Inputs, outcomes and confidences; the sign of the first input is worth `hidden`."""
    rng = np.random.default_rng((seed, 3))
    X, f = rng.normal(size=(n, columns)), rng.uniform(0.3, 0.7, n)
    y = (rng.random(n) < f + hidden * np.sign(X[:, 0])).astype(float)
    return X, y, f


@given(seeds)
@settings(max_examples=10)
def test_the_order_of_the_rows_is_irrelevant(seed):
    X, y, f = world(120, seed, 0.2)
    turned = np.random.default_rng(seed).permutation(120)
    whole = smoothed_residuals(X, y, f, f, settings=FEW, random_state=seed).p_value
    assert (
        smoothed_residuals(X[turned], y[turned], f[turned], f[turned], settings=FEW, random_state=seed).p_value == whole
    )


@given(seeds, st.lists(st.sampled_from([-1024.0, -0.5, 2.0, 4096.0]), min_size=4, max_size=4))
@settings(max_examples=10)
def test_units_and_origins_of_the_columns_are_irrelevant(seed, scales):
    X, y, f = world(150, seed, 0.15)
    # the order of rows is by their values, and decides the landmarks: one sign for all keeps it for these draws
    plain = smoothed_residuals(X, y, f, f, settings=FEW, random_state=seed).p_value
    moved = smoothed_residuals(X * np.abs(scales) + 8.0, y, f, f, settings=FEW, random_state=seed).p_value
    assert moved == pytest.approx(plain, abs=0.05)


def test_planted_structure_is_seen_and_its_absence_too():
    X, y, f = world(800, 1, 0.2)
    assert smoothed_residuals(X, y, f, f).p_value < 0.01
    X, y, f = world(800, 1)
    assert smoothed_residuals(X, y, f, f).p_value > 0.05


@given(seeds)
@settings(max_examples=10)
def test_the_statistics_are_those_of_two_nested_loops(seed):
    X, y, f = world(40, seed, 0.2)
    order = np.argsort(f)
    X, y, f = X[order], y[order], f[order]
    stratum = strata(f, 8)
    e = given_count(y, f, stratum)
    columns, weights, _ = smoothers_of(X, f, EVIDENCE_DEFAULTS, np.random.default_rng(seed))
    factors = _factors(columns, f, stratum, np.ones(len(f)))
    fast = (e @ factors.astype(float)) ** 2 @ weights
    for k, value in enumerate(fast):
        slow = 0.0
        for j in range(factors.shape[1]):
            inner = 0.0
            for i in range(40):
                inner += float(factors[i, j]) * e[i]
            slow += weights[j, k] * inner**2
        assert value == pytest.approx(slow, rel=1e-6, abs=1e-9)


@given(seeds)
@settings(max_examples=10)
def test_factors_have_no_mean_and_no_slope_in_the_confidence_within_a_stratum(seed):
    X, _, f = world(60, seed)
    f = np.sort(f)
    stratum, weight = strata(f, 8), np.random.default_rng(seed).uniform(0.5, 2.0, 60)
    for mass in (np.ones(60), weight):
        factors = _factors(X.astype(np.float32), f, stratum, mass)
        for k in range(stratum.max() + 1):
            inside = stratum == k
            assert np.abs(factors[inside].sum(0)).max() < 1e-4
            assert np.abs((f[inside] - f[inside].mean()) @ factors[inside]).max() < 1e-4


@given(seeds, st.integers(1, 30))
@settings(max_examples=20)
def test_a_shuffle_keeps_the_values_of_every_stratum(seed, draws):
    rng = np.random.default_rng(seed)
    stratum, e = rng.integers(0, 5, 40), rng.normal(size=40)
    dealt = np.concatenate(list(shuffles(e, stratum, draws, rng, replace(FEW, shuffled_in_memory=200))))
    assert dealt.shape == (draws, 40)
    for k in np.unique(stratum):
        own = np.sort(e[stratum == k]).astype(np.float32)
        assert np.array_equal(np.sort(dealt[:, stratum == k], axis=1), np.broadcast_to(own, (draws, len(own))))


def test_nothing_to_compare_is_no_p_value():
    X, y, f = world(60, 0)
    assert smoothed_residuals(np.ones_like(X), y, f, f, settings=FEW) is None
    assert smoothed_residuals(X, np.ones(60), f, f, settings=FEW) is None


def test_rows_that_hang_together_count_as_fewer():
    # every row twice: without its groups the same sums look twice as sure
    X, y, f = world(200, 7, 0.12)
    X, y, f = (np.repeat(values, 2, axis=0) for values in (X, y, f))
    pairs = SurveyDesign.of(np.arange(400) // 2, y - f, f * (1 - f))
    free, grouped = (
        smoothed_residuals(X, y, f, f, design=design, settings=EvidenceSettings(n_draws=499)).p_value
        for design in (None, pairs)
    )
    assert free < grouped


def test_rows_without_weight_say_nothing():
    X, y, f = world(600, 2, 0.25)
    inside = np.arange(600) < 300
    y = np.where(inside, y, np.random.default_rng(0).random(600) < f).astype(float)
    halves = [SurveyDesign(None, 0.0, np.where(part, 1.0, 1e-9)) for part in (inside, ~inside)]
    planted, none = (smoothed_residuals(X, y, f, f, design=design, settings=FEW).p_value for design in halves)
    assert planted == 0.01
    assert none > 0.05


def test_very_many_rows_are_sampled():
    X, y, f = world(3_000, 4, 0.2)
    assert smoothed_residuals(X, y, f, f, settings=replace(FEW, most_score_rows=500)).p_value < 0.05
    assert smoothed_residuals(X, y, f, f, settings=replace(FEW, most_score_values=2_000)).p_value < 0.05


def test_columns_vary_under_shuffles_as_slow_loops_say():
    X, y, f = world(60, 5, 0.2, columns=9)
    order = np.argsort(f)
    X, y, f = X[order], y[order], f[order]
    stratum = strata(f, 8)
    e = given_count(y, f, stratum)
    factors = _factors(columns_alone(X), f, stratum, np.ones(60)).astype(float)
    found = _shuffled_deviation(factors.astype(np.float32), e, stratum)
    for j in range(18):
        variance = 0.0
        for k in range(stratum.max() + 1):
            z, r = factors[stratum == k, j], e[stratum == k]
            variance += np.sum((z - z.mean()) ** 2) * np.sum((r - r.mean()) ** 2) / (len(r) - 1)
        assert found[j] == pytest.approx(np.sqrt(variance), rel=1e-4)


def test_one_column_of_hundreds_is_seen_and_none_is_not():
    X, y, f = world(1_000, 3, 0.1, columns=400)
    found = smoothed_residuals(X, y, f, f)
    assert found.p_value < 0.01
    assert found.statistics.shape[1] == 8 + EVIDENCE_DEFAULTS.column_weight
    X, y, f = world(1_000, 3, columns=400)
    assert smoothed_residuals(X, y, f, f).p_value > 0.05


def test_columns_count_by_themselves_where_they_are_many_and_fit_in_memory():
    X = np.random.default_rng(0).normal(size=(20, 10))
    both, slopes, none = (columns_alone(X, replace(FEW, most_column_values=most)) for most in (400, 200, 199))
    assert both.shape[1] == 20
    np.testing.assert_array_equal(slopes, both[:, :10])
    assert none.shape == (20, 0)
    assert columns_alone(X[:, :7]).shape == (20, 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("grouped", "columns"), [(False, 4), (True, 4), (False, 40), (True, 40)])
def test_p_values_of_a_true_hypothesis_are_not_smaller_than_uniform(grouped, columns):
    found = []
    for seed in range(600):
        X, y, f = world(200, seed, columns=columns)
        if grouped:
            X, y, f = (np.repeat(values[:100], 2, axis=0) for values in (X, y, f))
        design = SurveyDesign.of(np.arange(200) // 2, y - f, f * (1 - f)) if grouped else None
        found.append(smoothed_residuals(X, y, f, f, design=design, settings=FEW, random_state=seed).p_value)
    assert kstest(found, "uniform", alternative="greater").pvalue > 0.01
    for level in (0.01, 0.05):
        assert binomtest(int(np.sum(np.array(found) <= level)), 600, level, alternative="greater").pvalue > 0.01


probabilities = st.floats(1e-12, 0.999999)


@given(probabilities, probabilities, st.floats(0.01, 0.99))
def test_a_combined_p_value_lies_between_its_parts_and_rises_with_them(p, q, weight):
    both = together([p, q], [weight, 1 - weight])
    assert min(p, q) * (1 - 1e-9) <= both <= max(p, q) * (1 + 1e-9)
    assert together([p / 2, q], [weight, 1 - weight]) <= both * (1 + 1e-9)


@given(probabilities, st.floats(0.01, 0.99))
def test_what_had_nothing_to_test_is_left_out(p, weight):
    assert together([1.0, p], [weight, 1 - weight]) == p
    assert together([1.0, 1.0], [weight, 1 - weight]) == 1


@given(st.floats(0.01, 0.99), st.floats(0.001, 0.2))
def test_a_test_that_is_just_small_enough_rejects_beside_one_that_says_as_much_as_chance(weight, level):
    assert together([needed(weight, level), 0.5], [weight, 1 - weight]) == pytest.approx(level)


def test_the_combination_of_independent_p_values_is_uniform():
    p, q = np.random.default_rng(0).random((2, 20_000))
    combined = [together(pair, [0.25, 0.75]) for pair in zip(p.tolist(), q.tolist(), strict=True)]
    assert kstest(combined, "uniform").pvalue > 0.01
