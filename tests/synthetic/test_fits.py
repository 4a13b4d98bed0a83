"""The machinery: stacked networks are those fitted alone, the grid is the paper's, floors count what is done."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from miscal.data.triples import Triples
from miscal.estimators.paper.field import PaperField
from miscal.synthetic import arithmetic, cited, scores
from miscal.synthetic.cells import Cell
from miscal.synthetic.fits import compute, draw
from miscal.synthetic.resreg import Problem, fit_networks
from miscal.synthetic.tables import choice_of

from .conftest import toy


def problems(n: int = 150, count: int = 4) -> list[Problem]:
    made = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        X = rng.random((n + 60, 2)).astype(np.float32)
        signal = np.sin((seed + 3) * X[:, 0]) * (0 if seed == 1 else 1)
        r = (signal + 0.5 * rng.standard_normal(n + 60)).astype(np.float32)
        made.append(Problem(X[:n], r[:n], X[n:], r[n:], seed))
    return made


@pytest.mark.parametrize("depth", [1, 3])
def test_a_stack_gives_what_its_networks_give_alone(depth):
    options = {"depth": depth, "width": 24, "max_epochs": 60, "patience": 6}
    data = problems()
    together = fit_networks(data, **options)
    alone = [fit_networks([problem], **options)[0] for problem in data]
    assert len({network.n_epochs for network in together}) > 1  # some are taken out of the stack before others
    for one, other, problem in zip(together, alone, data, strict=True):
        assert (one.epoch, one.n_epochs) == (other.epoch, other.n_epochs)
        np.testing.assert_allclose(one.predict(problem.X_val), other.predict(problem.X_val), atol=2e-5)


def test_the_kept_epoch_is_that_of_the_smallest_validation_error():
    [problem] = problems(count=1)
    [network] = fit_networks([problem], depth=1, width=16, max_epochs=40, patience=5)
    assert network.epoch <= network.n_epochs <= network.epoch + 5
    error = np.mean(np.square(network.predict(problem.X_val) - problem.residual_val, dtype=np.float64))
    assert error == pytest.approx(network.error, rel=1e-5)


def test_regression_learns():
    [problem] = problems(n=600, count=1)
    [network] = fit_networks([problem], depth=2, width=32, max_epochs=300, learning_rate=1e-2)
    assert scores.correlation(network.predict(problem.X_val), np.sin(3 * problem.X_val[:, 0])) > 0.9


def test_the_grid_is_that_of_the_papers_estimator():
    cell, settings = Cell("sinusoid", "paper", 1.0, 1.0, 3), toy("sinusoid")
    [record] = compute([cell], settings)
    world, split = draw(cell, settings.rows)
    known, test = split != "test", split == "test"
    field = PaperField(
        sigmas=settings.sigmas,
        lambdas=settings.lambdas,
        max_epochs=settings.epochs,
        stop_hopeless=False,
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
    assert [row["proxy"] for row in record.candidates] == [row["proxy"] for row in field.selection_]
    delta = field.delta(world.X[test].astype(np.float32), None)
    assert record.r == pytest.approx(scores.correlation(delta, world.delta[test]))


def test_auto_chooses_exactly_one_of_its_candidates():
    [record] = compute([Cell("sinusoid", "auto", 1.0, 1.0, 0)], toy("sinusoid", rows=600))
    assert record.facts["structure"]
    assert len(record.candidates) >= 6
    assert sum(row["chosen"] for row in record.candidates) == 1
    assert choice_of(record).chosen == record.ranked
    assert record.floor is None


@given(st.lists(st.tuples(st.floats(0.1, 0.3), st.floats(-1, 1)), min_size=3, max_size=12, unique_by=lambda x: x[0]))
def test_choices_are_judged_as_defined(pairs):
    criterion, recovery = map(list, zip(*pairs, strict=True))
    chosen = int(np.argmin(criterion))
    found = scores.judge_choice(criterion, recovery, chosen)
    assert found.regret == pytest.approx(max(recovery) - recovery[chosen])
    assert found.spread >= found.regret >= 0
    if len(set(recovery)) > 1:
        assert found.spearman == pytest.approx(spearmanr(-np.array(criterion), recovery).statistic, abs=1e-9)


def test_the_cited_regrets_have_the_cited_median():
    assert len(cited.REGRET) == 25
    assert pl.Series(list(cited.REGRET.values())).median() == pytest.approx(cited.MEDIAN_REGRET, abs=5e-4)


def test_operations_are_counted_as_in_a_dense_network():
    d, width = 2, 1024
    per_row = 6 * (2 * width**2 + 2 * width) + 4 * d * width - 2 * width * 2 * 1.5
    found = arithmetic.regression_epoch(1, 0, 3, width, d)
    assert found == pytest.approx(per_row, rel=0.01)
    one, two = (arithmetic.representation_epoch(n, 100, (2, 256, 64)) for n in (1024, 2048))
    assert two["network"] / one["network"] == pytest.approx(2, rel=0.05)
    assert arithmetic.epochs_trained([[1.0] * 25, [1.0] * 25]) == 25
    assert arithmetic.epochs_trained([[1.0] * 25, [1.0] * 20 + [2.0] * 5]) == 30
