"""Shifts and slopes of groups that stand out: found in every fold anew, drawn to 0, and saved."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from miscal.base.folders import built, state_of
from miscal.calibration.metrics.scores import log_loss
from miscal.data.triples import InputLayout, Triples
from miscal.estimators.auto.estimator import AutoField
from miscal.estimators.auto.levels import PAIRS, LevelledRows, Term, fit_sparse_effects, shrunk, told_effects


def learned(seed, *, n=3_000, sizes=(4, 20), shift=0.0, slope=1.0):
    """Two columns of levels; one pair of levels is shifted, and one level has a slope of its own."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(size, size=n) for size in sizes])
    level = rng.normal(size=n)
    inside = (codes[:, 0] == 1) & (codes[:, 1] < 4)
    z = level * np.where(codes[:, 0] == 2, slope, 1.0) + shift * (inside & (codes[:, 1] == 3))
    correct = (rng.random(n) < expit(z)).astype(float)
    return LevelledRows(codes, list(sizes), level, correct, level, np.ones(n))


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_flipped_outcomes_have_flipped_effects(seed):
    rows = learned(seed, n=600, shift=-3.0)
    flipped = LevelledRows(rows.codes, rows.sizes, rows.level, 1 - rows.correct, -rows.start, rows.count)
    told = told_effects(fit_sparse_effects(rows), rows.codes, rows.sizes, rows.level)
    again = told_effects(fit_sparse_effects(flipped), rows.codes, rows.sizes, rows.level)
    np.testing.assert_allclose(again, -told, atol=1e-8)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_order_is_irrelevant_and_a_repeated_row_is_weight_2(seed):
    rows = learned(seed, n=600, shift=-3.0)
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 3, 600)
    weighted = LevelledRows(rows.codes, rows.sizes, rows.level, rows.correct, rows.start, count.astype(float))
    repeated = rows.take(rng.permutation(np.repeat(np.arange(600), count)))
    told = told_effects(fit_sparse_effects(weighted), rows.codes, rows.sizes, rows.level)
    again = told_effects(fit_sparse_effects(repeated), rows.codes, rows.sizes, rows.level)
    np.testing.assert_allclose(again, told, atol=1e-8)


def test_a_pair_of_levels_that_is_off_is_found_and_nothing_else():
    rows = learned(0, n=8_000, shift=-1.5)
    found = fit_sparse_effects(rows)
    effects = found[Term((0, 1))].reshape(4, 20)
    assert -2.0 < effects[1, 3] < -1.0
    assert np.abs(np.delete(effects.ravel(), 23)).max() < 0.3


def test_a_level_whose_confidence_says_nothing_gets_a_slope():
    found = fit_sparse_effects(learned(1, slope=0.0))
    slopes = found[Term((0,), slope=True)]
    assert slopes[2] < -0.7
    assert np.abs(slopes[[0, 1, 3]]).max() < 0.35


def test_where_nothing_stands_out_there_are_hardly_any_effects():
    terms = [len(fit_sparse_effects(learned(seed, n=1_000))) for seed in range(40)]
    # six terms each: without a least gain, most would have effects
    assert np.mean(terms) < 0.3


def test_unknown_levels_have_no_effect():
    rows = learned(0, shift=-3.0)
    effects = fit_sparse_effects(rows)
    new = np.array([[1, -1], [1, 20], [-1, 3]])
    assert Term((0, 1)).groups(new, rows.sizes).tolist() == [-1, -1, -1]
    alone = {term: one for term, one in effects.items() if len(term.columns) == 2}
    assert told_effects(alone, new, rows.sizes, np.zeros(3)).tolist() == [0, 0, 0]


def test_effects_that_nothing_is_seen_of_are_0():
    means, _ = shrunk(np.array([2.0, 5.0]), np.array([100.0, 0.0]))
    assert means[0] > 0
    assert means[1] == 0


def test_a_field_mends_a_pair_and_a_slope_and_is_saved():
    rows, new = (learned(seed, n=1_500, sizes=(4, 8), shift=-3.0, slope=0.0) for seed in (2, 3))
    embedding, layout = np.random.default_rng(0).normal(size=(1_500, 2)), InputLayout(2, codes=2)

    def triples(one):
        return Triples(np.column_stack([embedding, one.codes]), expit(one.start), one.correct, layout=layout)

    field, at = AutoField().fit(triples(rows)), triples(new)
    corrected = field.correct(at.X, at.confidence).corrected
    off = (new.codes[:, 0] == 1) & (new.codes[:, 1] == 3)
    true = expit(np.where(new.codes[:, 0] == 2, 0.0, new.level) - 3.0 * off)
    raw, best = log_loss(new.correct, at.confidence), log_loss(new.correct, true)
    assert raw - log_loss(new.correct, corrected) > 0.6 * (raw - best)
    again = built(AutoField, *state_of(field))
    np.testing.assert_array_equal(again.correct(at.X, at.confidence).corrected, corrected)


def pair_off(seed, *, n=20_000, off=0.3, levels=10):
    """Two columns of levels, of which one pair, 1 % of the rows, is off; and its rows."""
    rng = np.random.default_rng(seed)
    codes, f = rng.integers(0, levels, (n, 2)), expit(rng.normal(-1.5, 0.5, n))
    inside = (codes[:, 0] == 1) & (codes[:, 1] == 2)
    X = np.column_stack([*(np.eye(levels)[code] for code in codes.T), codes])
    layout = InputLayout(2 * levels, codes=2, table=True)
    return Triples(X, f, (rng.random(n) < f + off * inside).astype(int), layout=layout), inside


@pytest.mark.whole
def test_a_pair_of_levels_beyond_chance_is_corrected_within_3_points():
    rows, inside = pair_off(0)
    corrected = AutoField().fit(rows).correct(rows.X[inside], rows.confidence[inside]).corrected
    assert abs(corrected.mean() - (rows.confidence[inside] + 0.3).mean()) < 0.03


def test_a_pair_of_levels_that_is_one_unit_is_not_beyond_chance():
    rows, inside = pair_off(0, n=3_000, off=0.7)
    for group, beyond in ((None, True), (np.where(inside, -1, np.arange(3_000)), False)):
        assert AutoField().fit(replace(rows, group=group)).model_.portfolio.weighs(PAIRS) == beyond
