"""The machinery: networks learn and keep their best epoch, the grid is the paper's, choices are judged as defined."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import spearmanr

from miscal.base.errors import InputError
from miscal.calibration.survey_design import correlation
from miscal.data.triples import Triples
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.grid import search
from miscal.estimators.paper.phi import TrainingData
from miscal.study.synthetic import experiments, sections, worlds
from miscal.study.synthetic.experiments import ExperimentCell, choice_of, judge_choice
from miscal.study.synthetic.fits import compute, draw, epochs_trained, fit_network
from miscal.study.synthetic.worlds import known_coordinate_limit, random_split, sinusoid, three_clusters

from .conftest import toy


def problem(n: int = 150, seed: int = 0) -> dict:
    rng = np.random.default_rng(seed)
    X = rng.random((n + 60, 2)).astype(np.float32)
    r = (np.sin((seed + 3) * X[:, 0]) + 0.5 * rng.standard_normal(n + 60)).astype(np.float32)
    return {"X": X[:n], "residual": r[:n], "X_val": X[n:], "residual_val": r[n:], "seed": seed}


def test_the_kept_epoch_is_that_of_the_smallest_validation_error():
    data = problem()
    network = fit_network(**data, depth=1, width=16, max_epochs=40, patience=5)
    assert network.epoch <= network.n_epochs <= network.epoch + 5
    error = np.mean(np.square(network.predict(data["X_val"]) - data["residual_val"], dtype=np.float64))
    assert error == pytest.approx(network.error, rel=1e-5)


def test_regression_learns():
    data = problem(n=600)
    network = fit_network(**data, depth=2, width=32, max_epochs=300, learning_rate=1e-2)
    assert correlation(network.predict(data["X_val"]), np.sin(3 * data["X_val"][:, 0])) > 0.9


def test_settings_that_share_a_run_count_once():
    rng = np.random.default_rng(0)
    X, r, ones = rng.random((240, 2)).astype(np.float32), rng.random(240).astype(np.float32), np.ones(240, np.float32)
    data = TrainingData(X[:200], r[:200], ones[:200], X[200:], r[200:], ones[200:], np.arange(200))

    def trained(sigmas, penalties):
        return epochs_trained(search(data, sigmas=sigmas, penalties=penalties, max_epochs=13, n_jobs=1).trainings)

    # at this bandwidth every row has all the mass it needs, so that no penalty matters
    assert trained([5.0], [1e-3, 1e-1]) == trained([5.0], [1e-3]) == 13
    assert trained([5.0, 6.0], [1e-3]) == 26
    assert trained([0.1], [1e-3, 10.0]) > 13


def test_the_grid_is_that_of_the_papers_estimator(monkeypatch):
    # the order of rows decides the batches: here that of the world, which the experiment trains in
    as_given = lambda rows: (rows, np.arange(len(rows)))  # noqa: E731
    monkeypatch.setattr("miscal.estimators.paper.field.in_canonical_order", as_given)
    cell, settings = ExperimentCell("sinusoid", "paper", 1.0, 1.0, 3), toy("sinusoid")
    record = compute(cell, settings)
    world, split = draw(cell, settings.rows)
    known, test = split != "test", split == "test"
    rows = {"confidence": world.confidence[known], "correct": world.correct[known], "split": split[known]}
    grid = {"sigmas": settings.sigmas, "lambdas": settings.lambdas, "max_epochs": settings.epochs}
    field = PaperField(**grid, random_state=3, n_jobs=1).fit(Triples.of(world.X[known], **rows))
    assert [row["proxy"] for row in record["candidates"]] == [row["proxy"] for row in field.selection_]
    delta = field.delta(world.X[test].astype(np.float32), None)
    assert record["r"] == pytest.approx(correlation(delta, world.delta[test]))


def test_auto_chooses_exactly_one_of_its_candidates():
    record = compute(ExperimentCell("sinusoid", "auto", 1.0, 1.0, 0), toy("sinusoid", rows=600))
    assert record["facts"]["structure"]
    assert len(record["candidates"]) >= 6
    assert sum(row["chosen"] for row in record["candidates"]) == 1
    assert choice_of(record)["chosen_r"] == (record["r"] or 0.0)


@given(st.lists(st.tuples(st.floats(0.1, 0.3), st.floats(-1, 1)), min_size=3, max_size=12, unique_by=lambda x: x[0]))
def test_choices_are_judged_as_defined(pairs):
    criterion, recovery = map(list, zip(*pairs, strict=True))
    chosen = int(np.argmin(criterion))
    rows = [{"proxy": proxy, "r": r, "chosen": i == chosen} for i, (proxy, r) in enumerate(pairs)]
    found = judge_choice(rows, "proxy")
    assert found["regret"] == pytest.approx(max(recovery) - recovery[chosen])
    assert found["spread"] >= found["regret"] >= 0
    if len(set(recovery)) > 1:
        assert found["spearman"] == pytest.approx(spearmanr(-np.array(criterion), recovery).statistic, abs=1e-9)


def test_the_cited_regrets_have_the_cited_median():
    assert len(experiments.REGRET) == 25
    assert pl.Series(list(experiments.REGRET.values())).median() == pytest.approx(sections.MEDIAN_REGRET, abs=5e-4)


# --- worlds are what they say ---


WORLDS = {
    name: getattr(worlds, name) for name in ("three_clusters", "sinusoid", "planted", "calibrated", "visible_only")
}


@pytest.mark.parametrize("name", WORLDS)
def test_field_shift_and_confidence_agree(name):
    world = WORLDS[name](500, random_state=3)
    assert len(world) == len(world.X) == len(world.correct) == 500
    assert world.X.dtype == np.float32
    assert np.isfinite(world.X).all()
    assert ((world.confidence > 0) & (world.confidence < 1)).all()
    assert set(np.unique(world.correct)) <= {0.0, 1.0}
    np.testing.assert_allclose(world.delta, expit(logit(world.confidence) + world.shift) - world.confidence, atol=1e-9)
    np.testing.assert_array_equal(world.residual, world.correct - world.confidence)


@pytest.mark.parametrize("name", WORLDS)
def test_same_seed_same_world(name):
    one, two, other = (WORLDS[name](50, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.correct, two.correct)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize("name", WORLDS)
def test_outcomes_follow_the_true_probability(name):
    world = WORLDS[name](20_000, random_state=0)
    eta = world.confidence + world.delta
    for part in (world.confidence < np.median(world.confidence), world.X[:, 0] > np.median(world.X[:, 0])):
        error = np.sqrt((eta * (1 - eta))[part].sum()) / part.sum()
        assert abs((world.correct - eta)[part].mean()) < 4 * error


def test_clusters_are_where_they_should_be():
    world = three_clusters(30_000)
    for c, (centre, shift) in enumerate(zip([(-2, 0), (0, 2), (2, 0)], (-1, 0, 1), strict=True)):
        rows = world.regime == c
        np.testing.assert_allclose(world.X[rows].mean(0), centre, atol=0.03)
        np.testing.assert_allclose(world.X[rows].std(0), 0.6, atol=0.02)
        assert (world.shift[rows] == shift).all()
        noise = logit(world.confidence[rows]) - world.X[rows] @ [0.5, 0.5]
        assert noise.std() == pytest.approx(0.5, abs=0.02)


def test_clusters_hide_from_the_confidence_alone():
    world = three_clusters(60_000)
    assert np.abs(world.delta).mean() > 0.09
    assert abs(world.residual.mean()) < 0.02


def test_sinusoid_is_the_formula():
    world = sinusoid(400, amplitude=0.8, frequency=2)
    along = world.X.astype(float) @ (np.ones(2) / np.sqrt(2))
    np.testing.assert_allclose(world.coordinate[:, 0], along, atol=1e-6)
    np.testing.assert_allclose(world.shift, 0.8 * np.sin(4 * np.pi * along), atol=1e-5)
    assert world.X.min() >= 0
    assert world.X.max() <= 1


def test_planted_groups_are_shifted_as_a_whole():
    world = WORLDS["planted"](5000, 40, shift=1.5)
    by_topic = {t: set(world.shift[world.regime == t]) for t in range(12)}
    assert all(len(values) == 1 for values in by_topic.values())
    assert sorted(v for (v,) in by_topic.values()) == [-1.5] * 3 + [0] * 6 + [1.5] * 3


def test_visible_only_depends_on_the_confidence_alone():
    world = WORLDS["visible_only"](5000)
    order = np.argsort(world.confidence)
    assert (np.diff(world.delta[order] + world.confidence[order]) >= 0).all()
    np.testing.assert_allclose(world.delta, expit(logit(world.confidence) / 2) - world.confidence, atol=1e-9)


def test_split_is_80_10_10_and_random():
    split = random_split(1005, random_state=0)
    assert [(split == s).sum() for s in ("train", "val", "test")] == [805, 100, 100]
    assert not np.array_equal(split, random_split(1005, random_state=1))


def test_limit_is_the_best_bandwidth_and_grows_with_the_signal():
    rows = np.arange(4000)
    weak, strong = (sinusoid(4000, amplitude=a, frequency=2) for a in (0.3, 1.0))
    limits = [known_coordinate_limit(w, rows[:3600], rows[3600:], bandwidths=[0.01, 0.04, 0.2]) for w in (weak, strong)]
    assert limits[0] < limits[1] < (1, 0)
    assert limits[1][0] > 0.95
    for bandwidth in (0.01, 0.04, 0.2):
        alone = known_coordinate_limit(strong, rows[:3600], rows[3600:], bandwidths=[bandwidth])
        assert alone[0] <= limits[1][0]


def test_limit_needs_a_coordinate():
    world = three_clusters(50)
    with pytest.raises(InputError, match="no known coordinate"):
        known_coordinate_limit(world, np.arange(40), np.arange(40, 50))


def test_refuses_no_rows():
    with pytest.raises(InputError, match="n must be at least 1"):
        sinusoid(0)
