"""A group is never torn, unless most rows are its; and which inputs may be narrowed to single precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miscal.base.folds import assign_folds, row_groups
from miscal.base.precision import merged_columns, narrowed

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


WITHIN = st.floats(-1e30, 1e30, allow_nan=False, allow_subnormal=False)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=WITHIN))
def test_rows_that_differ_stay_different_and_equal_ones_equal(X):
    out = narrowed(X)
    # -0.0 and 0.0 are one value
    assert len(np.unique(out + 0.0, axis=0)) == len(np.unique(X + 0.0, axis=0))
    assert out.dtype == np.float64 or np.abs(X).max() <= 1e15


@pytest.mark.parametrize(
    "column",
    [
        1.7e9 + np.arange(3000.0),
        np.where(np.arange(3000) % 2, 1.7e9 + np.arange(3000.0), 0.0),
        1e-300 * np.arange(3000.0),
        np.tile([3e38, -3e38], 1500),
        np.arange(3000) + 2**40,
    ],
    ids=["seconds", "seconds, half of them 0", "tiny", "huge", "whole numbers"],
)
def test_what_single_precision_cannot_hold_stays_double_beside_columns_that_it_can(column):
    beside = np.random.default_rng(0).normal(size=3000)
    assert narrowed(np.column_stack([beside, column])).dtype == np.float64
    assert narrowed(beside[:, None]).dtype == np.float32


def test_embeddings_stay_what_they_are_without_a_copy():
    X = np.random.default_rng(0).normal(size=(2_000, 64))
    single = X.astype(np.float32)
    assert narrowed(single) is single
    assert narrowed(X.astype(np.float16)).dtype == np.float32
    # most columns of so many decimals hold two values that single precision merges, and no two rows are merged
    assert narrowed(X).dtype == np.float32
    assert narrowed(single.astype(np.float64)).dtype == np.float32


def test_the_columns_that_lose_are_named():
    X = np.column_stack([np.arange(50.0), 1e12 + np.arange(50.0), np.full(50, 0.1)])
    assert merged_columns(X).tolist() == [1]
