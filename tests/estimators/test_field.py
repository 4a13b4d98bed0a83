"""Laws of the field: bounds, honesty, determinism, saving, and worlds whose field is known."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from miscal.base.errors import InputError, LockedError
from miscal.base.files import locked
from miscal.data.triples import Triples
from miscal.estimators.auto.estimator import AutoField
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.honest import fit_honest, honest_field
from miscal.study.synthetic.worlds import three_clusters


def planted(n=700, seed=0, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = rng.uniform(0.2, 0.8, n)
    delta = expit(np.log(f / (1 - f)) + 1.5 * np.sign(X[:, 0])) - f
    return X, (rng.random(n) < f + delta).astype(int), f, delta


def triples(X, correct, confidence, split=None):
    return Triples.of(X, confidence=confidence, correct=correct, split=split)


@pytest.fixture(scope="module")
def fitted():
    X, y, f, _ = planted()
    return MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)


def test_a_planted_field_is_recovered_with_its_sign(fitted):
    X, _, f, delta = planted(500, seed=1)
    estimate = fitted.estimate(X, f)
    assert fitted.structure_
    # what is claimed is what is tested
    assert (estimate.ungated == estimate.hidden).all()
    assert np.corrcoef(estimate.delta, delta)[0, 1] > 0.9
    assert (np.sign(estimate.delta) == np.sign(delta)).mean() > 0.9


def test_the_field_keeps_its_bounds_and_its_sums(fitted):
    X, _, _, _ = planted(300, seed=2)
    X = np.r_[X * 0.1, X, X * 1e6]
    f = np.r_[np.zeros(300), np.linspace(0, 1, 300), np.ones(300)]
    e = fitted.estimate(X, f)
    assert (e.corrected >= 0).all()
    assert (e.corrected <= 1).all()
    assert e.delta == pytest.approx(e.corrected - f, abs=1e-12)
    assert e.visible + e.hidden == pytest.approx(e.delta, abs=1e-12)
    assert (e.mass >= 0).all()
    assert np.isfinite(e.standard_error).all()


def test_a_row_far_from_all_data_is_unsupported_and_gets_the_global_map(fitted):
    e = fitted.estimate([[1e5, -1e5]], [0.7])
    assert not e.supported[0]
    assert e.hidden[0] == 0
    assert e.corrected[0] == pytest.approx(fitted.global_map_.predict(np.array([0.7]))[0])


def test_predictions_do_not_depend_on_the_batch(fitted):
    X, _, f, _ = planted(50, seed=3)
    whole = fitted.predict(X, confidence=f)
    single = np.concatenate([fitted.predict(X[i : i + 1], confidence=f[i : i + 1]) for i in range(50)])
    assert whole == pytest.approx(single, abs=1e-5)


def test_inputs_that_come_twice_reach_new_rows_as_others_do():
    rng = np.random.default_rng(0)
    X, f = np.repeat(rng.normal(size=(200, 8)), 2, 0), np.full(400, 0.5)
    y = (rng.random(400) < np.where(X[:, 0] > 0, 0.85, 0.15)).astype(float)
    field, new = MiscalibrationField(n_jobs=1).fit(X, y, confidence=f), rng.normal(size=(500, 8))
    found = field.estimate(new, np.full(500, 0.5))
    assert found.supported.mean() > 0.95
    assert np.corrcoef(found.delta, np.sign(new[:, 0]))[0, 1] > 0.8
    assert not field.estimate(new + 30, np.full(500, 0.5)).supported.any()


def test_an_outlier_does_not_stretch_what_is_known():
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(400, 3)), np.full(400, 0.5)
    y = (rng.random(400) < np.where(X[:, 0] > 0, 0.85, 0.15)).astype(float)
    X[7] += 200
    field = MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
    between = X[7] - rng.uniform(50, 150, (20, 1))
    assert not field.estimate(between, np.full(20, 0.5)).supported.any()


def test_a_perfect_model_has_no_local_structure():
    X = np.random.default_rng(0).normal(size=(120, 3))
    field = MiscalibrationField(n_jobs=1).fit(X, np.ones(120), confidence=np.ones(120))
    assert not field.structure_
    assert field.settings_["score"] == 0


@pytest.mark.parametrize(("method", "options"), [("auto", {}), ("paper", {"sigmas": (0.3,), "lambdas": (0.01,)})])
def test_the_smallest_run_allowed_leaves_its_folds_enough_rows(method, options):
    X, y, f, _ = planted(55)
    split = np.where(np.arange(55) < 5, "val", "train")
    estimate = fit_honest(MiscalibrationField(method, options=options, n_jobs=1), triples(X, y, f, split))
    assert np.isfinite(estimate.delta).all()


def test_a_generator_gives_one_answer_whatever_the_processes():
    X, y, f, _ = planted(200)
    one, two = (
        honest_field(MiscalibrationField(random_state=np.random.default_rng(3), n_jobs=n), triples(X, y, f), n_folds=2)
        for n in (1, 2)
    )
    assert one.delta == pytest.approx(two.delta, abs=1e-6)


def test_no_structure_corrects_exactly_nothing_and_is_there_for_tests_but_not_in_a_saved_model(tmp_path):
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(600, 2)), rng.uniform(0.1, 0.9, 600)
    field = MiscalibrationField().fit(X, rng.random(600) < f, confidence=f)
    e = field.estimate(X, f)
    assert not field.structure_
    assert field.global_map_.name == "identity"
    assert (e.hidden == 0).all()
    assert (e.delta == 0).all()
    # tests that were given a field of 0 would have a p-value of 1
    assert np.ptp(e.ungated) > 0
    assert (np.abs(f + e.ungated - 0.5) <= 0.5).all()
    assert (field.calibrate(X, f) == f).all()
    field.save(tmp_path / "field")
    again = MiscalibrationField.load(tmp_path / "field")
    assert (again.estimate(X, f).ungated == 0).all()
    assert (again.calibrate(X, f) == f).all()


def test_honest_values_never_see_their_own_outcome():
    X, y, f, _ = planted(300)
    options = {"n_folds": 3}
    field = MiscalibrationField(n_jobs=1)
    before = honest_field(field, triples(X, y, f), **options)
    from miscal.base.folds import assign_folds, row_groups

    folds = assign_folds(row_groups(X.astype(np.float32)), 3, np.random.default_rng((0, 7)))
    inside = folds == 1
    after = honest_field(field, triples(X, np.where(inside, 1 - y, y), f), **options)
    assert (before.delta[inside] == after.delta[inside]).all()
    assert not (before.delta[~inside] == after.delta[~inside]).all()
    assert vars(field) == vars(MiscalibrationField(n_jobs=1))


def test_fitting_side_by_side_is_fitting(monkeypatch):
    monkeypatch.setattr("miscal.estimators.honest._FOLDS_OF_FEW", 3)
    X, y, f, _ = planted(300)
    together = MiscalibrationField(n_jobs=2)
    honest = fit_honest(together, triples(X, y, f))
    alone = MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
    assert together.predict(X, confidence=f) == pytest.approx(alone.predict(X, confidence=f), abs=1e-5)
    assert honest.coordinates == pytest.approx(alone.transform(X), abs=1e-4)


@pytest.mark.whole
def test_threads_processes_and_copies_of_this_one_give_the_same_estimates(monkeypatch):
    rng = np.random.default_rng(5)
    rows = Triples.of(rng.normal(size=(120, 2)), confidence=rng.random(120), correct=rng.integers(0, 2, 120))
    found = []
    for most in (0, 1_000):
        monkeypatch.setattr(AutoField, "most_rows_in_threads", most)
        found.append(honest_field(MiscalibrationField(n_jobs=2), rows, n_folds=3))
    monkeypatch.setattr(AutoField, "most_rows_in_threads", 0)
    for room in ("base.workers", "estimators.honest"):
        monkeypatch.setattr(f"miscal.{room}.copied", lambda: True)
    found.append(honest_field(MiscalibrationField(n_jobs=2), rows, n_folds=3))
    assert found[0].delta == pytest.approx(found[1].delta, abs=1e-9)
    assert found[2].delta == pytest.approx(found[1].delta, abs=1e-9)


def test_the_same_seed_gives_the_same_field(fitted):
    X, y, f, _ = planted()
    again = clone(fitted).fit(X, y, confidence=f)
    assert (again.predict(X, confidence=f) == fitted.predict(X, confidence=f)).all()


def test_a_zero_weight_leaves_a_row_out():
    X, y, f, _ = planted(300)
    kept = np.arange(300) < 280
    weighted = MiscalibrationField().fit(X, y, confidence=f, sample_weight=kept.astype(float))
    plain = MiscalibrationField().fit(X[kept], y[kept], confidence=f[kept])
    assert weighted.predict(X, confidence=f) == pytest.approx(plain.predict(X, confidence=f), abs=1e-4)
    assert weighted.neighbours(X[:5], 3)[0].max() < 280


def test_a_saved_field_is_the_field(fitted, tmp_path):
    X, _, f, _ = planted(100, seed=4)
    fitted.save(tmp_path / "model")
    loaded = MiscalibrationField.load(tmp_path / "model")
    for name in ("delta", "mass", "supported", "hidden", "coordinates", "standard_error"):
        assert (getattr(loaded.estimate(X, f), name) == getattr(fitted.estimate(X, f), name)).all()
    assert loaded.selection_ == fitted.selection_
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == ["config.json", "tensors.safetensors"]


@pytest.mark.parametrize("name", ["letter.txt", "input", "config.json.bak"])
def test_a_folder_of_anything_else_is_never_replaced(fitted, tmp_path, name):
    fitted.save(tmp_path / "mine")
    (tmp_path / "mine" / name).write_text("dear")
    with pytest.raises(InputError, match=name):
        fitted.save(tmp_path / "mine")
    assert (tmp_path / "mine" / name).read_text() == "dear"
    with pytest.raises(InputError, match="is a file"):
        fitted.save(tmp_path / "mine" / name)


def test_a_folder_that_another_process_writes_is_refused(fitted, tmp_path):
    with locked(tmp_path / "field"), pytest.raises(LockedError, match="another miscal process"):
        fitted.save(tmp_path / "field")
    assert list(tmp_path.iterdir()) == []


def test_wide_inputs_with_one_informative_direction():
    X, y, f, _ = planted(1500, d=40)
    X[:, 0] *= 3
    field = MiscalibrationField().fit(X, y, confidence=f)
    fresh, _, g, delta = planted(500, seed=5, d=40)
    fresh[:, 0] *= 3
    assert np.corrcoef(field.predict(fresh, confidence=g), delta)[0, 1] > 0.6
    assert field.transform(fresh).shape[0] == 500


@pytest.mark.parametrize("X", [np.zeros((200, 3)), np.ones((200, 1)), np.repeat(np.arange(4.0), 50)[:, None]])
def test_inputs_that_are_all_alike_end_in_numbers(X):
    rng = np.random.default_rng(0)
    f = np.full(200, 0.6)
    e = MiscalibrationField().fit(X, rng.random(200) < 0.5, confidence=f).estimate(X, f)
    assert np.isfinite(e.delta).all()
    assert e.supported.all()


def test_what_cannot_be_used_is_refused(fitted):
    X, y, f, _ = planted(100)
    with pytest.raises(NotFittedError):
        MiscalibrationField().predict(X, confidence=f)
    with pytest.raises(InputError, match="confidence"):
        fitted.predict(X)
    with pytest.raises(InputError, match="3 columns"):
        fitted.predict(np.c_[X, X[:, :1]], confidence=f)
    with pytest.raises(InputError, match="method"):
        MiscalibrationField("autoo").fit(X, y, confidence=f)
    with pytest.raises(InputError, match="has no option 'neighbours'"):
        MiscalibrationField(options={"neighbours": 5}).fit(X, y, confidence=f)
    with pytest.raises(InputError, match=r"its options are .*neighbours"):
        MiscalibrationField("paper", options={"neighbour": 5}).fit(X, y, confidence=f)
    with pytest.raises(InputError, match="random_state must be a whole number"):
        MiscalibrationField(random_state=None).fit(X, y, confidence=f)
    with pytest.raises(InputError, match="n_jobs must be at least 1"):
        MiscalibrationField(n_jobs=0).fit(X, y, confidence=f)


@pytest.mark.slow
def test_three_clusters_are_recovered():
    world = three_clusters(10_000, random_state=0)
    train = slice(0, 9000)
    field = MiscalibrationField().fit(world.X[train], world.correct[train], confidence=world.confidence[train])
    test = slice(9000, None)
    delta = field.predict(world.X[test], confidence=world.confidence[test])
    assert np.corrcoef(delta, world.delta[test])[0, 1] > 0.97
