"""Corrections of many rows: the same as everything the field says, without what has no weight in the answer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import expit

from miscal.base.folders import built, state_of
from miscal.calibration.calibrators import logit
from miscal.data.triples import Triples
from miscal.estimators.auto import model as model_module
from miscal.estimators.auto.estimator import fit_auto
from miscal.estimators.auto.geometry import LOCAL, LocalMember
from miscal.estimators.auto.inputs import Support
from miscal.estimators.auto.kernels import KernelMember, KernelRecipe
from miscal.estimators.auto.member import Query
from miscal.estimators.auto.model import FIRST_STACK, AutoModel
from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.auto.trees import ShallowTrees, TreeMember

REFINED = "refined kernel, confidence level"


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X, f = rng.normal(size=(n, d)).astype(np.float32), rng.uniform(0.02, 0.98, n)
    return X, f, (rng.random(n) < expit(logit(f) + 1.5 * np.sign(X[:, 0]))).astype(float)


@pytest.fixture(scope="module", params=[3, 20], ids=["few columns", "many columns"])
def fitted(request):
    """A field with every kind of score, a refined kernel among them."""
    X, f, y = rows(500, request.param)
    model = fit_auto(Triples.of(X, confidence=f, correct=y))
    rng = np.random.default_rng(1)
    place = rng.normal(size=(40, min(10, request.param) + 2)).astype(np.float32)
    sizes = {name: rng.normal(size=k).astype(np.float32) / 9 for name, k in (("coefficients", 40), ("linear", 3))}
    refined = KernelMember(KernelRecipe(REFINED, 1.0, "refined level"), place, **sizes)
    later = {REFINED: refined, LOCAL: LocalMember(from_raw=True)}
    return replace(model, portfolio=replace(model.portfolio, later=later))


def weighing(model, first, later):
    portfolio = model.portfolio
    found = replace(portfolio, first_weights=dict.fromkeys(portfolio.first, first), weights=later)
    return replace(model, portfolio=found)


def naive(model, X, f):
    """Every score in full and in double precision, whatever its weight, for supported rows."""
    inputs, portfolio = model.inputs(X, f), model.portfolio
    offset = logit(model.base(f))
    at = Query(inputs, offset, logit(f), readout=model.local.read(model.place(inputs)))

    def shift(member, at):
        if not isinstance(member, KernelMember):
            return member.shift(at)
        recipe, start = member.recipe, at.start(member.recipe.from_raw)
        columns, landmarks = recipe.columns(at).astype(float), member.landmarks.astype(float)
        if recipe.refined:
            K = np.exp(-(cdist(columns, landmarks) ** 2) / recipe.bandwidth**2)
        else:
            K = np.exp(-(cdist(columns[:, :-1], landmarks[:, :-1]) ** 2) / recipe.bandwidth**2)
            if recipe.view not in ("none", "line"):
                u = np.exp(-(cdist(columns[:, -1:], landmarks[:, -1:]) ** 2) / 0.98)
                K = K * (0.3 + u) + 0.3 * u
        linear = recipe.linear_columns(columns[:, -1], start) @ member.linear
        return start - at.offset + K @ member.coefficients + linear

    first = sum(w * shift(portfolio.first[name], at) for name, w in portfolio.first_weights.items())
    refining = replace(at, first=first / portfolio.first_scale)
    later = sum(portfolio.weights[name] * shift(member, refining) for name, member in portfolio.later.items())
    return expit(offset + portfolio.weights[FIRST_STACK] * first + later)


WEIGHTS = {
    "all": (0.2, {FIRST_STACK: 0.5, REFINED: 0.3, LOCAL: 0.4}),
    "first scores alone": (0.3, {FIRST_STACK: 1.0, REFINED: 0.0, LOCAL: 0.0}),
    "local shift alone": (0.2, {FIRST_STACK: 0.0, REFINED: 0.0, LOCAL: 1.0}),
    "refined kernel alone": (0.2, {FIRST_STACK: 0.0, REFINED: 1.0, LOCAL: 0.0}),
    "nothing": (0.0, {FIRST_STACK: 1.0, REFINED: 0.0, LOCAL: 0.0}),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_corrections_are_those_of_the_whole_field(fitted, name):
    model = weighing(fitted, *WEIGHTS[name])
    # more than a block, and not a multiple of one
    X, f, _ = rows(model_module._BLOCK_ROWS + 77, fitted.scaler.mean.size, seed=2)
    quick, full = model.correct(X, f), model.estimate(X, f)
    assert quick.supported.mean() > 0.9
    np.testing.assert_array_equal(quick.supported, full.supported)
    np.testing.assert_allclose(quick.corrected, full.corrected, atol=1e-4)
    np.testing.assert_allclose(quick.delta, quick.corrected - f, atol=1e-12)
    np.testing.assert_allclose(quick.corrected[quick.supported], naive(model, X, f)[quick.supported], atol=1e-4)
    if name in ("all", "local shift alone"):
        np.testing.assert_allclose(quick.mass, full.mass, rtol=1e-3)
    else:
        assert quick.mass is None


def test_what_has_no_weight_is_not_computed(fitted, monkeypatch):
    def fail(*arguments):
        raise AssertionError("computed")

    X, f, _ = rows(20, fitted.scaler.mean.size, seed=3)
    model = weighing(fitted, 0.2, {FIRST_STACK: 1.0, REFINED: 0.0, LOCAL: 0.0})
    weights = {**model.portfolio.first_weights, "boosted trees": 0.0}
    model = replace(model, portfolio=replace(model.portfolio, first_weights=weights))
    monkeypatch.setattr(TreeMember, "shift", fail)
    monkeypatch.setattr(LocalShift, "read", fail)
    model.correct(X, f)
    with pytest.raises(AssertionError, match="computed"):
        model.estimate(X, f)


def test_a_row_is_corrected_alike_alone_and_among_others(fitted):
    X, f, _ = rows(700, fitted.scaler.mean.size, seed=4)
    some = np.random.default_rng(0).permutation(700)[:90]
    many, few = fitted.correct(X, f), fitted.correct(X[some], f[some])
    np.testing.assert_allclose(few.corrected, many.corrected[some], atol=1e-5)
    assert len(fitted.correct(X[:0], f[:0]).corrected) == 0


def test_a_field_read_back_corrects_alike(fitted):
    X, f, _ = rows(50, fitted.scaler.mean.size, seed=5)
    again = built(AutoModel, *state_of(fitted))
    np.testing.assert_array_equal(again.correct(X, f).corrected, fitted.correct(X, f).corrected)


def test_rows_beyond_every_number_are_not_supported(fitted):
    X, f, _ = rows(6, fitted.scaler.mean.size, seed=6)
    X[0], X[1], X[2, 0] = 1e38, -3e38, 1e20
    told = fitted.correct(X, f)
    assert told.supported.tolist() == [False, False, False, True, True, True]
    np.testing.assert_allclose(told.corrected[:3], fitted.base(f[:3]))
    assert np.isfinite(told.corrected).all()


@pytest.mark.parametrize("reach", [0.5, 3.0, 9.0])
def test_a_reading_through_nodes_solves_the_sums_over_the_bank(reach):
    """Shifts of any size, far from 0 in the geometry too; weights count as rows."""
    rng = np.random.default_rng(0)
    z, n = rng.normal(size=(3_000, 4)).astype(np.float32), 3_000
    offset = rng.uniform(-reach, reach, n).astype(np.float32)
    outcome = (rng.random(n) < expit(offset + reach * np.sign(z[:, 0]))).astype(np.float32)
    weight = rng.integers(1, 4, n).astype(np.float32)
    local = LocalShift(np.eye(4, dtype=np.float32), 1.0, z + 50, offset, outcome, weight, np.arange(n))
    queries = rng.normal(size=(300, 4)).astype(np.float32)
    read = local.read(queries + 50, errors=False)
    K = weight * np.exp(-(cdist(queries.astype(float), z.astype(float)) ** 2))
    D = np.zeros(300)
    for _ in range(AUTO.newton_steps):
        p = expit(offset + D[:, None])
        step = ((K * (outcome - p)).sum(1) - D) / ((K * p * (1 - p)).sum(1) + 1.0)
        D += np.clip(step, -AUTO.newton_limit, AUTO.newton_limit)
    assert np.abs(D).max() > min(reach, 4) / 2
    np.testing.assert_allclose(read.shift, D, atol=4e-4)
    np.testing.assert_allclose(read.mass, K.sum(1), rtol=1e-4)
    np.testing.assert_allclose(local.read(queries + 50).shift, read.shift, atol=1e-6)


def test_support_in_single_precision_is_that_in_double():
    rng = np.random.default_rng(0)
    landmarks = rng.normal(size=(50, 5)).astype(np.float32) + 1_000
    x = (landmarks[rng.integers(0, 50, 4_000)] + rng.normal(size=(4_000, 5)) * 0.5).astype(np.float32)
    exact = cdist(x, landmarks).min(1)
    for reach in np.quantile(exact, [0.1, 0.5, 0.9]):
        np.testing.assert_array_equal(Support(landmarks, float(reach)).holds(x), exact <= reach)


@pytest.mark.parametrize("n", [40, 700])
def test_trees_as_arrays_are_lightgbms(n):
    """Values on a threshold, stumps and trees without a split among them."""
    import lightgbm

    rng = np.random.default_rng(n)
    columns = rng.normal(size=(n, 5)).astype(np.float32).round(1)
    settings = {"objective": "binary", "max_depth": 3, "num_leaves": 8, "min_data_in_leaf": 10, "verbose": -1}
    data = lightgbm.Dataset(columns, rng.integers(0, 2, n))
    booster = lightgbm.train(settings | {"num_threads": 1}, data, 30)
    new = rng.normal(size=(500, 5)).astype(np.float32).round(1)
    new[0] = [np.float32(1e30), -1e30, 0.0, -0.0, 1e-38]
    wanted = booster.predict(new, raw_score=True, num_threads=1)
    np.testing.assert_allclose(ShallowTrees.of(booster.model_to_string())(new)[:, 0], wanted, rtol=0, atol=1e-12)
