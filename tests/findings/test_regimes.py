"""Laws of the cut, the exact test of a slice, and Holm's adjustment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest

from miscal.estimators.registry import regimes_of
from miscal.findings.residuals import EPSILON, binomial_residual, holm

FIELD = arrays(float, st.integers(1, 40), elements=st.floats(-1, 1))


@given(FIELD, st.floats(0, 0.9))
def test_a_regime_is_the_sign_of_a_field_that_is_large_enough(delta, epsilon):
    regime = regimes_of(delta, epsilon)
    np.testing.assert_array_equal(regime == "over", delta < -epsilon)
    np.testing.assert_array_equal(regime == "under", delta > epsilon)
    np.testing.assert_array_equal(regime == "good", np.abs(delta) <= epsilon)


@given(FIELD)
def test_turning_the_field_round_swaps_over_and_under(delta):
    swap = {"over": "under", "under": "over", "good": "good"}
    assert regimes_of(-delta, EPSILON).tolist() == [swap[name] for name in regimes_of(delta, EPSILON)]


def test_a_row_without_support_has_no_regime():
    regime = regimes_of(np.array([-0.3, 0.3, 0.0]), EPSILON, np.array([False, True, False]))
    assert regime.tolist() == [None, "under", None]


def test_the_border_is_well_calibrated_in_double_precision():
    assert regimes_of(np.array([-0.05, 0.05, np.nextafter(0.05, 1)]), EPSILON).tolist() == ["good", "good", "under"]


@given(st.integers(1, 60), st.floats(0, 1), st.data())
def test_the_residual_agrees_with_the_binomial_test_of_scipy(n, confidence, data):
    hits = data.draw(st.integers(0, n))
    result = binomial_residual(np.arange(n) < hits, np.full(n, confidence))
    interval = binomtest(hits, n).proportion_ci(method="exact")
    assert result.value == pytest.approx(hits / n - confidence, abs=1e-12)
    np.testing.assert_allclose(result.interval, [interval.low - confidence, interval.high - confidence], atol=1e-9)
    q = float(np.mean(np.full(n, confidence)))
    one_sided = [binomtest(hits, n, q, alternative=side).pvalue for side in ("less", "greater")]
    assert result.p_value == pytest.approx(min(1.0, 2 * min(one_sided)), abs=1e-9)


def test_right_answers_of_a_sure_model_prove_nothing():
    """A t-test would see ten equal residuals, no spread, and p = 0."""
    assert binomial_residual(np.ones(10), np.full(10, 0.95)).p_value > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 30, 300])
@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_the_level_holds_when_errors_cancel_inside_the_slice(n, spread):
    """Half of the slice is over-confident, half under: the mean of delta is zero though no row is calibrated."""
    rng = np.random.default_rng(n)
    f = rng.beta(0.5 / spread, 0.5 / spread, n) * 0.8 + 0.1
    shift = np.minimum(0.1, np.minimum(f, 1 - f))
    if n % 2:
        f, shift = f[:-1], shift[:-1]
    half = len(f) // 2
    f = np.r_[f[:half], f[:half]]
    delta = np.r_[shift[:half], -shift[:half]]
    rejected = [binomial_residual(rng.random(len(f)) < f + delta, f).p_value <= 0.05 for _ in range(2000)]
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@given(arrays(float, st.integers(0, 20), elements=st.floats(0, 1)))
def test_holm_adjusts_upwards_and_keeps_the_order(p):
    adjusted = holm(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= 1)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)
    if len(p):
        assert adjusted.min() == pytest.approx(min(1.0, len(p) * p.min()))
