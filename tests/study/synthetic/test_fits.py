"""The machinery: networks learn and keep their best epoch, the grid is the paper's, choices are judged as defined."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from miscal.calibration.survey_design import correlation
from miscal.data.triples import Triples
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.grid import search
from miscal.estimators.paper.phi import TrainingData
from miscal.study.synthetic import experiments, sections
from miscal.study.synthetic.experiments import ExperimentCell, choice_of, judge_choice
from miscal.study.synthetic.fits import compute, draw, epochs_trained, fit_network

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
    field = PaperField(
        sigmas=settings.sigmas,
        lambdas=settings.lambdas,
        max_epochs=settings.epochs,
        random_state=3,
        n_jobs=1,
    ).fit(
        Triples.of(
            world.X[known],
            confidence=world.confidence[known],
            correct=world.correct[known],
            split=split[known],
        )
    )
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
