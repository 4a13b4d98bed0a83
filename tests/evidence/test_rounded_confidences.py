"""Stated confidences: rows of different numbers are not compared, and rows without a like are warned of."""

import numpy as np
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.conditional import permutation_p_value, rare_values_warning, strata
from miscal.findings.ledger.exact import cut_into_strata
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find


def stated(n, values, seed=0):
    return np.random.default_rng(seed).choice(values, n)


def test_many_round_numbers_of_few_rows_each_are_warned_of():
    assert "round numbers" in rare_values_warning(stated(100, np.arange(101) / 100))


@pytest.mark.parametrize(
    "confidence",
    [
        stated(10_000, np.arange(101) / 100),
        stated(100, [0.5, 0.7, 0.8, 0.9, 1.0]),
        np.random.default_rng(0).random(100),
        np.r_[stated(990, [0.5, 0.9]), stated(10, np.arange(101) / 100)],
        np.zeros(0),
    ],
    ids=["enough rows", "few values", "not stated", "a few stray ones", "no rows"],
)
def test_others_are_not(confidence):
    assert rare_values_warning(confidence) is None


def test_rows_are_counted_block_by_block():
    """Where rows are compared within blocks, a row may be alone in its block."""
    confidence = np.repeat(np.arange(101) / 100, 4)
    assert rare_values_warning(confidence) is None
    assert "in the block" in rare_values_warning(confidence, np.arange(len(confidence)) % 4)
    assert rare_values_warning(stated(300, [0.5, 0.6, 0.7, 0.8, 0.9]), np.arange(300) // 30) is None


@pytest.mark.parametrize("n", [20, 300])
def test_stated_numbers_are_not_compared_with_others(n):
    confidence = stated(n, np.arange(101) / 100)
    for cut in (strata(confidence), cut_into_strata(confidence, 8, np.random.default_rng(0))):
        assert all(len(np.unique(confidence[cut == k])) == 1 for k in np.unique(cut))


@pytest.mark.parametrize("n", [100, 300, 1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_number_that_is_right_at_its_own_rate_hides_nothing(n):
    """Each stated number has its own rate of right answers; fields and groups that follow the number find nothing."""
    rejected, named = [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rate, number = rng.uniform(0.2, 0.95, 101), rng.integers(0, 101, n)
        f, y = number / 100, (rng.random(n) < rate[number]).astype(float)
        expected = np.full(n, rate.mean())
        field = rate[number] + 0.05 * rng.normal(size=n)
        rejected.append(permutation_p_value(y - expected, field, strata(f), rng=rng))
        groups = named_groups({"high": np.where(rate[number] > 0.6, "yes", "no")})
        named += len(find(LabelledRows(y, f, expected, hidden=0 * y, row=np.arange(n)), groups).findings)
    assert np.sum(np.array(rejected) <= 0.05) <= 8
    assert named == 0
