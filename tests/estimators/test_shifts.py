"""The readable estimator: it finds planted groups, adds none by chance, and turns with its table."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from miscal.base.folders import built, state_of
from miscal.data.triples import InputLayout, Triples
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.shifts import ShiftField

N = 2_000


def world(seed=0, shift=1.0, d=6, n=N):
    """Rows of numbers and two columns of levels; level 2 of the last, and numbers above .5 in the first, are off."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, d - 2)), rng.integers(0, 5, (n, 2))]).astype(np.float32)
    f = rng.uniform(0.2, 0.9, n)
    p = expit(logit(f) + shift * (X[:, 0] > 0.5) - shift * (X[:, -1] == 2))
    return X, f, (rng.random(n) < p).astype(int), p


def fitted(X, f, y, **more):
    layout = InputLayout(places=X.shape[1] - 2, codes=2, table=True)
    return ShiftField().fit(replace(Triples.of(X, confidence=f, correct=y, **more), layout=layout))


def test_planted_groups_are_found_with_their_shifts():
    X, f, y, p = world()
    field = fitted(X, f, y)
    by_column = {one.column: one for one in field.shifts_}
    assert set(by_column) == {0, X.shape[1] - 1}
    level, side = by_column[X.shape[1] - 1], by_column[0]
    assert (level.level, level.at, side.level) == (True, 2.0, False)
    for one, true in ((level, -1.0), (side, 1.0)):
        assert abs(one.shift - true) < 3 * one.error
    off = np.abs(field.estimate(X, f).corrected - p)
    assert off.mean() < 0.4 * np.abs(f - p).mean()


def pairs(seed=0, n=20_000, levels=6):
    """Rows of eight columns of levels, with their codes as numbers, too; of one pair of levels the risk is off."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, (n, 8))
    X = np.column_stack([*(codes[:, [1]] == np.arange(levels)).T, codes]).astype(np.float32)
    f, inside = rng.uniform(0.1, 0.4, n), (codes[:, 1] == 2) & (codes[:, 4] == 3)
    layout = InputLayout(places=levels, codes=8, table=True)
    y = (rng.random(n) < f + 0.2 * inside).astype(int)
    return X, f, inside, ShiftField().fit(replace(Triples.of(X, confidence=f, correct=y), layout=layout))


def test_a_pair_of_levels_is_corrected_and_nothing_else():
    X, f, inside, field = pairs()
    [one] = field.shifts_
    np.testing.assert_array_equal(one.rows(X), inside)
    corrected = field.estimate(X, f).corrected
    assert abs((corrected - f)[inside].mean() - 0.2) < 0.03
    assert abs((corrected - f)[~inside]).max() < 0.05
    again = built(ShiftField, *state_of(field))
    np.testing.assert_array_equal(again.estimate(X, f).corrected, corrected)


def test_a_turned_table_turns_the_sign():
    X, f, y, _ = world()
    one, other = fitted(X, f, y).estimate(X, f), fitted(X, 1 - f, 1 - y).estimate(X, 1 - f)
    np.testing.assert_allclose(one.delta, -other.delta, atol=1e-6)


def test_the_order_of_rows_changes_nothing():
    X, f, y, _ = world()
    order = np.random.default_rng(1).permutation(N)
    one, other = fitted(X, f, y), fitted(X[order], f[order], y[order])
    np.testing.assert_allclose(one.estimate(X, f).delta, other.estimate(X, f).delta, atol=1e-9)


def test_a_weight_of_two_is_a_row_that_stands_twice():
    X, f, y, _ = world()
    twice = np.random.default_rng(2).random(N) < 0.3
    unit = np.arange(N)
    weighted = fitted(X, f, y, weight=1.0 + twice, group=unit)
    again = np.r_[unit, unit[twice]]
    repeated = fitted(X[again], f[again], y[again], group=again)
    assert [(one.column, one.level) for one in weighted.shifts_] == [(o.column, o.level) for o in repeated.shifts_]
    at = [field.shift(X) for field in (weighted, repeated)]
    np.testing.assert_allclose(*at, atol=0.02)


@pytest.mark.slow
def test_where_nothing_is_hidden_a_group_is_added_in_one_run_of_twenty():
    added = sum(fitted(*world(seed, shift=0.0, n=800)[:3]).structure_ for seed in range(400))
    # 5 % by Bonferroni; a binomial count of 400 exceeds 34 in one of a hundred
    assert added <= 34


@pytest.mark.slow
def test_days_are_counted_and_not_rows():
    """A day's outcomes hang together: by rows, a column that is constant in a day would stand out."""
    added = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        day = np.repeat(np.arange(40), 25)
        X = np.column_stack([rng.normal(size=40)[day], rng.normal(size=(1_000, 3)), np.zeros((1_000, 2))])
        f = np.full(1_000, 0.5)
        y = (rng.random(1_000) < expit(rng.normal(0, 1, 40)[day])).astype(int)
        added += fitted(X.astype(np.float32), f, y, group=day).structure_
    assert added <= 12


def test_a_saved_field_corrects_alike(tmp_path):
    X, f, y, _ = world()
    field = MiscalibrationField("shifts").fit(X, y, confidence=f)
    field.save(tmp_path / "model")
    again = MiscalibrationField.load(tmp_path / "model")
    np.testing.assert_array_equal(field.calibrate(X, confidence=f), again.calibrate(X, confidence=f))
    assert again.fitted_.shifts_ == field.fitted_.shifts_
