"""The laws of sums of independent outcomes and of shuffles, and confidences that are stated in round numbers."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence import settings as constants
from miscal.evidence.conditional import permutation_p_value, rare_values_warning, strata
from miscal.evidence.limits.agreement import count_p_value
from miscal.evidence.sums import bernoulli_sums, bernoulli_tail, chi_squares_p_value, has_steps, near_normal
from miscal.findings.ledger.blocks import cut_into_strata
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find


def set_to(**changes):
    """Change constants as long as a test runs."""
    return patch.dict(vars(constants), changes)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 400)), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_parts_taken_as_normal_are_normal_among_themselves_and_the_lightest_tailed(kinds, seed):
    scale = np.random.default_rng(seed).permutation(np.repeat([10.0**k for k, _ in kinds], [n for _, n in kinds]))
    variance, third = scale**2, 1.6 * scale**3
    chosen = near_normal(variance, third)
    assert third[chosen].sum() <= constants.NORMAL_RATIO * variance[chosen].sum() ** 1.5 * (1 + 1e-9)
    if chosen.any() and not chosen.all():
        assert scale[chosen].max() <= scale[~chosen].min()
    if third.sum() <= constants.NORMAL_RATIO * variance.sum() ** 1.5 * (1 - 1e-9):
        assert chosen.all()


def test_parts_without_variance_count_as_normal():
    assert near_normal(np.zeros(3), np.zeros(3)).all()
    assert near_normal(np.r_[0.0, 1.0], np.r_[0.0, 1.0]).tolist() == [True, False]


def test_drawn_sums_follow_the_exact_law():
    # Outcomes that are certain, all but certain, even and rare: the tail against the Poisson-binomial one.
    p = np.r_[np.zeros(50), np.ones(50), np.full(3_000, 5e-4), np.full(40, 0.9), np.linspace(0, 1, 60), 1e-300]
    drawn = bernoulli_sums(np.ones(len(p)), p, 20_000, np.random.default_rng(0)) + p.sum()
    np.testing.assert_allclose(drawn, np.round(drawn), atol=1e-9)
    for count in range(int(p.sum()) - 6, int(p.sum()) + 8, 2):
        tail = count_p_value(p, count)
        assert np.mean(drawn >= count - 0.5) == pytest.approx(tail, abs=4 * np.sqrt(tail * (1 - tail) / 20_000) + 1e-9)


def test_drawn_sums_have_the_moments_of_weighted_outcomes():
    rng = np.random.default_rng(0)
    w, p = rng.standard_normal(2_000), rng.random(2_000) ** 8
    drawn = bernoulli_sums(w, p, 20_000, rng)
    variance = np.sum(w**2 * p * (1 - p))
    assert drawn.mean() == pytest.approx(0, abs=4 * np.sqrt(variance / 20_000))
    assert drawn.var() == pytest.approx(variance, rel=0.05)


@set_to(DRAWS_IN_MEMORY=100)
def test_drawn_sums_in_blocks_are_as_good():
    drawn = bernoulli_sums(np.ones(400), np.full(400, 0.05), 4_000, np.random.default_rng(0))
    assert drawn.var() == pytest.approx(400 * 0.05 * 0.95, rel=0.1)


def rare(n, seed, share, tied, rate=1e-3):
    """Outcomes that are rare and a field that is large on a share of the rows, neither knowing of the other."""
    rng = np.random.default_rng([seed, n])
    f = np.full(n, rate) if tied else rate * rng.uniform(0.5, 1.5, n)
    y = (rng.random(n) < f).astype(float)
    field = 0.2 * (rng.random(n) < share) + 0.002 * rng.standard_normal(n)
    return f, y, field, rng


@set_to(N_DRAWS=99)
@pytest.mark.parametrize("tied", [False, True])
def test_null_p_values_are_not_too_small_where_outcomes_are_rare(tied):
    p = []
    for seed in range(200):
        f, y, field, rng = rare(5_200, seed, 0.05, tied)
        p.append(permutation_p_value(y - f, field, strata(f), rng=rng))
    for level in (0.01, 0.05, 0.1, 0.3):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level * (1 - level) / 200)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("tied", [False, True])
def test_normal_p_value_agrees_with_the_shuffled_one_where_both_hold(tied, seed):
    rng = np.random.default_rng(seed)
    f = np.full(8_000, 0.4) if tied else rng.uniform(0.2, 0.8, 8_000)
    y, field = (rng.random(8_000) < f).astype(float), rng.standard_normal(8_000)
    field += 0.02 * (y - f)  # p of some per cent

    def p_value(**changes):
        with set_to(**changes):
            return permutation_p_value(y - f, field, strata(f), rng=np.random.default_rng(seed))

    normal, by_size, by_keys = p_value(), p_value(NORMAL_RATIO=0.0), p_value(DRAWN_ROWS=8_000)
    assert (2_000 * normal) % 1 > 1e-6  # read off the normal law, not counted
    error = 4 * np.sqrt(normal * (1 - normal) / 2_000) + 1e-3
    assert by_size == pytest.approx(normal, abs=error)
    assert by_keys == pytest.approx(normal, abs=error)


def test_p_value_of_few_strata_among_many_is_that_of_all():
    # Most strata hold no outcome and stand as one normal variable.
    f, y, field, _ = rare(6_000, 5, 0.1, tied=False, rate=3e-3)
    field += 0.02 * y
    by_parts = permutation_p_value(y - f, field, strata(f), rng=np.random.default_rng(0))
    with set_to(DRAWN_ROWS=6_000):
        whole = permutation_p_value(y - f, field, strata(f), rng=np.random.default_rng(0))
    assert by_parts == pytest.approx(whole, abs=0.04)


@set_to(N_DRAWS=999)
@pytest.mark.parametrize("rate", [2e-3, 0.02, 0.3])
def test_limit_is_that_of_drawing_every_row(limit_of, rate):
    rng = np.random.default_rng(1)
    n = 6_000
    weight = np.where(np.arange(n) < n // 10, 0.9, -0.1)
    centre = rate * rng.uniform(0.5, 1.5, n)
    y = (rng.random(n) < np.where(weight > 0, centre + max(2 * rate, 0.02), centre)).astype(float)
    parts = limit_of(y, weight, centre)
    with set_to(DRAWN_ROWS=n):
        whole = limit_of(y, weight, centre)
    error = np.sqrt(np.sum(weight**2 * y)) / n
    assert parts > 0
    assert parts == pytest.approx(whole, abs=0.2 * error)


@set_to(N_DRAWS=999)
def test_limit_where_the_outcome_was_certain(limit_of):
    centre = np.repeat([0.0, 1.0], 3_000)
    y = centre.copy()
    # the outcomes vary although they were certain, so their own variance counts: six are 2.4 standard deviations
    y[:6] = 1
    limit = limit_of(y, np.ones(6_000), centre)
    assert 0 < limit < 6 / 6_000


@pytest.mark.parametrize("most", [0.5, 0.05])
def test_the_saddlepoint_is_the_exact_tail_but_for_half_a_step(most):
    rng = np.random.default_rng(2)
    p = most * rng.random(4_000)
    centre, deviation = p.sum(), np.sqrt(np.sum(p * (1 - p)))
    for z in (-1.0, 0.5, 1.6, 3.0):
        count = int(centre + z * deviation)
        exact = (count_p_value(p, count) + count_p_value(p, count + 1)) / 2
        assert bernoulli_tail(np.ones(len(p)), p, count - centre) == pytest.approx(exact, rel=0.01)


def test_the_saddlepoint_agrees_with_draws_of_unequal_weights_and_noise():
    rng = np.random.default_rng(3)
    w, p = rng.normal(size=2_000), rng.beta(1, 20, 2_000)
    drawn = bernoulli_sums(w, p, 20_000, rng) + rng.normal(0, 5, 20_000)
    for share in (0.3, 0.05):
        above = float(np.quantile(drawn, 1 - share))
        assert bernoulli_tail(w, p, above, 25.0) == pytest.approx(share, rel=5 * np.sqrt((1 / share - 1) / 20_000))


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_where_there_are_no_steps_the_saddlepoint_is_the_tail_of_draws(seed):
    rng = np.random.default_rng(seed)
    n, parts = int(rng.choice([300, 1_000])), int(rng.integers(2, 9))
    weight = rng.choice(np.arange(1, parts + 1) / parts, n) * rng.choice([-1, 1], n)
    chance = rng.uniform(0.05, 0.5, n)
    if not has_steps(weight, chance):
        drawn = bernoulli_sums(weight, chance, 40_000, rng)
        above = float(np.quantile(drawn, 0.95))
        # ties by half, as the saddlepoint counts them; four standard errors of the draws
        middle = float(np.mean(drawn > above + 1e-9) + np.mean(drawn >= above - 1e-9)) / 2
        assert abs(bernoulli_tail(weight, chance, above) - middle) < 0.0045


@pytest.mark.parametrize("n", [50, 399, 1_500, 1_700, 5_000])
def test_equal_weights_have_steps_as_long_as_one_is_seen(n):
    # a step of 1 is up to a twentieth of the standard deviation of sqrt(n) / 2
    assert has_steps(np.ones(n), np.full(n, 0.5)) == (n < 1_600)
    assert has_steps(np.full(n, 0.1), np.full(n, 0.5)) == (n < 1_600)


weights = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8).map(np.array)


@given(st.floats(0.01, 200.0), st.integers(1, 12))
def test_equal_weights_have_the_law_of_chi_squared(total, many):
    assert chi_squares_p_value(total, np.ones(many)) == pytest.approx(float(chi2.sf(total, many)), rel=1e-9, abs=1e-300)


@given(weights, st.floats(0.05, 20.0), st.floats(0.01, 50.0))
def test_the_scale_does_not_matter_and_larger_sums_are_rarer(some, times, scale):
    total = times * some.sum()
    p_value = chi_squares_p_value(total, some)
    assert 0 < p_value <= 1
    assert chi_squares_p_value(scale * total, scale * some) == pytest.approx(p_value, rel=1e-4, abs=1e-300)
    assert chi_squares_p_value(1.2 * total, some) <= p_value * (1 + 1e-6)


@given(weights, st.floats(0.05, 10.0))
def test_weights_that_are_not_above_0_are_left_out(some, times):
    total = times * some.sum()
    assert chi_squares_p_value(total, np.r_[some, 0.0, -0.3]) == chi_squares_p_value(total, some)


@pytest.mark.parametrize("some", [[3.0, 1.0, 1.0], [1.0, 0.1], [5.0] + [1.0] * 6])
def test_tails_are_those_of_draws(some):
    some, n = np.array(some), 400_000
    sums = (np.random.default_rng(0).normal(size=(n, len(some))) ** 2) @ some
    for share in (0.5, 0.05, 0.001):
        total = float(np.quantile(sums, 1 - share))
        # an approximation to within a tenth, and four standard errors of the share drawn
        assert abs(chi_squares_p_value(total, some) - share) <= 0.1 * share + 4 * np.sqrt(share / n)


def test_no_weight_or_no_sum_is_no_surprise():
    assert chi_squares_p_value(3.0, np.zeros(3)) == chi_squares_p_value(0.0, np.ones(2)) == 1.0


def stated(n, values, seed=0):
    return np.random.default_rng(seed).choice(values, n)


def test_many_round_numbers_of_few_rows_each_are_warned_of():
    assert "round numbers" in rare_values_warning(stated(100, np.arange(101) / 100))


@pytest.mark.parametrize(
    "confidence",
    [
        stated(10_000, np.arange(101) / 100),
        stated(100, [0.5, 0.7, 0.8, 0.9, 1.0]),
        np.random.default_rng(0).random(100),
        np.r_[stated(990, [0.5, 0.9]), stated(10, np.arange(101) / 100)],
        np.zeros(0),
    ],
    ids=["enough rows", "few values", "not stated", "a few stray ones", "no rows"],
)
def test_others_are_not(confidence):
    assert rare_values_warning(confidence) is None


def test_rows_are_counted_block_by_block():
    """Where rows are compared within blocks, a row may be alone in its block."""
    confidence = np.repeat(np.arange(101) / 100, 4)
    assert rare_values_warning(confidence) is None
    assert "in the block" in rare_values_warning(confidence, np.arange(len(confidence)) % 4)
    assert rare_values_warning(stated(300, [0.5, 0.6, 0.7, 0.8, 0.9]), np.arange(300) // 30) is None


@pytest.mark.parametrize("n", [20, 300])
def test_stated_numbers_are_not_compared_with_others(n):
    confidence = stated(n, np.arange(101) / 100)
    for cut in (strata(confidence), cut_into_strata(confidence, 8, np.random.default_rng(0))):
        assert all(len(np.unique(confidence[cut == k])) == 1 for k in np.unique(cut))


@pytest.mark.parametrize("n", [100, 300, 1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_number_that_is_right_at_its_own_rate_hides_nothing(n):
    """Each stated number has its own rate of right answers; fields and groups that follow the number find nothing."""
    rejected, named = [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rate, number = rng.uniform(0.2, 0.95, 101), rng.integers(0, 101, n)
        f, y = number / 100, (rng.random(n) < rate[number]).astype(float)
        expected = np.full(n, rate.mean())
        field = rate[number] + 0.05 * rng.normal(size=n)
        rejected.append(permutation_p_value(y - expected, field, strata(f), rng=rng))
        groups = named_groups({"high": np.where(rate[number] > 0.6, "yes", "no")})
        named += len(find(LabelledRows(y, f, expected, hidden=0 * y, row=np.arange(n)), groups).findings)
    assert np.sum(np.array(rejected) <= 0.05) <= 8
    assert named == 0
