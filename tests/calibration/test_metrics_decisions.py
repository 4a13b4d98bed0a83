"""Decisions: net benefit by its formula; risk and area against every way to break ties, and laws."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import check_rows
from miscal.calibration.metrics.decisions import (
    deferral_gains,
    implied_threshold,
    net_benefit,
    net_benefit_gain,
    risk_at_coverage,
    risk_coverage_area,
)

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


def drawn(n=200, *, seed=0):
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 1)
    return (rng.random(n) < score).astype(float), score, rng


def test_everything_kept_has_the_error_rate_and_a_score_that_says_nothing_always_has():
    y, f, _ = drawn()
    assert risk_at_coverage(y, f, [1.0])[0] == pytest.approx(1 - y.mean())
    flat = np.full(len(y), 0.3)
    assert risk_at_coverage(y, flat, [0.1, 0.37, 1.0]) == pytest.approx(1 - y.mean())
    assert risk_coverage_area(y, flat) == pytest.approx(1 - y.mean())


def test_no_score_has_less_area_than_the_outcome_itself_nor_more_than_its_opposite():
    y, f, rng = drawn()
    areas = [risk_coverage_area(y, score) for score in (f, rng.random(len(y)), 1 - f)]
    least, most = risk_coverage_area(y, y), risk_coverage_area(y, 1 - y)
    assert least < min(areas)
    assert max(areas) < most
    wrong, n = int((1 - y).sum()), len(y)
    assert least == pytest.approx(sum(max(0, k - (n - wrong)) / k for k in range(1, n + 1)) / n)


def test_neither_the_order_of_the_rows_nor_a_rising_map_of_the_score_matters():
    y, f, rng = drawn()
    order = rng.permutation(len(y))
    assert risk_coverage_area(y[order], f[order]) == pytest.approx(risk_coverage_area(y, f))
    assert risk_at_coverage(y, f**3, [0.25, 0.8]) == pytest.approx(risk_at_coverage(y, f, [0.25, 0.8]))


def test_the_same_ranking_gains_exactly_nothing():
    y, f, _ = drawn()
    for gain in deferral_gains(y, f, f**2, n_draws=20):
        assert (gain.gain, gain.interval) == (0.0, (0.0, 0.0))
        assert gain.before == gain.after


def test_gains_and_their_bootstrap_agree_with_the_plain_loop():
    y, f, rng = drawn(120)
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
    y, f, rng = drawn(120)
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
    y, f, rng = drawn()
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
    y, f, _ = drawn()
    rate = y.mean()
    assert net_benefit(y, f, 0.0) == pytest.approx(rate)
    for threshold in (0.1, 0.5, 0.8):
        everyone = net_benefit(y, np.ones(len(y)), threshold)
        assert everyone == pytest.approx(rate - (1 - rate) * threshold / (1 - threshold))
        assert net_benefit(y, np.zeros(len(y)), threshold) == 0


@given(st.floats(0.05, 0.95), st.integers(0, 20))
def test_net_benefit_is_that_of_a_table_of_four_and_the_gain_a_difference_of_two(threshold, seed):
    y, f, rng = drawn(seed=seed)
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
