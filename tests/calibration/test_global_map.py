"""Laws of the choice of the global map."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit

from miscal.base.errors import InputError
from miscal.calibration.calibrators import CALIBRATORS, logit
from miscal.calibration.global_map import (
    FEW_ROWS,
    GLOBAL_MAPS,
    crossfit_global_map,
    held_out_global_map,
    paired_gain,
    simplest,
)
from miscal.calibration.metrics.scores import log_losses


def worlds(n=8000):
    """Outcomes and confidences by the map that is right for them."""
    rng = np.random.default_rng(0)
    f = rng.uniform(0.02, 0.98, n)
    steps = np.where((f > 0.3) & (f < 0.7), 0.2, np.where(f >= 0.7, 0.9, 0.15))
    odds = logit(f)
    truths = {"identity": f, "shift": expit(odds + 0.5), "platt": expit(odds / 3 - 0.3), "isotonic": steps}
    return {name: ((rng.random(n) < p).astype(float), f) for name, p in truths.items()}


@pytest.mark.parametrize("name", GLOBAL_MAPS)
def test_the_map_is_the_simplest_not_beaten(name):
    y, f = worlds()[name]
    half, other = np.arange(4000), np.arange(4000, 8000)
    assert held_out_global_map(y, f, np.ones(8000), half, other).name == name
    assert crossfit_global_map(y, f, np.arange(8000) % 5)[0].name == name


def test_log_odds_come_from_other_folds():
    y, f = worlds(500)["isotonic"]
    folds = np.arange(500) % 5
    changed = np.where(folds == 0, 1 - y, y)
    before, after = (crossfit_global_map(outcome, f, folds)[1]["isotonic"] for outcome in (y, changed))
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


def tempered(n, seed, slope=1.0):
    """Outcomes whose log-odds are `slope` times those of the confidence, and the rates that they are drawn from."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.05, 0.98, n)
    rate = expit(slope * logit(f))
    return (rng.random(n) < rate).astype(float), f, rate


def chosen_maps(n, slope, draws=60):
    return [crossfit_global_map(*tempered(n, seed, slope)[:2], np.arange(n) % 5)[0] for seed in range(draws)]


def test_a_slope_that_an_interval_would_show_is_taken():
    chosen = [one.name for one in chosen_maps(300, 0.5)]
    assert chosen.count("platt") >= 0.8 * len(chosen)
    assert [one.name for one in chosen_maps(300, 1.0)].count("identity") >= 0.8 * len(chosen)


@given(st.integers(FEW_ROWS, 2_000), st.integers(0, 2**32 - 1), st.floats(0.3, 1.5), st.floats(-1, 1))
def test_the_mean_of_what_is_corrected_is_the_rate(n, seed, slope, shift):
    """Calibration in the large: within the 99.9 % interval that the rows give of the rate."""
    rng = np.random.default_rng(seed)
    f = expit(rng.normal(0.5, 1.2, n))
    y = (rng.random(n) < expit(slope * logit(f) + shift)).astype(float)
    found = crossfit_global_map(y, f, np.arange(n) % 5)[0].apply(f)
    assert abs(found.mean() - y.mean()) <= 3.3 * np.sqrt(np.mean(found * (1 - found)) / n)


@pytest.mark.parametrize(("slope", "least"), [(1.0, -0.0005), (0.6, 0.01)])
def test_what_few_rows_choose_lowers_the_log_loss_and_never_raises_it_by_more_than_noise(slope, least):
    _, f, rate = tempered(5_000, 99, slope)

    def loss(p):
        return np.mean(rate * log_losses(np.ones_like(p), p) + (1 - rate) * log_losses(np.zeros_like(p), p))

    assert np.mean([loss(f) - loss(one.apply(f)) for one in chosen_maps(300, slope, draws=200)]) >= least


@given(st.integers(20, FEW_ROWS - 1), st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=30)
def test_too_few_rows_for_steps_get_none(n, seed, step):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    chosen, log_odds = crossfit_global_map((f > step).astype(float), f, np.arange(n) % 5)
    assert chosen.name in {"identity", "shift", "platt"}
    assert set(log_odds) == set(GLOBAL_MAPS)


@given(st.integers(20, 400), st.floats(0.002, 0.02), st.integers(0, 2**32 - 1))
def test_that_no_rare_outcome_was_seen_does_not_show_that_it_is_rarer_still(n, rate, seed):
    f = rate * np.random.default_rng(seed).uniform(0.5, 1.5, n)
    assume(f.sum() < 1.5)
    assert crossfit_global_map(np.zeros(n), f, np.arange(n) % 5)[0].name == "identity"
    # as many rows as this show it where many were promised
    assert crossfit_global_map(np.zeros(600), np.full(600, 0.3), np.arange(600) % 5)[0].name != "identity"
