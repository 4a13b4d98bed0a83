"""Laws of the global maps, and of the choice between them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from miscal.base.errors import InputError
from miscal.base.folders import built, state_of
from miscal.calibration.calibrators import CALIBRATORS, Calibrator, Identity, Isotonic, Platt, Temperature, logit
from miscal.calibration.global_map import (
    FEW_ROWS,
    GLOBAL_MAPS,
    crossfit_global_map,
    held_out_global_map,
    paired_gain,
    simplest,
)
from miscal.calibration.metrics.scores import log_losses

MAKERS = {**CALIBRATORS, "smoothed": lambda: Isotonic(smoothing=1.0)}
GRID = np.linspace(0, 1, 201)

confidences = st.one_of(
    st.sampled_from([0.0, 0.5, 0.8, 0.9, 1.0]), st.floats(0, 1), st.floats(0, 1e-5), st.floats(1 - 1e-5, 1)
)
rows = st.lists(st.tuples(confidences, st.integers(0, 1)), min_size=1, max_size=40)


def arrays(pairs):
    f, y = np.array(pairs, dtype=float).T
    return y, f


def distorted(n, seed=0, power=2.0):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    return (rng.random(n) < f**power).astype(float), f


@pytest.mark.parametrize("name", MAKERS)
@given(pairs=rows)
@settings(max_examples=25)
def test_maps_are_rising_and_stay_in_the_unit_interval(name, pairs):
    p = MAKERS[name]().fit(*arrays(pairs)).predict(GRID)
    assert p.shape == GRID.shape
    assert np.isfinite(p).all()
    assert p.min() >= 0
    assert p.max() <= 1
    assert np.diff(p).min() >= -1e-12


@pytest.mark.parametrize("name", MAKERS)
@given(pairs=rows, data=st.data())
@settings(max_examples=25)
def test_integer_weights_repeat_rows(name, pairs, data):
    y, f = arrays(pairs)
    w = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(f), max_size=len(f))))
    if not w.any():
        w[0] = 1
    repeated = MAKERS[name]().fit(np.repeat(y, w), np.repeat(f, w))
    weighted = MAKERS[name]().fit(y, f, sample_weight=w)
    np.testing.assert_allclose(weighted.predict(GRID), repeated.predict(GRID), atol=1e-5)


@pytest.mark.parametrize("name", MAKERS)
@given(pairs=rows)
@settings(max_examples=25)
def test_turning_events_round_turns_the_map_round(name, pairs):
    # Dyadic confidences, for which 1 - f is exact.
    y, f = arrays(pairs)
    f = np.round(f * 1024) / 1024
    grid = np.arange(0, 1025) / 1024
    straight, turned = MAKERS[name]().fit(y, f), MAKERS[name]().fit(1 - y, 1 - f)
    np.testing.assert_allclose(turned.predict(1 - grid), 1 - straight.predict(grid), atol=1e-5)


@pytest.mark.parametrize("name", MAKERS)
def test_order_of_rows_does_not_matter(name):
    y, f = distorted(500)
    order = np.random.default_rng(1).permutation(500)
    np.testing.assert_allclose(
        MAKERS[name]().fit(y, f).predict(GRID), MAKERS[name]().fit(y[order], f[order]).predict(GRID), atol=1e-9
    )


@pytest.mark.parametrize("name", MAKERS)
def test_calibrated_rows_are_left_alone(name):
    y, f = distorted(40_000, power=1.0)
    inner = np.linspace(0.05, 0.95, 91)
    assert np.abs(MAKERS[name]().fit(y, f).predict(inner) - inner).max() < (
        0.06 if name in ("isotonic", "smoothed") else 0.01
    )


@pytest.mark.parametrize("name", MAKERS)
def test_state_rebuilds_the_map(name):
    y, f = distorted(300)
    fitted = MAKERS[name]().fit(y, f)
    np.testing.assert_array_equal(built(Calibrator, *state_of(fitted)).predict(GRID), fitted.predict(GRID))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_one_class_and_constant_confidence_are_answered(name, outcome, n):
    fitted = MAKERS[name]().fit(np.full(n, outcome), np.full(n, 0.7))
    assert np.isfinite(fitted.predict(GRID)).all()
    (p,) = fitted.predict([0.7])
    if name == "identity":
        assert p == 0.7
    elif name == "isotonic":
        assert p == outcome
    elif n == 50:  # of one row, Platt's target is 2 / 3, which is less than 0.7
        assert abs(p - outcome) < abs(0.7 - outcome)


def best_temperature(y, odds):
    def loss(slope):
        return np.mean(np.logaddexp(0, slope * odds) - y * slope * odds)

    best = minimize(lambda s: loss(s[0]), [1.0], method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12})
    return 1 / best.x[0]


def test_temperature_minimises_the_log_loss():
    y, f = distorted(2_000, power=0.4)
    assert Temperature().fit(y, f).temperature_ == pytest.approx(best_temperature(y, logit(f)), rel=1e-5)


@pytest.mark.parametrize(("spread", "kind", "close"), [(12.0, np.float64, 1e-5), (5.0, np.float32, 1e-3)])
def test_a_temperature_is_that_of_the_log_odds_a_softmax_gave(spread, kind, close):
    rng = np.random.default_rng(0)
    odds = np.clip(rng.normal(scale=spread, size=4_000), -3 * spread, 3 * spread)
    y = rng.random(4_000) < expit(odds / 5)
    first, second = np.exp(odds - np.maximum(odds, 0)), np.exp(-np.maximum(odds, 0))
    f = (first / (first + second)).astype(kind)
    assert Temperature().fit(y, f).temperature_ == pytest.approx(best_temperature(y, odds), rel=close)


@pytest.mark.parametrize(
    ("others", "clip"), [([0.2, 0.5], 1e-4), ([], 1e-4), ([1e-6], 5e-7), ([1 - 1e-6], 5e-7), ([1e-300], 2.0**-53)]
)
def test_zero_and_one_alone_are_moved_by_a_temperature(others, clip):
    f = np.array([0.0, *others, 1.0])
    fitted = Temperature().fit(np.arange(len(f)) % 2, f)
    assert fitted.clip_ == pytest.approx(clip, rel=1e-9)
    np.testing.assert_array_equal(fitted.predict([0.0, 1.0]), fitted.predict([fitted.clip_, 1 - fitted.clip_]))
    # 1 - f is exact: powers of two
    ends = np.array([0.0, 2.0**-40, 2.0**-3, 1 - 2.0**-20, 1.0])
    y = np.array([0, 1, 0, 1, 0])
    straight, turned = Temperature().fit(y, ends), Temperature().fit(1 - y, 1 - ends)
    np.testing.assert_allclose(turned.predict(1 - ends), 1 - straight.predict(ends), rtol=1e-9)


def test_inverted_confidence_is_flattened_not_turned_round():
    f = np.random.default_rng(0).random(2_000)
    y = (np.random.default_rng(1).random(2_000) < 1 - f).astype(float)
    assert Temperature().fit(y, f).temperature_ == pytest.approx(100)
    np.testing.assert_allclose(Platt().fit(y, f).predict(GRID), y.mean(), atol=0.01)


@pytest.mark.parametrize("power", [0.3, 1.0, 3.0])
def test_platts_map_is_the_constrained_optimum(power):
    y, f = distorted(1_500, power=power)
    fitted = Platt().fit(y, f)
    design = Platt._design(f)
    target = np.where(y == 1, (y.sum() + 1) / (y.sum() + 2), 1 / ((1 - y).sum() + 2))

    def loss(theta):
        z = design @ theta
        return np.sum(np.logaddexp(0, z) - target * z)

    bounds = [(0, None)] * (design.shape[1] - 1) + [(None, None)]
    best = minimize(loss, np.ones(design.shape[1]), method="L-BFGS-B", bounds=bounds)
    assert loss(fitted.coefficients_) <= best.fun + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_plain_isotonic_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    f = rng.choice(np.linspace(0, 1, 21), 300) if seed % 2 else rng.random(300)
    y, w = (rng.random(300) < f).astype(float), rng.integers(0, 4, 300).astype(float)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(f, y, sample_weight=w)
    np.testing.assert_allclose(Isotonic().fit(y, f, w).predict(GRID), theirs.predict(GRID), atol=1e-12)


@given(pairs=rows, smoothing=st.floats(0.01, 10))
@settings(max_examples=25)
def test_smoothed_isotonic_never_says_never(pairs, smoothing):
    y, f = arrays(pairs)
    p = Isotonic(smoothing).fit(y, f).predict(GRID)
    floor = smoothing / 2 / (len(f) + smoothing)
    assert p.min() >= floor - 1e-12
    assert p.max() <= 1 - floor + 1e-12


def test_unusable_rows_are_refused():
    with pytest.raises(InputError, match="lengths differ"):
        Platt().fit([1], [0.5, 0.6])
    with pytest.raises(InputError, match="percentages"):
        Identity().fit([1, 0], [50, 60])
    with pytest.raises(InputError, match="not fitted"):
        Isotonic().predict([0.5])
    with pytest.raises(InputError, match="smoothing"):
        Isotonic(smoothing=-1)
    with pytest.raises(InputError, match="NaN"):
        Temperature().fit([1, 0], [0.5, 0.6]).predict([np.nan])


def test_no_rows_to_map_is_no_error():
    assert Platt().fit([0, 1], [0.2, 0.7]).predict([]).shape == (0,)


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
