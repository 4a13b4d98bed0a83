"""The smooth reliability curve: laws of its values, and that its band holds the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.calibration.metrics.curve import smooth_reliability_curve
from miscal.calibration.metrics.smooth import smece

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
