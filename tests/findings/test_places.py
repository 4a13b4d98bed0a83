"""Places of what is hidden: regions that are right more or less often than rows of like confidence."""

from dataclasses import replace

import numpy as np
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.conditional import outcome_given_confidence
from miscal.findings import judging, places

RATE = np.full(600, 0.5)
CORRECT = np.r_[np.tile([1, 0], 100), np.zeros(200), np.ones(200)].astype(float)
TYPICAL, WORSE, BETTER = (np.arange(600) // 200 == k for k in range(3))


def found(correct, parts, whole=(), **changes):
    return places(LabelledRows(correct, RATE, RATE), parts, whole, **changes)


def test_places_carry_their_sign_and_the_heaviest_come_first():
    told = found(CORRECT, [("typical", TYPICAL), ("better", BETTER), ("worse", WORSE)])
    assert [place.name for place in told] == ["better", "worse"]
    np.testing.assert_allclose([place.hidden for place in told], [0.5, -0.5])


def test_a_region_without_rows_is_no_place():
    assert found(CORRECT, [("empty", np.zeros(600, dtype=bool)), ("typical", TYPICAL)]) == []
    assert found(CORRECT, []) == []


def test_many_regions_raise_the_bar_and_parts_and_larger_regions_are_one_family(monkeypatch):
    some = np.arange(600) < 30
    correct = np.where(some, np.arange(600) % 5 == 0, CORRECT)  # 6 of 30 right where 15 are expected: p is 0.001
    many = [("empty", np.zeros(600, dtype=bool))] * 60
    assert [place.name for place in found(correct, [("some", some)])] == ["some"]
    assert found(correct, [("some", some), *many]) == []
    assert found(correct, [("some", some)], many) == []
    assert found(correct, many, [("some", some)]) == []
    monkeypatch.setattr(judging, "SETTINGS", replace(judging.SETTINGS, significance=1e-5))
    assert found(correct, [("some", some)]) == []


def test_larger_regions_are_told_only_where_no_part_is():
    larger = ("larger", WORSE | TYPICAL)
    assert [place.name for place in found(CORRECT, [("worse", WORSE)], [larger])] == ["worse"]
    assert [place.name for place in found(CORRECT, [("typical", TYPICAL)], [larger])] == ["larger"]


def test_nothing_is_told_twice():
    """Parts of the total and of the hidden field are often nearly the same rows."""
    nearly = WORSE & (np.arange(600) % 10 > 0)
    regions = [("nearly", nearly), ("worse", WORSE), ("better", BETTER)]
    assert [place.name for place in found(CORRECT, regions)] == ["worse", "better"]


def test_a_uniformly_overconfident_region_hides_nothing():
    """All rows are right half as often as they say; E[y | f] knows that, so no region stands out."""
    correct = np.tile([1.0, 0.0], 300)
    assert found(correct, [("first", TYPICAL), ("last", BETTER)]) == []


def test_all_right_answers_of_a_stratum_prove_nothing():
    """Sure and always right, more than E[y | f] expects: but no row of equal confidence tells the region apart."""
    assert places(LabelledRows(np.ones(600), np.full(600, 0.99), np.full(600, 0.9)), [("first", TYPICAL)]) == []


@pytest.mark.promise("V5")
@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1_000])
@pytest.mark.parametrize("error", [0.0, 0.05, -0.05])
@pytest.mark.parametrize("saturated", [False, True])
def test_a_slightly_wrong_map_names_a_place_where_nothing_is_hidden_in_one_draw_of_twenty_at_most(n, error, saturated):
    """Outcomes follow a curve of f that the map misses by `error`; regions follow f, as those of the total field do."""
    named, draws = 0, 1000
    rng = np.random.default_rng(n)
    for _ in range(draws):
        f = rng.beta(8, 0.4, n) if saturated else rng.uniform(0.2, 0.95, n)
        correct = (rng.random(n) < f**1.5).astype(float)
        expected = np.clip(f**1.5 + error * np.sin(6 * f), 0.0, 1.0)
        noise = f + rng.normal(scale=0.1, size=n)
        group = rng.integers(0, 4, n)
        parts = [(str(k), (group == k) & (noise > np.median(noise))) for k in range(4)]
        whole = [("sure", noise > np.median(noise)), ("unsure", noise <= np.median(noise))]
        named += bool(places(LabelledRows(correct, f, expected), parts, whole))
    assert named / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.slow
def test_the_map_that_other_rows_give_names_no_place_where_nothing_is_hidden():
    named, draws = 0, 300
    rng = np.random.default_rng(0)
    for _ in range(draws):
        f = rng.uniform(0.2, 0.95, 1_000)
        correct = (rng.random(1_000) < 0.5 + 0.3 * np.sin(8 * f)).astype(float)  # no isotonic map fits this
        fold = rng.integers(0, 5, 1_000)
        expected = np.empty(1_000)
        for k in range(5):
            expected[fold == k] = outcome_given_confidence(correct[fold != k], f[fold != k], f[fold == k])
        regions = [(str(k), np.abs(f - 0.25 - 0.15 * k + rng.normal(scale=0.05, size=1_000)) < 0.1) for k in range(4)]
        named += bool(places(LabelledRows(correct, f, expected), regions))
    assert named / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
