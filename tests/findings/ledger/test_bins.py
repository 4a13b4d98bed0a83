"""Laws of bins: ends are round, near their quantiles, and cut the same rows as their words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.findings.ledger.bins import bins_of, round_quantile

MOVED = 0.0075


@given(st.integers(0, 2**20), st.floats(0.02, 0.98), st.sampled_from([1e-6, 1e-2, 1.0, 1e5]))
def test_a_rounded_quantile_moves_few_rows_and_has_few_digits(seed, place, scale):
    order = np.sort(np.random.default_rng(seed).normal(size=500)) * scale
    found = round_quantile(order, place)
    below = np.mean(order < found)
    assert place - MOVED - 1 / 500 <= below <= place + MOVED + 1 / 500
    digits = f"{found:.6g}".lstrip("-").split("e")[0].replace(".", "").strip("0")
    assert len(digits) <= 3


@given(st.integers(0, 2**20), st.integers(2, 40))
def test_bins_of_whole_numbers_end_at_whole_numbers_and_hold_about_as_many_rows(seed, count):
    values = np.random.default_rng(seed).integers(0, 300, 2_000).astype(float)
    bins = bins_of("n", values, count, date=False)
    assert bins.whole
    assert (bins.inner == np.floor(bins.inner)).all()
    assert (np.diff(bins.inner) > 0).all()
    assert np.bincount(bins.codes).max() <= 2_000 * (1 / count + 2 * MOVED) + 30


def test_dates_are_cut_at_firsts_of_months_where_these_are_near():
    days = np.arange(0, 730 * 86_400, 3_600.0) + np.datetime64("2021-01-01", "s").astype(float)
    bins = bins_of("day", days, 24, date=True)
    told = [bins.condition(i, i).words for i in range(1, 23)]
    assert sum(" in " in one for one in told) >= 15
    assert bins.condition(0, 11).words == "day before January 2022 (past)"


@pytest.mark.parametrize("values", [[0.0, 1.0], [5.0, 5.0, 7.0]])
def test_two_values_make_two_bins(values):
    assert bins_of("n", np.repeat(values, 20), 40, date=False).count == 2
