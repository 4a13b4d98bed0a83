"""Shifts by the levels of columns: shrunken, out of fold, and worth their place where a category matters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from miscal.base.folders import built, state_of
from miscal.calibration.metrics.scores import log_loss
from miscal.data.triples import InputLayout, Triples
from miscal.estimators.auto.estimator import AutoField
from miscal.estimators.auto.levels import fit_effects, level_spread, of_levels


def world(seed, *, n=1_500, levels=300, shift=1.5, d=4):
    """A category of many levels, some of which shift the log-odds, beside an embedding that says nothing."""
    rng = np.random.default_rng(seed)
    code = rng.integers(levels, size=n)
    effect = np.where(np.arange(levels) % 3 == 0, shift, -shift / 2)
    f = rng.uniform(0.2, 0.8, n)
    y = (rng.random(n) < expit(logit(f) + effect[code])).astype(float)
    X = np.column_stack([rng.normal(size=(n, d)), code])
    return Triples(X, f, y, layout=InputLayout(d, codes=1)), effect


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_flipped_outcomes_have_flipped_effects(seed):
    rows, _ = world(seed, n=200, levels=8)
    codes, start = rows.X[:, -1:].astype(int), logit(rows.confidence)
    (effects,) = fit_effects(codes, [8], rows.correct, start)
    (flipped,) = fit_effects(codes, [8], 1 - rows.correct, -start)
    np.testing.assert_allclose(flipped, -effects, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_order_is_irrelevant_and_a_repeated_row_is_weight_2(seed):
    rows, _ = world(seed, n=200, levels=8)
    codes, start = rows.X[:, -1:].astype(int), logit(rows.confidence)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 3, 200).astype(float)
    (effects,) = fit_effects(codes, [8], rows.correct, start, weight)
    many = rng.permutation(np.repeat(np.arange(200), weight.astype(int)))
    (again,) = fit_effects(codes[many], [8], rows.correct[many], start[many])
    np.testing.assert_allclose(again, effects, atol=1e-9)


def test_a_level_of_few_rows_borrows_from_the_others():
    codes = np.r_[np.repeat([0, 1, 2, 3], 400), 4, 4][:, None]
    correct = np.r_[np.tile([1.0, 1, 1, 0], 200), np.tile([0.0, 0, 0, 1], 200), 1, 1]
    (effects,) = fit_effects(codes, [5], correct, np.zeros(len(codes)))
    assert 0.9 < effects[0] < 1.1
    assert -1.1 < effects[2] < -0.9
    # both rows were right, which says little
    assert 0 < effects[4] < 1


def test_no_spread_is_no_effect_and_unknown_levels_have_none():
    assert level_spread(np.zeros(5), np.full(5, 10.0)) == 0
    assert of_levels(np.array([1.0, 2.0]), np.array([-1, 5, 1])).tolist() == [0, 0, 2]


def test_a_category_of_300_levels_is_corrected_and_saved():
    rows, effect = world(0)
    new, _ = world(1)
    field = AutoField().fit(rows)
    assert field.structure_
    corrected = field.correct(new.X, new.confidence).corrected
    truth = log_loss(new.correct, expit(logit(new.confidence) + effect[new.X[:, -1].astype(int)]))
    raw = log_loss(new.correct, new.confidence)
    # 5 rows a level: most of what can be gained is
    assert raw - log_loss(new.correct, corrected) > 0.5 * (raw - truth)
    again = built(AutoField, *state_of(field))
    np.testing.assert_array_equal(again.correct(new.X, new.confidence).corrected, corrected)


@pytest.mark.slow
def test_levels_that_say_nothing_do_no_harm():
    harm = []
    for seed in range(20):
        rows, _ = world(seed, shift=0.0)
        new, _ = world(1_000 + seed, n=5_000, shift=0.0)
        corrected = AutoField().fit(rows).correct(new.X, new.confidence).corrected
        harm.append(log_loss(new.correct, corrected) - log_loss(new.correct, new.confidence))
    assert np.mean(harm) < 0.001


def test_an_embedding_alone_is_untouched_by_a_layout():
    rows, _ = world(2, n=300)
    plain = Triples(rows.places, rows.confidence, rows.correct)
    without = AutoField().fit(plain).estimate(plain.X, plain.confidence).delta
    named = Triples(rows.places, rows.confidence, rows.correct, layout=InputLayout(4))
    np.testing.assert_array_equal(AutoField().fit(named).estimate(named.X, named.confidence).delta, without)
