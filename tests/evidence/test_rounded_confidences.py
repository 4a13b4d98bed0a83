"""Stated confidences that are too rare to be strata of their own are warned of; others are not."""

import numpy as np
import pytest

from miscal.evidence.rounded_confidences import rare_values_warning


def stated(n, values, seed=0):
    return np.random.default_rng(seed).choice(values, n)


@pytest.mark.parametrize("n", [100, 300])
def test_many_round_numbers_of_few_rows_each_are_warned_of(n):
    assert "round numbers" in rare_values_warning(stated(n, np.arange(101) / 100))


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
    """Where rows are compared within blocks, a block of few rows per number mixes them."""
    confidence = np.repeat(np.arange(101) / 100, 12)
    assert rare_values_warning(confidence) is None
    assert "101 round numbers" in rare_values_warning(confidence, np.arange(len(confidence)) % 4)
    assert rare_values_warning(np.repeat([0.5, 0.9], 60), np.arange(120) % 4) is None
