"""A claim takes three agreeing witnesses, and what it says would have been detected is detected."""

import numpy as np
import pytest
from scipy.optimize import brentq

from miscal.evidence.certificates import Certificate, unseen_rows
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
    found = claim(unseen_rows(y, confidence, 0.15 * sign, 0.15 * sign, **fit), structure=True)
    assert found.confirmed
    silent = claim(unseen_rows(y, confidence, 0.15 * sign, 0.15 * sign, **fit), structure=False)
    assert not silent.confirmed
    assert (silent.certificate.hidden.p_value, silent.certificate.hidden.low) == (1.0, 0.0)
    assert silent.certificate.total == found.certificate.total
    assert silent.detectable == found.detectable


def test_the_significance_is_that_of_the_settings():
    confidence, sign, fit = world()
    y = np.random.default_rng(0).random(800) < confidence + 0.15 * sign
    strict = EvidenceSettings(significance=1e-9)
    assert not claim(
        unseen_rows(y, confidence, 0.15 * sign, 0.15 * sign, **fit), structure=True, settings=strict
    ).confirmed


def test_nothing_could_be_detected_where_confidences_leave_no_room():
    half = [0.5, 0.5]
    assert claim(unseen_rows([1, 0], half, [0.0, 0.0], [0.0, 0.0], expected=half), structure=False).detectable is None


@pytest.mark.parametrize("n", [200, 2_000])
def test_what_is_detectable_shrinks_with_the_root_of_the_rows(n):
    def detectable(number):
        f, nothing = np.full(number, 0.6), np.zeros(number)
        return claim(unseen_rows(nothing, f, nothing, nothing, expected=f), structure=False).detectable

    assert detectable(4 * n) == pytest.approx(detectable(n) / 2, rel=0.03)


def test_centring_within_strata_and_blocks_cost_what_they_cost():
    y, f, nothing = np.zeros(800), np.linspace(0.5, 0.8, 800), np.zeros(800)

    def detectable(confidence, **options):
        return claim(unseen_rows(y, confidence, nothing, nothing, expected=f, **options), structure=False).detectable

    # one stratum of 800 keeps nearly all of its rows, strata of 8 keep seven of eight
    assert detectable(f) / detectable(np.full(800, 0.6)) == pytest.approx(np.sqrt(8 / 7), rel=0.01)
    assert 1 < detectable(f, block=np.arange(800) % 4) / detectable(f) < 1.1


CONFIDENCES = {
    "middling": lambda rng, n: rng.uniform(0.5, 0.8, n),
    "any": lambda rng, n: rng.random(n),
    "sure": lambda rng, n: rng.beta(8, 0.6, n),
    "few": lambda rng, n: rng.choice([0.5, 0.7, 0.8, 0.9, 0.97], n),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CONFIDENCES)
@pytest.mark.parametrize(("n", "blocks"), [(300, 1), (900, 3)])
def test_what_is_said_to_be_detectable_is_claimed_with_eighty_percent_power(name, n, blocks):
    # Before: 70 to 75 %. With the signs right and the sizes wrong (exponential) it is 41 to 48 %, as is to be expected
    # of a field that is so far from the truth.
    claimed, repeats = 0, 300
    settings = EvidenceSettings(n_draws=499)
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        f, sign, nothing = CONFIDENCES[name](rng, n), rng.choice([-1.0, 1.0], n), np.zeros(n)
        block = np.arange(n) % blocks
        size = claim(unseen_rows(nothing, f, nothing, nothing, expected=f, block=block), structure=False).detectable
        # the same on every row, as far as the rates leave room, so that the mean is what was promised
        room = np.minimum(f, 1 - f)
        most = brentq(lambda most, room=room, size=size: np.minimum(most, room).mean() - size, 0, 0.5)
        hidden = np.minimum(most, room) * sign
        y = (rng.random(n) < f + hidden).astype(float)
        found = claim(
            unseen_rows(y, f, hidden, hidden, expected=f, block=block),
            structure=True,
            settings=settings,
            random_state=seed,
        )
        claimed += found.confirmed
    # within chance (two standard errors, 0.05) of a power of 0.76 to 0.85
    assert 0.76 - 0.05 < claimed / repeats < 0.85 + 0.05
