"""Laws of the shift by cluster."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from miscal.estimators.auto.clusters import (
    ClusterMember,
    ClusterShifts,
    crossfit_clusters,
    crossfit_shifts,
    find_centres,
    nearest,
    posterior_shifts,
)
from miscal.estimators.auto.inputs import ScoreInputs
from miscal.estimators.auto.member import LearningRows, Query, negative_log_likelihood

CENTRES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]], np.float32)
SHIFTS = np.array([-1.5, 0.0, 1.0])


def grouped(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    x = (CENTRES[group] + 0.2 * rng.standard_normal((n, 2))).astype(np.float32)
    offset = rng.normal(size=n)
    y = (rng.random(n) < expit(offset + SHIFTS[group])).astype(float)
    return x, y, offset, rng.integers(0, 5, n), group


def learning(x, y, offset, folds, weight=None):
    none = np.zeros((len(x), 0))
    inputs = ScoreInputs(x, x, *np.zeros((2, len(x)), np.float32), none.astype(np.float32), none.astype(np.int32))
    centres = tuple(find_centres(x, (2, 4, 8, 16), 0)) if len(x) < 10_000 else ()
    return LearningRows(
        Query(inputs, offset, offset), y, np.arange(len(y)), folds, np.arange(1), weight, centres=centres
    )


def fitted_shifts(centres, x, y, offset, folds, weight=None):
    return crossfit_shifts([centres], learning(x, y, offset, folds, weight), offset)[0]


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(0, 40))
def test_the_nearest_centre_is_that_of_two_loops(seed, k, n):
    rng = np.random.default_rng(seed)
    rows, centres = rng.normal(size=(n, 3)), rng.normal(size=(k, 3))
    slow = [min(range(k), key=lambda c: float(((row - centres[c]) ** 2).sum())) for row in rows]
    assert nearest(rows, centres).tolist() == slow


def test_the_number_of_clusters_and_their_shifts_are_found():
    x, y, offset, folds, group = grouped(seed=3)
    rows = learning(x, y, offset, folds)
    fitted = crossfit_clusters(rows)
    assert fitted.member.shift(rows.at) == pytest.approx(SHIFTS[group], abs=0.35)
    at_centres = learning(CENTRES, np.zeros(3), np.zeros(3), np.zeros(3, int)).at
    assert fitted.member.shift(at_centres) == pytest.approx(SHIFTS, abs=0.35)
    truth = negative_log_likelihood(y, offset + SHIFTS[group]).mean()
    assert negative_log_likelihood(y, offset + fitted.shift).mean() < truth + 0.003


def test_out_of_fold_shifts_do_not_see_their_own_fold():
    x, y, offset, folds, _ = grouped()
    inside = folds == 0
    _, before = fitted_shifts(CENTRES, x, y, offset, folds)
    _, after = fitted_shifts(CENTRES, x, np.where(inside, 1 - y, y), offset, folds)
    assert before[inside] == pytest.approx(after[inside], abs=1e-9)
    assert not np.allclose(before[~inside], after[~inside], atol=0.01)


def test_a_mirrored_world_has_mirrored_shifts():
    x, y, offset, folds, _ = grouped()
    ours = fitted_shifts(CENTRES, x, y, offset, folds)
    mirrored = fitted_shifts(CENTRES, x, 1 - y, -offset, folds)
    for one, other in zip(ours, mirrored, strict=True):
        assert other == pytest.approx(-one, abs=1e-9)


def test_weight_two_is_a_repeated_row_and_order_is_irrelevant():
    x, y, offset, folds, _ = grouped(400)
    again = np.random.default_rng(0).permutation(np.r_[np.arange(400), np.arange(100)])
    weighted = fitted_shifts(CENTRES, x, y, offset, folds, np.where(np.arange(400) < 100, 2.0, 1.0))
    repeated = fitted_shifts(CENTRES, x[again], y[again], offset[again], folds[again])
    assert weighted[0] == pytest.approx(repeated[0], abs=1e-9)
    assert weighted[1][again] == pytest.approx(repeated[1], abs=1e-9)


def test_clusters_with_nothing_wrong_agree_on_no_shift():
    rng = np.random.default_rng(0)
    x, offset = rng.normal(size=(4000, 8)).astype(np.float32), rng.normal(size=4000)
    y = (rng.random(4000) < expit(offset)).astype(float)
    centres = rng.normal(size=(64, 8)).astype(np.float32)
    shared, _ = fitted_shifts(centres, x, y, offset, rng.integers(0, 5, 4000))
    cluster = nearest(x, centres)
    apart = [np.log((y[cluster == k].sum() + 0.5) / ((1 - y)[cluster == k].sum() + 0.5)) for k in range(64)]
    assert np.abs(shared).mean() < 0.2 * np.abs(apart).mean()


@given(st.integers(0, 1000))
def test_posterior_shifts_stay_on_the_grid_and_do_not_depend_on_order(seed):
    rng = np.random.default_rng(seed)
    likelihood = 10 ** rng.uniform(-2, 4) * rng.normal(size=(6, 161))
    order = rng.permutation(6)
    found = posterior_shifts(likelihood)
    assert (np.abs(found) <= 4 + 1e-9).all()
    assert found[order] == pytest.approx(posterior_shifts(likelihood[order]), abs=1e-6)


def test_few_rows_of_one_place_have_one_cluster():
    y = np.r_[np.ones(40), np.zeros(20)]
    x, none = np.zeros((60, 1), np.float32), np.zeros(60)
    rows = learning(x, y, none, np.arange(60) % 5)
    fitted = crossfit_clusters(rows)
    assert fitted.settings == {"clusters": [1]}
    assert fitted.member.shift(rows.at) == pytest.approx(np.full(60, np.log(2)), abs=0.06)


def test_half_precision_moves_the_shift_of_rows_between_two_centres_and_of_no_others():
    x = np.random.default_rng(0).uniform(-1, 2, (100_000, 2)).astype(np.float32)
    half = x.astype(np.float16).astype(np.float32)
    member = ClusterMember((ClusterShifts(CENTRES, SHIFTS, False),))
    moved = np.abs(np.subtract(*(member.shift(learning(rows, *[np.zeros(len(x))] * 3).at) for rows in (x, half))))
    first, second = np.sort(np.linalg.norm(x[:, None] - CENTRES, axis=2), axis=1)[:, :2].T
    between = second - first < 4 * np.abs(x - half).max()
    assert moved[between].max() >= np.diff(np.sort(SHIFTS)).min()
    assert not moved[~between].any()
