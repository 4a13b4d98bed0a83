"""The correction of several classes: on the simplex, local only where that is proven to help, saved without code."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from miscal.base.errors import CorruptFile, InputError
from miscal.base.folders import built, load, rebuilding, save_state, state_of
from miscal.calibration.global_map import SIMPLEX_MAPS, class_log_losses, log_probabilities
from miscal.estimators.auto.trees import ShallowTrees
from miscal.estimators.simplex.correction import SimplexCorrection, fit_simplex
from miscal.estimators.simplex.shifts import LinearShift, TreeShift


def world(n=600, k=3, hidden=1.5, seed=0):
    """Probabilities that miss what a column tells of the first two classes."""
    rng = np.random.default_rng(seed)
    X, z = rng.normal(size=(n, 4)), rng.normal(size=(n, k))
    shift = np.zeros((n, k))
    shift[:, 0], shift[:, 1] = hidden * np.sign(X[:, 0]), -hidden * np.sign(X[:, 0])
    truth = softmax(z + shift, axis=1)
    code = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return X, code, softmax(z, axis=1)


@pytest.fixture(scope="module")
def fitted():
    return fit_simplex(*world())


@pytest.mark.parametrize("name", SIMPLEX_MAPS)
@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(3, 30))
def test_every_map_gives_rows_that_sum_to_one(name, seed, k, n):
    rng = np.random.default_rng(seed)
    z = log_probabilities(rng.dirichlet(np.full(k, 0.1), n))
    mapped = SIMPLEX_MAPS[name]().learn(rng.integers(0, k, n), z, np.ones(n)).apply(z)
    np.testing.assert_allclose(np.exp(mapped).sum(axis=1), 1, atol=1e-9)


# the ridge of matrix scaling is chosen by rows that are left out by their place
@pytest.mark.parametrize("name", sorted(set(SIMPLEX_MAPS) - {"matrix"}))
def test_a_weight_of_two_is_a_row_repeated(name):
    _, code, p = world(120)
    z, twice = log_probabilities(p), np.r_[np.arange(120), np.arange(40)]
    weight = np.where(np.arange(120) < 40, 2.0, 1.0)
    one = SIMPLEX_MAPS[name]().learn(code, z, weight).apply(z)
    two = SIMPLEX_MAPS[name]().learn(code[twice], z[twice], np.ones(160)).apply(z)
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_probabilities_of_zero_and_one_are_corrected_too(fitted):
    X, _, p = world(50, seed=1)
    p[:3] = np.eye(3)
    found = fitted.apply(X, p)
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-12
    assert (found > 0).all()


def test_hidden_structure_is_corrected_and_noise_is_not(fitted):
    X, code, p = world(4000, seed=1)
    before, after = (class_log_losses(code, np.log(q)).mean() for q in (p, fitted.apply(X, p)))
    assert fitted.structure
    assert after < before - 0.1
    calm = fit_simplex(*world(hidden=0.0))
    assert not calm.structure
    assert calm.chosen == "global map"


def test_what_a_global_map_flattened_is_taken_back_where_the_shifts_tell_it():
    found = fit_simplex(*world(1500, hidden=2.0, seed=3))
    X, code, p = world(4000, hidden=2.0, seed=4)
    flat = replace(found, taken_back=0.0)
    without, taken = (class_log_losses(code, np.log(one.apply(X, p))).mean() for one in (flat, found))
    assert 0.2 < found.taken_back <= 1
    assert taken < without - 0.005


def test_classes_in_another_order_permute_the_columns(fitted):
    X, code, p = world()
    order = np.array([2, 0, 1])
    place = np.argsort(order)
    other = fit_simplex(X, place[code], p[:, order])
    np.testing.assert_allclose(other.apply(X, p[:, order]), fitted.apply(X, p)[:, order], atol=1e-3)


def test_the_order_of_rows_to_correct_is_no_matter(fitted):
    X, _, p = world(80, seed=2)
    order = np.random.default_rng(0).permutation(80)
    np.testing.assert_allclose(fitted.apply(X[order], p[order]), fitted.apply(X, p)[order], atol=1e-12)


def test_groups_stay_together_and_other_methods_are_refused():
    X, code, p = world(300)
    found = fit_simplex(X, code, p, groups=np.arange(300) // 3, method="global")
    assert not found.structure
    with pytest.raises(InputError, match="method must be one of auto, global; got 'best'"):
        fit_simplex(X, code, p, method="best")


def test_a_confusion_that_the_probabilities_hide_is_mended():
    def rows(seed, n):
        rng = np.random.default_rng(seed)
        z = 1.5 * rng.normal(size=(n, 3))
        # where the first class is likeliest, the second comes true far more often than its probability says
        shift = np.where((z.argmax(axis=1) == 0)[:, None], [0.0, 2.0, 0.0], 0.0)
        truth = softmax(z + shift, axis=1)
        return rng.normal(size=(n, 2)), (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), softmax(z, axis=1)

    found = fit_simplex(*rows(0, 1500))
    X, code, p = rows(1, 4000)
    first = p.argmax(axis=1) == 0
    before, after = (np.mean((code == 1)[first] - q[first, 1]) for q in (p, found.apply(X, p)))
    assert before > 0.2
    assert abs(after) < 0.05


FORM = "miscal-classes"


@pytest.fixture(scope="module")
def learned():
    """A correction with linear shifts and trees, beside some of the map taken back."""
    X, code, p = world(900)
    found = fit_simplex(X, code, p)
    assert {type(member) for _, member in found.members} == {LinearShift, TreeShift}
    return replace(found, taken_back=0.3)


def again(found: SimplexCorrection, folder) -> SimplexCorrection:
    save_state(folder, FORM, *state_of(found))
    return load(folder, FORM, SimplexCorrection)


def test_what_is_read_back_corrects_alike(learned, tmp_path):
    X, _, p = world(60, seed=3)
    read = again(learned, tmp_path)
    np.testing.assert_allclose(read.apply(X, p), learned.apply(X, p), atol=1e-12)
    assert (read.chosen, read.taken_back, read.losses, read.settings) == (
        learned.chosen, learned.taken_back, learned.losses, learned.settings,
    )  # fmt: skip


@pytest.mark.parametrize("name", SIMPLEX_MAPS)
def test_every_global_map_is_read_back(name, tmp_path):
    _, code, p = world(300, k=4)
    z = log_probabilities(p)
    one = SIMPLEX_MAPS[name]().learn(code, z, np.ones(300))
    read = again(SimplexCorrection(one, (), "global map", 0.0, 0.0, {}), tmp_path)
    np.testing.assert_allclose(read.global_map.apply(z), one.apply(z), atol=1e-12)


def test_trees_as_arrays_answer_as_lightgbm_does():
    lightgbm = pytest.importorskip("lightgbm")
    X, code, _ = world(500)
    settings = {"objective": "multiclass", "num_class": 3, "num_leaves": 8, "num_threads": 1, "verbosity": -1}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, code), 12)
    new = np.random.default_rng(1).normal(size=(200, 4))
    found = ShallowTrees.of(booster.model_to_string(), 3)(new)
    np.testing.assert_allclose(found, booster.predict(new, raw_score=True), atol=1e-12)
    assert (ShallowTrees.of("", 3)(new) == 0).all()


@pytest.mark.parametrize(
    "change",
    [
        {"global_map": {"class": "Best"}},
        {"members": [[1.0, {"class": "Pickle"}]]},
        {"gain": ...},
        {"gain": "1"},
        {"x": 1},
    ],
)
def test_values_from_which_nothing_can_be_built_are_refused(learned, change):
    content, arrays = state_of(learned)
    content = {name: value for name, value in (content | change).items() if value is not ...}
    with pytest.raises(CorruptFile, match="do not fit together"), rebuilding("model"):
        built(SimplexCorrection, content, arrays)
