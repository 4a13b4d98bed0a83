"""Observed over expected, intercept and slope as others compute them; net benefit, risk and area; and their laws."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import binomtest
from scipy.stats import t as student

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import check_rows, labelled
from miscal.calibration.metrics.decisions import (
    deferral_gains,
    implied_threshold,
    net_benefit,
    net_benefit_gain,
    risk_at_coverage,
)
from miscal.calibration.metrics.scores import calibration_intercept, calibration_slope, observed_expected


def risk_coverage_area(correct, score):
    """Area under the risk-coverage curve: the mean risk over all numbers of rows kept."""
    return deferral_gains(correct, score, score, n_draws=1)[0].before


ALL = (observed_expected, calibration_intercept, calibration_slope)


def drawn(n=400, seed=0, group=None, weight=None, a=0.3, b=0.8):
    """Rows whose log-odds are a + b logit f."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1, 1.2, n)
    f, y = expit(odds), (rng.random(n) < expit(a + b * odds)).astype(float)
    return labelled(y, f, group, weight)


def numbers(rows):
    return [(one.value, *one.interval, one.p_value) for one in (estimate(rows) for estimate in ALL)]


# y = 1 in rows 0, 3, 6, ... of probabilities that rise evenly; glm of statsmodels 0.15.0 with family Binomial and, for
# the intercept, offset=logit(f); in `weighted`, freq_weights 1, 2, 1, 2, ...
STATSMODELS = {
    "plain": (-0.177648942873, 0.520996987443),
    "weighted": (-0.169092190734, 0.547885183499),
}


@pytest.mark.parametrize("name", STATSMODELS)
def test_coefficients_are_those_of_statsmodels(name):
    n = 120
    f = np.linspace(0.05, 0.9, n)
    y = ((np.arange(n) % 3 == 0) | (np.arange(n) > 100)).astype(float)
    rows = labelled(y, f, None, None if name == "plain" else 1.0 + np.arange(n) % 2)
    found = [estimate(rows).value for estimate in ALL[1:]]
    np.testing.assert_allclose(found, STATSMODELS[name], atol=1e-7)


def likelihood(theta, rows, offset):
    """Weighted negative log-likelihood of logit P = offset + design theta."""
    z = offset + theta[0] + (theta[1] * logit(rows.confidence) if len(theta) > 1 else 0.0)
    return float(rows.shares @ (np.logaddexp(0, z) - rows.correct * z))


@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_minimise_the_likelihood(weighted):
    weight = np.random.default_rng(1).uniform(0.2, 3, 400) if weighted else None
    rows = drawn(weight=weight)
    exact = {"method": "Nelder-Mead", "options": {"xatol": 1e-9, "fatol": 1e-14}}
    intercept = minimize(likelihood, [0.0], (rows, logit(rows.confidence)), **exact).x
    slope = minimize(likelihood, [0.0, 1.0], (rows, 0.0), **exact).x
    assert calibration_intercept(rows).value == pytest.approx(intercept[0], abs=1e-6)
    assert calibration_slope(rows).value == pytest.approx(slope[1], abs=1e-6)


def jackknifed(rows, estimate):
    """Student's interval by the variance of the unit influences, each put together from matrices as written down."""
    odds = logit(rows.confidence)
    unit = np.arange(len(rows)) if rows.group is None else rows.group
    many, share = int(unit.max()) + 1, rows.shares
    ends = np.bincount(unit, share)
    worth = 1 / float(ends @ ends)
    if estimate is observed_expected:
        expected = share @ rows.confidence
        value = share @ rows.correct / expected
        parts = np.bincount(unit, share * (rows.correct - value * rows.confidence)) / expected / value
        parts /= 1 - np.bincount(unit, share * rows.confidence) / expected
        parts -= ends * parts.sum()
        value, squares = np.log(value), parts @ parts
    else:
        design = np.ones((len(rows), 1)) if estimate is calibration_intercept else np.column_stack([odds, 0 * odds + 1])
        offset = odds if estimate is calibration_intercept else 0 * odds
        start = np.zeros(design.shape[1])
        value = minimize(
            lambda theta: share @ (np.logaddexp(0, offset + design @ theta) - rows.correct * (offset + design @ theta)),
            start,
            jac=lambda theta: design.T @ (share * (expit(offset + design @ theta) - rows.correct)),
            method="BFGS",
            options={"gtol": 1e-12},
        ).x
        rate = expit(offset + design @ value)
        bread = np.linalg.inv(design.T @ np.diag(share * rate * (1 - rate)) @ design)
        parts = []
        for k in range(many):
            own = design[unit == k]
            spread = (rate * (1 - rate))[unit == k]
            hat = np.diag(spread) @ own @ bread @ own.T @ np.diag(share[unit == k])
            left = np.linalg.solve(np.eye(len(own)) - hat, (rows.correct - rate)[unit == k])
            parts.append((bread @ own.T @ (share[unit == k] * left))[0])
        parts = np.array(parts) - ends * np.sum(parts)
        value, squares = value[0], parts @ parts
    half = student.ppf(0.975, worth - 1) * np.sqrt(squares * worth / (worth - 1)) * rows.factor
    found = np.array([value - half, value + half])
    return np.exp(found) if estimate is observed_expected else found


@pytest.mark.parametrize("estimate", ALL)
@pytest.mark.parametrize("by", ["rows", "units", "weights"])
def test_intervals_are_those_of_matrices_written_down(estimate, by):
    rng = np.random.default_rng(2)
    group = None if by == "rows" else rng.integers(0, 40, 400)
    rows = drawn(group=group, weight=rng.uniform(0.5, 2, 400) if by == "weights" else None)
    np.testing.assert_allclose(estimate(rows).interval, jackknifed(rows, estimate), atol=1e-5)


@given(st.integers(0, 1000))
def test_a_repeated_row_of_a_unit_counts_as_weight_two(seed):
    rng = np.random.default_rng(seed)
    group, twice = np.arange(120) // 3, rng.random(120) < 0.3
    rows = drawn(120, seed)
    once = labelled(rows.correct, rows.confidence, group, 1.0 + twice)
    more = np.r_[np.arange(120), np.flatnonzero(twice)]
    again = labelled(rows.correct[more], rows.confidence[more], group[more], None)
    np.testing.assert_allclose(numbers(once), numbers(again), atol=1e-8)


@given(st.integers(0, 1000))
def test_the_other_outcome_is_the_mirror(seed):
    rows = drawn(150, seed, group=np.arange(150) // 2)
    other = labelled(1 - rows.correct, 1 - rows.confidence, rows.group, None)
    one, two = calibration_intercept(rows), calibration_intercept(other)
    np.testing.assert_allclose([one.value, *one.interval], [-two.value, -two.interval[1], -two.interval[0]], atol=1e-8)
    one, two = calibration_slope(rows), calibration_slope(other)
    np.testing.assert_allclose([one.value, *one.interval], [two.value, *two.interval], atol=1e-8)
    ratio = (1 - rows.correct.mean()) / (1 - rows.confidence.mean())
    assert observed_expected(other).value == pytest.approx(ratio)


@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    rows = drawn(150, seed, group=rng.integers(0, 30, 150), weight=rng.uniform(0.5, 2, 150))
    np.testing.assert_allclose(numbers(rows), numbers(rows.take(rng.permutation(150))), atol=1e-9)


def test_units_of_one_row_are_rows():
    rows = drawn()
    by_units = labelled(rows.correct, rows.confidence, np.arange(len(rows)), None)
    np.testing.assert_allclose(numbers(rows), numbers(by_units), atol=1e-12)


def test_what_is_not_defined_has_no_number():
    f = np.array([0.1, 0.2, 0.6, 0.7])
    apart, alike = np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4)
    assert calibration_slope(labelled(apart, f, None, None)) is None
    assert calibration_slope(labelled(1 - apart, f, None, None)) is None
    assert calibration_slope(labelled(apart, np.full(4, 0.3), None, None)) is None
    assert calibration_intercept(labelled(alike, f, None, None)) is None
    assert observed_expected(labelled(apart, np.zeros(4), None, None)) is None


def test_no_event_is_no_certainty():
    found = observed_expected(labelled(np.zeros(100), np.full(100, 0.05), None, None))
    assert (found.value, found.interval, found.p_value) == (0, None, None)


def test_probabilities_of_zero_and_one_are_taken_within_the_others():
    f = np.array([0.0, 0.02, 0.3, 0.5, 0.7, 1.0] * 20)
    y = np.array([0, 1, 0, 1, 1, 1] * 10 + [0, 0, 1, 0, 1, 0] * 10, float)
    inside = np.clip(f, 1e-4, 1 - 1e-4)
    np.testing.assert_allclose(numbers(labelled(y, f, None, None))[1:], numbers(labelled(y, inside, None, None))[1:])


TIED = st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0.2, 0.5, 0.9])), min_size=1, max_size=6)


def every_order(correct, score):
    """Risk at 1 .. n rows kept, averaged over all orders of the rows that put larger scores first."""
    risks = [
        [np.mean([1 - correct[i] for i in order[:k]]) for k in range(1, len(order) + 1)]
        for order in permutations(range(len(correct)))
        if all(score[a] >= score[b] for a, b in pairwise(order))
    ]
    return np.mean(risks, axis=0)


@given(TIED)
def test_risk_and_area_are_means_over_all_ways_to_break_ties(rows):
    correct, score = (list(column) for column in zip(*rows, strict=True))
    n, expected = len(correct), every_order(correct, score)
    assert risk_at_coverage(correct, score, np.arange(1, n + 1) / n) == pytest.approx(expected)
    assert risk_coverage_area(correct, score) == pytest.approx(expected.mean())


def drawn_scores(n=200, *, seed=0):
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 1)
    return (rng.random(n) < score).astype(float), score, rng


def test_everything_kept_has_the_error_rate_and_a_score_that_says_nothing_always_has():
    y, f, _ = drawn_scores()
    assert risk_at_coverage(y, f, [1.0])[0] == pytest.approx(1 - y.mean())
    flat = np.full(len(y), 0.3)
    assert risk_at_coverage(y, flat, [0.1, 0.37, 1.0]) == pytest.approx(1 - y.mean())
    assert risk_coverage_area(y, flat) == pytest.approx(1 - y.mean())


def test_no_score_has_less_area_than_the_outcome_itself_nor_more_than_its_opposite():
    y, f, rng = drawn_scores()
    areas = [risk_coverage_area(y, score) for score in (f, rng.random(len(y)), 1 - f)]
    least, most = risk_coverage_area(y, y), risk_coverage_area(y, 1 - y)
    assert least < min(areas)
    assert max(areas) < most
    wrong, n = int((1 - y).sum()), len(y)
    assert least == pytest.approx(sum(max(0, k - (n - wrong)) / k for k in range(1, n + 1)) / n)


def test_neither_the_order_of_the_rows_nor_a_rising_map_of_the_score_matters():
    y, f, rng = drawn_scores()
    order = rng.permutation(len(y))
    assert risk_coverage_area(y[order], f[order]) == pytest.approx(risk_coverage_area(y, f))
    assert risk_at_coverage(y, f**3, [0.25, 0.8]) == pytest.approx(risk_at_coverage(y, f, [0.25, 0.8]))


def test_the_same_ranking_gains_exactly_nothing():
    y, f, _ = drawn_scores()
    for gain in deferral_gains(y, f, f**2, n_draws=20):
        assert (gain.gain, gain.interval) == (0.0, (0.0, 0.0))
        assert gain.before == gain.after


def test_gains_and_their_bootstrap_agree_with_the_plain_loop():
    y, f, rng = drawn_scores(120)
    g = np.clip(f + 0.3 * rng.standard_normal(len(y)), 0, 1)
    area, half = deferral_gains(y, f, g, coverage=[0.5], n_draws=1500, random_state=1)
    assert area.gain == pytest.approx(risk_coverage_area(y, f) - risk_coverage_area(y, g))
    assert (half.before, half.after) == pytest.approx([risk_at_coverage(y, s, [0.5])[0] for s in (f, g)])
    draws = []
    for _ in range(500):
        rows = rng.integers(0, len(y), len(y))
        areas = [risk_coverage_area(y[rows], score[rows]) for score in (f, g)]
        risks = [risk_at_coverage(y[rows], score[rows], [0.5])[0] for score in (f, g)]
        draws.append([areas[0] - areas[1], risks[0] - risks[1]])
    ends, spread = np.quantile(draws, [0.025, 0.975], axis=0).T, np.std(draws, axis=0)
    # a 2.5 % quantile of 500 draws has a standard error of about 12 % of their spread
    for found, expected, unit in zip((area, half), ends, spread, strict=True):
        assert np.abs(np.array(found.interval) - expected).max() < 0.4 * unit


def test_groups_are_drawn_whole_as_in_the_plain_loop():
    y, f, rng = drawn_scores(120)
    g = np.clip(f + 0.3 * rng.standard_normal(len(y)), 0, 1)
    # of one to five rows: draws differ in their number of rows
    group = np.repeat(np.arange(40), np.tile([1, 2, 3, 4, 5], 8))
    found = deferral_gains(y, f, g, coverage=[0.5], groups=group.astype(str), n_draws=1500, random_state=1)
    draws = []
    for _ in range(500):
        rows = np.concatenate([np.flatnonzero(group == k) for k in rng.integers(0, 40, 40)])
        areas = [risk_coverage_area(y[rows], score[rows]) for score in (f, g)]
        risks = [risk_at_coverage(y[rows], score[rows], [0.5])[0] for score in (f, g)]
        draws.append([areas[0] - areas[1], risks[0] - risks[1]])
    ends, spread = np.quantile(draws, [0.025, 0.975], axis=0).T, np.std(draws, axis=0)
    for gain, expected, unit in zip(found, ends, spread, strict=True):
        # of 40 groups, Student's quantile is 2.02 rather than 1.96
        wider = gain.gain + 2.02 / 1.96 * (expected - gain.gain)
        assert np.abs(np.array(gain.interval) - wider).max() < 0.4 * unit


def test_groups_of_one_row_change_nothing_and_copies_of_rows_add_nothing():
    y, f, rng = drawn_scores()
    g = rng.random(len(y))
    assert deferral_gains(y, f, g, n_draws=30) == deferral_gains(y, f, g, groups=rng.permutation(len(y)), n_draws=30)
    copies = np.repeat(np.arange(len(y)), 4)
    once = deferral_gains(y, f, g, n_draws=400)
    again = deferral_gains(y[copies], f[copies], g[copies], groups=copies, n_draws=400)
    apart = deferral_gains(y[copies], f[copies], g[copies], n_draws=400)
    for one, other, free in zip(once[1:], again[1:], apart[1:], strict=True):
        assert other.gain == pytest.approx(one.gain)
        assert np.ptp(other.interval) == pytest.approx(np.ptp(one.interval), rel=0.05)
        assert np.ptp(free.interval) < 0.65 * np.ptp(one.interval)


@pytest.mark.slow
def test_intervals_of_gains_cover_where_rows_hang_together():
    """Risks at a coverage; of the area, which a few groups decide, the interval is nearer to 95 % than without."""

    def answers(questions, seed):
        rng = np.random.default_rng((seed, 46))
        group = np.arange(5 * questions) // 5
        confidence = np.clip(rng.uniform(0.3, 0.95, questions)[group] + rng.normal(0, 0.08, 5 * questions), 0.02, 0.98)
        hidden = rng.choice([-0.15, 0.15], questions)[group]
        number = np.where(rng.random(len(group)) < 0.55, rng.random(questions)[group], rng.random(len(group)))
        right = (number < confidence + hidden).astype(float)
        return right, confidence, np.clip(confidence + 0.6 * hidden, 0, 1), group

    *rows, _ = answers(100_000, 0)
    truth = [one.gain for one in deferral_gains(*rows, n_draws=1)]
    missed = {"named": np.zeros(4), "not named": np.zeros(4)}
    for seed in range(1, 401):
        *rows, group = answers(60, seed)
        for name, groups in (("named", group), ("not named", None)):
            found = deferral_gains(*rows, groups=groups, n_draws=300, random_state=seed)
            ends = [one.interval for one in found]
            missed[name] += [not low <= true <= high for (low, high), true in zip(ends, truth, strict=True)]
    for wrong in missed["named"][1:]:
        assert binomtest(int(wrong), 400, 0.05, alternative="greater").pvalue > 1e-3
    assert missed["named"][0] < 0.7 * missed["not named"][0]


@pytest.mark.parametrize("coverage", [[0.0], [1.1], 0.5])
def test_coverages_out_of_range_are_refused(coverage):
    with pytest.raises(InputError, match="coverage"):
        risk_at_coverage([0, 1], [0.5, 0.5], coverage)


def test_net_benefit_of_acting_on_all_has_its_formula_and_of_acting_on_none_is_nothing():
    y, f, _ = drawn_scores()
    rate = y.mean()
    assert net_benefit(y, f, 0.0) == pytest.approx(rate)
    for threshold in (0.1, 0.5, 0.8):
        everyone = net_benefit(y, np.ones(len(y)), threshold)
        assert everyone == pytest.approx(rate - (1 - rate) * threshold / (1 - threshold))
        assert net_benefit(y, np.zeros(len(y)), threshold) == 0


@given(st.floats(0.05, 0.95), st.integers(0, 20))
def test_net_benefit_is_that_of_a_table_of_four_and_the_gain_a_difference_of_two(threshold, seed):
    y, f, rng = drawn_scores(seed=seed)
    other = rng.random(len(y))
    hits, false_alarms = np.sum((f >= threshold) & (y == 1)), np.sum((f >= threshold) & (y == 0))
    odds = threshold / (1 - threshold)
    assert net_benefit(y, f, threshold) == pytest.approx((hits - odds * false_alarms) / len(y))
    gain = net_benefit_gain(check_rows(y, f), other, threshold)
    assert gain.value == pytest.approx(net_benefit(y, other, threshold) - net_benefit(y, f, threshold))
    assert gain.interval[0] <= gain.value <= gain.interval[1]


def test_no_score_has_more_net_benefit_at_the_threshold_of_the_costs_than_the_chances_themselves():
    rng = np.random.default_rng(0)
    chance = rng.random(20_000)
    y = (rng.random(20_000) < chance).astype(float)
    threshold = implied_threshold((4.0, 1.0))
    assert threshold == pytest.approx(0.2)
    best = net_benefit(y, chance, threshold)
    assert all(net_benefit(y, chance**power, threshold) < best for power in (0.5, 2.0))


def test_a_threshold_at_which_acting_makes_no_sense_is_refused():
    with pytest.raises(InputError, match=r"threshold must be in \[0, 1\)"):
        net_benefit([1, 0], [0.5, 0.5], 1.0)
