"""Laws of the paper's estimator."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.base.folders import built, load, save_state, state_of
from miscal.calibration.calibrators import Identity
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.estimators.kernel import smooth
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.readout import ALPHAS, Readout, choose_alpha, range_aware
from miscal.study.synthetic.worlds import random_split, three_clusters

QUICK = {"sigmas": (0.3,), "lambdas": (0.01,), "max_epochs": 2, "n_jobs": 1}


def triples(X, correct, confidence, **columns):
    return Triples.of(X, confidence=confidence, correct=correct, **columns)


@pytest.fixture(scope="module")
def world():
    made = three_clusters(2000, random_state=1)
    return replace(made, X=made.X.astype(np.float32))


@pytest.fixture(scope="module")
def field(world):
    return PaperField(**QUICK).fit(triples(world.X, world.correct, world.confidence))


@given(
    f=st.floats(0, 1),
    delta=st.floats(-2, 2),
    alpha=st.floats(0, 1e3),
    smaller=st.floats(0, 1),
)
def test_range_aware_map_stays_in_range_keeps_the_sign_and_is_monotone(f, delta, alpha, smaller):
    f, delta = np.array([f]), np.array([delta])
    corrected = range_aware(f, delta, alpha)
    assert 0 <= corrected[0] <= 1
    assert (corrected - f)[0] * delta[0] >= 0
    closer = range_aware(f, delta * smaller, alpha)
    assert abs(closer - f)[0] <= abs(corrected - f)[0] + 1e-12
    np.testing.assert_allclose(range_aware(1 - f, -delta, alpha), 1 - corrected, atol=1e-12)


def test_range_aware_map_is_the_formula():
    f, delta = np.array([0.7, 0.7, 0.2]), np.array([-0.1, 0.1, 0.0])
    expected = [0.7 - 0.7 * np.tanh(0.3), 0.7 + 0.3 * np.tanh(0.3), 0.2]
    np.testing.assert_allclose(range_aware(f, delta, 3.0), expected)


def test_alpha_is_the_best_of_those_tried():
    rng = np.random.default_rng(0)
    f, delta = rng.random(500), rng.uniform(-0.3, 0.3, 500)
    y = (rng.random(500) < np.clip(f + delta, 0, 1)).astype(float)
    briers = [np.mean((y - range_aware(f, delta, alpha)) ** 2) for alpha in ALPHAS]
    assert choose_alpha(y, f, delta) == ALPHAS[np.argmin(briers)]
    assert choose_alpha(y, f, np.zeros(500)) == ALPHAS[0]


def test_estimate_is_the_kernel_average_of_the_banks_residuals(field, world):
    X, f = world.X[:50], world.confidence[:50]
    estimate = field.estimate(X, f)
    average, mass = smooth(
        field.transform(X),
        field.transform(world.X[field.bank_rows_]),
        world.residual[field.bank_rows_],
        field.sigma_,
    )
    np.testing.assert_allclose(estimate.delta, average, atol=1e-5)
    np.testing.assert_allclose(estimate.mass, mass, rtol=1e-4)
    np.testing.assert_allclose(estimate.hidden + estimate.visible, estimate.delta)
    np.testing.assert_allclose(estimate.corrected, range_aware(f, estimate.delta, field.alpha_))
    np.testing.assert_allclose(field.delta(X, None), estimate.delta)
    np.testing.assert_array_equal(field.delta(X, f), estimate.delta)
    np.testing.assert_allclose(field.mass(X), estimate.mass)
    assert estimate.supported.all()
    for name in ("delta", "mass", "visible", "hidden", "corrected", "standard_error"):
        values = getattr(estimate, name)
        assert values.shape == (50,)
        assert values.dtype == np.float64
    assert estimate.coordinates.shape == (50, 64)


def test_bank_is_a_uniform_sample_of_training_rows(world):
    split = np.where(np.arange(2000) % 5 == 0, "val", "train")
    fitted = PaperField(**QUICK, bank_size=300).fit(triples(world.X, world.correct, world.confidence, split=split))
    assert len(fitted.bank_rows_) == len(set(fitted.bank_rows_)) == 300
    assert (split[fitted.bank_rows_] == "train").all()
    np.testing.assert_allclose(fitted.bank_residual_, world.residual[fitted.bank_rows_], atol=1e-6)


def test_validation_rows_are_drawn_by_group(world, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        "miscal.estimators.paper.field.held_out_global_map", lambda *a: seen.update(train=a[3], val=a[4]) or Identity()
    )
    groups = np.arange(2000) // 7
    rows = triples(world.X, world.correct, world.confidence, group=groups)
    PaperField(**QUICK).fit(rows)
    groups = groups[in_canonical_order(rows)[1]]
    assert not set(groups[seen["train"]]) & set(groups[seen["val"]])
    assert len(seen["train"]) + len(seen["val"]) == 2000
    assert len(seen["val"]) == pytest.approx(2000 / 9, rel=0.05)


def test_same_seed_same_numbers_other_seed_others(field, world):
    again = PaperField(**QUICK).fit(triples(world.X, world.correct, world.confidence))
    other = PaperField(**QUICK, random_state=1).fit(triples(world.X, world.correct, world.confidence))
    queries = world.X[:20]
    assert np.array_equal(again.transform(queries), field.transform(queries))
    assert again.selection_ == field.selection_
    assert not np.array_equal(other.transform(queries), field.transform(queries))


def test_flipping_confidence_and_outcome_flips_the_field(field, world):
    flipped = PaperField(**QUICK).fit(triples(world.X, 1 - world.correct, 1 - world.confidence))
    one, two = (
        a.estimate(world.X[:100], f[:100]) for a, f in ((field, world.confidence), (flipped, 1 - world.confidence))
    )
    np.testing.assert_allclose(two.delta, -one.delta, atol=1e-5)
    np.testing.assert_allclose(two.corrected, 1 - one.corrected, atol=1e-5)


def test_field_lies_between_the_residuals_and_is_constant_for_constant_ones(world):
    f = np.where(world.correct == 1, 0.6, 0.0)  # residuals 0.4 and 0
    estimate = PaperField(**QUICK).fit(triples(world.X, world.correct, f)).estimate(world.X, f)
    assert estimate.delta.min() >= 0
    assert estimate.delta.max() <= np.float32(0.4)
    ones = np.ones(2000)
    constant = PaperField(**QUICK).fit(triples(world.X, ones, 0.75 * ones)).estimate(world.X, 0.75 * ones)
    assert (constant.delta == 0.25).all()
    assert (constant.standard_error < 1e-6).all()


def test_identical_inputs_give_the_mean_residual(world):
    X = np.ones((2000, 3), np.float32)
    fitted = PaperField(**QUICK).fit(triples(X, world.correct, world.confidence))
    estimate = fitted.estimate(X[:5], world.confidence[:5])
    np.testing.assert_allclose(estimate.delta, fitted.bank_residual_.mean(), atol=1e-5)
    assert estimate.supported.all()


def test_with_a_least_mass_far_queries_get_the_global_map(world):
    settings_ = {**QUICK, "sigmas": (1e-4,), "min_mass": 1}
    fitted = PaperField(**settings_).fit(triples(world.X, world.correct, world.confidence))
    f = np.linspace(0, 1, 50)
    estimate = fitted.estimate(np.random.default_rng(0).normal(scale=30, size=(50, 2)).astype(np.float32), f)
    far = ~estimate.supported
    assert far.sum() > 40
    np.testing.assert_allclose(estimate.delta[far], fitted.global_map_.predict(f)[far] - f[far])
    np.testing.assert_array_equal(estimate.hidden[far], 0)
    for name in ("delta", "mass", "corrected", "standard_error", "coordinates"):
        assert np.isfinite(getattr(estimate, name)).all()
    assert ((estimate.corrected >= 0) & (estimate.corrected <= 1)).all()


def test_a_weight_in_the_bank_counts_as_repeated_rows(field, world):
    def readout(weight, repeats):
        other = built(PaperField, *state_of(field))
        rows = np.repeat(np.arange(len(field.bank_rows_)), repeats)
        other.bank_coordinates_, other.bank_residual_ = field.bank_coordinates_[rows], field.bank_residual_[rows]
        other.bank_weight_ = weight[rows].astype(np.float32)
        return other.estimate(world.X[:30], world.confidence[:30])

    times = 1 + np.arange(len(field.bank_rows_)) % 3
    weighted, repeated = readout(times, np.ones_like(times)), readout(np.ones_like(times), times)
    for name in ("delta", "mass", "standard_error"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-4, atol=1e-6)


def test_rows_of_weight_zero_are_absent(world):
    weight = np.ones(2000)
    weight[::3] = 0
    split = np.where(np.arange(2000) % 10 == 1, "val", "train")
    kept = weight > 0
    one = PaperField(**QUICK).fit(triples(world.X, world.correct, world.confidence, weight=weight, split=split))
    two = PaperField(**QUICK).fit(
        triples(world.X[kept], world.correct[kept], world.confidence[kept], split=split[kept])
    )
    np.testing.assert_array_equal(one.transform(world.X[:9]), two.transform(world.X[:9]))


def test_standard_error_is_the_spread_of_a_local_mean():
    rng = np.random.default_rng(0)
    X, f = np.ones((4000, 1), np.float32), np.full(4000, 0.5)
    fitted = PaperField(**QUICK).fit(triples(X, rng.random(4000) < 0.3, f))
    n = len(fitted.bank_rows_)
    expected = fitted.bank_residual_.std() / np.sqrt(n)
    np.testing.assert_allclose(fitted.estimate(X[:2], f[:2]).standard_error, expected, rtol=1e-3)


def test_neighbours_are_rows_of_fit_nearest_first(field, world):
    row, weight = field.neighbours(world.X[field.bank_rows_[:6]], 4)
    np.testing.assert_array_equal(row[:, 0], field.bank_rows_[:6])
    np.testing.assert_allclose(weight[:, 0], 1.0, atol=1e-4)
    assert (np.diff(weight, axis=1) <= 0).all()
    assert np.isin(row, field.bank_rows_).all()


def test_the_nearest_neighbours_alone_are_averaged(field, world):
    near = PaperField(**QUICK, neighbours=5).fit(triples(world.X, world.correct, world.confidence))
    rows, weight = near.neighbours(world.X[:20], 5)
    expected = (weight * world.residual[rows]).sum(1) / weight.sum(1)
    np.testing.assert_allclose(near.delta(world.X[:20], None), expected, atol=1e-4)
    np.testing.assert_allclose(near.mass(world.X[:20]), weight.sum(1), rtol=1e-4)
    assert not np.allclose(near.delta(world.X[:20], None), field.delta(world.X[:20], None), atol=1e-3)
    again = built(PaperField, *state_of(near))
    np.testing.assert_array_equal(again.delta(world.X[:20], None), near.delta(world.X[:20], None))
    assert near.for_folds().readout.neighbours == 5


def test_selection_table_names_every_setting(world):
    fitted = PaperField(sigmas=(0.2, 0.5), lambdas=(0.01, 0.1), max_epochs=1, n_jobs=1).fit(
        triples(world.X, world.correct, world.confidence)
    )
    assert [(row["sigma"], row["lambda"]) for row in fitted.selection_] == [
        (0.2, 0.01),
        (0.2, 0.1),
        (0.5, 0.01),
        (0.5, 0.1),
    ]
    chosen = [row for row in fitted.selection_ if row["chosen"]]
    assert len(chosen) == 1
    assert chosen[0]["proxy"] == min(row["proxy"] for row in fitted.selection_)
    assert (chosen[0]["sigma"], chosen[0]["lambda"]) == (fitted.sigma_, fitted.penalty_)
    assert fitted.epoch_ == 1


def test_saved_and_loaded_gives_the_same_numbers(field, world, tmp_path):
    save_state(tmp_path, "paper", *state_of(field))
    loaded = load(tmp_path, "paper", PaperField)
    one, two = (a.estimate(world.X[:40], world.confidence[:40]) for a in (field, loaded))
    for name in ("delta", "mass", "visible", "corrected", "standard_error", "coordinates"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(field.neighbours(world.X[:3])[0], loaded.neighbours(world.X[:3])[0])
    assert loaded.selection_ == field.selection_


def test_refuses_what_it_cannot_use(field, world):
    X, y, f = world.X[:40], world.correct[:40], world.confidence[:40]
    with pytest.raises(InputError, match="18 to train on and 2 to choose by"):
        PaperField(**QUICK).fit(triples(X[:20], y[:20], f[:20]))
    with pytest.raises(InputError, match=r"only 'train' and 'val'.*'test'"):
        PaperField(**QUICK).fit(triples(X, y, f, split=["test"] * 40))


@pytest.mark.slow
def test_recovers_three_clusters():
    world = three_clusters(10_000, random_state=0)
    split = random_split(10_000, random_state=0)
    known, test = split != "test", split == "test"
    fitted = PaperField(sigmas=(0.2, 0.3), lambdas=(0.01,), random_state=0).fit(
        triples(world.X[known], world.correct[known], world.confidence[known], split=split[known])
    )
    delta = fitted.delta(world.X[test], None)
    assert np.corrcoef(delta, world.delta[test])[0, 1] > 0.92


# --- the paper's settings, and ours ---------------------------------------------------------------------------------


def test_by_default_every_row_keeps_its_kernel_average(world):
    """Equation 2 has no least mass; which rows have little is told beside."""
    narrow = QUICK | {"sigmas": (0.02,)}
    papers = PaperField(**narrow).fit(triples(world.X, world.correct, world.confidence))
    asked = np.random.default_rng(0).normal(scale=3, size=(200, 2)).astype(np.float32)
    f = np.linspace(0, 1, 200)
    told = papers.estimate(asked, f)
    few = told.mass < 1
    assert few.sum() > 20
    np.testing.assert_array_equal(told.supported, ~few)
    assert told.local.all()
    average = smooth(papers.transform(asked).astype(np.float32), papers.bank_coordinates_, papers.bank_residual_,
                     papers.sigma_, weight=papers.bank_weight_)[0]  # fmt: skip
    np.testing.assert_allclose(told.delta, average, atol=1e-6)
    np.testing.assert_allclose(told.corrected, range_aware(f, average, papers.alpha_), atol=1e-6)
    np.testing.assert_array_equal(papers.correct(asked, f).local, told.local)


def test_a_least_mass_gives_rows_of_less_to_the_global_map(world):
    rows = triples(world.X, world.correct, world.confidence)
    papers, ours = (PaperField(**QUICK, min_mass=least).fit(rows) for least in (0, 40))
    # phi and its bank are the same: the least mass is no part of the training
    np.testing.assert_array_equal(papers.bank_coordinates_, ours.bank_coordinates_)
    told = ours.estimate(world.X, world.confidence)
    assert 0 < told.local.sum() < len(rows)
    np.testing.assert_array_equal(told.local, told.mass >= 40)
    np.testing.assert_array_equal(told.supported, told.local)
    np.testing.assert_array_equal(told.delta[~told.local], told.visible[~told.local])
    kept = papers.estimate(world.X, world.confidence).delta
    np.testing.assert_array_equal(told.delta[told.local], kept[told.local])


def test_where_no_weight_is_left_the_field_is_the_mean_residual(field, world):
    """In single precision the product of a tiny weight of a row and a tiny kernel is 0, and 0 / 0 is no number."""
    bare = built(PaperField, *state_of(field))
    bare.readout = Readout(neighbours=2)
    bare.bank_weight_ = np.where(np.arange(len(bare.bank_weight_)) < 4, 1e-12, 1e3).astype(np.float32)
    far = np.zeros_like(bare.bank_coordinates_)
    far[:4, 0], far[4:, 0] = 5.0, 90.0
    bare.bank_coordinates_, bare.sigma_ = far, 0.05
    told = bare.estimate(world.X[:5], world.confidence[:5])
    np.testing.assert_array_equal(told.mass, 0)
    np.testing.assert_allclose(told.delta, np.average(bare.bank_residual_, weights=bare.bank_weight_), atol=1e-6)
    assert not told.supported.any()
    assert np.isinf(told.standard_error).all()


def test_every_setting_is_trained_until_its_patience_ends(world, monkeypatch):
    monkeypatch.setattr("miscal.estimators.paper.grid.HOPELESS", 0.0)
    monkeypatch.setattr("miscal.estimators.paper.grid.ROUND", 2)
    rows = triples(world.X, world.correct, world.confidence)
    hopeless = {"sigmas": (0.3, 100.0), "lambdas": (0.01,), "max_epochs": 5, "patience": 5, "n_jobs": 1}
    assert {one["stopped"] for one in PaperField(**hopeless).fit(rows).selection_} == {"epochs"}
    ours = PaperField(**hopeless, stop_hopeless=True).fit(rows).selection_
    assert {one["stopped"] for one in ours} == {"epochs", "hopeless"}


def test_the_least_mass_is_kept_on_disk_and_in_folds(world):
    fitted = PaperField(**QUICK, min_mass=0.5).fit(triples(world.X, world.correct, world.confidence))
    assert built(PaperField, *state_of(fitted)).readout.min_mass == 0.5
    assert fitted.for_folds().readout.min_mass == PaperField(min_mass=0.5).for_folds().readout.min_mass == 0.5
    assert PaperField().readout == Readout(neighbours=None, min_mass=0)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "1", True])
def test_a_least_mass_is_a_number_of_at_least_0(value):
    with pytest.raises(InputError, match="min_mass must be a finite number of at least 0"):
        PaperField(min_mass=value)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sigmas": 0.3}, "sigmas must be a list of finite numbers above 0; got 0.3"),
        ({"sigmas": "0.3"}, "sigmas must be a list"),
        ({"lambdas": [0.1, float("nan")]}, "lambdas must be a list of finite numbers of at least 0"),
        ({"stop_hopeless": "yes"}, "stop_hopeless must be true or false; got 'yes'"),
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1; got 0"),
        ({"patience": 2.5}, "patience must be a whole number of at least 1; got 2.5"),
        ({"bank_size": "all"}, "bank_size must be a whole number of at least 1; got 'all'"),
        ({"neighbours": "5"}, "neighbours must be a whole number of at least 1"),
    ],
)
def test_settings_that_are_none_are_refused_before_any_work(option, message):
    with pytest.raises(InputError, match=message):
        PaperField(**option)
