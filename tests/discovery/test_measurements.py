"""Numbers of the summary agree with their definitions, and say null where there is nothing to measurements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.smooth import smece
from miscal.calibration.survey_design import correlation
from miscal.discovery import measurements
from miscal.findings.judging import REGIMES

RNG = np.random.default_rng(0)
N = 400
F = RNG.uniform(0.1, 0.9, N)
Y = (RNG.random(N) < F).astype(float)
EXPECTED = np.clip(F - 0.1, 0.0, 1.0)
ROWS = LabelledRows(Y, F, EXPECTED)
REGIME = RNG.choice(np.array(["over", "good", "under", None], dtype=object), N)


def test_regimes_agree_with_their_rows():
    for regime in measurements.regime_numbers(ROWS, REGIME, seed=0):
        rows = regime.name == REGIME
        assert regime.n == rows.sum()
        assert regime.share == pytest.approx(rows.mean())
        assert regime.residual.value == pytest.approx((Y - F)[rows].mean())
        assert regime.visible.value == pytest.approx((EXPECTED - F)[rows].mean())
        assert regime.visible.value + regime.hidden.value == pytest.approx(regime.residual.value)
        assert regime.residual.interval[0] <= regime.residual.value <= regime.residual.interval[1]
        assert regime.smece.value == pytest.approx(smece(Y[rows], F[rows]))


def test_an_empty_regime_is_null_not_zero():
    over, good, under = measurements.regime_numbers(ROWS, np.full(N, "good", dtype=object), seed=0)
    for empty in (over, under):
        assert empty.n == 0
        assert empty.accuracy is empty.brier is empty.smece.value is empty.smece.floor is None
        assert empty.residual.value is empty.visible.value is empty.hidden.value is None
    assert good.share == 1.0
    regime = np.full(N, "good", dtype=object)
    whole = measurements.global_numbers(ROWS, seed=0)
    assert measurements.gap(ROWS, regime, seed=0, whole=whole, regimes=()).value is None


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_the_gap_of_a_regime_of_few_rows_is_measured_only_if_asked(rows):
    regime = np.full(N, "good", dtype=object)
    few = slice(0, rows)
    regime[few] = "over"
    whole = measurements.global_numbers(ROWS, seed=0)
    assert measurements.gap(ROWS, regime, seed=0, whole=whole, regimes=()).value is None
    asked = measurements.gap(ROWS, regime, seed=0, min_rows=rows, whole=whole, regimes=())
    assert asked.value == pytest.approx(smece(Y[few], F[few]) - smece(Y, F))
    assert asked.interval[0] <= asked.value <= asked.interval[1]
    assert measurements.gap(ROWS, regime, seed=0, min_rows=rows + 1, whole=whole, regimes=()).value is None


def test_corrections_are_scored_on_the_same_slices():
    table = measurements.comparison(ROWS, {"raw": F, "flat": np.full(N, 0.5)}, REGIME)
    rows = REGIME == "over"
    assert table["raw"].over.brier == pytest.approx(np.mean((Y - F)[rows] ** 2))
    assert table["flat"].all.log_loss == pytest.approx(np.log(2))
    assert [getattr(table["flat"], name).n for name in REGIMES] == [(name == REGIME).sum() for name in REGIMES]
    empty = measurements.comparison(ROWS, {"raw": F}, np.full(N, None, dtype=object))["raw"]
    assert (empty.over.n, empty.over.smece, empty.over.log_loss) == (0, None, None)


def test_curves_cover_every_row_and_small_slices_have_none():
    few = np.full(N, "over", dtype=object)
    few[:29] = "under"
    curves = measurements.curves(ROWS, F, few)
    assert sum(curves.all.raw.n) == N
    assert curves.under.raw is None
    assert sum(curves.over.corrected.n) == N - 29


@settings(max_examples=50)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50), st.floats(0, 0.99))
def test_the_histogram_counts_every_supported_row(values, epsilon):
    delta = np.array(values)
    regime = np.where(delta < -epsilon, "over", np.where(delta > epsilon, "under", "good")).astype(object)
    counts = measurements.histogram(delta, regime, epsilon)
    for name in REGIMES:
        assert sum(getattr(counts, name)) == (regime == name).sum()
    assert len(counts.edges) == len(counts.over) + 1
    assert counts.edges[0] == -counts.edges[-1]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_correlation_is_in_range_or_undefined(pairs):
    a, b = np.array(pairs).T
    value = correlation(a, b)
    if min(a.std(), b.std()) < 1e-12:
        assert value is None
    else:
        assert -1 <= value <= 1
        assert value == correlation(b, a)
        assert correlation(-a, b) == pytest.approx(-value, abs=1e-9)


def test_the_field_in_numbers():
    delta = np.array([-0.2, 0.0, 0.3, 0.1])
    regime = np.array(["over", "good", "under", None], dtype=object)
    supported = np.array([True, False, True, False])
    half = np.full(4, 0.5)
    rows = LabelledRows(half, half, half, delta, 3 * delta / 4)
    numbers = measurements.field_numbers(rows, regime, supported, visible=delta / 4, structure=True)
    # a row may keep its regime without support
    assert (numbers.share_over, numbers.share_under, numbers.share_unsupported) == (0.25, 0.25, 0.5)
    assert numbers.correlation_with_confidence is None
    assert numbers.mean == pytest.approx(0.05)
    assert numbers.std == pytest.approx(delta.std())
    assert (numbers.std_visible, numbers.std_hidden) == pytest.approx((0.25 * numbers.std, 0.75 * numbers.std))
    assert numbers.structure
