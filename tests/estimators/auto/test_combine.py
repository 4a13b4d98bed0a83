"""Laws of putting scores together: what is better out of fold is what is returned."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from miscal.estimators.auto.estimator import _combine, _stacked, _trust
from miscal.estimators.auto.member import CrossFitted, LearningRows, Query
from miscal.estimators.auto.model import FIRST_STACK, columns, weighted


def drawn(seed, n=200, noise=0.3):
    """Rows, two members of which the first is right, and one refined score that is noise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    y = (rng.random(n) < expit(truth)).astype(float)
    groups, folds = np.arange(n), rng.integers(0, 5, n)
    rows = LearningRows(Query(None, np.zeros(n), np.zeros(n)), y, groups, folds, np.arange(1))
    members = {"right": truth, "near": truth + noise * rng.normal(size=n)}
    return rows, members, {"refined": rng.normal(size=n)}


def combined(rows, members, refined, structure=True):
    first = _stacked(rows, columns(members))
    scores, later = ({name: CrossFitted(None, shift, {}) for name, shift in own.items()} for own in (members, refined))
    return _combine(rows, scores, 1.0, later, {FIRST_STACK: first, **refined}, structure=structure)


@given(st.integers(0, 400))
def test_a_score_that_beats_a_stack_with_refined_ones_is_returned_alone(seed):
    rows, members, refined = drawn(seed)
    portfolio, candidates = combined(rows, members, refined)
    losses = {c["name"]: c["log_loss"] for c in candidates}
    best = min(members, key=losses.get)
    names = [c["name"] for c in candidates if c["chosen"]]
    if losses[best] < losses["stack"]:
        assert names == [best]
        shift = weighted({FIRST_STACK: weighted(members, portfolio.first_weights), **refined}, portfolio.weights)
        np.testing.assert_allclose(shift, _trust(rows) * members[best])
    else:
        assert names[-1] == "stack"


def test_both_cases_are_there():
    alone = [combined(*drawn(seed))[1][-1]["chosen"] for seed in range(20)]
    assert 0 < sum(alone) < 20


@given(st.integers(0, 400))
def test_without_refined_scores_the_stack_is_kept_and_without_structure_nothing(seed):
    rows, members, _ = drawn(seed)
    portfolio, candidates = combined(rows, members, {})
    assert candidates[-1]["chosen"]
    assert min(portfolio.first_weights.values()) >= 0
    _, unclaimed = combined(rows, members, {}, structure=False)
    assert not any(c["chosen"] for c in unclaimed)


@given(st.integers(0, 400), st.integers(0, 20))
def test_the_fewer_units_have_the_rarer_outcome_the_less_of_a_shift_is_kept(seed, few):
    rows, *_ = drawn(seed)
    y = np.zeros(200)
    y[:few] = 1
    rare, mirrored = replace(rows, correct=y), replace(rows, correct=1 - y)
    assert 0 <= _trust(rare) == _trust(mirrored) < _trust(rows) < 1
    assert (_trust(rare) == 0) == (few == 0)
    # a row that is repeated says it once
    assert _trust(replace(rare, groups=np.maximum(rows.groups, 10))) <= _trust(rare)
