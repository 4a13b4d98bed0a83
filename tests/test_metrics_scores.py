"""Scores, curves, means and their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.errors import InputError
from miscal.metrics import (
    brier,
    ece,
    gap_null,
    global_scores,
    log_loss,
    log_losses,
    mean_interval,
    mean_residual,
    measure_ece,
    measure_gap,
    measure_smece,
    p_value_of,
    paired_difference,
    reliability_curve,
    smece,
    smece_bootstrap,
    smece_floor,
    smece_interval,
    smece_of_residuals,
    smece_p_value,
    wilson,
    worst_slice_gap,
)

law = settings(deadline=None)
rows = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=40).filter(
    lambda r: any(w for _, _, w in r)
)
SCORES = {
    "smece": smece,
    "brier": brier,
    "log_loss": log_loss,
    "ece": ece,
    "ece mass": lambda y, f, **k: ece(y, f, 7, "mass", **k),
}


def arrays(data):
    return tuple(np.array(v, dtype=float) for v in zip(*data, strict=True))


@pytest.mark.parametrize("name", ["brier", "log_loss", "ece", "ece mass"])
@law
@given(data=rows)
def test_weights_are_repetitions(name, data):
    y, f, w = arrays(data)
    times = w.astype(int)
    repeated = SCORES[name](np.repeat(y, times), np.repeat(f, times))
    assert SCORES[name](y, f, sample_weight=w) == pytest.approx(repeated, abs=1e-9)


@law
@given(rows)
def test_ece_lies_between_mean_and_mean_absolute_residual(data):
    y, f, w = arrays(data)
    residual, w = y - f, w / w.sum()
    for strategy in ("width", "mass"):
        for n_bins in (1, 15):
            value = ece(y, f, n_bins, strategy, sample_weight=w)
            assert abs(w @ residual) - 1e-12 <= value <= w @ np.abs(residual) + 1e-12
        assert ece(y, f, 1, strategy, sample_weight=w) == pytest.approx(abs(w @ residual), abs=1e-12)


def test_confidence_of_one_is_in_the_last_bin():
    assert ece([1, 0], [1.0, 0.95], n_bins=10) == pytest.approx(0.95 / 2)
    curve = reliability_curve([1, 0], [1.0, 0.95], n_bins=10, strategy="width")
    assert curve.n.tolist() == [2]


def test_edges_belong_to_the_upper_bin():
    f = np.arange(100) / 100
    curve = reliability_curve(np.zeros(100), f, n_bins=100, strategy="width")
    np.testing.assert_allclose(curve.confidence, f)


def test_equal_mass_bins_are_equal_and_keep_ties_together():
    rng = np.random.default_rng(0)
    f = rng.permutation(np.arange(300) / 300)
    assert reliability_curve(f > 0.5, f, n_bins=15).n.tolist() == [20] * 15
    tied = np.repeat([0.2, 0.7, 0.9], 40)
    assert reliability_curve(tied > 0.5, tied, n_bins=15).n.tolist() == [40, 40, 40]


def test_known_values():
    assert brier([1, 0, 1], [0.8, 0.3, 0.5]) == pytest.approx((0.04 + 0.09 + 0.25) / 3)
    assert log_loss([1, 0], [0.8, 0.3]) == pytest.approx(-(math.log(0.8) + math.log(0.7)) / 2)
    assert log_loss([0, 1], [1.0, 0.0]) == pytest.approx(-math.log(1e-4))
    assert log_loss([1, 0], [1.0, 0.0]) == pytest.approx(-math.log(1 - 1e-4))
    np.testing.assert_allclose(log_losses(np.array([1.0, 0.0]), np.array([0.25, 0.25])), -np.log([0.25, 0.75]))


def test_wilson_against_statsmodels_values():
    low, high = wilson(np.array([0.0, 0.1, 0.5, 1.0]), np.array([10.0, 50.0, 100.0, 7.0]))
    np.testing.assert_allclose(low, [0.0, 0.0434752, 0.4038315, 0.6456698], atol=1e-6)
    np.testing.assert_allclose(high, [0.2775328, 0.2136023, 0.5961685, 1.0], atol=1e-6)


@law
@given(rows)
def test_curve_adds_up(data):
    y, f, _ = arrays(data)
    curve = reliability_curve(y, f, n_bins=5)
    assert curve.n.sum() == len(y)
    assert (curve.n @ curve.accuracy) == pytest.approx(y.sum())
    assert (curve.n @ curve.confidence) == pytest.approx(f.sum())
    assert ((curve.low <= curve.accuracy) & (curve.accuracy <= curve.high)).all()
    assert (np.diff(curve.confidence) >= 0).all()


# --- means --------------------------------------------------------------------------------------------------------


def test_mean_interval_is_students():
    from scipy import stats

    values = np.random.default_rng(0).normal(0.3, 1, 25)
    expected = stats.ttest_1samp(values, 0.0)
    found = mean_interval(values)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert mean_interval(values, null=0.3).p_value == pytest.approx(stats.ttest_1samp(values, 0.3).pvalue)


def test_equal_weights_and_zero_weights_change_nothing():
    values = np.random.default_rng(0).normal(size=25)
    plain = mean_interval(values)
    heavy = mean_interval(values, sample_weight=np.full(25, 7.0))
    assert heavy.interval == pytest.approx(plain.interval)
    padded = mean_interval(np.append(values, 99.0), sample_weight=np.append(np.ones(25), 0.0))
    assert padded.interval == pytest.approx(plain.interval)
    assert padded.n == 25


def test_one_row_has_no_interval():
    found = mean_interval([0.4])
    assert (found.value, found.interval, found.p_value, found.standard_error, found.n) == (0.4, None, None, None, 1)
    assert mean_residual([1], [0.4]).interval is None


def test_constant_values():
    assert mean_interval([0.5, 0.5]).p_value == 0.0
    assert mean_interval([0.0, 0.0]).p_value == 1.0
    agreed = mean_residual(np.zeros(30), np.full(30, 0.9))
    assert agreed.value == pytest.approx(-0.9)
    assert agreed.interval == pytest.approx((-0.9, -0.83), abs=0.01)  # thirty failures do not prove a rate of 0


def test_paired_difference_has_the_sign_of_a_minus_b():
    a, b = np.array([0.5, 0.6, 0.7]), np.array([0.1, 0.3, 0.2])
    found = paired_difference(a, b)
    assert found.value == pytest.approx(0.4)
    assert found.standard_error == pytest.approx(np.std(a - b, ddof=1) / math.sqrt(3))
    assert paired_difference(b, a).value == pytest.approx(-0.4)


@pytest.mark.parametrize(
    ("rate", "low", "high"), [(0.5, 0.3, 0.7), (0.9, 0.85, 0.95), (0.97, 0.9, 1.0), (0.02, 0.8, 0.9)]
)
def test_mean_residual_covers(rate, low, high):
    rng = np.random.default_rng(0)
    truth, hits = rate - (low + high) / 2, 0
    for _ in range(400):
        f = rng.uniform(low, high, 60)
        interval = mean_residual(rng.random(60) < rate, f).interval
        hits += interval[0] <= truth <= interval[1]
    assert hits / 400 >= 0.92


# --- floor, p-value, interval -------------------------------------------------------------------------------------


def calibrated(n, seed):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    return (rng.random(n) < f).astype(float), f


def test_floor_follows_the_cube_root():
    for n, expected in ((100, 0.066), (1000, 0.0305), (10_000, 0.01416)):
        assert smece_floor(np.random.default_rng(n).random(n), n_draws=200) == pytest.approx(expected, rel=0.05)


def test_p_values_are_uniform_for_a_calibrated_model():
    from scipy import stats

    p = [smece_p_value(*calibrated(200, seed), n_draws=39, random_state=seed) for seed in range(200)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_p_value_is_small_for_a_wrong_model():
    y, f = calibrated(500, 0)
    assert smece_p_value(1 - y, f, n_draws=199) == pytest.approx(1 / 200)


def test_batched_replicates_equal_the_loop_with_the_same_weights():
    from miscal.metrics.population import merge, simulate, smece_statistic
    from miscal.metrics.smooth import smece_of_residuals

    for n in (50, 1000, 20_000):
        y, f = calibrated(n, n)
        cells = merge(y, f, np.full(n, 1 / n))
        statistic, kept = smece_statistic(cells), []

        def recorded(residual, mass, statistic=statistic, kept=kept):
            kept.append((residual, mass))
            return statistic(residual, mass)

        batched = simulate(cells, None, recorded, 20, np.random.default_rng(0), resample=True)
        residual, mass = (np.concatenate(v) for v in zip(*kept, strict=True))
        np.testing.assert_allclose(mass.sum(axis=1), 1.0)
        loop = [smece_of_residuals(cells.location, row) for row in residual]
        np.testing.assert_allclose(batched, loop, atol=1e-5)


def test_batched_replicates_have_the_distribution_of_a_plain_loop():
    y, f = calibrated(300, 1)
    rng = np.random.default_rng(5)
    loop = []
    for _ in range(300):
        index = rng.integers(300, size=300)
        loop.append(smece(y[index], f[index]))
    batched = smece_bootstrap(y, f, n_draws=2000)
    assert np.mean(loop) == pytest.approx(batched.mean(), abs=4 * np.std(loop) / math.sqrt(300))
    assert np.std(loop) == pytest.approx(batched.std(), rel=0.15)


def test_replicates_of_a_million_rows_differ():
    y, f = calibrated(1_000_000, 0)
    replicates = smece_bootstrap(y, f, n_draws=20)
    assert len(set(np.round(replicates, 7))) == 20
    assert 0.0025 < replicates.min() < replicates.max() < 0.006


def test_seeds_reproduce_and_differ():
    y, f = calibrated(100, 0)
    assert smece_interval(y, f, random_state=3, n_draws=50) == smece_interval(y, f, random_state=3, n_draws=50)
    first, second = (smece_bootstrap(y, f, random_state=s, n_draws=5) for s in (1, 2))
    assert (first != second).all()
    with pytest.raises(InputError, match="random_state"):
        smece_interval(y, f, random_state=-1)
    with pytest.raises(InputError, match="n_draws"):
        smece_bootstrap(y, f, n_draws=0)


def test_order_of_rows_does_not_matter():
    y, f = calibrated(200, 0)
    order = np.random.default_rng(1).permutation(200)
    first, second = (measure_smece(a, b, n_draws=60) for a, b in ((y, f), (y[order], f[order])))
    assert first.value == pytest.approx(second.value, abs=1e-6)
    assert first.interval == pytest.approx(second.interval, abs=1e-6)
    assert first.p_value == second.p_value


@pytest.mark.parametrize(
    ("y", "f"),
    [
        ([0], [0.9]),
        ([1], [1.0]),
        ([0, 1], [0.0, 1.0]),
        ([0, 0], [1.0, 1.0]),
        ([1, 0] * 10, [0.5] * 20),
        ([0] * 30, [0.9] * 30),
        ([1] * 30, [1.0] * 30),
        ([1, 0] * 10, [0.0, 1.0] * 10),
    ],
)
def test_extreme_data_have_finite_intervals(y, f):
    for found in (measure_smece(y, f, n_draws=60), measure_ece(y, f, n_draws=60)):
        low, high = found.interval
        assert 0 <= low <= high <= 1
        assert low <= found.value + 1e-6
        assert math.isfinite(found.floor)
        assert 0 < found.p_value <= 1


def test_upper_end_where_nothing_is_seen():
    """Half of twenty right at 0.5: the error seen is 0, the true one may well be 0.2."""
    low, high = smece_interval([1, 0] * 10, [0.5] * 20)
    assert low == 0
    assert 0.2 < high < 0.45


def test_upper_end_where_all_agree():
    """No failure in thirty does not prove that there are none."""
    low, high = smece_interval([1] * 30, [1.0] * 30)
    assert low == 0
    assert 0.05 < high < 0.2


def test_two_rows_prove_little():
    low, high = smece_interval([0, 0], [0.9, 0.9])
    assert low < 0.4
    assert high == pytest.approx(0.9, abs=1e-4)


def test_agreed_failures():
    low, high = smece_interval([0] * 30, [0.9] * 30)
    assert 0.65 < low < 0.85
    assert high == pytest.approx(0.9, abs=1e-4)


def test_estimates_say_whether_they_differ_from_calibrated():
    y, f = calibrated(300, 2)
    fine, wrong = measure_smece(y, f, n_draws=200), measure_smece(1 - y, f, n_draws=200)
    assert fine.interval[0] == 0
    assert "not distinguishable from calibrated" in str(fine)
    assert wrong.distinguishable
    assert "not distinguishable" not in str(wrong)


# --- worst-slice gap ----------------------------------------------------------------------------------------------


def hidden(n, seed):
    """Calibrated over all rows at every f, wrong by 0.2 in either half."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.3, 0.7, n)
    over = rng.random(n) < 0.5
    y = (rng.random(n) < f + np.where(over, -0.2, 0.2)).astype(float)
    return y, f, np.where(over, "over", "under")


def test_gap_of_hidden_miscalibration():
    y, f, regime = hidden(4000, 0)
    found = measure_gap(y, f, regime, n_draws=100)
    assert found.value == pytest.approx(max(found.slices.values()) - smece(y, f), abs=1e-9)
    assert found.interval[0] < found.value < found.interval[1]
    assert 0.12 < found.interval[0] < found.interval[1] < 0.25
    assert found.p_value == pytest.approx(1 / 101)
    assert found.floor < 0.03


def test_gap_slices_equal_smece_of_their_rows():
    y, f, regime = hidden(300, 1)
    weight = np.random.default_rng(0).exponential(size=300)
    found = worst_slice_gap(y, f, regime, sample_weight=weight)
    for name, value in found.slices.items():
        rows = regime == name
        assert value == pytest.approx(smece(y[rows], f[rows], sample_weight=weight[rows]), abs=1e-9)
    assert found.slices[found.worst] == max(found.slices.values())


def test_small_slices_do_not_count():
    y, f, regime = hidden(300, 2)
    regime = np.where(np.arange(300) < 29, "over", np.where(regime == "under", "under", "good"))
    assert worst_slice_gap(y, f, regime).worst == "under"
    nothing = measure_gap(y, f, np.full(300, None))
    assert (nothing.value, nothing.interval, nothing.floor, nothing.p_value, nothing.worst) == (None,) * 5
    assert nothing.smece == pytest.approx(smece(y, f))


def test_gap_p_values_are_uniform_for_a_calibrated_model():
    from scipy import stats

    p = []
    for seed in range(100):
        y, f = calibrated(150, seed)
        regime = np.random.default_rng(seed).choice(["over", "under", "good"], 150)
        regime[:60] = np.repeat(["over", "under"], 30)
        null = gap_null(f, regime, n_draws=39, random_state=seed)
        p.append(p_value_of(null, worst_slice_gap(y, f, regime).value))
    assert stats.kstest(p, "uniform").pvalue > 0.01


# --- all together, and what is refused ----------------------------------------------------------------------------


def test_global_scores_hold_the_single_ones():
    y, f = calibrated(400, 3)
    found = global_scores(y, f, n_draws=50)
    assert found.accuracy.value == pytest.approx(y.mean())
    assert found.confidence.value == pytest.approx(f.mean())
    assert found.smece.value == pytest.approx(smece(y, f), abs=1e-9)
    assert found.ece.value == pytest.approx(ece(y, f), abs=1e-9)
    assert found.brier.value == pytest.approx(brier(y, f))
    assert found.log_loss.value == pytest.approx(log_loss(y, f))
    for estimate in (found.accuracy, found.confidence, found.brier, found.log_loss):
        assert estimate.interval[0] < estimate.value < estimate.interval[1]


FUNCTIONS = [
    brier,
    log_loss,
    ece,
    reliability_curve,
    mean_residual,
    smece_bootstrap,
    smece_p_value,
    smece_interval,
    measure_smece,
    measure_ece,
    global_scores,
    lambda y, f: worst_slice_gap(y, f, ["over"] * len(f)),
    lambda y, f: measure_gap(y, f, ["over"] * len(f)),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("y", "f"),
    [
        ([], []),
        ([1], [0.5, 0.5]),
        ([0, 1], [0.5, np.nan]),
        ([0, 2], [0.5, 0.5]),
        ([0, 1], [50, 90]),
        ([0, 1], [0.5, -1]),
    ],
)
def test_bad_input_is_refused(function, y, f):
    with pytest.raises(InputError):
        function(y, f)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ece([0, 1], [0.5, 0.5], n_bins=0),
        lambda: ece([0, 1], [0.5, 0.5], n_bins=2.5),
        lambda: ece([0, 1], [0.5, 0.5], strategy="equal"),
        lambda: reliability_curve([0, 1], [0.5, 0.5], strategy="equal"),
        lambda: paired_difference([0.1], [0.1, 0.2]),
        lambda: mean_interval([]),
        lambda: mean_interval([0.1, np.inf]),
        lambda: mean_interval(["a"]),
        lambda: worst_slice_gap([0, 1], [0.5, 0.5], ["over"]),
        lambda: worst_slice_gap([0, 1], [0.5, 0.5], ["over", "over"], min_rows=0),
        lambda: smece_floor([]),
        lambda: smece_floor([1.5, 0.2]),
    ],
)
def test_bad_options_are_refused(call):
    with pytest.raises(InputError):
        call()


# --- coverage -----------------------------------------------------------------------------------------------------

WORLDS = {
    "over": (lambda rng, n: rng.random(n), lambda f: 0.5 + 0.6 * (f - 0.5)),
    "alternating": (lambda rng, n: rng.random(n), lambda f: np.clip(f + 0.05 * np.sign(np.sin(8 * np.pi * f)), 0, 1)),
    "shifted": (lambda rng, n: rng.random(n), lambda f: np.clip(f - 0.03, 0, 1)),
    "wave": (lambda rng, n: rng.random(n), lambda f: np.clip(f + 0.1 * np.sin(4 * np.pi * f), 0, 1)),
    "saturated": (lambda rng, n: 0.9 + 0.1 * rng.random(n), lambda f: np.full(len(f), 0.6)),
    "skewed": (lambda rng, n: rng.beta(6, 1.5, n), lambda f: np.clip(f - 0.25 * (f - 0.5) * (f > 0.5), 0, 1)),
    "calibrated": (lambda rng, n: rng.random(n), lambda f: f),
}


def coverage(name, n, n_simulations):
    """Shares of intervals that hold the true error, and that exclude 0; mean length."""
    sample, chance = WORLDS[name]
    f = sample(np.random.default_rng(99), 2_000_000)
    truth = smece_of_residuals(f, (chance(f) - f) / len(f))
    rng, found = np.random.default_rng(n), []
    for seed in range(n_simulations):
        f = sample(rng, n)
        low, high = smece_interval(rng.random(n) < chance(f), f, random_state=seed)
        found.append((low - 1e-6 <= truth <= high + 1e-6, low > 0, high - low))
    return truth, *np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize("name", list(WORLDS))
def test_intervals_cover(name, n):
    """At a true coverage of 0.95 fewer than 0.90 of 100 come up once in 90 runs; the seeds are fixed."""
    truth, covered, excluded, length = coverage(name, n, 100)
    print(f"{name:12s} n={n:5d} true {truth:.4f} covered {covered:.3f} excludes 0 {excluded:.2f} length {length:.4f}")
    assert covered >= 0.90
    if name == "calibrated":
        assert excluded <= 0.07
