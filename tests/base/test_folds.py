"""Laws of the folds: a group is never torn, unless most rows are its."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.folds import assign_folds, row_groups

SIZES = st.lists(st.integers(1, 30), min_size=2, max_size=40)


def dealt(sizes, n_folds, seed=0):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return groups, assign_folds(groups, n_folds, np.random.default_rng(seed))


@given(SIZES, st.integers(2, 10), st.integers(0, 100))
def test_groups_stay_together_unless_they_hold_over_half_of_the_rows(sizes, n_folds, seed):
    groups, folds = dealt(sizes, n_folds, seed)
    for group, size in enumerate(sizes):
        if size <= len(groups) / 2:
            assert len(np.unique(folds[groups == group])) == 1
    assert np.unique(folds).tolist() == list(range(folds.max() + 1))
    assert 2 <= folds.max() + 1 <= n_folds


def test_few_groups_make_fewer_folds_and_a_large_one_has_its_own():
    assert dealt([50] * 3, 5)[1].max() == 2
    _, folds = dealt([300] + [7] * 100, 5)
    assert np.bincount(folds).tolist() == [300, 175, 175, 175, 175]


def test_one_group_of_all_rows_is_dealt_row_by_row():
    assert np.bincount(dealt([100], 5)[1]).tolist() == [20] * 5


def test_equal_inputs_are_one_group_whatever_the_sign_of_their_zeros():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
    assert row_groups(X).tolist() == [0, 0, 1, 0]
    assert row_groups(X, ["b", "a", "b", "c"]).tolist() == [1, 0, 1, 2]


def test_inputs_of_one_hash_are_told_apart(monkeypatch):
    X = np.random.default_rng(0).integers(0, 4, (300, 3)).astype(float)
    whole = row_groups(X)
    monkeypatch.setattr("miscal.base.folds._hashed", lambda X: np.zeros(len(X), np.uint64))
    np.testing.assert_array_equal(row_groups(X), whole)
    assert whole.max() > 30
