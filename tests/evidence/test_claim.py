"""The claim is by two tests together, its limits keep their bounds, and what would have been detected is detected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.certificates import Certificate, certificate
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.limits.agreement import NOTHING_CLAIMED, Bound, agreement_bound
from miscal.evidence.limits.covariance import covariance_bound


def world(n=800, fit=4_000, seed=1):
    rng = np.random.default_rng(seed)
    confidence, sign = rng.uniform(0.5, 0.8, n), rng.choice([-1.0, 1.0], n)
    many = rng.uniform(0.5, 0.8, fit)
    expected = outcome_given_confidence((rng.random(fit) < many).astype(float), many, confidence)
    return confidence, sign, {"expected": expected}


probabilities = st.floats(1e-6, 1.0)


@given(probabilities, st.one_of(st.none(), probabilities), st.floats(0, 0.3))
def test_the_claim_is_by_the_p_value_alone(p_field, p_structure, low):
    proof = Certificate.of(
        Bound(0.1, 0.05, 0.01), Bound(0.1, low, p_field), n=500, detectable=0.05, p_structure=p_structure
    )
    assert proof.claims_hidden == (proof.p_value < 0.05)
    assert proof.located == (proof.claims_hidden and p_field < 0.05)


def test_a_planted_field_is_claimed():
    confidence, sign, fit = world()
    y = np.random.default_rng(0).random(800) < confidence + 0.15 * sign
    rows = LabelledRows.of(y, confidence, delta=0.15 * sign, hidden=0.15 * sign, **fit)
    found = certificate(rows)
    assert found.claims_hidden
    assert found.located
    assert found.hidden.low > 0


def test_what_is_not_claimed_has_no_size(monkeypatch):
    # before, the limit of a field with a p-value of its own below 0.05 was given although nothing was claimed
    confidence, sign, fit = world()
    y = np.random.default_rng(0).random(800) < confidence + 0.15 * sign
    rows = LabelledRows.of(y, confidence, delta=0.15 * sign, hidden=0.15 * sign, **fit)
    alone = certificate(rows)
    monkeypatch.setattr("miscal.evidence.settings.SIGNIFICANCE", alone.p_field / 2)
    denied = certificate(rows, p_structure=0.9)
    assert not denied.claims_hidden
    assert denied.hidden.low == 0 < alone.hidden.low


def test_a_second_test_that_sees_nothing_costs_the_field_what_is_said_to_be_detectable():
    confidence, sign, fit = world()
    y = np.random.default_rng(0).random(800) < confidence
    rows = LabelledRows.of(y, confidence, delta=sign * 0.1, hidden=sign * 0.1, **fit)
    alone, beside = (certificate(rows, p_structure=p) for p in (None, 0.5))
    assert alone.detectable < beside.detectable


def test_nothing_could_be_detected_where_confidences_leave_no_room():
    y, half, nothing = np.array([1.0, 0.0]), np.full(2, 0.5), np.zeros(2)
    assert certificate(LabelledRows.of(y, half, half, delta=nothing, hidden=nothing)).detectable is None


@pytest.mark.parametrize("n", [200, 2_000])
def test_what_is_detectable_shrinks_with_the_root_of_the_rows(n):
    def detectable(number):
        f, nothing = np.full(number, 0.6), np.zeros(number)
        return certificate(LabelledRows.of(nothing, f, f, delta=nothing, hidden=nothing)).detectable

    assert detectable(4 * n) == pytest.approx(detectable(n) / 2, rel=0.03)


def test_centring_within_strata_and_blocks_cost_what_they_cost():
    y, f, nothing = np.zeros(800), np.linspace(0.5, 0.8, 800), np.zeros(800)

    def detectable(confidence, **options):
        return certificate(LabelledRows.of(y, confidence, f, delta=nothing, hidden=nothing, **options)).detectable

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
def test_what_is_said_to_be_detectable_is_claimed_with_eighty_percent_power(name, n, blocks, monkeypatch):
    monkeypatch.setattr("miscal.evidence.settings.N_DRAWS", 499)
    # Before: 70 to 75 %. With the signs right and the sizes wrong (exponential) it is 41 to 48 %, as is to be expected
    # of a field that is so far from the truth.
    claimed, repeats = 0, 300
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        f, sign, nothing = CONFIDENCES[name](rng, n), rng.choice([-1.0, 1.0], n), np.zeros(n)
        block = np.arange(n) % blocks
        size = certificate(LabelledRows.of(nothing, f, f, delta=nothing, hidden=nothing, block=block)).detectable
        # the same on every row, as far as the rates leave room, so that the mean is what was promised
        room = np.minimum(f, 1 - f)
        most = brentq(lambda most, room=room, size=size: np.minimum(most, room).mean() - size, 0, 0.5)
        hidden = np.minimum(most, room) * sign
        y = (rng.random(n) < f + hidden).astype(float)
        found = certificate(LabelledRows.of(y, f, f, delta=hidden, hidden=hidden, block=block), random_state=seed)
        claimed += found.claims_hidden
    # within chance (two standard errors, 0.05) of a power of 0.76 to 0.85
    assert 0.76 - 0.05 < claimed / repeats < 0.85 + 0.05


@pytest.mark.parametrize("bound_of", [agreement_bound, covariance_bound])
def test_every_limit_keeps_its_bounds_and_claims_nothing_of_a_flat_field(bound_of):
    rng = np.random.default_rng(1)
    f = rng.uniform(0.2, 0.8, 400)
    y, field = (rng.random(400) < f).astype(float), rng.choice([-0.1, 0.1], 400)
    assert bound_of(LabelledRows(y, f, f, delta=0 * f, hidden=0 * f), rng) == NOTHING_CLAIMED
    bound = bound_of(LabelledRows(y, f, f, delta=field, hidden=field), rng)
    assert -1 <= bound.value <= 1
    assert 0 <= bound.low <= max(bound.value, 0)
    assert 0 <= bound.p_value <= 1


def test_limits_from_common_random_numbers_rise_with_the_confidence_that_is_given_up(limit_of, monkeypatch):
    rng = np.random.default_rng(2)
    weight, centre = rng.choice([-1.0, 1.0], 500), np.full(500, 0.4)
    y = (rng.random(500) < 0.4 + 0.15 * weight).astype(float)
    limits = []
    for level in (0.99, 0.95, 0.9, 0.8):
        monkeypatch.setattr("miscal.evidence.settings.CONFIDENCE_LEVEL", level)
        limits.append(limit_of(y, weight, centre))
    assert limits[0] > 0
    assert limits == sorted(limits)
