"""Laws of the choice of the global map."""

import numpy as np
import pytest

from miscal.base.errors import InputError
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.global_map import GLOBAL_MAPS, crossfit_global_map, held_out_global_map, paired_gain, simplest


def worlds(n=8000):
    """Outcomes and confidences by the map that is right for them."""
    rng = np.random.default_rng(0)
    f = rng.uniform(0.02, 0.98, n)
    steps = np.where((f > 0.3) & (f < 0.7), 0.2, np.where(f >= 0.7, 0.9, 0.15))
    truths = {"identity": f, "temperature": 1 / (1 + ((1 - f) / f) ** (1 / 3)), "isotonic": steps}
    return {name: ((rng.random(n) < p).astype(float), f) for name, p in truths.items()}


@pytest.mark.parametrize("name", GLOBAL_MAPS)
def test_the_map_is_the_simplest_not_beaten(name):
    y, f = worlds()[name]
    half, other = np.arange(4000), np.arange(4000, 8000)
    assert held_out_global_map(y, f, np.ones(8000), half, other).name == name
    found = crossfit_global_map(y, f, np.arange(8000) % 5)
    assert (found.chosen, found.map.name) == (name, name)


def test_log_odds_come_from_other_folds():
    y, f = worlds(500)["isotonic"]
    folds = np.arange(500) % 5
    changed = np.where(folds == 0, 1 - y, y)
    before, after = (crossfit_global_map(outcome, f, folds).log_odds["isotonic"] for outcome in (y, changed))
    np.testing.assert_array_equal(before[folds == 0], after[folds == 0])
    assert not np.array_equal(before[folds == 1], after[folds == 1])


def test_swapped_arguments_are_refused_at_the_public_door():
    y, f = worlds(100)["identity"]
    for name in GLOBAL_MAPS:
        with pytest.raises(InputError, match="correct must hold only 0/1"):
            CALIBRATORS[name]().fit(f, y)


def test_weight_two_is_a_repeated_row():
    rng = np.random.default_rng(1)
    before, after = rng.random(200), rng.random(200)
    weight, again = np.where(np.arange(200) < 50, 2.0, 1.0), np.r_[np.arange(200), np.arange(50)]
    assert paired_gain(before, after, weight) == pytest.approx(paired_gain(before[again], after[again]))


def test_a_better_map_must_beat_the_choice_so_far_beyond_noise():
    noise = np.random.default_rng(2).normal(0, 1, 1000)
    plain = np.ones(1000)
    assert simplest({"a": plain, "b": plain - 0.2 + noise, "c": plain - 0.15 + 0.1 * noise}) == "b"
    assert simplest({"a": plain, "b": plain - 0.05 + noise, "c": plain - 0.15 + 0.1 * noise}) == "c"
    assert simplest({"a": plain, "b": plain}) == "a"
