"""Floors, p-values and intervals of calibration errors; the worst-slice gap."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import check_rows
from miscal.calibration.metrics import gap
from miscal.calibration.metrics.confidence_cells import merge, simulate, smece_statistic
from miscal.calibration.metrics.gap import measure_gap, worst_slice
from miscal.calibration.metrics.inference import (
    INTERVAL_DRAWS,
    measure_ece,
    measure_smece,
    null_draws,
    p_value_of,
    smece_ends,
)
from miscal.calibration.metrics.smooth import smece, smece_of_residuals
from miscal.evidence.stability import slice_bootstrap

from .test_metrics_scores import calibrated

# --- floor, p-value, interval -------------------------------------------------------------------------------------


def smece_interval(y, f, n_draws=INTERVAL_DRAWS, random_state=0):
    return smece_ends(check_rows(y, f), n_draws, random_state)


def smece_bootstrap(y, f, n_draws, random_state=0):
    """SmECE of rows drawn with replacement."""
    cells = merge(check_rows(y, f))
    rng = np.random.default_rng(random_state)
    return simulate(cells, None, smece_statistic(cells), n_draws, rng, resample=True)


def smece_null(f, n_draws, seed=0):
    """SmECE of draws y* ~ Bernoulli(f)."""
    cells = merge(check_rows(np.zeros(len(f)), f))
    return null_draws(cells, smece_statistic(cells), n_draws, seed)


def test_floor_follows_the_cube_root():
    for n, expected in ((100, 0.066), (1000, 0.0305), (10_000, 0.01416)):
        floor = smece_null(np.random.default_rng(n).random(n), n_draws=200).mean()
        assert floor == pytest.approx(expected, rel=0.05)


def test_p_values_are_uniform_for_a_calibrated_model():
    from scipy import stats

    p = []
    for seed in range(200):
        y, f = calibrated(200, seed)
        p.append(p_value_of(smece_null(f, 39, seed), smece(y, f)))
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_batched_replicates_equal_the_loop_with_the_same_weights():
    for n in (50, 1000, 20_000):
        y, f = calibrated(n, n)
        cells = merge(check_rows(y, f))
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


@pytest.mark.parametrize(
    ("y", "f", "lows", "highs"),
    [
        # the error seen is 0, the true one may well be 0.2
        ([1, 0] * 10, 0.5, (0, 0), (0.2, 0.45)),
        # no failure in thirty does not prove that there are none
        ([1] * 30, 1.0, (0, 0), (0.05, 0.2)),
        ([0, 0], 0.9, (0, 0.4), (0.8999, 0.9001)),
        ([0] * 30, 0.9, (0.65, 0.85), (0.8999, 0.9001)),
    ],
)
def test_rows_that_agree_prove_as_much_as_their_number(y, f, lows, highs):
    low, high = smece_interval(y, [f] * len(y))
    assert lows[0] <= low <= lows[1]
    assert highs[0] <= high <= highs[1]


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
    found = worst_slice(y, f, regime, sample_weight=weight)
    for name, value in found.slices.items():
        rows = regime == name
        assert value == pytest.approx(smece(y[rows], f[rows], sample_weight=weight[rows]), abs=1e-9)
    assert found.slices[found.worst] == max(found.slices.values())


@pytest.mark.parametrize("worst", ["over", "under"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_slice_of_all_rows_has_a_gap_of_exactly_0(worst, weighted):
    """Not 1e-17, which counts as a gap above 0."""
    rng = np.random.default_rng(0)
    for n in (40, 77, 301):
        y, f = (rng.random(n) < 0.5).astype(float), rng.random(n)
        regime, weight = np.full(n, worst), rng.exponential(size=n) if weighted else None
        assert worst_slice(y, f, regime, sample_weight=weight).value == 0.0
        found = measure_gap(y, f, regime, sample_weight=weight, n_draws=20)
        assert (found.value, found.interval, found.floor, found.p_value) == (0.0, (0.0, 0.0), 0.0, 1.0)
        drawn = slice_bootstrap(y, f, regime, weights=weight, n_draws=20)
        assert (drawn.gap.low, drawn.gap.mean, drawn.gap.high) == (0.0, 0.0, 0.0)


def test_intervals_known_before_are_those_found_again():
    y, f, regime = off(np.random.default_rng(3), *BELOW_ZERO["over less off"])
    parts = {part: regime == part for part in ("over", "under") if part in regime} | {"all": np.full(len(y), True)}
    known = {part: measure_smece(y[rows], f[rows], random_state=5).interval for part, rows in parts.items()}
    again, reused = (measure_gap(y, f, regime, random_state=5, known=given).interval for given in (None, known))
    assert reused == pytest.approx(again, abs=1e-9)


def test_small_slices_do_not_count():
    y, f, regime = hidden(300, 2)
    regime = np.where(np.arange(300) < 29, "over", np.where(regime == "under", "under", "good"))
    assert worst_slice(y, f, regime).worst == "under"
    nothing = measure_gap(y, f, np.full(300, None))
    assert (nothing.value, nothing.interval, nothing.floor, nothing.p_value, nothing.worst) == (None,) * 5
    assert nothing.smece == pytest.approx(smece(y, f))


@pytest.mark.slow
def test_gap_p_values_are_uniform_for_a_calibrated_model(monkeypatch):
    from scipy import stats

    # the interval takes nearly all of the time and is not asked for here
    monkeypatch.setattr(gap.inference, "invert", lambda *_: (0.0, 0.0))
    p = []
    for seed in range(100):
        y, f = calibrated(150, seed)
        regime = np.random.default_rng(seed).choice(["over", "under", "good"], 150)
        regime[:60] = np.repeat(["over", "under"], 30)
        p.append(measure_gap(y, f, regime, n_draws=39, random_state=seed).p_value)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def off(rng, counts, biases, low=0.45, high=0.55):
    """Rows of the over, the under and no regime that are off by a constant each, in random order."""
    kind = rng.permutation(np.repeat([0, 1, 2], counts))
    f = rng.uniform(low, high, len(kind))
    y = (rng.random(len(kind)) < f + np.array(biases)[kind]).astype(float)
    return y, f, np.array(["over", "under", None], dtype=object)[kind]


def true_gap(counts, biases):
    """A constant residual has smECE of its absolute value, also a mixture if it is the same at every confidence."""
    counts, biases = np.array(counts), np.array(biases)
    return np.abs(biases[:2][counts[:2] > 0]).max() - abs(counts @ biases) / counts.sum()


BELOW_ZERO = {
    "over less off": ((120, 0, 600), (-0.08, 0, -0.4)),
    "under right": ((0, 300, 300), (0, 0.01, 0.4)),
    "nearly all over": ((900, 50, 100), (-0.2, -0.1, -0.45)),
    "both right": ((300, 300, 1400), (0, 0, 0.15)),
}
SLIGHTLY_BELOW = {"slightly": ((80, 80, 240), (-0.06, 0.06, -0.14))}
"""Rows of each regime and of none, and how far they are off."""


@pytest.mark.parametrize("name", list(BELOW_ZERO))
@pytest.mark.parametrize("seed", [0, 1])
def test_a_gap_below_zero_lies_inside_its_interval(name, seed):
    counts, biases = BELOW_ZERO[name]
    found = measure_gap(*off(np.random.default_rng(seed), counts, biases), n_draws=60, random_state=seed)
    low, high = found.interval
    assert -1 <= low < found.value < min(high, 0)
    assert low <= true_gap(counts, biases) <= high


@settings(max_examples=8)
@given(st.tuples(*[st.integers(30, 90)] * 2, st.integers(0, 400)), st.tuples(*[st.floats(-0.4, 0.4)] * 3))
@example((40, 0, 200), (-0.05, 0, -0.4))
def test_no_interval_of_a_gap_is_a_point(counts, biases):
    found = measure_gap(*off(np.random.default_rng(0), counts, biases), n_draws=20)
    low, high = found.interval
    assert -1 <= low < high <= 1
    assert found.value >= -0.05 or low < found.value < high


def off_at_both_ends(rng, n):
    """Slices by the confidence, both off by 0.14, as are all rows: the gap is 0.0026, as found from 200,000 rows."""
    under = rng.random(n) < 0.5
    f = np.where(under, rng.uniform(0.05, 0.25, n), rng.uniform(0.75, 0.95, n))
    y = (rng.random(n) < f + np.where(under, 0.14, -0.14)).astype(float)
    return y, f, np.where(under, "under", "over")


@pytest.mark.whole
def test_intervals_of_gaps_cover_where_all_rows_are_off():
    """The worse of two slices looks worse than all rows, by noise alone."""
    rng, misses = np.random.default_rng(1), 0
    for seed in range(12):
        low, high = measure_gap(*off_at_both_ends(rng, 300), n_draws=60, random_state=seed).interval
        misses += not low <= 0.0026 <= high
    assert misses <= 2


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


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", [*BELOW_ZERO, *SLIGHTLY_BELOW])
def test_intervals_of_gaps_below_zero_cover(name):
    """Combined ends are wider than they need be."""
    counts, biases = (BELOW_ZERO | SLIGHTLY_BELOW)[name]
    truth, rng, covered = true_gap(counts, biases), np.random.default_rng(0), 0
    for seed in range(100):
        low, high = measure_gap(*off(rng, counts, biases), n_draws=100, random_state=seed).interval
        covered += low <= truth <= high
    print(f"{name:16s} true {truth:+.3f} covered {covered}")
    assert covered >= 90
