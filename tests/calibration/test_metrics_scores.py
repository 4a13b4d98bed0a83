"""Scores, curves, means and their intervals; each metric's value and estimate agree, and a new one is one entry."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import check_rows
from miscal.calibration.metrics.curve import reliability_curve
from miscal.calibration.metrics.gap import worst_slice
from miscal.calibration.metrics.inference import METRICS, Metric, correction_metrics
from miscal.calibration.metrics.scores import (
    brier,
    ece,
    log_loss,
    log_losses,
    mean_interval,
    mean_of_values,
    mean_residual,
    wilson,
)
from miscal.calibration.metrics.smooth import smece
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.summary import parse_summary
from miscal.report import write_run

rows = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=40).filter(
    lambda r: any(w for _, _, w in r)
)
SCORES = {
    "smece": smece,
    "brier": brier,
    "log_loss": log_loss,
    "ece": ece,
    "ece mass": lambda y, f, **k: ece(y, f, 7, "mass", **k),
}


def arrays(data):
    return tuple(np.array(v, dtype=float) for v in zip(*data, strict=True))


@pytest.mark.parametrize("name", ["brier", "log_loss", "ece", "ece mass"])
@given(data=rows)
def test_weights_are_repetitions(name, data):
    y, f, w = arrays(data)
    times = w.astype(int)
    repeated = SCORES[name](np.repeat(y, times), np.repeat(f, times))
    assert SCORES[name](y, f, sample_weight=w) == pytest.approx(repeated, abs=1e-9)


@given(rows)
def test_ece_lies_between_mean_and_mean_absolute_residual(data):
    y, f, w = arrays(data)
    residual, w = y - f, w / w.sum()
    for strategy in ("width", "mass"):
        for n_bins in (1, 15):
            value = ece(y, f, n_bins, strategy, sample_weight=w)
            assert abs(w @ residual) - 1e-12 <= value <= w @ np.abs(residual) + 1e-12
        assert ece(y, f, 1, strategy, sample_weight=w) == pytest.approx(abs(w @ residual), abs=1e-12)


def test_confidence_of_one_is_in_the_last_bin():
    assert ece([1, 0], [1.0, 0.95], n_bins=10) == pytest.approx(0.95 / 2)
    curve = reliability_curve([1, 0], [1.0, 0.95], n_bins=10, strategy="width")
    assert curve.n.tolist() == [2]


def test_edges_belong_to_the_upper_bin():
    f = np.arange(100) / 100
    curve = reliability_curve(np.zeros(100), f, n_bins=100, strategy="width")
    np.testing.assert_allclose(curve.confidence, f)


def test_equal_mass_bins_are_equal_and_keep_ties_together():
    rng = np.random.default_rng(0)
    f = rng.permutation(np.arange(300) / 300)
    assert reliability_curve(f > 0.5, f, n_bins=15).n.tolist() == [20] * 15
    tied = np.repeat([0.2, 0.7, 0.9], 40)
    assert reliability_curve(tied > 0.5, tied, n_bins=15).n.tolist() == [40, 40, 40]


def test_known_values():
    assert brier([1, 0, 1], [0.8, 0.3, 0.5]) == pytest.approx((0.04 + 0.09 + 0.25) / 3)
    assert log_loss([1, 0], [0.8, 0.3]) == pytest.approx(-(math.log(0.8) + math.log(0.7)) / 2)
    assert log_loss([0, 1], [1.0, 0.0]) == pytest.approx(-math.log(1e-4))
    assert log_loss([1, 0], [1.0, 0.0]) == pytest.approx(-math.log(1 - 1e-4))
    np.testing.assert_allclose(log_losses(np.array([1.0, 0.0]), np.array([0.25, 0.25])), -np.log([0.25, 0.75]))


def test_wilson_against_statsmodels_values():
    low, high = wilson(np.array([0.0, 0.1, 0.5, 1.0]), np.array([10.0, 50.0, 100.0, 7.0]))
    np.testing.assert_allclose(low, [0.0, 0.0434752, 0.4038315, 0.6456698], atol=1e-6)
    np.testing.assert_allclose(high, [0.2775328, 0.2136023, 0.5961685, 1.0], atol=1e-6)


@given(rows)
def test_curve_adds_up(data):
    y, f, _ = arrays(data)
    curve = reliability_curve(y, f, n_bins=5)
    assert curve.n.sum() == len(y)
    assert (curve.n @ curve.accuracy) == pytest.approx(y.sum())
    assert (curve.n @ curve.confidence) == pytest.approx(f.sum())
    assert ((curve.low <= curve.accuracy) & (curve.accuracy <= curve.high)).all()
    assert (np.diff(curve.confidence) >= 0).all()


# --- means --------------------------------------------------------------------------------------------------------


def test_mean_interval_is_students():
    from scipy import stats

    values = np.random.default_rng(0).normal(0.3, 1, 25)
    expected = stats.ttest_1samp(values, 0.0)
    found = mean_interval(values)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert mean_interval(values, null=0.3).p_value == pytest.approx(stats.ttest_1samp(values, 0.3).pvalue)


def test_equal_weights_and_zero_weights_change_nothing():
    values = np.random.default_rng(0).normal(size=25)
    plain = mean_interval(values)
    heavy = mean_interval(values, sample_weight=np.full(25, 7.0))
    assert heavy.interval == pytest.approx(plain.interval)
    padded = mean_interval(np.append(values, 99.0), sample_weight=np.append(np.ones(25), 0.0))
    assert padded.interval == pytest.approx(plain.interval)


def test_one_row_has_no_interval():
    found = mean_interval([0.4])
    assert (found.value, found.interval, found.p_value, found.standard_error) == (0.4, None, None, None)
    assert mean_residual(check_rows([1], [0.4])).interval is None


@given(st.lists(st.floats(-330, -12), min_size=1, max_size=40), st.floats(-5, 5), st.booleans())
def test_rows_of_vanishing_weight_leave_one_row(exponents, value, first):
    values = [value, *np.arange(len(exponents)) % 2]
    weight = [1.0, *10.0 ** np.array(exponents)]
    order = slice(None) if first else slice(None, None, -1)
    found = mean_interval(values[order], sample_weight=weight[order])
    assert found.value == pytest.approx(value, abs=1e-9)
    assert (found.standard_error, found.interval, found.p_value) == (None, None, None)
    residual = mean_residual(check_rows(np.ones(len(values)), np.full(len(values), 0.25), weight))
    assert (residual.value, residual.interval) == (pytest.approx(0.75), None)
    assert mean_interval([0, 1, 1], sample_weight=[1, 0.1, 0.1]).interval is not None


def test_constant_values():
    assert mean_interval([0.5, 0.5]).p_value == 0.0
    assert mean_interval([0.0, 0.0]).p_value == 1.0
    agreed = mean_residual(check_rows(np.zeros(30), np.full(30, 0.9)))
    assert agreed.value == pytest.approx(-0.9)
    assert agreed.interval == pytest.approx((-0.9, -0.83), abs=0.01)  # thirty failures do not prove a rate of 0


@pytest.mark.parametrize(
    ("rate", "low", "high"), [(0.5, 0.3, 0.7), (0.9, 0.85, 0.95), (0.97, 0.9, 1.0), (0.02, 0.8, 0.9)]
)
def test_mean_residual_covers(rate, low, high):
    rng = np.random.default_rng(0)
    truth, hits = rate - (low + high) / 2, 0
    for _ in range(400):
        f = rng.uniform(low, high, 60)
        interval = mean_residual(check_rows(rng.random(60) < rate, f)).interval
        hits += interval[0] <= truth <= interval[1]
    assert hits / 400 >= 0.92


def calibrated(n, seed):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    return (rng.random(n) < f).astype(float), f


# --- all together, and what is refused ----------------------------------------------------------------------------


def test_metrics_hold_the_single_ones():
    y, f = calibrated(400, 3)
    found = {name: metric.estimate_of(check_rows(y, f), 50, 0) for name, metric in METRICS.items()}
    assert found["accuracy"].value == pytest.approx(y.mean())
    assert found["confidence"].value == pytest.approx(f.mean())
    assert found["smece"].value == pytest.approx(smece(y, f), abs=1e-9)
    assert found["ece"].value == pytest.approx(ece(y, f), abs=1e-9)
    assert found["brier"].value == pytest.approx(brier(y, f))
    assert found["log_loss"].value == pytest.approx(log_loss(y, f))
    for estimate in (found["accuracy"], found["confidence"], found["brier"], found["log_loss"]):
        assert estimate.interval[0] < estimate.value < estimate.interval[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: ece([0, 1], [0.5, 0.5], n_bins=0),
        lambda: ece([0, 1], [0.5, 0.5], n_bins=2.5),
        lambda: ece([0, 1], [0.5, 0.5], strategy="equal"),
        lambda: reliability_curve([0, 1], [0.5, 0.5], strategy="equal"),
        lambda: mean_interval([]),
        lambda: mean_interval([0.1, np.inf]),
        lambda: mean_interval(["a"]),
        lambda: worst_slice([0, 1], [0.5, 0.5], ["over"]),
        lambda: worst_slice([0, 1], [0.5, 0.5], ["over", "over"], min_rows=0),
    ],
)
def test_bad_options_are_refused(call):
    with pytest.raises(InputError):
        call()


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
