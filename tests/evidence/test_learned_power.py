"""What would be claimed where nobody knows the place: more rows find less, and what is stated is found so often."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.kernel_score import smoothed_residuals
from miscal.evidence.power import clusters, detectable_places, halves, planted

# fewer draws, and fewer places
FEW = patch.multiple(
    "miscal.evidence.settings", N_DRAWS=199, LEAST_SCORE_DRAWS=199, PLANTED_PLACES=40, PLANTED_PARTITIONS=2
)


def smoothed(n, seed=0, *, columns=3, confidence=(0.3, 0.7)):
    rng = np.random.default_rng((seed, 9))
    X, f = rng.normal(size=(n, columns)), np.sort(rng.uniform(*confidence, n))
    return X, f, smoothed_residuals(X, LabelledRows((rng.random(n) < f).astype(float), f, f), seed)


@given(st.integers(0, 1000), st.floats(0, 1))
@settings(max_examples=20)
def test_planted_errors_leave_rates_within_bounds(seed, size):
    rng = np.random.default_rng(seed)
    with FEW:
        _, _, rows = smoothed(120, seed, confidence=(0.01, 0.99))
        split, some = halves(rows, rng), clusters(rows, rng)
    for signs in (split, some):
        assert signs.shape == (40, 120)
        off = planted(rows, signs, size)
        assert ((rows.expected + off >= -1e-6) & (rows.expected + off <= 1 + 1e-6)).all()
        assert (off[signs == 0] == 0).all()
    assert (np.abs(split.sum(1)) <= 1).all()


@FEW
def test_more_rows_find_smaller_errors_and_a_stricter_level_larger_ones():
    few, many = (detectable_places(smoothed(n)[2], 0.05) for n in (400, 3000))
    strict = detectable_places(smoothed(3000)[2], 0.01)
    for one, more, stricter in zip(few, many, strict, strict=True):
        assert one.place == more.place
        assert more.size < one.size
        assert more.size < stricter.size
        assert 0 < more.average <= more.size


@FEW
def test_too_few_rows_find_nothing():
    _, _, rows = smoothed(40, columns=8)
    halves_found, cluster_found = detectable_places(rows, 0.01)
    assert cluster_found.size is None
    assert cluster_found.average is None
    assert 0.02 < cluster_found.share < 0.5
    assert halves_found.share == 1


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
@FEW
def test_the_score_finds_what_is_stated_in_four_draws_of_five(place):
    kinds, found = (halves, clusters), []
    for seed in range(150):
        X, f, rows = smoothed(800, seed, confidence=(0.2, 0.8))
        size = detectable_places(rows, 0.05)[place].size
        rng = np.random.default_rng((seed, 10))
        known = replace(rows, expected=f[rows.row])
        off = np.zeros(800)
        off[rows.row] = planted(known, kinds[place](rows, rng)[:1], size)[0]
        y = (rng.random(800) < f + off).astype(float)
        found.append(smoothed_residuals(X, LabelledRows(y, f, f), seed).p_value < 0.05)
    assert np.mean(found) == pytest.approx(0.8, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
def test_sizes_shrink_with_the_root_of_the_rows(place):
    """The board of a study says by this rule how many rows an error of 5 points takes."""
    sizes = []
    for n in (1_000, 4_000, 16_000):
        rng = np.random.default_rng(0)
        X, f = rng.normal(size=(n, 16)), rng.uniform(0.3, 0.9, n)
        rows = smoothed_residuals(X, LabelledRows((rng.random(n) < f).astype(float), f, f))
        sizes.append(detectable_places(rows, 0.05)[place].size * np.sqrt(n))
    assert max(sizes) / min(sizes) < 1.3
