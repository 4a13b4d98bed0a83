"""Rows that come in groups: what must hold of every statement about them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import check_rows
from miscal.calibration.metrics.curve import reliability_curve
from miscal.calibration.metrics.gap import measure_gap
from miscal.calibration.metrics.inference import METRICS, measure_ece, measure_smece
from miscal.calibration.metrics.scores import mean_interval
from miscal.calibration.survey_design import (
    SurveyDesign,
    deflated,
    effect_of_groups,
    fewness,
    intraclass_score,
    units_of,
    widening,
)
from miscal.findings.ledger.membership import CodedColumns


def rows(n=300, size=5, correlation=0.5, seed=0):
    """Outcomes of mean f; those of one group correlate, given f."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) // size
    f = rng.uniform(0.2, 0.9, group.max() + 1)[group]
    shared = rng.random(n) < np.sqrt(correlation)
    y = np.where(shared, rng.random(group.max() + 1)[group], rng.random(n)) < f
    return y.astype(float), f, group


def by_loops(design, weight, residual, variance):
    """Compute the two variances of sum a e pair by pair, and their larger one over that of independent rows."""
    model = seen = independent = 0.0
    parts = {}
    for i, a in enumerate(weight):
        independent += a**2 * variance[i]
        parts[design.group[i]] = parts.get(design.group[i], 0.0) + a**2 * variance[i]
        for j, b in enumerate(weight):
            if design.group[i] == design.group[j]:
                rho = 1.0 if i == j else design.correlation
                model += rho * a * b * np.sqrt(variance[i] * variance[j])
                seen += a * b * residual[i] * residual[j]
    groups = sum(parts.values()) ** 2 / sum(part**2 for part in parts.values())
    return max(1.0, max(model, seen) / independent * fewness(max(groups, 1.0)))


@given(st.integers(0, 10_000))
def test_the_design_effect_equals_two_nested_loops(seed):
    rng = np.random.default_rng(seed)
    n = 12
    design = SurveyDesign(rng.integers(0, 5, n), rng.random())
    weight, residual, variance = rng.normal(size=n), rng.uniform(-1, 1, n), rng.uniform(0.01, 0.25, n)
    assert design.design_effect(weight, residual, variance) == pytest.approx(
        by_loops(design, weight, residual, variance)
    )
    member = (rng.random((n, 3)) < 0.7).astype(float)
    member[0] = 1.0
    many = design.design_effects(CodedColumns.of(n, list(map(np.flatnonzero, member.T))), residual, variance)
    assert many == pytest.approx([by_loops(design, one, residual, variance) for one in member.T])


def test_the_correlation_is_that_of_the_outcomes_given_their_rates():
    y, f, group = rows(n=20_000, correlation=0.3)
    assert SurveyDesign.of(group, y - f, f * (1 - f)).correlation == pytest.approx(0.3, abs=0.03)
    y, f, group = rows(n=20_000, correlation=0.0)
    assert SurveyDesign.of(group, y - f, f * (1 - f)).correlation < 0.02


def test_where_wrong_answers_are_too_rare_to_show_it_rows_are_taken_to_hang_together():
    f = np.full(100, 0.999)
    assert SurveyDesign.of(np.arange(100) // 2, 1 - f, f * (1 - f)).correlation > 0.9


def test_groups_of_one_row_are_no_groups():
    y, f, _ = rows()
    every = np.arange(len(y))
    assert SurveyDesign.of(every, y - f, f * (1 - f)) is None
    assert SurveyDesign.of(None, y - f, f * (1 - f)) is None
    assert effect_of_groups(y - f, every) == 1.0
    assert deflated(0.01, 1.0) == 0.01
    first, unit = units_of(every, f)
    assert np.array_equal(f[first][unit], f)


def global_scores(y, f, *, n_draws=50, **known):
    """Every metric of some rows."""
    rows = check_rows(y, f, **known)
    return {name: metric.estimate_of(rows, n_draws, 0) for name, metric in METRICS.items()}


MEASURES = {
    "all metrics": lambda y, f, groups: global_scores(y, f, groups=groups),
    "smECE": lambda y, f, groups: measure_smece(y, f, groups=groups, n_draws=50),
    "ECE": lambda y, f, groups: measure_ece(y, f, groups=groups, n_draws=50),
    "gap": lambda y, f, groups: measure_gap(y, f, np.where(f > 0.5, "over", "under"), groups=groups, n_draws=50),
    "curve": lambda y, f, groups: [a.tolist() for a in vars(reliability_curve(y, f, groups=groups)).values()],
}


@pytest.mark.parametrize("name", MEASURES)
def test_only_which_rows_are_together_matters_and_groups_of_one_row_change_nothing(name):
    measure = MEASURES[name]
    y, f, group = rows()
    assert measure(y, f, None) == measure(y, f, np.arange(len(y)))
    named = measure(y, f, group)
    assert named == measure(y, f, [f"question {g:03d}" for g in group])
    assert named != measure(y, f, None)
    with pytest.raises(InputError, match="300 rows, groups has 299"):
        measure(y, f, group[:-1])


def test_copies_of_a_row_named_as_one_group_prove_no_more_than_the_row():
    y, f, _ = rows(n=200, size=1)
    copies = np.repeat(np.arange(200), 4)
    once, again = mean_interval(y - f), mean_interval((y - f)[copies], groups=copies)
    assert again.value == pytest.approx(once.value)
    assert again.interval == pytest.approx(once.interval)
    assert again.p_value == pytest.approx(once.p_value)
    wrong = np.where(np.arange(200) % 3 == 0, 1 - y, y)
    once, again = (
        measure_smece(wrong[rows], f[rows], groups=groups, n_draws=400)
        for rows, groups in ((np.arange(200), None), (copies, copies))
    )
    assert again.value == pytest.approx(once.value, abs=1e-3)
    assert again.floor == pytest.approx(once.floor, rel=0.15)
    assert again.p_value >= once.p_value / 2
    assert again.interval[0] <= once.interval[0] + 0.01
    # as independent rows they would prove much more
    assert measure_smece(wrong[copies], f[copies], n_draws=400).floor < 0.75 * once.floor


def test_weights_and_groups_go_together():
    y, f, group = rows()
    weight = np.where(group % 3 == 0, 0.0, 1.0 + group % 2)
    kept = weight > 0
    with_zeros = global_scores(y, f, sample_weight=weight, groups=group)
    assert with_zeros == global_scores(y[kept], f[kept], sample_weight=weight[kept], groups=group[kept])


def test_the_interval_of_a_mean_is_that_of_the_groups_means():
    y, f, group = rows()
    means = np.bincount(group, y - f) / 5
    by_groups, by_means = mean_interval(y - f, groups=group), mean_interval(means)
    assert by_groups.interval == pytest.approx(by_means.interval)
    assert by_groups.p_value == pytest.approx(by_means.p_value)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_smece_of_a_calibrated_model_is_rarely_told_from_0(size, correlation):
    found = [
        measure_smece(y, f, groups=group, n_draws=100)
        for y, f, group in (rows(400, size, correlation, seed) for seed in range(200))
    ]
    for wrong in (sum(one.p_value <= 0.05 for one in found), sum(one.interval[0] > 0 for one in found)):
        assert binomtest(int(wrong), 200, 0.05, alternative="greater").pvalue > 1e-3


N = 1_200


def of_days(seed, spread=0.0, low=0.2, high=0.8):
    """Residuals of rows of 60 units of 20 whose log-odds share a normal number of this spread, and the units."""
    rng = np.random.default_rng(seed)
    f, day = rng.uniform(low, high, N), rng.permutation(np.arange(N) % 60)
    p = 1 / (1 + (1 - f) / f * np.exp(-spread * rng.normal(size=60)[day]))
    return (rng.random(N) < p) - f, day, rng


def test_units_that_hang_together_are_seen_and_others_are_not():
    e, day, rng = of_days(0, spread=0.7)
    assert intraclass_score(e, day) > 6
    assert widening(e, day) > 1.3
    assert abs(intraclass_score(e, rng.permutation(day))) < 3


def test_neither_order_nor_numbers_nor_signs_matter_and_rows_of_their_own_say_nothing():
    e, day, rng = of_days(1, spread=0.35)
    order, names = rng.permutation(N), rng.permutation(60)
    score = intraclass_score(e, day)
    assert intraclass_score(e[order], names[day[order]]) == pytest.approx(score)
    assert intraclass_score(-e, day) == pytest.approx(score)
    alone = np.r_[day, np.arange(N) + 60]
    assert intraclass_score(np.r_[e, e], alone) == pytest.approx(score)
    assert intraclass_score(e, np.arange(N)) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.8), (0.005, 0.03)])
def test_independent_outcomes_pass_the_quantile_of_1_percent_in_about_1_percent(low, high):
    wrong = np.zeros(2)
    for seed in range(1_000):
        e, day, _ = of_days(seed, low=low, high=high)
        wrong += [intraclass_score(e, day) > 2.33, intraclass_score(e, np.arange(N) // 2) > 2.33]
    # the sum of squares of few units is skewed: up to 3 % rather than 1 %
    assert (wrong <= 1_000 * 0.03 + 3 * np.sqrt(1_000 * 0.03)).all()
