"""Places of what is hidden: regions that are right more or less often than rows of like confidence."""

import numpy as np

from miscal.findings import FindingsSettings, places

RATE = np.full(600, 0.6)
CORRECT = np.r_[np.tile([1, 1, 1, 0, 0], 40), np.zeros(200), np.ones(200)].astype(float)
TYPICAL, WORSE, BETTER = (np.arange(600) // 200 == k for k in range(3))


def test_places_carry_their_sign_and_the_heaviest_come_first():
    found = places(CORRECT, RATE, [("typical", TYPICAL), ("better", BETTER), ("worse", WORSE)])
    assert [place.name for place in found] == ["worse", "better"]
    np.testing.assert_allclose([place.hidden for place in found], [-0.6, 0.4])


def test_a_region_without_test_rows_is_no_place():
    assert places(CORRECT, RATE, [("empty", np.zeros(600, dtype=bool)), ("typical", TYPICAL)]) == []
    assert places(CORRECT, RATE, []) == []


def test_many_regions_raise_the_bar():
    some = np.arange(600) < 30
    correct = np.where(some, np.arange(600) % 3 == 0, CORRECT)  # 10 of 30 right where 18 are expected: p is 0.005
    alone = places(correct, RATE, [("some", some)])
    assert [place.name for place in alone] == ["some"]
    assert places(correct, RATE, [("some", some), *[("typical", TYPICAL & ~some)] * 30]) == []
    assert places(correct, RATE, [("some", some)], FindingsSettings(significance=1e-4)) == []


def test_a_uniformly_overconfident_region_hides_nothing():
    """All rows are right half as often as they say; mu(f) knows that, so no region stands out."""
    correct = np.tile([1.0, 0.0], 300)
    assert places(correct, np.full(600, 0.5), [("first", TYPICAL), ("last", BETTER)]) == []
