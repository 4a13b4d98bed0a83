"""Outcomes drawn under a null, where rows come in groups: rates, correlations, and the size of what is made of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.stability import bernoulli_outcomes, null_audit, permuted_outcomes

DRAWS = 2_000


def drawn(resample, n_draws=DRAWS, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([resample(rng) for _ in range(n_draws)])


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.02, 0.3, 0.5, 0.9, 1.0])), min_size=2, max_size=12),
    st.floats(0, 1),
)
def test_every_row_keeps_its_rate(rows, correlation):
    group, rate = (np.array(column) for column in zip(*rows, strict=True))
    found = drawn(bernoulli_outcomes(rate, SurveyDesign(group, correlation))).mean(0)
    assert np.all(np.abs(found - rate) <= 5 * np.sqrt(rate * (1 - rate) / DRAWS))


@pytest.mark.parametrize("one_confidence", [True, False])
@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize("correlation", [0.1, 0.5])
def test_the_products_of_residuals_add_up_to_what_the_correlation_says(correlation, size, one_confidence):
    rng = np.random.default_rng(0)
    group = np.arange(400) // size
    rate = rng.uniform(0.2, 0.9, 400) if not one_confidence else rng.uniform(0.2, 0.9, 400 // size)[group]
    left = drawn(bernoulli_outcomes(rate, SurveyDesign(group, correlation)), 400) - rate
    member = (group[:, None] == np.arange(400 // size)).astype(float)
    sums, spread = left @ member, np.sqrt(rate * (1 - rate))
    products = (sums**2).sum(1) - (left**2).sum(1)
    most = np.sum((spread @ member) ** 2) - np.sum(spread**2)
    error = products.std() / most / np.sqrt(400)
    assert products.mean() / most == pytest.approx(correlation, abs=4 * error)
    assert error < 0.02
    # pairs of two groups have nothing to do with each other
    apart = sums.sum(1) ** 2 - (sums**2).sum(1)
    assert abs(apart.mean()) < 4 * apart.std() / np.sqrt(400)


def test_a_correlation_out_of_reach_gives_outcomes_that_hang_together_as_closely_as_their_rates_allow():
    rate = np.tile([0.1, 0.9], 50)
    found = drawn(bernoulli_outcomes(rate, SurveyDesign(np.arange(100) // 2, 0.9)), 50)
    # if the less likely of two is right, so is the other
    assert np.all(found[:, ::2] <= found[:, 1::2])
    assert 0 < found[:, ::2].mean() < found[:, 1::2].mean() < 1


def test_rows_that_do_not_hang_together_are_drawn_as_ever():
    rng = np.random.default_rng(1)
    rate, y = rng.random(60), rng.integers(0, 2, 60).astype(float)
    part = np.repeat(["train", "val", "test"], 20)
    alone, pairs = np.arange(60), np.arange(60) // 2
    assert SurveyDesign.of(alone, y - rate, rate * (1 - rate)) is None
    for resample in (lambda known: bernoulli_outcomes(rate, known), lambda known: permuted_outcomes(y, part, known)):
        plain = drawn(resample(None), 5)
        np.testing.assert_array_equal(drawn(resample(SurveyDesign(pairs, 0.0)), 5), plain)
    # beside groups that hang together, too
    some = np.where(alone < 30, alone, 30 + alone // 5)
    found = drawn(bernoulli_outcomes(rate, SurveyDesign(some, 0.7)), 5)
    plain = drawn(bernoulli_outcomes(rate), 5)
    np.testing.assert_array_equal(found[:, :30], plain[:, :30])
    assert np.any(found[:, 30:] != plain[:, 30:])


def test_independent_draws_are_those_of_earlier_versions():
    rate, y = np.random.default_rng(0).random(50), np.tile([0.0, 1.0, 1.0, 0.0, 1.0], 10)
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2):
        np.testing.assert_array_equal(bernoulli_outcomes(rate)(ours), theirs.random(50) < rate)
        permuted = permuted_outcomes(y, np.full(50, "train"))(ours)
        np.testing.assert_array_equal(permuted, y[theirs.permutation(np.arange(50))])


@pytest.mark.parametrize("size", [5, "1 to 20"])
def test_outcomes_dealt_in_groups_keep_their_number_and_correlate(size):
    rng = np.random.default_rng(2)
    sizes = np.full(200, size) if size == 5 else rng.integers(1, 21, 200)
    group = np.repeat(np.arange(200), sizes)
    n = len(group)
    y = (rng.random(n) < 0.7).astype(float)
    part = np.array(["train", "train", "val", "test"])[np.arange(200) % 4][group]
    found = drawn(permuted_outcomes(y, part, SurveyDesign(group, 0.4)), 300)
    np.testing.assert_array_equal(found[:, part == "test"], np.tile(y[part == "test"], (300, 1)))
    for name in ("train", "val"):
        assert np.all(found[:, part == name].sum(1) == y[part == name].sum())
    train = part == "train"
    rate = np.full(int(train.sum()), y[train].mean())
    estimated = [SurveyDesign.of(group[train], one[train] - rate, rate * (1 - rate)).correlation for one in found]
    assert np.mean(estimated) == pytest.approx(0.4, abs=0.03)


def rows(n, size, correlation, one_confidence, alike, seed):
    """Calibrated outcomes in groups that share a uniform number, or a normal part of a score, and eight kinds."""
    rng = np.random.default_rng((seed, 44))
    group = np.arange(n) // size
    many = group.max() + 1
    f = rng.uniform(0.2, 0.95, many)[group] if one_confidence else rng.uniform(0.2, 0.95, n)
    if alike:
        number = np.where(rng.random(n) < np.sqrt(correlation), rng.random(many)[group], rng.random(n))
    else:
        latent = np.sin(np.pi / 2 * correlation)
        number = norm.cdf(np.sqrt(latent) * rng.normal(size=many)[group] + np.sqrt(1 - latent) * rng.normal(size=n))
    return (number < f).astype(float), f, group, rng.integers(0, 8, many)[group]


def p_value(y, f, kind, design, seed):
    """Of the spread of the mean residuals of eight kinds, in place of a field that is learned again."""
    counts = np.maximum(np.bincount(kind, minlength=8), 1)

    def statistics(outcomes):
        return {"spread": float(np.sum(np.bincount(kind, outcomes - f, minlength=8) ** 2 / counts))}

    return null_audit(statistics, bernoulli_outcomes(f, design), y, n_draws=39, random_state=seed)["spread"].p_value


def rejections(n_sets, *of):
    """How many of so many sets are rejected at 5 %, with the groups named and without."""
    named = alone = 0
    for seed in range(n_sets):
        y, f, group, kind = rows(*of, seed)
        named += p_value(y, f, kind, SurveyDesign.of(group, y - f, f * (1 - f)), seed) <= 0.05
        alone += p_value(y, f, kind, None, seed) <= 0.05
    return named, alone


def test_a_null_that_knows_the_groups_is_not_too_quiet():
    named, alone = rejections(150, 400, 5, 0.3, True, True)
    assert binomtest(named, 150, 0.05, alternative="greater").pvalue > 1e-3
    assert alone > 0.25 * 150


@pytest.mark.slow
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("one_confidence", [True, False])
@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_size_is_nominal_however_the_groups_hang_together(correlation, size, one_confidence, alike):
    named, alone = rejections(1_000, 1_000, size, correlation, one_confidence, alike)
    assert binomtest(named, 1_000, 0.05, alternative="greater").pvalue > 1e-3
    if correlation == 0.0 and size < 20:
        assert binomtest(named, 1_000, 0.05, alternative="less").pvalue > 1e-6
    if correlation > 0 and size > 2:
        assert alone > 200
