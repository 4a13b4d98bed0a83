"""The verdict claims only what the field and the certificate both say, and its power statement holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.evidence.certificates import certificate
from miscal.findings.verdict import Claim, Place, sentence, visible_size


def claim(**changes):
    return Claim(
        **{"structure": True, "lower_limit": 0.04, "p_value": 0.01, "n_test": 500, "detectable": 0.05, **changes}
    )


@settings(deadline=None)
@given(st.booleans(), st.floats(0, 0.2), st.floats(0, 1), st.one_of(st.none(), st.floats(0.001, 1)))
def test_structure_is_claimed_only_when_field_and_certificate_agree(structure, limit, p, size):
    words = sentence(claim(structure=structure, lower_limit=limit, p_value=p, detectable=size))
    agreed = structure and limit > 0 and p < 0.05
    assert ("at least" in words) == agreed
    assert ("none found; with these 500 test rows hidden miscalibration" in words) == (not agreed)
    assert "there is none" not in words
    assert "\n" not in words


@settings(deadline=None)
@given(st.floats(0.001, 1))
def test_the_limit_in_words_never_exceeds_the_number(limit):
    words = sentence(claim(lower_limit=limit))
    assert float(words.split("at least ")[1].split()[0]) <= limit


def test_what_denied_the_claim_is_said():
    assert "do not confirm (p = 0.2)" in sentence(claim(p_value=0.2, lower_limit=0.0))
    assert "(p = 0.03, but a lower limit of 0)" in sentence(claim(p_value=0.03, lower_limit=0.0))


def test_places_carry_their_sign():
    words = sentence(claim(), [Place('"law"', -0.2), Place('"sums"', 0.1)])
    assert 'less often right on "law" (-0.20), more often right on "sums" (+0.10)' in words


def test_an_unconfirmed_structure_is_told_apart_from_none():
    assert "does not confirm" not in sentence(claim(structure=False, p_value=1.0))
    assert "do not confirm (p = 0.4)" in sentence(claim(p_value=0.4))


@pytest.mark.slow
def test_what_the_verdict_says_would_have_been_seen_is_seen_with_eighty_percent_power():
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.5, 0.8, 800)
    sign = rng.choice([-1.0, 1.0], 800)
    many = rng.uniform(0.5, 0.8, 4000)
    calibrated = {"fit_confidence": many, "fit_correct": rng.random(4000) < many}

    def certified(size, seed):
        y = np.random.default_rng(seed).random(800) < confidence + sign * size
        return certificate(y, confidence, sign * size, sign * size, **calibrated, n_draws=199)

    size = certified(0.1, 0).detectable
    proofs = [certified(size, seed).hidden for seed in range(150)]
    assert np.mean([proof.low > 0 and proof.p_value < 0.05 for proof in proofs]) == pytest.approx(0.8, abs=0.1)


def test_more_than_outcomes_can_show_is_no_promise():
    assert visible_size(0.51, np.full(3, 0.5)) is None
    assert visible_size(0.49, np.full(3, 0.5)) == 0.49
    assert "too few" in sentence(claim(structure=False, detectable=None))
