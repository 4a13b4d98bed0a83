"""A claim takes three agreeing witnesses, and what it says would have been detected is detected."""

import numpy as np
import pytest

from miscal.evidence.certificates import Certificate, attainable
from miscal.evidence.claim import Claim, claim
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.limits import Bound
from miscal.evidence.settings import EvidenceSettings


def world(n=800, fit=4_000, seed=1):
    rng = np.random.default_rng(seed)
    confidence, sign = rng.uniform(0.5, 0.8, n), rng.choice([-1.0, 1.0], n)
    many = rng.uniform(0.5, 0.8, fit)
    expected = outcome_given_confidence((rng.random(fit) < many).astype(float), many, confidence)
    return confidence, sign, {"expected": expected}


@pytest.mark.parametrize(
    ("structure", "p_value", "low", "confirmed"),
    [
        (True, 0.01, 0.04, True),
        (False, 0.01, 0.04, False),
        (True, 0.05, 0.04, False),
        (True, 0.01, 0.0, False),
    ],
)
def test_structure_rejection_and_limit_must_agree(structure, p_value, low, confirmed):
    proof = Certificate(total=Bound(0.1, 0.05, 0.01), hidden=Bound(0.1, low, p_value), detectable=0.05, n=500)
    assert Claim(structure, proof).confirmed == confirmed


def test_a_planted_field_is_claimed_and_one_without_structure_is_not_tested():
    confidence, sign, fit = world()
    y = np.random.default_rng(0).random(800) < confidence + 0.15 * sign
    found = claim(y, confidence, 0.15 * sign, 0.15 * sign, structure=True, **fit)
    assert found.confirmed
    silent = claim(y, confidence, 0.15 * sign, 0.15 * sign, structure=False, **fit)
    assert not silent.confirmed
    assert (silent.certificate.hidden.p_value, silent.certificate.hidden.low) == (1.0, 0.0)
    assert silent.certificate.total == found.certificate.total
    assert silent.detectable == found.detectable


def test_the_significance_is_that_of_the_settings():
    confidence, sign, fit = world()
    y = np.random.default_rng(0).random(800) < confidence + 0.15 * sign
    strict = EvidenceSettings(significance=1e-9)
    assert not claim(y, confidence, 0.15 * sign, 0.15 * sign, structure=True, settings=strict, **fit).confirmed


def test_nothing_could_be_detected_where_confidences_leave_no_room():
    half = [0.5, 0.5]
    assert claim([1, 0], half, [0.0, 0.0], [0.0, 0.0], structure=False, expected=half).detectable is None


def test_more_than_outcomes_can_show_is_no_promise():
    assert attainable(0.51, np.full(3, 0.5)) is None
    assert attainable(0.49, np.full(3, 0.5)) == 0.49


@pytest.mark.slow
def test_what_is_said_to_be_detectable_is_detected_with_eighty_percent_power():
    confidence, sign, fit = world()

    def put_to_the_test(size, seed):
        y = np.random.default_rng(seed).random(800) < confidence + sign * size
        settings = EvidenceSettings(n_draws=199)
        return claim(y, confidence, sign * size, sign * size, structure=True, settings=settings, **fit)

    size = put_to_the_test(0.1, 0).detectable
    claims = [put_to_the_test(size, seed) for seed in range(150)]
    assert np.mean([found.confirmed for found in claims]) == pytest.approx(0.8, abs=0.1)
