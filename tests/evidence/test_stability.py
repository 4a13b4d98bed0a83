"""Audits: outcomes under a null, seeds, thresholds and bootstrap; rows that hang together or count unequally."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from miscal.base.errors import InputError
from miscal.calibration.metrics.gap import worst_slice
from miscal.calibration.metrics.scores import brier
from miscal.calibration.metrics.smooth import smece
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.power import threshold_sensitivity
from miscal.evidence.settings import EPSILONS
from miscal.evidence.stability import bernoulli_outcomes, null_audit, permuted_outcomes, seed_stability, slice_bootstrap


def cut(delta, epsilon=0.05):
    return np.select([delta < -epsilon, delta > epsilon], ["over", "under"], "good")


def planted(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.3, 0.7, n)
    delta = rng.choice([-0.2, -0.08, 0.0, 0.12], n)
    return (rng.random(n) < f + delta).astype(float), f, delta


def test_bernoulli_outcomes_have_their_probabilities():
    draw = bernoulli_outcomes(np.tile([0.0, 0.25, 1.0], 20_000))
    y = draw(np.random.default_rng(0)).reshape(-1, 3).mean(axis=0)
    assert (y[0], y[2]) == (0.0, 1.0)
    assert y[1] == pytest.approx(0.25, abs=0.015)


def test_permutation_keeps_the_outcomes_of_each_split_and_all_of_the_test():
    rng = np.random.default_rng(0)
    y, split = (rng.random(600) < 0.4).astype(float), rng.choice(["train", "val", "test"], 600)
    drawn = permuted_outcomes(y, split)(rng)
    for name in ("train", "val"):
        assert drawn[split == name].sum() == y[split == name].sum()
        assert (drawn[split == name] != y[split == name]).any()
    np.testing.assert_array_equal(drawn[split == "test"], y[split == "test"])


def test_null_audit_counts_ties_and_never_says_zero():
    found = null_audit(lambda y: {"constant": 1.0, "sum": y.sum()}, lambda rng: np.zeros(5), np.ones(5), n_draws=9)
    assert found["constant"].p_value == 1.0
    assert found["sum"].p_value == 0.1
    assert found["sum"].draws == (0.0,) * 9
    assert (found["sum"].mean, found["sum"].std, found["sum"].observed) == (0.0, 0.0, 5.0)


def test_null_p_values_are_uniform_under_the_null():
    f = np.random.default_rng(0).uniform(0.2, 0.8, 50)
    draw = bernoulli_outcomes(f)
    p = [
        null_audit(lambda y: {"excess": float(np.sum(y - f))}, draw, draw(np.random.default_rng([1, i])), n_draws=19,
                   random_state=i)["excess"].p_value
        for i in range(400)
    ]  # fmt: skip
    for level in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level * (1 - level) / 400)
    assert np.mean(p) == pytest.approx(0.525, abs=0.05)


def test_null_audit_is_reproducible_and_refuses_what_is_no_number():
    f = np.full(20, 0.5)
    first, second = (null_audit(lambda y: {"m": y.mean()}, bernoulli_outcomes(f), f > 0, random_state=3) for _ in "ab")
    assert first == second
    with pytest.raises(InputError, match="gap"):
        null_audit(lambda y: {"gap": np.nan}, bernoulli_outcomes(f), f > 0)


def test_equal_fields_are_stable_and_scale_is_no_matter():
    field = np.random.default_rng(0).normal(size=100)
    found = seed_stability([field, 2 * field, 3 * field])
    assert found.correlation.mean == pytest.approx(1)
    assert (found.sign_agreement.mean, found.sign_agreement.std, found.n_seeds) == (1, 0, 3)
    assert found.field_std.mean == pytest.approx(2 * field.std())


def test_unrelated_and_opposite_fields():
    rng = np.random.default_rng(0)
    loose = seed_stability(rng.normal(size=(4, 5_000)))
    assert loose.correlation.mean == pytest.approx(0, abs=0.04)
    assert loose.sign_agreement.mean == pytest.approx(0.5, abs=0.04)
    field = rng.normal(size=100)
    opposite = seed_stability([field, -field])
    assert (round(opposite.correlation.mean, 9), opposite.sign_agreement.mean) == (-1, 0)


def test_every_two_seeds_are_compared_and_the_means_are_theirs():
    fields = np.random.default_rng(1).normal(size=(4, 300))
    fields[2] = 0.5
    found = seed_stability(fields, gaps=[0.1, 0.0, 0.3, 0.2])
    assert [(pair.a, pair.b) for pair in found.pairs] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    r = np.corrcoef(fields[[0, 1, 3]])
    known = {(0, 1): r[0, 1], (0, 3): r[0, 2], (1, 3): r[1, 2]}
    for pair in found.pairs:
        assert pair.correlation == (None if 2 in (pair.a, pair.b) else pytest.approx(known[pair.a, pair.b]))
        assert pair.sign_agreement == np.mean((fields[pair.a] > 0) == (fields[pair.b] > 0))
        # every row of one field with every row of the other: rows that have nothing to do with each other
        a, b = (np.sign(fields[k]) for k in (pair.a, pair.b))
        assert pair.sign_by_chance == pytest.approx(np.mean(a[:, None] == b[None, :]))
    assert found.correlation.mean == pytest.approx(np.mean(list(known.values())))
    # both means are of the same pairs: those without the constant field
    signs = [pair.sign_agreement for pair in found.pairs if 2 not in (pair.a, pair.b)]
    assert found.sign_agreement.mean == pytest.approx(np.mean(signs))
    assert found.n_undefined == 3
    assert (found.gap.mean, found.gap.std) == pytest.approx((0.15, np.sqrt(0.05 / 3)))
    assert seed_stability(fields).gap.mean is None


def test_thresholds_measure_the_slices_they_cut():
    y, f, delta = planted()
    rows = threshold_sensitivity(y, f, lambda epsilon: cut(delta, epsilon))
    assert tuple(row.epsilon for row in rows) == EPSILONS
    assert np.all(np.diff([row.share_over for row in rows]) <= 0)
    at = rows[2]
    over = delta < -0.1
    assert (at.worst, at.share_worst, at.share_over) == ("over", over.mean(), over.mean())
    assert at.gap == pytest.approx(smece(y[over], f[over]) - smece(y, f))
    assert at.brier_gap == pytest.approx(brier(y[over], f[over]) - brier(y, f))
    assert rows[3].share_under == 0


def test_thresholds_without_a_slice_have_no_gap():
    y, f, _ = planted(200)
    (row,) = threshold_sensitivity(y, f, lambda epsilon: cut(np.zeros(200), epsilon), epsilons=(0.05,))
    assert (row.share_over, row.share_under, row.gap, row.worst, row.share_worst, row.brier_gap) == (
        0, 0, None, None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize("grouped", [False, True])
def test_bootstrap_agrees_with_the_plain_loop(grouped):
    y, f, delta = planted(400)
    rng, group = np.random.default_rng(4), np.arange(400)
    if grouped:
        group = np.repeat(group, rng.integers(1, 9, 400))[:400]
        # the rows of a group agree, and are of one regime but for a few
        y, delta = y[np.unique(group, return_index=True)[1]][group], delta[np.minimum(5 * group, 399)]
    regime, loop = cut(delta), []
    found = slice_bootstrap(y, f, regime, groups=group.astype(str), n_draws=600)
    for _ in range(150):
        rows = np.concatenate([np.flatnonzero(group == k) for k in rng.integers(0, group.max() + 1, group.max() + 1)])
        inside = regime[rows] == found.worst
        loop.append((smece(y[rows][inside], f[rows][inside]) - smece(y[rows], f[rows]), inside.mean()))
    for part, values in zip((found.gap, found.share), np.transpose(loop), strict=True):
        error = np.std(values) * np.sqrt(1 / 150 + 1 / 600)
        assert part.mean == pytest.approx(np.mean(values), abs=4 * error)
        assert part.high - part.low == pytest.approx(np.ptp(np.quantile(values, [0.025, 0.975])), rel=0.3)
    # where coarser periods hang together, too, the draws vary that much more around the same mean
    wider = slice_bootstrap(y, f, regime, groups=group.astype(str), n_draws=600, factor=1.5)
    assert wider.gap.mean == pytest.approx(found.gap.mean)
    assert wider.gap.high - wider.gap.low == pytest.approx(1.5 * (found.gap.high - found.gap.low))
    assert grouped or slice_bootstrap(y, f, regime, n_draws=600) == found


def test_copies_of_rows_do_not_make_replicates_vary_less():
    y, f, delta = planted(300)
    copies = np.repeat(np.arange(300), 4)
    once = slice_bootstrap(y, f, cut(delta), n_draws=600)
    again = slice_bootstrap(y[copies], f[copies], cut(delta)[copies], groups=copies, n_draws=600)
    for one, other in ((once.gap, again.gap), (once.share, again.share)):
        assert other.value == pytest.approx(one.value, abs=0.01)
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.2)


def test_the_mean_of_cut_off_gaps_is_that_of_the_positive_part():
    # over- and under-confident values of f within the slice and the whole alike: the gap of a draw has either sign
    rng = np.random.default_rng(8)
    f = rng.random(300)
    y = (rng.random(300) < np.clip(f + 0.3 * np.where(f < 0.5, 1, -1), 0, 1)).astype(float)
    regime = np.where(np.arange(300) % 2, "over", "good").astype(object)
    found, rng, loop = slice_bootstrap(y, f, regime, n_draws=2000).gap, np.random.default_rng(9), []
    for _ in range(300):
        rows = rng.integers(300, size=300)
        inside = regime[rows] == "over"
        loop.append(smece(y[rows][inside], f[rows][inside]) - smece(y[rows], f[rows]))
    positive = np.maximum(loop, 0.0)
    assert 0.1 < np.mean(np.array(loop) < 0) < 0.9
    assert found.mean_clipped == pytest.approx(positive.mean(), abs=4 * positive.std() * np.sqrt(1 / 300 + 1 / 2000))
    assert found.mean_clipped > max(0.0, found.mean) + positive.std() / 10


def test_bootstrap_without_a_slice_says_so():
    y, f, _ = planted(100)
    found = slice_bootstrap(y, f, np.full(100, "good"))
    assert (found.worst, found.gap, found.share) == (None, None, None)


def test_thresholds_by_brier_take_the_slice_with_the_larger_brier_score():
    # under: confidences of 0.5 that are right half of the time, a Brier score of 0.25 and no error of calibration;
    # over: sure and sometimes wrong, a small Brier score and an error of calibration
    y = np.r_[np.tile([0.0, 1.0], 50), np.repeat([1.0, 0.0], [90, 10])]
    f, delta = np.repeat([0.5, 0.99], 100), np.repeat([0.2, -0.2], 100)
    kinds = {
        by: threshold_sensitivity(y, f, lambda e: cut(delta, e), epsilons=(0.1,), by=by)[0] for by in ("smece", "brier")
    }
    assert {by: at.worst for by, at in kinds.items()} == {"smece": "over", "brier": "under"}
    whole_brier, whole = np.mean((y - f) ** 2), smece(y, f)
    assert kinds["brier"].brier_gap == pytest.approx(0.25 - whole_brier)
    assert kinds["brier"].gap == pytest.approx(smece(y[:100], f[:100]) - whole)
    assert kinds["smece"].gap == pytest.approx(smece(y[100:], f[100:]) - whole)


def test_small_slices_count_where_fewer_rows_are_asked_of_them():
    y, f = np.tile([0.0, 1.0], 50), np.full(100, 0.5)
    delta = np.where(np.arange(100) < 3, -0.2, 0.0)
    asked = {least: threshold_sensitivity(y, f, lambda e: cut(delta, e), min_rows=least)[0] for least in (3, 4)}
    assert (asked[3].worst, asked[4].worst) == ("over", None)
    regime = cut(delta, 0.05)
    assert slice_bootstrap(y, f, regime, min_rows=3, n_draws=20).worst == "over"
    assert slice_bootstrap(y, f, regime, min_rows=4, n_draws=20).worst is None


# --- rows that count unequally ------------------------------------------------------------------------------------


def unequal(n=400, seed=0):
    rng = np.random.default_rng(seed)
    f, regime = rng.uniform(0.3, 0.9, n), rng.choice(["over", "under", "good"], n)
    y = (rng.random(n) < np.clip(f - 0.25 * (regime == "over"), 0, 1)).astype(float)
    return y, f, regime.astype(object), rng.lognormal(0, 0.8, n)


def test_the_bootstrap_of_the_worst_slice_is_weighted():
    y, f, regime, weight = unequal()
    found = slice_bootstrap(y, f, regime, weights=weight, n_draws=400)
    inside = regime == found.worst
    assert found.share.value == pytest.approx(weight[inside].sum() / weight.sum())
    assert found.share.mean == pytest.approx(found.share.value, abs=0.02)
    assert found.gap.low < found.gap.value < found.gap.high
    scaled = slice_bootstrap(y, f, regime, weights=1024 * weight, n_draws=400)
    assert scaled == found
    # by nested loops: a slice of unequal rows varies more
    rng, shares = np.random.default_rng(1), []
    for _ in range(2_000):
        at = rng.integers(0, len(y), len(y))
        shares.append(weight[at][inside[at]].sum() / weight[at].sum())
    assert (found.share.low, found.share.high) == pytest.approx(np.quantile(shares, [0.025, 0.975]), abs=0.015)


def test_thresholds_are_weighted():
    y, f, regime, weight = unequal()
    [alike], [unlike] = (
        threshold_sensitivity(y, f, lambda _: regime, epsilons=(0.05,), weights=one) for one in (None, weight)
    )
    assert unlike.share_over == pytest.approx(np.average(regime == "over", weights=weight))
    assert unlike.gap == pytest.approx(worst_slice(y, f, regime, sample_weight=weight).value)
    assert threshold_sensitivity(y, f, lambda _: regime, epsilons=(0.05,), weights=np.full(400, 3.0))[0].gap == (
        pytest.approx(alike.gap)
    )


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
