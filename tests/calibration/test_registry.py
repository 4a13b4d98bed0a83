"""Each metric's value and estimate agree, and a new one shows wherever metrics are listed."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from miscal.base.errors import InputError
from miscal.calibration.metrics import METRICS, Metric, correction_metrics, global_scores, mean_of
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.summary import parse_summary
from miscal.report import write_run

RNG = np.random.default_rng(0)
N = 300
F = RNG.uniform(0.1, 0.9, N)
Y = (RNG.random(N) < F).astype(float)


def absolute_error(correct, confidence, *, sample_weight=None):
    """Mean |y - f|, a metric that the library does not have."""
    return float(np.average(np.abs(np.asarray(correct) - confidence), weights=sample_weight))


TOY = Metric(
    "absolute",
    "Absolute error",
    absolute_error,
    mean_of(lambda y, f: np.abs(y - f), low=0.0, high=1.0),
    lower_is_better=True,
    compares_corrections=True,
)


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize(("n", "rate"), [(30, 0.05), (100, 0.01), (100, 0.97), (300, 0.01), (300, 0.7)])
def test_intervals_of_means_cover_where_one_outcome_is_rare(name, n, rate):
    """All rows alike, so that the coverage is a sum over the numbers of right answers: exact."""
    f = np.full(n, rate)
    one, zero = (METRICS[name].value([outcome], [rate]) for outcome in (1, 0))
    truth, misses = rate * one + (1 - rate) * zero, 0.0
    for hits, chance in enumerate(binom.pmf(np.arange(n + 1), n, rate)):
        if chance > 1e-6:
            low, high = METRICS[name].estimate((np.arange(n) < hits).astype(float), f).interval
            misses += chance * (not low <= truth <= high)
    assert misses <= 0.07


@pytest.mark.parametrize("name", METRICS)
def test_the_value_alone_is_the_estimates(name):
    weight = RNG.exponential(size=N)
    estimate = METRICS[name].estimate(Y, F, sample_weight=weight, n_draws=300)
    assert METRICS[name].value(Y, F, sample_weight=weight) == pytest.approx(estimate.value, abs=1e-9)
    low, high = estimate.interval
    assert low <= estimate.value <= high


def test_every_entry_is_under_its_own_name():
    assert [metric.name for metric in METRICS.values()] == list(METRICS)
    assert list(global_scores(Y, F, n_draws=20)) == ["accuracy", "confidence", "smece", "ece", "brier", "log_loss"]


def test_a_single_row_has_a_value_and_no_students_interval():
    found = global_scores([1], [0.75], n_draws=20)
    assert found["brier"].value == 0.0625
    assert found["brier"].interval is None
    assert found["accuracy"].interval[0] < 0.5 < found["accuracy"].interval[1] == 1.0


def test_intervals_stay_where_the_mean_can_lie():
    low, high = global_scores([1, 1, 0], [1.0, 0.99, 0.0], n_draws=20)["brier"].interval
    assert low == 0.0 <= high <= 1.0
    low, high = global_scores([1, 1, 0], [1.0, 1.0, 0.0], n_draws=20)["confidence"].interval
    assert (low, high) == (0.0, 1.0)


def test_a_metric_that_compares_says_which_it_prefers():
    with pytest.raises(InputError, match=r"'toy' is to compare corrections.*lower_is_better"):
        Metric("toy", "Toy", absolute_error, TOY.estimate, compares_corrections=True)


@pytest.mark.whole
@pytest.mark.usefixtures("few_folds")
def test_a_new_metric_is_one_entry(monkeypatch, tmp_path):
    monkeypatch.setitem(METRICS, TOY.name, TOY)
    assert correction_metrics()[-1] is TOY
    found = global_scores(Y, F, n_draws=20)["absolute"]
    assert found.value == pytest.approx(absolute_error(Y, F))
    assert found.interval[0] < found.value < found.interval[1]

    run = write_run(
        discover(Triples(X=RNG.normal(size=(N, 3)), correct=Y, confidence=F), map_method="pca", n_jobs=1),
        tmp_path / "run",
    )
    text = (tmp_path / "run" / "summary.json").read_text()
    stored = json.loads(text)
    assert stored["global"]["absolute"]["value"] == pytest.approx(absolute_error(Y, F))
    assert set(stored["global"]["absolute"]) == {"value", "interval"}
    assert set(stored["correction"]["miscal"]["all"]) == {"smece", "brier", "log_loss", "absolute", "n"}
    assert parse_summary(text) == run.summary
    assert run.summary.global_.absolute.value == stored["global"]["absolute"]["value"]
    assert "Absolute error</th>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
