"""A saved correction of several classes corrects as the one that was fitted does, and none of it can run code."""

from dataclasses import replace

import numpy as np
import pytest

from miscal.base.errors import CorruptFile
from miscal.base.folders import built, load, rebuilding, save_state, state_of
from miscal.calibration.global_map import SIMPLEX_MAPS, log_probabilities
from miscal.estimators.simplex.correction import SimplexCorrection, fit_simplex
from miscal.estimators.simplex.shifts import LinearShift, TreeShift

from .test_correction import world

FORM = "miscal-classes"


@pytest.fixture(scope="module")
def fitted():
    """A correction with linear shifts and trees, beside some of the map taken back."""
    X, code, p = world(900)
    found = fit_simplex(X, code, p)
    assert {type(member) for _, member in found.members} == {LinearShift, TreeShift}
    return replace(found, taken_back=0.3)


def again(found: SimplexCorrection, folder) -> SimplexCorrection:
    save_state(folder, FORM, *state_of(found))
    return load(folder, FORM, SimplexCorrection)


def test_what_is_read_back_corrects_alike(fitted, tmp_path):
    X, _, p = world(60, seed=3)
    read = again(fitted, tmp_path)
    np.testing.assert_allclose(read.apply(X, p), fitted.apply(X, p), atol=1e-12)
    assert (read.chosen, read.taken_back, read.losses, read.settings) == (
        fitted.chosen, fitted.taken_back, fitted.losses, fitted.settings,
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
    found = TreeShift.of(booster.model_to_string(), 3).at(new, *[np.zeros((200, 3))] * 2)
    np.testing.assert_allclose(found, booster.predict(new, raw_score=True), atol=1e-12)
    assert (TreeShift.of("", 3).at(new, *[np.zeros((200, 3))] * 2) == 0).all()


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
def test_values_from_which_nothing_can_be_built_are_refused(fitted, change):
    content, arrays = state_of(fitted)
    content = {name: value for name, value in (content | change).items() if value is not ...}
    with pytest.raises(CorruptFile, match="do not fit together"), rebuilding("model"):
        built(SimplexCorrection, content, arrays)
