"""Laws of what the fits of one run share."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from miscal.calibration.calibrators import logit
from miscal.data.triples import Triples
from miscal.estimators.auto.estimator import AutoField, learn_shared


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(400, 4)).astype(np.float32), rng.uniform(0.1, 0.9, 400)
    y = (rng.random(400) < expit(logit(f) + 1.5 * np.sign(X[:, 0]))).astype(float)
    return Triples.of(X, confidence=f, correct=y)


def test_what_fits_share_holds_no_outcome(rows):
    ours, theirs = (learn_shared(one, 0) for one in (rows, replace(rows, correct=1 - rows.correct)))
    for name, held in vars(ours[0]).items():
        np.testing.assert_array_equal(held, getattr(theirs[0], name))
    for one, other in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_fit_to_all_rows_is_the_same_by_what_is_shared_and_by_its_own(rows):
    alone, sharing = AutoField().fit(rows), AutoField().share_inputs(rows).for_folds().fit(rows)
    np.testing.assert_array_equal(alone.delta(rows.X, rows.confidence), sharing.delta(rows.X, rows.confidence))


def test_a_fit_to_some_rows_does_not_depend_on_their_order(rows):
    order = np.random.default_rng(1).permutation(len(rows))
    here, there = (AutoField().share_inputs(some).for_folds() for some in (rows, rows.take(order)))
    known = np.arange(len(rows)) % 4 > 0
    one, other = here.fit(rows.take(known)), there.fit(rows.take(order[known[order]]))
    assert one.rows_.tolist() == other.rows_.tolist()
    np.testing.assert_array_equal(one.delta(rows.X, rows.confidence), other.delta(rows.X, rows.confidence))
