"""Steps, slopes and products of few columns: screened as slow loops would, found among many, and saved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from miscal.base.folders import built, state_of
from miscal.data.triples import Triples
from miscal.estimators.auto.estimator import AutoField
from miscal.estimators.auto.few_columns import (
    Factor,
    FewColumnsMember,
    crossfit_few_columns,
    screen,
    serve,
    term_columns,
)
from miscal.estimators.auto.inputs import fit_scaler
from miscal.estimators.auto.member import LearningRows, Query
from miscal.estimators.auto.settings import AUTO

seeds = st.integers(0, 10_000)


def world(seed, hidden, n=1_000, d=100):
    """Independent columns, of which `hidden` makes the error in log-odds."""
    rng = np.random.default_rng(seed)
    X, z = rng.standard_normal((n, d)).astype(np.float32), rng.standard_normal(n)
    return X, expit(z), (rng.random(n) < expit(z + hidden(X))).astype(float)


def learning(X, f, y, weight=None, folds=None):
    n = len(y)
    folds = np.arange(n) * 7 % 5 if folds is None else folds
    at = Query(fit_scaler(X, f, np.random.default_rng(0))(X, f), logit(f), logit(f))
    return LearningRows(at, y, np.arange(n), folds, np.arange(10), weight)


@settings(max_examples=10)
@given(seeds)
def test_columns_are_screened_as_by_slow_loops(seed):
    rng = np.random.default_rng(seed)
    x, score, information = rng.normal(size=(80, 5)), rng.normal(size=80), rng.uniform(0.1, 0.3, 80)
    fold = np.arange(80) % 4
    found = screen(x, score, information, fold, np.arange(5), np.arange(80))
    for k in range(5):
        kept = fold != k
        for j in range(5):
            edges = np.quantile(x[:, j], AUTO.screened_steps, method="inverted_cdf")
            columns = [x[:, j], *(x[:, j] > edge for edge in edges)]
            slow = 0.0
            for column in columns:
                centred = column - np.average(column, weights=information * kept)
                z = np.sum(score * centred * kept) / np.sqrt(np.sum(information * centred**2 * kept))
                slow = max(slow, abs(z))
            assert found.strength[k, j] == pytest.approx(slow, rel=1e-3)


@settings(max_examples=10)
@given(seeds)
def test_pairs_are_those_with_the_largest_sums_outside_a_fold(seed):
    rng = np.random.default_rng(seed)
    x, score, fold = rng.normal(size=(60, 6)), rng.normal(size=60), np.arange(60) % 3
    found = screen(x, score, np.full(60, 0.25), fold, np.arange(6), np.arange(60))
    for k, pairs in enumerate(found.pairs):
        kept = fold != k
        sign = np.where(x > found.middle, 1, -1)
        sums = {(a, b): abs(np.sum((score * sign[:, a] * sign[:, b])[kept])) for b in range(6) for a in range(b)}
        assert [tuple(pair) for pair in pairs.tolist()] == sorted(sums, key=lambda one: -sums[one])[: len(pairs)]


@settings(max_examples=5)
@given(seeds)
def test_flipped_outcomes_have_flipped_shifts(seed):
    X, f, y = world(seed, lambda X: np.sign(X[:, 1]), n=400, d=20)
    one, other = (crossfit_few_columns(learning(X, p, t)) for p, t in ((f, y), (1 - f, 1 - y)))
    np.testing.assert_allclose(one.shift, -other.shift, atol=1e-6)


def test_a_row_that_is_there_twice_has_weight_2():
    X, f, y = world(3, lambda X: np.sign(X[:, 1]), n=300, d=12)
    fold = np.arange(300) % 5
    weighted = crossfit_few_columns(learning(X, f, y, np.full(300, 2.0), fold))
    twice = crossfit_few_columns(learning(*(np.repeat(v, 2, axis=0) for v in (X, f, y)), folds=np.repeat(fold, 2)))
    np.testing.assert_allclose(weighted.shift, twice.shift[::2], atol=1e-6)


def test_one_column_of_hundreds_is_found_in_every_fold():
    rows = learning(*world(0, lambda X: 0.9 * np.sign(X[:, 17] - 0.4), n=1_200, d=300))
    found = crossfit_few_columns(rows)
    firsts = {fit[0][0].column for fit in np.array_split(np.array(found.member.terms, object), 6)}
    assert firsts == {17}
    # the halves are apart by about 1.8
    shift = found.member.of(np.eye(300)[[17, 0]] * 1.0)
    assert 1.4 < shift[0] - shift[1] < 2.2


def test_two_columns_that_say_something_only_together_are_found():
    rows = learning(*world(1, lambda X: np.sign(X[:, 5] * X[:, 60]), n=1_200, d=80))
    found = crossfit_few_columns(rows)
    product = FewColumnsMember(found.member.terms, found.member.coefficients)
    at = np.zeros((4, 80))
    at[:, 5], at[:, 60] = [1, 1, -1, -1], [1, -1, 1, -1]
    shift = product.of(at)
    assert min(shift[[0, 3]]) > 0.6
    assert max(shift[[1, 2]]) < -0.6


def test_of_noise_hardly_any_terms_are_kept():
    kept = [crossfit_few_columns(learning(*world(seed, lambda X: 0.0, d=60))) for seed in range(20)]
    assert sum(one.settings["terms"] > 0 for one in kept) <= 4
    assert all(not one.shift.any() for one in kept if not one.settings["terms"])


def test_terms_are_products_of_steps_and_slopes():
    step, slope = Factor(0, 1.0), Factor(1, 2.0, 0.5)
    at = np.array([[1.0, 4.0], [2.0, 100.0]])
    assert term_columns([(step,), (slope,), (step, slope)], at).tolist() == [[-1.0, 1.0, -1.0], [1.0, 3.0, 3.0]]


def test_few_columns_or_few_rows_are_left_to_the_other_scores():
    X, f, y = world(0, lambda X: 0.0, n=250)
    assert serve(learning(X, f, y))
    assert not serve(learning(X[:, :5], f, y))
    assert not serve(learning(X[:100], f[:100], y[:100]))
    # constant columns are none
    assert not serve(learning(np.where(np.arange(100) < 5, X, 1), f, y))


def test_a_field_mends_one_column_of_600_and_is_saved():
    def hidden(X):
        return 0.8 * np.sign(X[:, 99])

    X, f, y = world(4, hidden, n=1_500, d=600)
    field = AutoField().fit(Triples.of(X, confidence=f, correct=y))
    X, f, _ = world(5, hidden, n=1_000, d=600)
    true, corrected = expit(logit(f) + hidden(X)), field.correct(X, f).corrected
    # of 16 points without a correction
    assert np.sqrt(np.mean((corrected - true) ** 2)) < 0.055
    again = built(AutoField, *state_of(field))
    np.testing.assert_array_equal(again.correct(X, f).corrected, corrected)


def test_a_first_fold_that_gains_nothing_saves_the_others():
    rows = learning(*world(0, lambda X: 0.9 * np.sign(X[:, 3]), n=600, d=20))
    asked = []

    def worth(first, trial):
        asked.append((first, trial))
        return len(asked) == 1

    found, left_out = crossfit_few_columns(rows, worth), crossfit_few_columns(rows, worth)
    np.testing.assert_array_equal(found.shift, crossfit_few_columns(rows).shift)
    assert not left_out.shift.any()
    assert not left_out.member.terms
    # the trial is what the other folds say of the first, whose own outcomes choose its number of terms
    (first, trial), _ = asked
    assert np.array_equal(first, rows.folds == 0)
    assert trial.std() > 0.5
