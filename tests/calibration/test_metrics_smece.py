"""smECE against dense quadrature, and laws of it and of the smooth reliability curve, whose band holds the truth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from miscal.calibration.labelled_rows import check_rows, weighted_residuals
from miscal.calibration.metrics import smooth
from miscal.calibration.metrics.curve import smooth_reliability_curve
from miscal.calibration.metrics.smooth import (
    SMALLEST_SIGMA,
    bin_residuals,
    cells_needed,
    cosine_moments,
    smece,
    smece_of_residuals,
    smoothed,
)


def smece_at(y, f, sigma, weight=None):
    """smECE_sigma as the library evaluates it."""
    nodes = bin_residuals(*weighted_residuals(check_rows(y, f, weight)), cells_needed(sigma))
    return float(smoothed(cosine_moments(nodes[None]), np.array([sigma]))[0][0])


def dense_at(f, value, sigma):
    """smECE_sigma by midpoint quadrature; mirror images for narrow kernels, cosines for wide ones."""
    n_points = int(min(100_000, max(3000, 100 / sigma)))
    t = (np.arange(n_points) + 0.5) / n_points
    place, inverse = np.unique(f, return_inverse=True)
    mass = np.bincount(inverse, value)
    if sigma > 0.2:
        k = np.arange(1, int(9 / (math.pi * sigma)) + 3)
        moments = np.cos(math.pi * np.outer(k, place)) @ mass
        g = mass.sum() + 2 * (moments * np.exp(-((math.pi * k * sigma) ** 2) / 2)) @ np.cos(math.pi * np.outer(k, t))
        return np.abs(g).mean()
    g = np.zeros(n_points)
    half = 9 * sigma
    for image in (place, -place, 2 - place):
        for centre, m in zip(image, mass, strict=True):
            a, b = np.searchsorted(t, [centre - half, centre + half])
            g[a:b] += m * np.exp(-((t[a:b] - centre) ** 2) / (2 * sigma**2))
    return np.abs(g).mean() / (sigma * math.sqrt(2 * math.pi))


def dense(f, value):
    low, high = abs(value.sum()), np.abs(value).sum()
    if high - low < 1e-9:
        return high
    return brentq(lambda sigma: dense_at(f, value, sigma) - sigma, max(low - 1e-9, 1e-4), high + 1e-9, xtol=1e-8)


def case(number):
    """One of eight kinds of data, of varied size."""
    rng = np.random.default_rng(number)
    n = int(rng.choice([1, 2, 5, 20, 20, 100, 400, 1500]))
    f = rng.random(n)
    kind = number % 8
    if kind == 0:
        p = f
    elif kind == 1:
        p = 1 - f  # inverted
    elif kind == 2:
        f, p = np.round(f, 1), 0.5 + 0.6 * (f - 0.5)
    elif kind == 3:
        f = (f < 0.5).astype(float)
        p = np.where(rng.random(n) < 0.2, f, 1 - f)  # f in {0, 1}, mostly inverted
    elif kind == 4:
        p = np.full(n, float(rng.integers(2)))  # one class
    elif kind == 5:
        f, p = np.full(n, f[0]), np.full(n, 0.5)  # constant f
    elif kind == 6:
        f = rng.beta(8, 0.5, n)
        p = np.clip(f - 0.1, 0, 1)
    else:
        p = np.clip(f + 0.2 * np.sin(6 * math.pi * f), 0, 1)
    y = (rng.random(n) < p).astype(float)
    weight = rng.exponential(size=n) if number % 3 == 0 else np.ones(n)
    return y, f, weight / weight.sum()


@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))])
def test_dense_quadrature_of_200_cases(block):
    for number in range(20 * block, 20 * block + 20):
        y, f, weight = case(number)
        assert smece(y, f, sample_weight=weight) == pytest.approx(dense(f, weight * (y - f)), abs=1e-5), number


@pytest.mark.parametrize("sigma", [0.003, 0.02, 0.1, 0.3, 0.7, 2.0])
def test_fixed_bandwidth(sigma):
    for number in range(0, 40, 5):
        y, f, weight = case(number)
        expected = dense_at(f, weight * (y - f), sigma)
        assert smece_at(y, f, sigma, weight) == pytest.approx(expected, abs=3e-6 + 2e-4 * expected)


@pytest.mark.parametrize("n", [100, 1000, 10_000])
def test_small_values_are_resolved(n):
    """Residuals that alternate at every point have an error far below what any fixed number of modes resolves."""
    f = np.arange(n + 1) / n
    value = np.where(np.arange(n + 1) % 2 == 0, 1, -1) * 0.5 / n
    value[[0, -1]] /= 2  # its own mirror image: g = cos(pi n t) exp(-(pi n sigma)^2 / 2) but for overtones
    expected = brentq(lambda s: 2 / math.pi * math.exp(-((math.pi * n * s) ** 2) / 2) - s, 1e-8, 0.1)
    assert smece_of_residuals(f, value) == pytest.approx(expected, abs=1e-5)


def test_resolution_follows_the_estimate():
    """A million calibrated rows: distinct samples have distinct errors, all well below 0.004."""
    values = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        f = rng.random(1_000_000)
        values.append(smece(rng.random(len(f)) < f, f))
    assert len(set(np.round(values, 7))) == 3
    assert all(0.002 < value < 0.004 for value in values)


def test_one_sign_is_the_mean_residual():
    rng = np.random.default_rng(0)
    f = rng.random(500)
    assert smece(np.zeros(500), f) == pytest.approx(f.mean(), abs=1e-12)
    assert smece(np.ones(500), f) == pytest.approx(1 - f.mean(), abs=1e-12)
    assert smece([0, 1, 1, 1], [0.5] * 4) == pytest.approx(0.25, abs=1e-6)
    assert smece([0, 1], [0.0, 1.0]) == 0.0


def test_two_opposite_mistakes_in_a_million():
    f = np.repeat([0.0, 1.0], 500_000)
    y = f.copy()
    y[[0, -1]] = 1 - y[[0, -1]]
    assert 0 < smece(y, f) <= 2e-6


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.floats(1e-4, 0.5))
def test_trial_and_value_have_proposal_and_root_between_them(number, trial):
    y, f, weight = case(number)
    value = weight * (y - f)
    moments = cosine_moments(bin_residuals(f, value, 1 << 15)[None])
    x = np.array([trial])
    s, derivative = smoothed(moments, x)
    s = np.maximum(s, 1e-10)
    low, high = min(x, s) - 1e-5, max(x, s) + 1e-5
    assert low <= smooth._power_law_step(x, s, derivative) <= high
    assert low <= smece_of_residuals(f, value) <= high


def test_the_search_takes_few_trials(monkeypatch):
    trials = []
    monkeypatch.setattr(smooth, "smoothed", lambda m, x, *error: trials.append(len(x)) or smoothed(m, x, *error))
    searches = []
    for number in range(200):
        y, f, weight = case(number)
        before = len(trials)
        smece(y, f, sample_weight=weight)
        searches.append(len(trials) - before)
    assert sum(searches) > 0
    assert np.mean(searches) < 5
    assert max(searches) <= 25


# --- laws ---------------------------------------------------------------------------------------------------------

rows = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0, 1, allow_subnormal=False), st.integers(0, 3)), min_size=1, max_size=40
).filter(lambda r: any(w for _, _, w in r))


def arrays(data):
    y, f, w = (np.array(v, dtype=float) for v in zip(*data, strict=True))
    return y, f, w


@given(rows)
def test_between_mean_and_mean_absolute_residual(data):
    y, f, w = arrays(data)
    residual, w = y - f, w / w.sum()
    assert abs(w @ residual) - 1e-9 <= smece(y, f, sample_weight=w) <= w @ np.abs(residual) + 1e-9


@given(rows)
def test_weights_are_repetitions(data):
    y, f, w = arrays(data)
    times = w.astype(int)
    assert smece(y, f, sample_weight=w) == pytest.approx(smece(np.repeat(y, times), np.repeat(f, times)), abs=5e-6)


@given(rows)
def test_reflection(data):
    y, f, w = arrays(data)
    assert smece(1 - y, 1 - f, sample_weight=w) == pytest.approx(smece(y, f, sample_weight=w), abs=5e-6)


@given(rows, st.floats(1e-3, 2), st.floats(1e-3, 2))
def test_monotone_in_sigma(data, a, b):
    y, f, _ = arrays(data)
    low, high = sorted((a, b))
    assert smece_at(y, f, high) <= smece_at(y, f, low) * (1 + 1e-3) + 2e-6


@given(rows)
def test_the_value_is_the_fixed_point(data):
    y, f, _ = arrays(data)
    value = smece(y, f)
    if value > 1e-3:
        assert smece_at(y, f, value) == pytest.approx(value, rel=1e-3, abs=2e-5)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=30),
    st.sampled_from([1, 8, 512]),
)
def test_binning_keeps_sum_and_first_moment(points, n_cells):
    location, value = np.array(points).T
    nodes = bin_residuals(location, value, n_cells)
    place = np.arange(n_cells + 1) / n_cells
    assert nodes.sum() == pytest.approx(value.sum(), abs=1e-9)
    assert nodes @ place == pytest.approx(value @ location, abs=1e-9)


def test_smaller_errors_need_more_cells():
    needed = [cells_needed(s) for s in (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-9)]
    assert needed == sorted(needed)
    assert needed[-1] == cells_needed(SMALLEST_SIGMA)


@given(st.integers(0, 10**6))
def test_relplot_agrees_where_its_kernel_is_whole(seed):
    relplot = pytest.importorskip("relplot")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(100, 3000))
    f = rng.beta(*rng.uniform(0.5, 4, 2), n)
    p = np.clip(f + rng.uniform(-0.15, 0.15) * np.sin(rng.uniform(1, 12) * f), 0, 1)
    y = (rng.random(n) < p).astype(float)
    ours = smece(y, f)
    if ours < 0.15:
        assert ours == pytest.approx(relplot.smECE(f, y), abs=2e-3)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_derivative_by_bandwidth_is_that_of_the_error(seed):
    rng = np.random.default_rng(seed)
    f = rng.random(3_000)
    y = rng.random(3_000) < np.clip(f + 0.2 * np.sin(8 * f), 0, 1)
    moments = cosine_moments(bin_residuals(f, (y - f) / len(f), 4096)[None])
    sigma, step = np.array([0.03]), 3e-4
    (below, _), (_, derivative), (above, _) = (smoothed(moments, sigma + move) for move in (-step, 0, step))
    assert derivative[0] <= 0
    assert derivative == pytest.approx((above - below) / (2 * step), rel=0.05, abs=1e-3)


def test_arguments_are_left_as_they_are():
    y, f = np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.4, 1 + 1e-9])
    kept = y.copy(), f.copy()
    for weight in (None, np.array([1.0, 2.0, 3.0])):
        smece(y, f, sample_weight=weight)
    y.setflags(write=False)
    smece(y, f)
    np.testing.assert_array_equal((y, f), kept)


CHECKED = ("confidence", "accuracy", "low", "high")


def curve(y, p, **options):
    return smooth_reliability_curve(y, p, n_draws=50, **options)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
@settings(max_examples=25)
def test_the_curve_lies_within_its_band_and_counts_every_row(seed, n):
    rng = np.random.default_rng(seed)
    p, y = rng.random(n).round(2), rng.integers(0, 2, n)
    found = curve(y, p)
    assert (found.low <= found.accuracy).all()
    assert (found.accuracy <= found.high).all()
    assert found.low.min() >= 0
    assert found.high.max() <= 1
    assert found.counts.sum() == found.n == n
    assert (found.confidence[0], found.confidence[-1]) == (p.min(), p.max())


def test_neither_order_nor_weights_of_zero_change_it_and_a_weight_of_two_is_a_row_repeated():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y, order = rng.random(300) < p, rng.permutation(300)
    one, other = curve(y, p), curve(y[order], p[order])
    weighted = curve(np.r_[y, 1 - y], np.r_[p, p], sample_weight=np.r_[np.ones(300), np.zeros(300)])
    for name in CHECKED:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)
        np.testing.assert_allclose(getattr(one, name), getattr(weighted, name), atol=1e-12)
    repeated = curve(np.r_[y, y[:90]], np.r_[p, p[:90]])
    counted = curve(y, p, sample_weight=np.where(np.arange(300) < 90, 2.0, 1.0))
    # cells are finer for more rows, so that the two agree up to their width
    np.testing.assert_allclose(counted.accuracy, repeated.accuracy, atol=0.02)


def test_its_bandwidth_is_smece_but_for_bounds():
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    y = rng.random(2000) < p**1.3
    assert curve(y, p).bandwidth == pytest.approx(smece(y, p), abs=1e-4)
    assert curve([0, 1], [0.5, 0.5]).bandwidth > 0
    assert curve([0] * 9, [1.0] * 9).bandwidth < 1


def test_rates_on_a_straight_line_are_drawn_as_one():
    p = np.repeat(np.linspace(0.1, 0.9, 81), 1000)
    y = (np.tile(np.arange(1000), 81) < 1000 * (0.6 - 0.3 * p)).astype(int)
    found = curve(y, p)
    np.testing.assert_allclose(found.accuracy, 0.6 - 0.3 * found.confidence, atol=0.003)


def test_the_band_holds_the_truth_at_most_points():
    rng = np.random.default_rng(2)
    p = rng.random(4000)
    found = curve(rng.random(4000) < p**2, p)
    inside = (found.low - 0.02 <= found.confidence**2) & (found.confidence**2 <= found.high + 0.02)
    assert inside.mean() > 0.9
