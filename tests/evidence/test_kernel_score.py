"""The kernel score: what it computes, how often it is wrong, and which errors it would have found."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence import settings as constants
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
from miscal.evidence.power import clusters, detectable_places, halves, planted


def set_to(**changes):
    """Change constants as long as a test runs."""
    return patch.multiple("miscal.evidence.settings", **changes)


FEW = set_to(N_DRAWS=99, LEAST_SCORE_DRAWS=99)
seeds = st.integers(0, 10_000)


def score(X, rows, seed=0):
    return smoothed_residuals(X, rows, seed).p_value


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
    rows = LabelledRows(y, f, f)
    with FEW:
        assert score(X[turned], rows.take(turned), seed) == score(X, rows, seed)


@given(seeds, st.lists(st.sampled_from([-1024.0, -0.5, 2.0, 4096.0]), min_size=4, max_size=4))
@settings(max_examples=10)
def test_units_and_origins_of_the_columns_are_irrelevant(seed, scales):
    X, y, f = world(150, seed, 0.15)
    # the order of rows is by their values, and decides the landmarks: one sign for all keeps it for these draws
    with FEW:
        plain, moved = (score(some, LabelledRows(y, f, f), seed) for some in (X, X * np.abs(scales) + 8.0))
    assert moved == pytest.approx(plain, abs=0.05)


@pytest.mark.parametrize(("n", "seed", "size", "columns"), [(800, 1, 0.2, 4), (1_000, 3, 0.1, 400)])
def test_planted_structure_is_seen_and_its_absence_too(n, seed, size, columns):
    """Also where one column of hundreds has it."""
    for hidden in (size, 0.0):
        X, y, f = world(n, seed, hidden, columns)
        found = smoothed_residuals(X, LabelledRows(y, f, f))
        assert (found.p_value < 0.01) if hidden else (found.p_value > 0.05)
        assert found.statistics.shape[1] == 8 + (constants.COLUMN_WEIGHT if columns >= constants.LEAST_COLUMNS else 0)


@given(seeds)
@settings(max_examples=10)
def test_the_statistics_are_those_of_two_nested_loops(seed):
    X, y, f = world(40, seed, 0.2)
    order = np.argsort(f)
    X, y, f = X[order], y[order], f[order]
    stratum = strata(f, 8)
    e = given_count(y, f, stratum)
    columns, weights, _ = smoothers_of(X, f, np.random.default_rng(seed))
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
    with set_to(SHUFFLED_IN_MEMORY=200):
        dealt = np.concatenate(list(shuffles(e, stratum, draws, rng)))
    assert dealt.shape == (draws, 40)
    for k in np.unique(stratum):
        own = np.sort(e[stratum == k]).astype(np.float32)
        assert np.array_equal(np.sort(dealt[:, stratum == k], axis=1), np.broadcast_to(own, (draws, len(own))))


def test_nothing_to_compare_is_no_p_value():
    X, y, f = world(60, 0)
    assert smoothed_residuals(np.ones_like(X), LabelledRows(y, f, f)) is None
    assert smoothed_residuals(X, LabelledRows(np.ones(60), f, f)) is None


@set_to(N_DRAWS=499)
def test_rows_that_hang_together_count_as_fewer():
    # every row twice: without its groups the same sums look twice as sure
    X, y, f = world(200, 7, 0.12)
    X, y, f = (np.repeat(values, 2, axis=0) for values in (X, y, f))
    pairs = SurveyDesign.of(np.arange(400) // 2, y - f, f * (1 - f))
    free, grouped = (score(X, LabelledRows(y, f, f, design=design)) for design in (None, pairs))
    assert free < grouped


@FEW
def test_rows_without_weight_say_nothing():
    X, y, f = world(600, 2, 0.25)
    inside = np.arange(600) < 300
    y = np.where(inside, y, np.random.default_rng(0).random(600) < f).astype(float)
    halves = [SurveyDesign(None, 0.0, np.where(part, 1.0, 1e-9)) for part in (inside, ~inside)]
    planted, none = (score(X, LabelledRows(y, f, f, design=design)) for design in halves)
    assert planted == 0.01
    assert none > 0.05


@FEW
def test_very_many_rows_are_sampled():
    X, y, f = world(3_000, 4, 0.2)
    for most in ({"MOST_SCORE_ROWS": 500}, {"MOST_SCORE_VALUES": 2_000}):
        with set_to(**most):
            assert score(X, LabelledRows(y, f, f)) < 0.05


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


def test_columns_count_by_themselves_where_they_are_many_and_fit_in_memory():
    X = np.random.default_rng(0).normal(size=(20, 10))
    found = []
    for most in (400, 200, 199):
        with set_to(MOST_COLUMN_VALUES=most):
            found.append(columns_alone(X))
    both, slopes, none = found
    assert both.shape[1] == 20
    np.testing.assert_array_equal(slopes, both[:, :10])
    assert none.shape == (20, 0)
    assert columns_alone(X[:, :7]).shape == (20, 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("grouped", "columns"), [(False, 4), (True, 4), (False, 40), (True, 40)])
@FEW
def test_p_values_of_a_true_hypothesis_are_not_smaller_than_uniform(grouped, columns):
    found = []
    for seed in range(600):
        X, y, f = world(200, seed, columns=columns)
        if grouped:
            X, y, f = (np.repeat(values[:100], 2, axis=0) for values in (X, y, f))
        design = SurveyDesign.of(np.arange(200) // 2, y - f, f * (1 - f)) if grouped else None
        found.append(score(X, LabelledRows(y, f, f, design=design), seed))
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


# fewer draws, and fewer places
FEW_PLACES = patch.multiple(
    "miscal.evidence.settings", N_DRAWS=199, LEAST_SCORE_DRAWS=199, PLANTED_PLACES=40, PLANTED_PARTITIONS=2
)


def smoothed(n, seed=0, *, columns=3, confidence=(0.3, 0.7)):
    rng = np.random.default_rng((seed, 9))
    X, f = rng.normal(size=(n, columns)), np.sort(rng.uniform(*confidence, n))
    return X, f, smoothed_residuals(X, LabelledRows((rng.random(n) < f).astype(float), f, f), seed)


@given(st.integers(0, 1000), st.floats(0, 1))
@settings(max_examples=20)
def test_planted_errors_leave_rates_within_bounds(seed, size):
    rng = np.random.default_rng(seed)
    with FEW_PLACES:
        _, _, rows = smoothed(120, seed, confidence=(0.01, 0.99))
        split, some = halves(rows, rng), clusters(rows, rng)
    for signs in (split, some):
        assert signs.shape == (40, 120)
        off = planted(rows, signs, size)
        assert ((rows.expected + off >= -1e-6) & (rows.expected + off <= 1 + 1e-6)).all()
        assert (off[signs == 0] == 0).all()
    assert (np.abs(split.sum(1)) <= 1).all()


@FEW_PLACES
def test_more_rows_find_smaller_errors_and_a_stricter_level_larger_ones():
    few, many = (detectable_places(smoothed(n)[2], 0.05) for n in (400, 3000))
    strict = detectable_places(smoothed(3000)[2], 0.01)
    for one, more, stricter in zip(few, many, strict, strict=True):
        assert one.place == more.place
        assert more.size < one.size
        assert more.size < stricter.size
        assert 0 < more.average <= more.size


@FEW_PLACES
def test_too_few_rows_find_nothing():
    _, _, rows = smoothed(40, columns=8)
    halves_found, cluster_found = detectable_places(rows, 0.01)
    assert cluster_found.size is None
    assert cluster_found.average is None
    assert 0.02 < cluster_found.share < 0.5
    assert halves_found.share == 1


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
@FEW_PLACES
def test_the_score_finds_what_is_stated_in_four_draws_of_five(place):
    kinds, found = (halves, clusters), []
    for seed in range(150):
        X, f, rows = smoothed(800, seed, confidence=(0.2, 0.8))
        size = detectable_places(rows, 0.05)[place].size
        rng = np.random.default_rng((seed, 10))
        known = replace(rows, expected=f[rows.row])
        off = np.zeros(800)
        off[rows.row] = planted(known, kinds[place](rows, rng)[:1], size)[0]
        y = (rng.random(800) < f + off).astype(float)
        found.append(smoothed_residuals(X, LabelledRows(y, f, f), seed).p_value < 0.05)
    assert np.mean(found) == pytest.approx(0.8, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
def test_sizes_shrink_with_the_root_of_the_rows(place):
    """The board of a study says by this rule how many rows an error of 5 points takes."""
    sizes = []
    for n in (1_000, 4_000, 16_000):
        rng = np.random.default_rng(0)
        X, f = rng.normal(size=(n, 16)), rng.uniform(0.3, 0.9, n)
        rows = smoothed_residuals(X, LabelledRows((rng.random(n) < f).astype(float), f, f))
        sizes.append(detectable_places(rows, 0.05)[place].size * np.sqrt(n))
    assert max(sizes) / min(sizes) < 1.3
