from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.certificates import certificate
from miscal.evidence.conditional import (
    beyond_confidence,
    centred,
    given_count,
    outcome_given_confidence,
    permutation_p_value,
    strata,
)
from miscal.evidence.limits.agreement import agreement_limit, count_p_value
from miscal.evidence.limits.covariance import by_size, counted

probabilities = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=1, max_size=30).map(
    np.array
)


def world(n, seed, hidden=0.0, fit=8):
    """f, y, sign of what is hidden for n test rows and fit * n others; y ~ Bernoulli(f^2 + sign * hidden)."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.4, 0.9, (fit + 1) * n)
    sign = rng.choice([-1.0, 1.0], len(f))
    y = (rng.random(len(f)) < f**2 + sign * hidden).astype(float)
    return (f[:n], y[:n], sign[:n]), (f[n:], y[n:])


def drawing(times):
    """Draw so many times as long as a test runs."""
    return patch("miscal.evidence.settings.N_DRAWS", times)


def certify(test, fit, field, *, n_draws=299, random_state=0, visible=0.0):
    (f, y), expected = test[:2], outcome_given_confidence(fit[1], fit[0], test[0])
    with drawing(n_draws):
        return certificate(
            LabelledRows.of(y, f, expected, delta=visible + field, hidden=field), random_state=random_state
        )


def direct_tail(p, count):
    mass = np.array([1.0])
    for one in p:
        mass = np.convolve(mass, [1 - one, one])
    return mass[count:].sum() if count >= 0 else 1.0


@given(p=probabilities, data=st.data())
def test_count_tail_is_the_convolution(p, data):
    count = data.draw(st.integers(0, len(p) + 1))
    assert count_p_value(p, count) == pytest.approx(direct_tail(p, count), abs=1e-12)


@pytest.mark.parametrize("n", [100, 2_001, 50_000])
@pytest.mark.parametrize("p", [1e-5, 0.001, 0.3, 0.5])
def test_count_tail_of_equal_probabilities_is_binomial(n, p):
    count = int(n * p + 2 * np.sqrt(n * p * (1 - p)))
    assert count_p_value(np.full(n, p), count) == pytest.approx(binom.sf(count - 1, n, p), abs=1e-11)


@given(p=probabilities, data=st.data())
def test_agreement_limit_is_positive_exactly_where_the_test_rejects(p, data):
    count = data.draw(st.integers(0, len(p)))
    limit = agreement_limit(p, count)
    assert 0 <= limit <= 1
    if abs(count_p_value(p, count) - 0.05) > 1e-6:
        assert (limit > 0) == (count_p_value(p, count) < 0.05)


@given(p=probabilities, data=st.data())
def test_agreement_limit_rises_with_the_count(p, data):
    counts = sorted(data.draw(st.tuples(*[st.integers(0, len(p))] * 2)))
    assert agreement_limit(p, counts[0]) <= agreement_limit(p, counts[1]) + 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_no_other_errors_of_the_same_size_explain_the_count_better(seed):
    # The common height is the worst case: any other way of spending the same error gives a smaller tail.
    rng = np.random.default_rng(seed)
    p = rng.random(60) * rng.choice([0.3, 1.0])
    count = int(p.sum() + 12)
    limit = agreement_limit(p, count)
    for _ in range(50):
        room = (1 - p) * rng.random(60) ** rng.choice([0.1, 1.0, 10.0])
        spent = p + room * min(1.0, limit * 60 / room.sum())
        assert count_p_value(spent, count) <= 0.05 + 1e-4


def test_agreement_limit_of_equal_probabilities_is_clopper_pearson():
    from scipy.stats import beta

    low = beta.ppf(0.05, 600, 401)
    assert agreement_limit(np.full(1000, 0.5), 600) == pytest.approx(low - 0.5, abs=1e-5)


def test_a_limit_agrees_with_the_normal_one_where_both_hold(limit_of):
    rng = np.random.default_rng(0)
    n = 4_000
    weight, centre = rng.choice([-1.0, 1.0], n), np.full(n, 0.4)
    y = (rng.random(n) < 0.4 + 0.1 * weight).astype(float)
    simulated = limit_of(y, weight, centre)
    value, error = np.mean(weight * (y - centre)), np.sqrt(0.24 / n)
    assert simulated == pytest.approx(value - 1.645 * error, abs=0.2 * error)
    with drawing(9):
        many = limit_of(np.tile(y, 2), np.tile(weight, 2), np.tile(centre, 2))
    assert many == pytest.approx(value - 1.645 * error / np.sqrt(2), abs=1e-5)


@given(st.lists(st.sampled_from([0.1, 0.5, 0.9]) | st.floats(0, 1), min_size=1, max_size=60), st.integers(1, 10))
def test_strata_are_runs_of_the_sorted_confidence(values, rows):
    f = np.array(values)
    label = strata(f, rows)
    order = np.argsort(f, kind="stable")
    assert label[order].tolist() == sorted(label.tolist())
    assert set(label.tolist()) == set(range(label.max() + 1))
    for value in np.unique(f):
        assert len(set(label[f == value].tolist())) == 1
        if np.sum(f == value) >= rows:
            assert np.sum(label == label[f == value][0]) == np.sum(f == value)


def test_centred_has_no_mean_in_any_stratum():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 5, 100)
    left = centred(rng.random(100), label)
    np.testing.assert_allclose(np.bincount(label, left), 0, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_rates_given_the_count_add_up_to_it_and_follow_the_odds(seed, n):
    rng = np.random.default_rng(seed)
    label, rate, y = rng.integers(0, 4, n), rng.uniform(0.01, 0.99, n), (rng.random(n) < 0.5).astype(float)
    left = given_count(y, rate, label)
    np.testing.assert_allclose(np.bincount(label, left), 0, atol=1e-7)
    for k in set(label.tolist()):
        inside = label == k
        if y[inside].min() == y[inside].max():
            assert not left[inside].any()
        else:
            given_rate = (y - left)[inside]
            shift = np.log(given_rate / (1 - given_rate)) - np.log(rate[inside] / (1 - rate[inside]))
            np.testing.assert_allclose(shift, shift[0], atol=1e-5)


@pytest.mark.parametrize(
    "rate", [lambda f: f, lambda f: f**3, lambda f: 0.5 + 0.4 * np.sin(6 * np.pi * f), lambda f: 0.2 + 0.6 * (f > 0.5)]
)
def test_regression_on_confidence_finds_any_shape(rate):
    rng = np.random.default_rng(0)
    f = rng.random(8_000)
    y = (rng.random(8_000) < rate(f)).astype(float)
    at = rng.random(1_000)
    assert np.sqrt(np.mean((outcome_given_confidence(y, f, at) - rate(at)) ** 2)) < 0.045


@drawing(9_999)
def test_permutation_test_is_exact_with_few_confidences():
    # y = s in one stratum of 3 + 3 rows: 1 of the 20 arrangements.
    s = np.array([1.0, 1, 1, 0, 0, 0])
    p = permutation_p_value(s, s, np.zeros(6, dtype=int), rng=np.random.default_rng(0))
    assert p == pytest.approx(0.05, abs=0.01)


def test_nothing_is_certified_where_nothing_is_claimed():
    test, fit = world(100, 0)
    proof = certify(test, fit, np.zeros(100))
    assert (proof.total.value, proof.total.low, proof.total.p_value) == (0, 0, 1)
    assert (proof.hidden.value, proof.hidden.low, proof.hidden.p_value) == (0, 0, 1)


def test_a_field_that_is_a_function_of_few_confidences_has_nothing_hidden():
    rng = np.random.default_rng(0)
    f = rng.choice([0.2, 0.8], 900)
    y = (rng.random(900) < 0.5).astype(float)
    delta = 0.5 - f
    proof = certify((f[:300], y[:300]), (f[300:], y[300:]), delta[:300])
    assert proof.total.low > 0.1
    assert (proof.hidden.value, proof.hidden.low, proof.hidden.p_value) == (0, 0, 1)


def test_planted_structure_is_certified_and_its_opposite_is_not():
    test, fit = world(1_000, 2, 0.15)
    proof, against = certify(test, fit, 0.1 * test[2]), certify(test, fit, -0.1 * test[2])
    assert 0.08 < proof.hidden.low < proof.hidden.value < 0.2
    assert proof.hidden.p_value < 0.01
    assert (against.hidden.low, against.total.low) == (0, 0)
    assert against.hidden.p_value > 0.9


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.integers(0, 2**32 - 1))
def test_counted_rows_do_not_depend_on_sign_or_order(values, seed):
    rng = np.random.default_rng(seed)
    field, rate = np.array(values), rng.uniform(0, 1, len(values))
    kept = counted(field, rate)
    assert kept.any()
    assert counted(-field, 1 - rate).tolist() == kept.tolist()
    order = rng.permutation(len(field))
    assert counted(field[order], rate[order]).tolist() == kept[order].tolist()


def test_counted_rows_are_those_of_the_largest_field_where_all_rates_are_alike():
    field = np.r_[np.full(60, -0.25), np.linspace(-0.02, 0.02, 940)]
    kept = counted(field, np.full(1000, 0.5))
    assert 60 <= kept.sum() < 300
    assert np.abs(field[kept]).min() > np.abs(field[~kept]).max()


def rare(n, seed, size=0.25, share=0.08):
    """As `world`, but only some rows hide anything; on the others the field is noise of a tenth of its size."""
    rng = np.random.default_rng(seed)
    f, inside = rng.uniform(0.4, 0.6, 9 * n), rng.random(9 * n) < share
    hidden = size * inside * rng.choice([-1.0, 1.0], 9 * n)
    y = (rng.random(9 * n) < f + hidden).astype(float)
    field = hidden[:n] + size / 10 * rng.standard_normal(n) * ~inside[:n]
    return ((f[:n], y[:n]), (f[n:], y[n:]), field), np.abs(hidden[:n]).mean()


def test_a_rare_regime_is_not_drowned_by_the_rows_around_it():
    assert np.mean([certify(*rare(1_000, seed)[0]).hidden.low > 0 for seed in range(20)]) >= 0.9


def test_same_seed_same_certificate_and_order_of_rows_is_no_matter_for_the_total():
    test, fit = world(300, 3, 0.1)
    field = 0.1 * test[2]
    assert certify(test, fit, field) == certify(test, fit, field)
    order = np.random.default_rng(0).permutation(300)
    shuffled = certify([part[order] for part in test], fit, field[order])
    assert shuffled.total.low == pytest.approx(certify(test, fit, field).total.low, abs=1e-9)
    assert shuffled.hidden.value == pytest.approx(certify(test, fit, field).hidden.value, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_tiny_and_one_sided_tests_are_answered(n, outcome):
    f = np.full(n, 1 - outcome)  # stated with certainty, and wrong
    proof = certify((f, np.full(n, outcome)), (f, np.full(n, outcome)), np.full(n, 2 * outcome - 1.0))
    assert proof.total.value == 1.0
    assert proof.total.p_value < 1e-12
    assert proof.hidden.p_value == 1.0


def null_world(name, n, rng):
    if name == "calibrated":
        f = rng.random(n)
        return f, f
    if name == "distorted":
        f = rng.random(n)
        return f, f**3
    if name == "few values":
        f = rng.choice([0.5, 0.7, 0.8, 0.9, 0.95, 1.0], n, p=[0.05, 0.1, 0.3, 0.3, 0.2, 0.05])
        return f, 0.5 + 0.3 * np.cos(20 * f)
    f = rng.beta(20, 0.3, n)
    return f, 0.6 + 0.35 * (f > 0.999)


def certified(n, repeats, draw, **options):
    """Certify n rows of each draw by the others; `draw` gives confidences, outcomes, and a field of the n rows."""
    for seed in range(repeats):
        f, y, field = draw(np.random.default_rng([seed, n]))
        yield certify((f[:n], y[:n]), (f[n:], y[n:]), field, random_state=seed, **options)


def assert_seldom(wrong, level=0.05, errors=2.5):
    """A share of draws is at most a level, and so many standard errors."""
    assert np.mean(wrong) <= level + errors * np.sqrt(level * (1 - level) / len(wrong))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calibrated", "distorted", "few values", "saturated"])
@pytest.mark.parametrize("n", [80, 400])
@pytest.mark.parametrize("follows", [False, True])
def test_size_where_nothing_is_hidden(name, n, follows):
    def draw(rng):
        f, rate = null_world(name, 9 * n, rng)
        y = (rng.random(9 * n) < rate).astype(float)
        field = rng.standard_normal(n) / 20
        return f, y, np.sin(6 * np.pi * f[:n] + 20 * field) / 20 if follows else field

    proofs = list(certified(n, 200, draw))
    assert_seldom([one.hidden.p_value <= 0.05 for one in proofs])
    assert_seldom([one.hidden.low > 0 for one in proofs])
    if name == "calibrated":
        assert_seldom([one.total.p_value <= 0.05 for one in proofs])


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1_000])
def test_limits_cover_what_is_hidden_in_few_rows(n):
    drawn = (rare(n, seed) for seed in range(200))
    assert_seldom([certify(*rows, random_state=seed).hidden.low > truth for seed, (rows, truth) in enumerate(drawn)])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("n", [80, 400, 6_000])
def test_limits_cover_what_is_hidden(n):
    repeats, hidden = 200, 0.15
    truth = np.abs(np.linspace(0.4, 0.9, 100_001) ** 2 - np.linspace(0.4, 0.9, 100_001))
    total = np.mean(np.maximum(truth, hidden))  # mean over the sign of |f^2 - f + sign * hidden|
    covered = [0, 0]
    for seed in range(repeats):
        test, fit = world(n, [seed, n], hidden)
        visible = test[0] ** 2 - test[0]
        proof = certify(test, fit, hidden * test[2], visible=visible, random_state=seed)
        covered[0] += proof.hidden.low <= hidden
        covered[1] += proof.total.low <= total
    assert min(covered) / repeats >= 0.95 - 2.5 * np.sqrt(0.05 * 0.95 / repeats)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tied", [False, True])
def test_size_of_many_rows_with_rare_outcomes_and_a_field_on_few_of_them(tied):
    def draw(rng, n=5_200):
        f = np.full(9 * n, 1e-3) if tied else rng.uniform(5e-4, 15e-4, 9 * n)
        return f, (rng.random(9 * n) < f).astype(float), 0.1 * (rng.random(n) < 0.05)

    proofs = [one.hidden for one in certified(5_200, 200, draw, n_draws=999)]
    for level in (0.001, 0.01, 0.05, 0.1):
        assert_seldom([one.p_value <= level for one in proofs], level, errors=3)
    assert_seldom([one.low > 0 for one in proofs], errors=3)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_limits_cover_what_is_hidden_where_outcomes_are_rare():
    n, share, rate, more = 6_000, 0.1, 1e-3, 0.02
    truth = 2 * more * share * (1 - share)  # mean |h|: more * (1 - share) on the share, more * share on the others

    def draw(rng):
        f, inside = np.full(9 * n, rate), rng.random(9 * n) < share
        return f, (rng.random(9 * n) < f + more * inside).astype(float), more * inside[:n]

    low = [one.hidden.low for one in certified(n, 150, draw)]
    assert_seldom([one > truth for one in low])
    assert np.mean([one > 0 for one in low]) > 0.9


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("sure", [lambda rng, n: rng.uniform(0.99, 1, n), lambda rng, n: rng.beta(30, 0.3, n)])
def test_size_where_nearly_all_outcomes_are_alike(n, sure):
    # a field that follows the confidence: 11 % at n = 100 (beta) where strata of one outcome took part
    def draw(rng):
        f = sure(rng, 9 * n)
        field = (f[:n] - f[:n].mean()) / f[:n].std() / 20
        return f, (rng.random(9 * n) < f).astype(float), np.clip(field, -1, 1)

    rejected = sum(one.hidden.p_value < 0.05 for one in certified(n, 400, draw))
    assert binomtest(rejected, 400, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("drift", [0.0, 0.2, 0.35])
def test_limits_cover_where_the_rows_drifted_from_those_that_were_learned_from(drift):
    # 84 to 86 % where the variance was that of the rates learned before
    repeats, n, above = 400, 300, 0
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        f, sign = rng.uniform(0.8, 0.95, n), rng.choice([-1.0, 1.0], n)
        y = (rng.random(n) < f - drift + 0.05 * sign).astype(float)
        with drawing(299):
            proof = certificate(LabelledRows.of(y, f, f, delta=0.05 * sign, hidden=0.05 * sign), random_state=seed)
        above += proof.hidden.low > 0.05
    assert binomtest(above, repeats, 0.05, alternative="greater").pvalue > 0.01


# --- a field that follows the confidence -----------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(-2, 2), st.floats(-2, 2))
def test_what_a_field_has_from_the_confidence_in_a_line_does_not_count(seed, level, slope):
    rng = np.random.default_rng(seed)
    f, field = rng.choice([0.1, 0.5, 0.7, *rng.random(20)], 40), rng.normal(size=40)
    left = beyond_confidence(field, f)
    np.testing.assert_allclose(beyond_confidence(field + level + slope * f, f), left, atol=1e-3)
    order = rng.permutation(40)
    np.testing.assert_allclose(beyond_confidence(field[order], f[order]), left[order], atol=1e-3)


@pytest.mark.slow
def test_a_wave_in_the_confidence_is_not_taken_for_something_hidden():
    """In blocks of 30 rows strata are wide, and a regression of 270 outcomes does not follow the wave all through."""
    rejected, draws = 0, 200
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        f = rng.uniform(0.02, 0.98, 510)
        wave = np.sin(9 * f)
        y = (rng.random(510) < 0.5 + 0.45 * wave).astype(float)
        expected = outcome_given_confidence(y[:270], f[:270], f[270:])
        field = 0.3 * wave[270:] + 0.05 * rng.normal(size=240)
        block = np.repeat(np.arange(8), 30)
        rows = LabelledRows.of(y[270:], f[270:], expected, delta=field, hidden=field, block=block)
        with drawing(99):
            rejected += certificate(rows, random_state=seed).hidden.p_value < 0.05
    assert binomtest(rejected, draws, 0.05, alternative="greater").pvalue > 0.01


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0.01, 1))
def test_weights_by_size_keep_the_sign_and_the_order_of_the_field_and_not_its_unit(values, unit):
    field = np.array(values)
    weight = by_size(field)
    assert np.abs(weight).max() <= 1
    assert (weight * field >= 0).all()
    assert (np.diff(weight[np.argsort(field)]) >= 0).all()
    np.testing.assert_allclose(by_size(-field), -weight)
    if np.abs(field)[field != 0].min(initial=1) > 1e-9:
        np.testing.assert_allclose(by_size(unit * field), weight)


def noisy(n, seed, size=0.15, share=0.2, noise=0.1, shrunken=0.3):
    """As `rare`, but the field has noise on every row, and is shrunken for it, as learned fields are."""
    rng = np.random.default_rng(seed)
    f, inside = rng.uniform(0.3, 0.7, 9 * n), rng.random(9 * n) < share
    hidden = size * inside * rng.choice([-1.0, 1.0], 9 * n)
    y = (rng.random(9 * n) < f + hidden).astype(float)
    field = shrunken * (hidden[:n] + noise * rng.standard_normal(n))
    return ((f[:n], y[:n]), (f[n:], y[n:]), field), np.abs(hidden[:n]).mean()


def test_a_noisy_field_that_is_proved_has_a_limit_above_0():
    proofs = [(certify(*rows), truth) for rows, truth in (noisy(1_500, seed) for seed in range(25))]
    proved = [proof.hidden.low > 0 for proof, _ in proofs if proof.hidden.p_value < 0.05]
    assert len(proved) >= 18
    assert np.mean(proved) > 0.9
    assert sum(proof.hidden.low > truth for proof, truth in proofs) <= 3
