"""Outcomes that hang together within a unit are seen, and independent ones as often as chance allows."""

import numpy as np
import pytest

from miscal.calibration.survey_design import intraclass_score, widening

N = 1_200


def rows(seed, spread=0.0, low=0.2, high=0.8):
    """Residuals of rows of 60 units of 20 whose log-odds share a normal number of this spread, and the units."""
    rng = np.random.default_rng(seed)
    f, day = rng.uniform(low, high, N), rng.permutation(np.arange(N) % 60)
    p = 1 / (1 + (1 - f) / f * np.exp(-spread * rng.normal(size=60)[day]))
    return (rng.random(N) < p) - f, day, rng


def test_units_that_hang_together_are_seen_and_others_are_not():
    e, day, rng = rows(0, spread=0.7)
    assert intraclass_score(e, day) > 6
    assert widening(e, day) > 1.3
    assert abs(intraclass_score(e, rng.permutation(day))) < 3


def test_neither_order_nor_numbers_nor_signs_matter_and_rows_of_their_own_say_nothing():
    e, day, rng = rows(1, spread=0.35)
    order, names = rng.permutation(N), rng.permutation(60)
    score = intraclass_score(e, day)
    assert intraclass_score(e[order], names[day[order]]) == pytest.approx(score)
    assert intraclass_score(-e, day) == pytest.approx(score)
    alone = np.r_[day, np.arange(N) + 60]
    assert intraclass_score(np.r_[e, e], alone) == pytest.approx(score)
    assert intraclass_score(e, np.arange(N)) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.8), (0.005, 0.03)])
def test_independent_outcomes_pass_the_quantile_of_1_percent_in_about_1_percent(low, high):
    wrong = np.zeros(2)
    for seed in range(1_000):
        e, day, _ = rows(seed, low=low, high=high)
        wrong += [intraclass_score(e, day) > 2.33, intraclass_score(e, np.arange(N) // 2) > 2.33]
    # the sum of squares of few units is skewed: up to 3 % rather than 1 %
    assert (wrong <= 1_000 * 0.03 + 3 * np.sqrt(1_000 * 0.03)).all()
