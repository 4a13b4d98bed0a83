"""A new limit is a function and its line in LIMITS; the settings choose it, and the certificate and claim follow."""

from dataclasses import replace

import numpy as np
import pytest

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.certificates import certificate, claim, unseen_rows
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.limits import LIMITS, NOTHING_CLAIMED, Bound
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings


def hoeffding(rows, settings, rng):
    """Bound E|delta| by Hoeffding's inequality: wide, but a line long."""
    if not rows.delta.any():
        return NOTHING_CLAIMED
    alpha, n = 1 - settings.confidence_level, len(rows.correct)
    value = float(np.mean((rows.correct - rows.confidence) * np.sign(rows.delta)))
    low = max(0.0, value - np.sqrt(2 * np.log(1 / alpha) / n))
    return Bound(value, low, float(np.exp(-n * max(0.0, value) ** 2 / 2)))


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    sign, f = rng.choice([-1.0, 1.0], 9_000), rng.uniform(0.3, 0.7, 9_000)
    return (rng.random(9_000) < f + 0.2 * sign).astype(float), f, 0.2 * sign


def certified(world, settings, make=certificate, **options):
    y, f, field = world
    test, fit = slice(0, 1_000), slice(1_000, None)
    expected = outcome_given_confidence(y[fit], f[fit], f[test])
    rows = unseen_rows(y[test], f[test], field[test], field[test], expected=expected)
    return make(rows, settings=settings, **options)


def test_a_registered_limit_is_used_by_its_name(world, monkeypatch):
    monkeypatch.setitem(LIMITS, "hoeffding", hoeffding)
    exact = certified(world, EVIDENCE_DEFAULTS)
    wide = certified(world, EvidenceSettings(total_limit="hoeffding"))
    assert wide.total.value == pytest.approx(exact.total.value)
    assert 0 < wide.total.low < exact.total.low
    assert wide.hidden == exact.hidden


def test_the_claim_follows_the_limit_that_the_settings_name(world, monkeypatch):
    monkeypatch.setitem(LIMITS, "nothing", lambda rows, settings, rng: NOTHING_CLAIMED)
    assert certified(world, EVIDENCE_DEFAULTS, claim, structure=True).confirmed
    assert not certified(world, EvidenceSettings(hidden_limit="nothing"), claim, structure=True).confirmed


def test_an_unknown_limit_is_refused_by_name(world):
    with pytest.raises(InputError, match="limit must be one of agreement, covariance; got 'betting'"):
        certified(world, EvidenceSettings(hidden_limit="betting"))


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_every_limit_keeps_its_bounds_and_claims_nothing_of_a_flat_field(name):
    rng = np.random.default_rng(1)
    f = rng.uniform(0.2, 0.8, 400)
    y, field = (rng.random(400) < f).astype(float), rng.choice([-0.1, 0.1], 400)
    settings = EvidenceSettings(n_draws=99)
    assert LIMITS[name](LabelledRows(y, f, f, delta=0 * f, hidden=0 * f), settings, rng) == NOTHING_CLAIMED
    bound = LIMITS[name](LabelledRows(y, f, f, delta=field, hidden=field), settings, rng)
    assert -1 <= bound.value <= 1
    assert 0 <= bound.low <= max(bound.value, 0)
    assert 0 <= bound.p_value <= 1


def test_limits_from_common_random_numbers_rise_with_the_confidence_that_is_given_up(limit_of):
    rng = np.random.default_rng(2)
    weight, centre = rng.choice([-1.0, 1.0], 500), np.full(500, 0.4)
    y = (rng.random(500) < 0.4 + 0.15 * weight).astype(float)
    limits = [
        limit_of(y, weight, centre, settings=replace(EVIDENCE_DEFAULTS, confidence_level=level))
        for level in (0.99, 0.95, 0.9, 0.8)
    ]
    assert limits[0] > 0
    assert limits == sorted(limits)
