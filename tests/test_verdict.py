"""The verdict claims only what the field and the certificate both say, and its power statement holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.verdict import Claim, Place, detectable, sentence


def normal_limit(z):
    return z.mean() - 1.645 * z.std() / np.sqrt(len(z))


def claim(**changes):
    return Claim(
        **{"structure": True, "lower_limit": 0.04, "p_value": 0.01, "n_test": 500, "detectable": 0.05, **changes}
    )


@given(st.booleans(), st.floats(0, 0.2), st.floats(0, 1), st.one_of(st.none(), st.floats(0.001, 1)))
def test_structure_is_claimed_only_when_field_and_certificate_agree(structure, limit, p, size):
    words = sentence(claim(structure=structure, lower_limit=limit, p_value=p, detectable=size))
    agreed = structure and limit > 0 and p < 0.05
    assert ("at least" in words) == agreed
    assert ("none found; with these 500 test rows hidden miscalibration" in words) == (not agreed)
    assert "there is none" not in words
    assert "\n" not in words


@given(st.floats(0.001, 1))
def test_the_limit_in_words_never_exceeds_the_number(limit):
    words = sentence(claim(lower_limit=limit))
    assert float(words.split("at least ")[1].split()[0]) <= limit


def test_places_carry_their_sign():
    words = sentence(claim(), [Place('"law"', -0.2), Place('"sums"', 0.1)])
    assert 'over-confident on "law" (-0.20)' in words
    assert 'under-confident on "sums" (+0.10)' in words


def test_an_unconfirmed_structure_is_told_apart_from_none():
    assert "does not confirm" not in sentence(claim(structure=False, p_value=1.0))
    assert "do not confirm (p = 0.4)" in sentence(claim(p_value=0.4))


def test_detectable_is_the_size_of_eighty_percent_power():
    rate = np.full(400, 0.6)
    size = detectable(rate, normal_limit, n_draws=400, random_state=1)
    rng = np.random.default_rng(2)
    found = []
    for _ in range(600):
        sign = rng.choice([-1.0, 1.0], size=400)
        y = rng.random(400) < rate + sign * size
        found.append(normal_limit((y - rate) * sign) > 0)
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_detectable_falls_with_the_root_of_n():
    small, large = (detectable(np.full(n, 0.5), normal_limit, random_state=0) for n in (500, 2000))
    assert small / large == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("rate", [np.zeros(0), np.full(3, 0.5)])
def test_too_few_rows_can_show_nothing(rate):
    def strict_limit(z):
        return z.mean() - np.sqrt(np.log(20) / 2 / len(z)) * 2

    assert detectable(rate, strict_limit) is None
    assert "too few" in sentence(claim(structure=False, detectable=None))
