"""Laws of the evidence for local structure."""

import numpy as np
import pytest
from scipy.special import expit

from miscal.data.triples import Triples
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.auto.stack import score_test, weigh
from miscal.study.synthetic.worlds import random_split, sinusoid


def world(n=4000, seed=0, strength=0.0, misfit=0.0):
    """Outcomes with a hidden shift of a known sign, under a global map that may be wrong."""
    rng = np.random.default_rng(seed)
    offset, hidden = rng.normal(size=n), rng.choice([-1.0, 1.0], n)
    y = (rng.random(n) < expit((1 + misfit) * offset + strength * hidden)).astype(float)
    return y, offset, hidden


def folds_of(y):
    return np.arange(len(y)) % 5


def evidence(y, offset, shift, weight=None):
    return weigh(y, offset, shift, offset, folds_of(y), weight)


def test_the_score_of_a_shift_that_knows_nothing_is_standard_normal():
    scores = [evidence(*world(seed=s)).score for s in range(400)]
    assert np.mean(scores) == pytest.approx(0, abs=0.15)
    assert np.std(scores) == pytest.approx(1, abs=0.12)


# a factor of 1.1 on the log-odds is as much as the choice of the global map lets pass on 4,000 rows
@pytest.mark.parametrize("misfit", [0.1, -0.1])
def test_a_global_map_that_is_a_little_wrong_is_not_taken_for_hidden_structure(misfit):
    scores = []
    for seed in range(200):
        y, offset, hidden = world(seed=seed, misfit=misfit)
        scores.append(evidence(y, offset, misfit * offset + 0.05 * hidden).score)
    assert np.mean(scores) < 0.3
    assert np.mean(np.array(scores) > AUTO.least_score) <= 0.03


def test_a_hidden_shift_is_seen_although_its_size_is_wrong():
    y, offset, hidden = world(strength=0.15)
    seen = evidence(y, offset, 0.2 * hidden)
    assert seen.structure
    assert evidence(y, offset, 3 * hidden).score == pytest.approx(seen.score)
    assert not evidence(y, offset, 3 * hidden).structure, "its size would do harm"
    assert not evidence(y, offset, -0.2 * hidden).structure


def test_weight_two_is_a_repeated_row_and_order_is_irrelevant():
    y, offset, hidden = world(n=300, strength=0.5)
    folds, weight = folds_of(y), np.where(np.arange(300) < 100, 2.0, 1.0)
    again = np.random.default_rng(0).permutation(np.r_[np.arange(300), np.arange(100)])
    weighted = weigh(y, offset, hidden, offset, folds, weight)
    repeated = weigh(y[again], offset[again], hidden[again], offset[again], folds[again])
    assert list(weighted.__dict__.values()) == pytest.approx(list(repeated.__dict__.values()))


def test_a_mirrored_world_has_the_same_evidence():
    y, offset, hidden = world(strength=0.5)
    # levels are cut from below: a few rows at their edges change sides
    mirrored, straight = evidence(1 - y, -offset, -hidden), evidence(y, offset, hidden)
    assert mirrored.gain == pytest.approx(straight.gain)
    assert mirrored.score == pytest.approx(straight.score, abs=0.3)


@pytest.mark.parametrize("confidence", [np.zeros(500), np.repeat([0.0, 1.0], 250)])
def test_few_distinct_confidences_give_a_finite_score(confidence):
    y, offset, hidden = world(n=500)
    assert np.isfinite(score_test(y, offset, hidden, confidence, folds_of(y)))
    assert score_test(y, offset, confidence, confidence, folds_of(y)) == 0


@pytest.mark.parametrize("n", [60, 180, 500])
def test_a_shift_that_follows_the_confidence_is_not_a_finding_on_few_rows(n):
    scores = []
    for seed in range(200):
        y, offset, _ = world(n=n, seed=seed)
        scores.append(evidence(y, offset, 0.3 * offset).score)
    assert abs(np.mean(scores)) < 0.4
    assert np.mean(np.array(scores) > AUTO.least_score) <= 0.05


@pytest.mark.slow
def test_a_faint_field_is_claimed_and_none_is_not():
    from miscal.estimators.auto.estimator import AutoField

    claimed = {}
    for amplitude in (0.0, 0.2):
        claimed[amplitude] = []
        for seed in range(4):
            faint = sinusoid(10_000, amplitude=amplitude, frequency=2, random_state=seed)
            known = random_split(len(faint), random_state=seed) != "test"
            field = AutoField(random_state=seed)
            field.fit(Triples.of(faint.X[known], confidence=faint.confidence[known], correct=faint.correct[known]))
            claimed[amplitude].append(field.structure_)
    assert sum(claimed[0.0]) == 0
    assert sum(claimed[0.2]) >= 3
