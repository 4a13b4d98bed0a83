"""Each metric's value and estimate agree, and a new one shows wherever metrics are listed."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from miscal.calibration.labelled_rows import check_rows
from miscal.calibration.metrics.inference import METRICS, Metric, correction_metrics
from miscal.calibration.metrics.scores import mean_of_values
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.summary import parse_summary
from miscal.report import write_run

RNG = np.random.default_rng(0)
N = 300
F = RNG.uniform(0.1, 0.9, N)
Y = (RNG.random(N) < F).astype(float)


def absolute_error(rows):
    """Mean |y - f|, a metric that the library does not have."""
    return float(rows.shares @ np.abs(rows.correct - rows.confidence))


def global_scores(correct, confidence, n_draws=20, **known):
    """Every metric of some rows."""
    rows = check_rows(correct, confidence, **known)
    return {name: metric.estimate_of(rows, n_draws, 0) for name, metric in METRICS.items()}


TOY = Metric(
    "absolute",
    "Absolute error",
    absolute_error,
    lambda rows, *_draws: mean_of_values(rows, np.abs(rows.correct - rows.confidence)),
    better="lower",
)


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize(("n", "rate"), [(30, 0.05), (100, 0.01), (100, 0.97), (300, 0.01), (300, 0.7)])
def test_intervals_of_means_cover_where_one_outcome_is_rare(name, n, rate):
    """All rows alike, so that the coverage is a sum over the numbers of right answers: exact."""
    f = np.full(n, rate)
    one, zero = (METRICS[name].value_of(check_rows([outcome], [rate])) for outcome in (1, 0))
    truth, misses = rate * one + (1 - rate) * zero, 0.0
    for hits, chance in enumerate(binom.pmf(np.arange(n + 1), n, rate)):
        if chance > 1e-6:
            low, high = METRICS[name].estimate_of(check_rows((np.arange(n) < hits).astype(float), f), 20, 0).interval
            misses += chance * (not low <= truth <= high)
    assert misses <= 0.07


@pytest.mark.parametrize("name", METRICS)
def test_the_value_alone_is_the_estimates(name):
    weight = RNG.exponential(size=N)
    rows = check_rows(Y, F, weight)
    estimate = METRICS[name].estimate_of(rows, 300, 0)
    assert METRICS[name].value_of(rows) == pytest.approx(estimate.value, abs=1e-9)
    low, high = estimate.interval
    assert low <= estimate.value <= high


def test_every_entry_is_under_its_own_name():
    assert [metric.name for metric in METRICS.values()] == list(METRICS)
    assert list(global_scores(Y, F)) == ["accuracy", "confidence", "smece", "ece", "brier", "log_loss"]


def test_a_single_row_has_a_value_and_no_students_interval():
    found = global_scores([1], [0.75])
    assert found["brier"].value == 0.0625
    assert found["brier"].interval is None
    assert found["accuracy"].interval[0] < 0.5 < found["accuracy"].interval[1] == 1.0


def test_intervals_stay_where_the_mean_can_lie():
    low, high = global_scores([1, 1, 0], [1.0, 0.99, 0.0])["brier"].interval
    assert low == 0.0 <= high <= 1.0
    low, high = global_scores([1, 1, 0], [1.0, 1.0, 0.0])["confidence"].interval
    assert (low, high) == (0.0, 1.0)


@pytest.mark.whole
@pytest.mark.usefixtures("few_folds")
def test_a_new_metric_is_one_entry(monkeypatch, tmp_path):
    monkeypatch.setitem(METRICS, TOY.name, TOY)
    assert correction_metrics()[-1] is TOY
    found = global_scores(Y, F)["absolute"]
    assert found.value == pytest.approx(absolute_error(check_rows(Y, F)))
    assert found.interval[0] < found.value < found.interval[1]

    run = write_run(
        discover(Triples(X=RNG.normal(size=(N, 3)), correct=Y, confidence=F), map_method="pca", n_jobs=1),
        tmp_path / "run",
    )
    text = (tmp_path / "run" / "summary.json").read_text()
    stored = json.loads(text)
    assert stored["global"]["absolute"]["value"] == pytest.approx(absolute_error(check_rows(Y, F)))
    assert set(stored["global"]["absolute"]) == {"value", "interval"}
    assert set(stored["correction"]["miscal"]["all"]) == {"smece", "brier", "log_loss", "absolute", "n"}
    assert parse_summary(text) == run.summary
    assert run.summary.global_.absolute.value == stored["global"]["absolute"]["value"]
    assert "Absolute error</th>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
