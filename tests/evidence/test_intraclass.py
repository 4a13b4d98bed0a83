"""Outcomes that hang together within the values of a column are seen, and independent ones hardly ever."""

import numpy as np
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.intraclass import intraclass_p_values

N = 1_200


def rows(seed, spread=0.0, low=0.2, high=0.8):
    """Rows of 60 groups of 20 whose log-odds share a normal number of this spread."""
    rng = np.random.default_rng(seed)
    f, day = rng.uniform(low, high, N), rng.permutation(np.arange(N) % 60)
    p = 1 / (1 + (1 - f) / f * np.exp(-spread * rng.normal(size=60)[day]))
    return LabelledRows((rng.random(N) < p).astype(float), f, f), day, rng


def test_groups_that_hang_together_are_seen_and_others_are_not():
    labelled, day, rng = rows(0, spread=0.7)
    found = intraclass_p_values(labelled, {"day": day, "dealt": rng.permutation(day)})
    assert found["day"] < 1e-4
    assert found["dealt"] > 0.01


def test_neither_the_order_of_rows_nor_the_numbers_of_groups_matter_but_for_the_shuffles():
    labelled, day, rng = rows(1, spread=0.35)
    order, names = rng.permutation(N), rng.permutation(60)
    one = intraclass_p_values(labelled, {"day": day}, draws=2_000)["day"]
    other = intraclass_p_values(labelled.take(order), {"day": names[day[order]]}, draws=2_000)["day"]
    assert abs(np.log10(one) - np.log10(other)) < 0.5
    assert intraclass_p_values(labelled, {"day": day}) == intraclass_p_values(labelled, {"day": day})


def test_rows_of_no_group_say_nothing():
    labelled, day, _ = rows(2, spread=0.7)
    alone = np.where(day < 30, day, -1)
    kept = day < 30
    # the tail is known well enough only by many shuffles
    fewer = intraclass_p_values(labelled.take(kept), {"day": day[kept]}, draws=5_000)["day"]
    with_others = intraclass_p_values(labelled, {"day": alone}, draws=5_000)["day"]
    assert abs(np.log10(with_others) - np.log10(fewer)) < 2


def test_nothing_to_compare_is_no_evidence():
    labelled, day, _ = rows(3)
    same = LabelledRows(np.ones(N), labelled.confidence, labelled.expected)
    assert intraclass_p_values(same, {"day": day}) == {"day": 1.0}
    assert intraclass_p_values(labelled, {}) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.8), (0.005, 0.03)])
def test_independent_outcomes_are_rarely_called_alike(low, high):
    """At 5 % and 1 %, for usual and for rare outcomes, with groups of 20 and of 2 rows."""
    counts = np.zeros((2, 2))
    for seed in range(300):
        labelled, day, rng = rows(seed, low=low, high=high)
        found = intraclass_p_values(
            labelled, {"day": day, "pair": rng.permutation(np.arange(N) // 2)}, random_state=seed
        )
        counts += [[p <= 0.05, p <= 0.01] for p in found.values()]
    assert (counts <= np.array([0.05, 0.01]) * 300 + 3 * np.sqrt(np.array([0.05, 0.01]) * 300)).all(), counts
