"""Laws of the ridge fits, the kernels, the stack and the scaling."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from miscal.calibration.calibrators import logit
from miscal.estimators.auto import inputs as scaling
from miscal.estimators.auto.inputs import fit_scaler
from miscal.estimators.auto.kernels import KernelRecipe, gaussian_gram
from miscal.estimators.auto.member import LearningRows, Query, RidgeFits, negative_log_likelihood
from miscal.estimators.auto.stack import stack_out_of_fold, stack_weights
from miscal.estimators.auto.trees import crossfit_trees


def logistic_data(n=400, p=3, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p))
    offset = rng.normal(size=n)
    y = (rng.random(n) < expit(offset + A @ np.linspace(-1, 1, p))).astype(float)
    return A, y, offset


def coefficients(A, y, offset, penalty, weight=None, max_steps=60):
    weights = np.ones((1, len(y))) if weight is None else weight[None]
    return RidgeFits(A.T.astype(np.float32), y, offset, weights).descend(penalty, max_steps).coefficients[0]


def test_the_ridge_fit_agrees_with_scikit_learn():
    A, y, _ = logistic_data()
    for penalty in (10.0, 1.0):
        b = coefficients(A, y, np.zeros(len(y)), penalty)
        theirs = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-8).fit(A, y).coef_[0]
        assert b == pytest.approx(theirs, abs=0.02)


@given(st.integers(0, 10_000))
def test_the_fit_ends_at_the_minimum(seed):
    A, y, offset = logistic_data(n=120, seed=seed)
    found = coefficients(A, y, offset, 3.0)

    def objective(b):
        return negative_log_likelihood(y, offset + A @ b).sum() + 1.5 * b @ b

    # a step that promises under 0.01 nats ends the search
    assert objective(found) < minimize(objective, np.zeros(3), tol=1e-10).fun + 0.02


def test_weight_two_is_a_repeated_row():
    A, y, offset = logistic_data(n=60)
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    again = np.r_[np.arange(60), np.arange(20)]
    weighted = coefficients(A, y, offset, 5.0, weight)
    repeated = coefficients(A[again], y[again], offset[again], 5.0)
    assert weighted == pytest.approx(repeated, abs=1e-4)
    assert stack_weights(A, y, offset, weight) == pytest.approx(
        stack_weights(A[again], y[again], offset[again]), abs=1e-3
    )


def test_a_mirrored_world_has_mirrored_coefficients():
    A, y, offset = logistic_data()
    assert coefficients(A, 1 - y, -offset, 1.0) == pytest.approx(-coefficients(A, y, offset, 1.0), abs=1e-3)


@pytest.mark.parametrize("p", [3, 200])
def test_fits_side_by_side_reach_the_minimum_that_each_reaches_alone(p):
    # with 200 columns the rows left out hold directions that the other rows do not
    A, y, offset = logistic_data(n=240, p=p)
    A, left_out = (A / np.sqrt(p)).astype(np.float32), np.arange(240) % 4 == np.arange(4)[:, None]
    fits = RidgeFits(A.T, y, offset, np.where(left_out, 0.0, 1.0))
    for penalty in (100.0, 10.0, 1.0, 0.1):
        fits.descend(penalty)
        for b, out in zip(fits.coefficients, left_out, strict=True):
            rest = {"A": A[~out].astype(float), "y": y[~out], "o": offset[~out], "penalty": penalty}
            best = minimize(penalised, np.zeros(p), args=tuple(rest.values()), jac=True, tol=1e-10).fun
            # of 180 rows: far less than what their outcomes leave open
            assert penalised(b.astype(float), *rest.values())[0] < best + 0.02
    assert fits.shifts == pytest.approx(fits.coefficients @ A.T, abs=1e-4)


def penalised(b, A, y, o, penalty):
    z = o + A @ b
    return negative_log_likelihood(y, z).sum() + penalty / 2 * b @ b, A.T @ (expit(z) - y) + penalty * b


def test_the_gram_matrix_equals_two_loops():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    slow = [[np.exp(-np.sum((a - b) ** 2) / 0.7**2) for b in B] for a in A]
    assert gaussian_gram(A, B, 0.7) == pytest.approx(np.array(slow), abs=1e-6)


@pytest.mark.parametrize("view", ["none", "level", "rank", "refined level"])
def test_every_kernel_is_positive_semi_definite(view):
    A = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    gram = KernelRecipe("k", 0.7, view).gram(A, A)
    assert np.linalg.eigvalsh(gram.astype(float)).min() > -1e-4
    assert gram == pytest.approx(gram.T, abs=1e-6)


def scored(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = rng.uniform(0.2, 0.8, n)
    truth = logit(f) + 1.5 * np.tanh(2 * X[:, 0])
    y = (rng.random(n) < expit(truth)).astype(float)
    return X, f, y, truth, rng.integers(0, 4, n)


def learning(inputs, y, offset, folds, landmarks):
    return LearningRows(Query(inputs, offset, offset), y, np.arange(len(y)), folds, landmarks)


@pytest.mark.parametrize("view", ["none", "level"])
def test_out_of_fold_shifts_do_not_see_their_own_fold(view):
    X, f, y, _, folds = scored()
    inputs = fit_scaler(X, f, np.random.default_rng(0))(X, f)
    recipe = KernelRecipe("k", 0.6, view)
    offset, marks = logit(f), np.arange(0, 1200, 6)
    inside = folds == 0
    flipped = np.where(inside, 1 - y, y)
    before, after = (recipe.crossfit(learning(inputs, known, offset, folds, marks)) for known in (y, flipped))
    if before.settings == after.settings:
        assert before.shift[inside] == pytest.approx(after.shift[inside], abs=1e-5)
    assert not np.allclose(before.shift[~inside], after.shift[~inside], atol=1e-3)


def test_kernels_and_trees_find_a_smooth_shift():
    X, f, y, truth, folds = scored()
    inputs = fit_scaler(X, f, np.random.default_rng(0))(X, f)
    offset = logit(f)
    rows = learning(inputs, y, offset, folds, np.arange(0, 1200, 4))
    for crossfit in (KernelRecipe("k", 0.6).crossfit, crossfit_trees):
        score = crossfit(rows)
        assert np.corrcoef(score.shift, truth - offset)[0, 1] > 0.9


def test_a_stack_beats_its_members_out_of_fold():
    _X, f, y, truth, folds = scored(4000)
    offset = logit(f)
    rng = np.random.default_rng(1)
    noisy = np.stack([truth - offset + rng.normal(scale=1.5, size=4000) for _ in range(3)], 1)
    stacked = negative_log_likelihood(y, offset + stack_out_of_fold(noisy, y, offset, folds)).mean()
    assert stacked < negative_log_likelihood(y, (offset[:, None] + noisy)).mean(0).min() - 0.01
    assert (stack_weights(noisy, y, offset) >= 0).all()


def test_where_rows_say_nothing_the_stack_keeps_its_prior():
    y, nothing = np.array([0.0, 1.0]), np.zeros((2, 2))
    assert stack_weights(nothing, y, np.zeros(2)) == pytest.approx([0.5, 0.5])
    assert stack_weights(nothing, y, np.zeros(2), prior=np.array([1.0, 0.0])) == pytest.approx([1.0, 0.0])


def test_scaling_ignores_units_and_constant_columns():
    X, f, *_ = scored()
    rng = np.random.default_rng
    plain = fit_scaler(X, f, rng(0))(X, f)
    stretched = np.c_[X * [1000.0, 0.01] + [5.0, -3.0], np.full(len(X), 7.0)]
    scaled = fit_scaler(stretched, f, rng(0))(stretched, f)
    assert scaled.x[:, :2] == pytest.approx(plain.x, abs=1e-3)
    assert (scaled.x[:, 2] == 0).all()


def test_wide_inputs_are_cut_to_components_that_keep_distances():
    rng = np.random.default_rng(0)
    low = rng.normal(size=(300, 5))
    X = low @ rng.normal(size=(5, 500))
    scaler = fit_scaler(X, rng.random(300), np.random.default_rng(0))
    x = scaler(X, rng.random(300)).x
    assert x.shape[1] <= 384
    z = (X - X.mean(0)) / X.std(0)
    before, after = np.linalg.norm(z[:50] - z[50:100], axis=1), np.linalg.norm(x[:50] - x[50:100], axis=1)
    assert after / before == pytest.approx(np.full(50, (after / before).mean()), rel=1e-3)


@pytest.mark.parametrize("n", [40, 900])
def test_products_of_rows_lead_to_the_components_that_products_of_columns_do(monkeypatch, n):
    """Of few rows with very many columns, whose products would not fit into memory."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(n, 30)) * np.arange(1, 31)) @ rng.normal(size=(30, 1_000))
    x = (x - x.mean(0)).astype(np.float32)
    by_columns = scaling._components(x, 20)
    monkeypatch.setattr(scaling, "AUTO", replace(scaling.AUTO, most_products=500))
    by_rows = scaling._components(x, 20)
    assert by_rows.shape == by_columns.shape == (1_000, 20)
    np.testing.assert_allclose(by_rows, by_columns, atol=1e-4)
    np.testing.assert_allclose(by_rows.T @ by_rows, np.eye(20), atol=1e-4)
    assert scaling._components(np.zeros((40, 1_000), np.float32), 20).shape == (1_000, 0)


WIDE = """
import resource
import subprocess
import sys
from dataclasses import replace

import numpy as np
from miscal.estimators.field import MiscalibrationField

n, d, rng = 300, 100_000, np.random.default_rng(0)
X, f = rng.standard_normal((n, d), np.float32), rng.uniform(0.2, 0.8, n)
X[:, : d // 2] += 3 * rng.standard_normal((n, 1), np.float32)
y = rng.random(n) < f + 0.2 * np.sign(X[:, : d // 2].mean(1))
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = used()
field = MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
delta = field.predict(X, confidence=f)
print(field.structure_, np.isfinite(delta).all(), np.corrcoef(delta, X[:, : d // 2].mean(1))[0, 1] > 0.7)
print((used() - before) / X.nbytes)
"""


@pytest.mark.slow
def test_a_hundred_thousand_columns_are_fitted_in_memory_for_a_few_copies_of_them():
    ran = subprocess.run([sys.executable, "-c", WIDE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    *told, copies = ran.stdout.split()
    assert told == ["True"] * 3
    assert float(copies) < 10


def test_components_of_nearly_equal_variance_do_not_hang_on_rounding():
    rng, n, d = np.random.default_rng(0), 6_000, 60
    apart = rng.normal(size=(n, d))
    apart = np.linalg.qr(apart - apart.mean(0))[0] * np.sqrt(n) * (1 + 3e-6 * np.arange(d))
    X, f = (apart @ np.linalg.qr(rng.normal(size=(d, d)))[0]).astype(np.float32), np.full(n, 0.5)
    learned = fit_scaler(X, f, np.random.default_rng(0))
    x = learned(X, f).x.astype(np.float64)
    exact = np.linalg.eigh(x.T @ x)[1][:, ::-1][:, : learned.component_axes.shape[1]]
    alike = np.abs((exact * learned.component_axes).sum(0)) / np.linalg.norm(learned.component_axes, axis=0)
    np.testing.assert_allclose(alike, 1.0, atol=1e-6)
