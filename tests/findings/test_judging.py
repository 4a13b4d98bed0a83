"""Regions are judged by their residual, its visible and its hidden part; an error of E[y | f] confirms nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.estimators.estimate import regimes_of
from miscal.evidence.conditional import outcome_given_confidence, strata
from miscal.findings import judge_regimes
from miscal.findings.judging import Confirmed, _shuffled, hidden_residual, judge
from miscal.findings.residuals import proportion_residual


def world(seed, n=300):
    rng = np.random.default_rng(seed)
    f = rng.choice([0.6, 0.8, 0.95], n)
    return (rng.random(n) < f).astype(float), f, np.clip(f + rng.normal(scale=0.05, size=n), 0, 1), rng


@given(st.integers(0, 2**32 - 1))
def test_the_residual_is_the_sum_of_its_parts_and_the_order_of_rows_is_irrelevant(seed):
    y, f, expected, rng = world(seed)
    regime = rng.choice(np.array(["over", "good", "under", None], dtype=object), len(y))
    order = rng.permutation(len(y))
    found = judge_regimes(LabelledRows(y, f, expected), regime)
    again = judge_regimes(LabelledRows(y[order], f[order], expected[order]), regime[order])
    for name, one in found.items():
        assert one.visible.value + one.hidden.value == pytest.approx(one.residual.value)
        assert one.hidden.p_value == pytest.approx(again[name].hidden.p_value)
        for part in (one.residual, one.visible, one.hidden):
            assert part.interval[0] <= part.value <= part.interval[1]
            assert 0 < part.p_value <= 1
    assert found["good"].confirmed == Confirmed()


@given(st.integers(0, 2**32 - 1))
def test_whole_strata_tell_nothing_of_what_is_hidden(seed):
    """A region that is all rows of some confidences is the reliability diagram: nothing of it can be hidden."""
    y, f, expected, _ = world(seed)
    [judged] = judge(LabelledRows(y, f, expected), [f == 0.8], [1])
    assert judged.hidden.p_value == 1.0


@given(st.integers(0, 2**32 - 1), st.floats(-0.1, 0.1))
def test_a_shift_of_the_expected_rate_moves_no_p_value_down(seed, shift):
    y, f, _, rng = world(seed)
    rows, stratum = rng.random(len(y)) < 0.3, strata(f)
    _, shuffled = _shuffled(LabelledRows(y, y, np.full(len(y), 0.5)), rows, stratum)
    other = hidden_residual(LabelledRows(y, y, np.full(len(y), 0.5 + shift)), rows, stratum)
    assert other.p_value >= shuffled * (1 - 1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.98), st.floats(-1.5, 1.5))
def test_an_interval_excludes_zero_exactly_where_the_p_value_is_small(seed, share, shift):
    y, f, expected, rng = world(seed)
    rows = rng.random(len(y)) < share
    y = np.where(rows, rng.random(len(y)) < 1 / (1 + np.exp(-np.log(f / (1 - f)) - shift)), y).astype(float)
    [one] = judge(LabelledRows(y, f, expected), [rows], [1])
    for part in (one.residual, one.hidden):
        if part.p_value is not None:
            assert (part.p_value <= 0.05) == (part.interval[0] > 0 or part.interval[1] < 0)


def test_a_p_value_is_adjusted_among_regions_that_claim_something():
    y, f, expected, rng = world(0)
    regions = [rng.random(300) < 0.2 for _ in range(3)]
    claimed = judge(LabelledRows(y, f, expected), regions, [-1, 1, 1])
    some = judge(LabelledRows(y, f, expected), regions, [-1, 0, 0])
    assert all(one.p_values["hidden"] >= one.hidden.p_value for one in claimed)
    assert some[0].p_values["total"] == pytest.approx(some[0].residual.p_value)
    assert set(some[1].p_values.values()) == {1.0}


@given(st.integers(1, 60), st.data())
def test_a_share_of_whole_rows_is_tested_as_their_number(n, data):
    hits, q = data.draw(st.integers(0, n)), data.draw(st.floats(0.01, 0.99))
    found = proportion_residual(hits / n, n, q)
    one_sided = [binomtest(hits, n, q, alternative=side).pvalue for side in ("less", "greater")]
    assert found.p_value == pytest.approx(min(1.0, 2 * min(one_sided)), abs=1e-9)


def crossfitted(rng, n, folds=5):
    """Outcomes that depend on f alone, and an honest hidden field by ridge regression: noise."""
    x = rng.normal(size=(n, 12))
    f = np.clip(1 / (1 + np.exp(-x[:, 0] - rng.normal(size=n))), 0.02, 0.98)
    y = (rng.random(n) < 0.7 * f).astype(float)
    fold, expected, hidden = rng.integers(0, folds, n), np.empty(n), np.empty(n)
    for k in range(folds):
        inside = fold == k
        other = y[~inside] - outcome_given_confidence(y[~inside], f[~inside], f[~inside])
        expected[inside] = outcome_given_confidence(y[~inside], f[~inside], f[inside])
        moments = x[~inside].T @ x[~inside] + 50 * np.eye(12)
        hidden[inside] = x[inside] @ np.linalg.solve(moments, x[~inside].T @ other)
    return y, f, expected, hidden


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1_000])
def test_regimes_of_crossfitted_fields_are_confirmed_in_one_draw_of_twenty_at_most(n):
    rng, false, draws = np.random.default_rng(n), 0, 300
    for _ in range(draws):
        y, f, expected, hidden = crossfitted(rng, n)
        regimes = judge_regimes(LabelledRows(y, f, expected), regimes_of(hidden, 0.02)).values()
        false += any(one.confirmed.hidden for one in regimes)
    assert false / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
