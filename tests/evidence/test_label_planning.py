"""Labels are drawn with the probabilities that were stated, and what is computed by their weights is right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.evidence.judged_rows import JudgedRows
from miscal.evidence.label_planning import (
    FLOOR,
    detectable_shift,
    draw_labels,
    labelling_probabilities,
    labels_to_halve,
)
from miscal.evidence.prediction_powered import pass_rate


def pool(seed, n=400):
    rng = np.random.default_rng(seed)
    return rng.beta(0.6, 0.4, n), rng.uniform(0, 0.2, n), rng.integers(0, 6, n) ** 2


@given(st.integers(0, 1_000), st.integers(1, 400))
def test_probabilities_sum_to_the_budget_and_weights_are_bounded(seed, budget):
    p, error, finding = pool(seed)
    chance = labelling_probabilities(p, budget, standard_error=error, finding=finding)
    assert chance.sum() == pytest.approx(budget)
    assert (chance <= 1).all()
    assert chance.min() >= FLOOR * budget / 400 * (1 - 1e-9)
    drawn = draw_labels(chance, seed, order=finding)
    assert drawn.sum() == budget
    for one in np.unique(finding):
        assert abs(drawn[finding == one].sum() - chance[finding == one].sum()) <= 2


def test_doubtful_rows_and_small_findings_are_labelled_more_often():
    p = np.array([0.5] * 50 + [0.98] * 50)
    chance = labelling_probabilities(p, 20)
    assert chance[0] > 2 * chance[-1]
    unsure = labelling_probabilities(np.full(100, 0.5), 20, standard_error=np.repeat([0.0, 0.5], 50))
    assert unsure[-1] > unsure[0]
    small = labelling_probabilities(np.full(100, 0.5), 20, finding=np.repeat([0, 1], [90, 10]))
    assert small[-1] > 2 * small[0]


def test_realised_frequencies_are_the_probabilities():
    p, error, finding = pool(0, n=60)
    chance = labelling_probabilities(p, 15, standard_error=error, finding=finding)
    rng = np.random.default_rng(0)
    often = np.mean([draw_labels(chance, rng, order=finding) for _ in range(8_000)], axis=0)
    assert np.abs(often - chance).max() < 4.5 * 0.5 / np.sqrt(8_000)


def test_the_weighted_estimate_is_unbiased_and_surer_than_labels_at_random():
    rng = np.random.default_rng(0)
    p = rng.beta(0.15, 0.15, 2_000)
    verdict = (rng.random(2_000) < p).astype(float)
    chance, even = labelling_probabilities(p, 200), np.full(2_000, 0.1)
    found = {"planned": [], "random": []}
    for seed in range(300):
        for name, probability in (("planned", chance), ("random", even)):
            human = np.where(draw_labels(probability, seed), verdict, np.nan)
            # a row that is certain to be labelled is labelled
            found[name].append(pass_rate(JudgedRows.of(p, human, labelling_probability=probability)).estimate)
    planned, random = np.array(found["planned"]), np.array(found["random"])
    assert abs(planned.mean() - verdict.mean()) < 4 * planned.std() / np.sqrt(300)
    assert planned.std() < 0.9 * random.std()


@given(st.integers(0, 200))
@settings(max_examples=15)
def test_the_number_that_halves_an_interval_does(seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.5, 1.0, 20_000)
    verdict = (rng.random(20_000) < p).astype(float)

    def labelled(number):
        return JudgedRows.of(p, np.where(np.arange(20_000) < number, verdict, np.nan))

    needed = labels_to_halve(labelled(300))
    after = pass_rate(labelled(300 + needed.more))
    assert after.high - after.low == pytest.approx(needed.halved, rel=0.15)


def test_no_number_of_labels_halves_what_too_few_rows_leave_open():
    human = np.where(np.arange(100) < 50, np.arange(100) % 2, np.nan)
    assert labels_to_halve(JudgedRows.of(np.full(100, 0.5), human)).more is None
    assert labels_to_halve(JudgedRows.of(np.full(100, 0.5), np.full(100, np.nan))) is None


def test_more_labels_show_smaller_shifts_and_more_tests_larger_ones():
    expected, group = np.full(3_000, 0.7), np.arange(3_000) < 300
    few, many = (detectable_shift(expected, group, np.full(3_000, share)) for share in (0.1, 0.5))
    assert many < few
    assert detectable_shift(expected, group, np.full(3_000, 0.5), n_tests=50) > many
    assert detectable_shift(expected, np.ones(3_000, bool), np.full(3_000, 0.5)) is None
    assert detectable_shift(expected[:40], group[:40] & (np.arange(40) < 2), np.full(40, 0.1)) is None


@pytest.mark.parametrize("budget", [0, 401])
def test_a_budget_beyond_the_pool_is_refused(budget):
    with pytest.raises(InputError, match="budget must be from 1 to 400"):
        labelling_probabilities(pool(0)[0], budget)


@pytest.mark.slow
def test_a_shift_of_the_stated_size_is_shown_in_four_draws_of_five():
    rng = np.random.default_rng(0)
    expected, group = rng.uniform(0.3, 0.8, 3_000), np.arange(3_000) < 400
    chance = labelling_probabilities(expected, 800, finding=group)
    size, shown = detectable_shift(expected, group, chance), []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        looked = draw_labels(chance, rng)
        left = (rng.random(3_000) < expected - size * group) - expected
        means, errors = [], []
        for side in (looked & group, looked & ~group):
            weight = 1 / chance[side] / np.sum(1 / chance[side])
            means.append(weight @ left[side])
            errors.append(weight**2 @ (left[side] - means[-1]) ** 2)
        shown.append(abs(means[0] - means[1]) > 1.96 * np.sqrt(sum(errors)))
    assert np.mean(shown) == pytest.approx(0.8, abs=0.07)
