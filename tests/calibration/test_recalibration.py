"""Observed over expected, calibration intercept and slope: equal to what others compute, and laws that they obey."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import t as student

from miscal.calibration.labelled_rows import labelled
from miscal.calibration.metrics.scores import calibration_intercept, calibration_slope, observed_expected

ALL = (observed_expected, calibration_intercept, calibration_slope)


def drawn(n=400, seed=0, group=None, weight=None, a=0.3, b=0.8):
    """Rows whose log-odds are a + b logit f."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1, 1.2, n)
    f, y = expit(odds), (rng.random(n) < expit(a + b * odds)).astype(float)
    return labelled(y, f, group, weight)


def numbers(rows):
    return [(one.value, *one.interval, one.p_value) for one in (estimate(rows) for estimate in ALL)]


# y = 1 in rows 0, 3, 6, ... of probabilities that rise evenly; glm of statsmodels 0.15.0 with family Binomial and, for
# the intercept, offset=logit(f); in `weighted`, freq_weights 1, 2, 1, 2, ...
STATSMODELS = {
    "plain": (-0.177648942873, 0.520996987443),
    "weighted": (-0.169092190734, 0.547885183499),
}


@pytest.mark.parametrize("name", STATSMODELS)
def test_coefficients_are_those_of_statsmodels(name):
    n = 120
    f = np.linspace(0.05, 0.9, n)
    y = ((np.arange(n) % 3 == 0) | (np.arange(n) > 100)).astype(float)
    rows = labelled(y, f, None, None if name == "plain" else 1.0 + np.arange(n) % 2)
    found = [estimate(rows).value for estimate in ALL[1:]]
    np.testing.assert_allclose(found, STATSMODELS[name], atol=1e-7)


def likelihood(theta, rows, offset):
    """Weighted negative log-likelihood of logit P = offset + design theta."""
    z = offset + theta[0] + (theta[1] * logit(rows.confidence) if len(theta) > 1 else 0.0)
    return float(rows.shares @ (np.logaddexp(0, z) - rows.correct * z))


@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_minimise_the_likelihood(weighted):
    weight = np.random.default_rng(1).uniform(0.2, 3, 400) if weighted else None
    rows = drawn(weight=weight)
    exact = {"method": "Nelder-Mead", "options": {"xatol": 1e-9, "fatol": 1e-14}}
    intercept = minimize(likelihood, [0.0], (rows, logit(rows.confidence)), **exact).x
    slope = minimize(likelihood, [0.0, 1.0], (rows, 0.0), **exact).x
    assert calibration_intercept(rows).value == pytest.approx(intercept[0], abs=1e-6)
    assert calibration_slope(rows).value == pytest.approx(slope[1], abs=1e-6)


def jackknifed(rows, estimate):
    """Student's interval by the variance of the unit influences, each put together from matrices as written down."""
    odds = logit(rows.confidence)
    unit = np.arange(len(rows)) if rows.group is None else rows.group
    many, share = int(unit.max()) + 1, rows.shares
    ends = np.bincount(unit, share)
    worth = 1 / float(ends @ ends)
    if estimate is observed_expected:
        expected = share @ rows.confidence
        value = share @ rows.correct / expected
        parts = np.bincount(unit, share * (rows.correct - value * rows.confidence)) / expected / value
        parts /= 1 - np.bincount(unit, share * rows.confidence) / expected
        parts -= ends * parts.sum()
        value, squares = np.log(value), parts @ parts
    else:
        design = np.ones((len(rows), 1)) if estimate is calibration_intercept else np.column_stack([odds, 0 * odds + 1])
        offset = odds if estimate is calibration_intercept else 0 * odds
        start = np.zeros(design.shape[1])
        value = minimize(
            lambda theta: share @ (np.logaddexp(0, offset + design @ theta) - rows.correct * (offset + design @ theta)),
            start,
            jac=lambda theta: design.T @ (share * (expit(offset + design @ theta) - rows.correct)),
            method="BFGS",
            options={"gtol": 1e-12},
        ).x
        rate = expit(offset + design @ value)
        bread = np.linalg.inv(design.T @ np.diag(share * rate * (1 - rate)) @ design)
        parts = []
        for k in range(many):
            own = design[unit == k]
            spread = (rate * (1 - rate))[unit == k]
            hat = np.diag(spread) @ own @ bread @ own.T @ np.diag(share[unit == k])
            left = np.linalg.solve(np.eye(len(own)) - hat, (rows.correct - rate)[unit == k])
            parts.append((bread @ own.T @ (share[unit == k] * left))[0])
        parts = np.array(parts) - ends * np.sum(parts)
        value, squares = value[0], parts @ parts
    half = student.ppf(0.975, worth - 1) * np.sqrt(squares * worth / (worth - 1)) * rows.factor
    found = np.array([value - half, value + half])
    return np.exp(found) if estimate is observed_expected else found


@pytest.mark.parametrize("estimate", ALL)
@pytest.mark.parametrize("by", ["rows", "units", "weights"])
def test_intervals_are_those_of_matrices_written_down(estimate, by):
    rng = np.random.default_rng(2)
    group = None if by == "rows" else rng.integers(0, 40, 400)
    rows = drawn(group=group, weight=rng.uniform(0.5, 2, 400) if by == "weights" else None)
    np.testing.assert_allclose(estimate(rows).interval, jackknifed(rows, estimate), atol=1e-5)


@given(st.integers(0, 1000))
def test_a_repeated_row_of_a_unit_counts_as_weight_two(seed):
    rng = np.random.default_rng(seed)
    group, twice = np.arange(120) // 3, rng.random(120) < 0.3
    rows = drawn(120, seed)
    once = labelled(rows.correct, rows.confidence, group, 1.0 + twice)
    more = np.r_[np.arange(120), np.flatnonzero(twice)]
    again = labelled(rows.correct[more], rows.confidence[more], group[more], None)
    np.testing.assert_allclose(numbers(once), numbers(again), atol=1e-8)


@given(st.integers(0, 1000))
def test_the_other_outcome_is_the_mirror(seed):
    rows = drawn(150, seed, group=np.arange(150) // 2)
    other = labelled(1 - rows.correct, 1 - rows.confidence, rows.group, None)
    one, two = calibration_intercept(rows), calibration_intercept(other)
    np.testing.assert_allclose([one.value, *one.interval], [-two.value, -two.interval[1], -two.interval[0]], atol=1e-8)
    one, two = calibration_slope(rows), calibration_slope(other)
    np.testing.assert_allclose([one.value, *one.interval], [two.value, *two.interval], atol=1e-8)
    ratio = (1 - rows.correct.mean()) / (1 - rows.confidence.mean())
    assert observed_expected(other).value == pytest.approx(ratio)


@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    rows = drawn(150, seed, group=rng.integers(0, 30, 150), weight=rng.uniform(0.5, 2, 150))
    np.testing.assert_allclose(numbers(rows), numbers(rows.take(rng.permutation(150))), atol=1e-9)


def test_units_of_one_row_are_rows():
    rows = drawn()
    by_units = labelled(rows.correct, rows.confidence, np.arange(len(rows)), None)
    np.testing.assert_allclose(numbers(rows), numbers(by_units), atol=1e-12)


def test_what_is_not_defined_has_no_number():
    f = np.array([0.1, 0.2, 0.6, 0.7])
    apart, alike = np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4)
    assert calibration_slope(labelled(apart, f, None, None)) is None
    assert calibration_slope(labelled(1 - apart, f, None, None)) is None
    assert calibration_slope(labelled(apart, np.full(4, 0.3), None, None)) is None
    assert calibration_intercept(labelled(alike, f, None, None)) is None
    assert observed_expected(labelled(apart, np.zeros(4), None, None)) is None


def test_no_event_is_no_certainty():
    found = observed_expected(labelled(np.zeros(100), np.full(100, 0.05), None, None))
    assert (found.value, found.interval, found.p_value) == (0, None, None)


def test_probabilities_of_zero_and_one_are_taken_within_the_others():
    f = np.array([0.0, 0.02, 0.3, 0.5, 0.7, 1.0] * 20)
    y = np.array([0, 1, 0, 1, 1, 1] * 10 + [0, 0, 1, 0, 1, 0] * 10, float)
    inside = np.clip(f, 1e-4, 1 - 1e-4)
    np.testing.assert_allclose(numbers(labelled(y, f, None, None))[1:], numbers(labelled(y, inside, None, None))[1:])
