"""Which inputs may be narrowed to single precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miscal.base.precision import merged_columns, narrowed

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
