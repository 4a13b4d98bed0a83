"""Both limits keep their bounds, and claim nothing of a flat field."""

import numpy as np
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.limits.agreement import NOTHING_CLAIMED, agreement_bound
from miscal.evidence.limits.covariance import covariance_bound


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
