"""The digest of what was read: any change is noticed, and nothing else matters."""

import numpy as np
import polars as pl
import pytest

from miscal.data.readers.opening import content_digest

X = np.random.default_rng(0).normal(size=(1_100, 6)).astype(np.float32)
FRAME = pl.DataFrame({"f": np.linspace(0, 1, len(X)), "word": ["a", None] * (len(X) // 2)})


def flipped(X, columns):
    out = X.copy()
    out[:, columns] *= -1
    return out


CHANGES = {
    "rows swapped": lambda X: X[::-1],
    "columns swapped": lambda X: X[:, ::-1],
    "signs of even columns": lambda X: flipped(X, slice(None, None, 2)),
    "signs of two columns": lambda X: flipped(X, [1, 3]),
    "all signs": lambda X: -X,
    "double precision": lambda X: X.astype(np.float64),
    "a row less": lambda X: X[:-1],
    "a column of zeros more": lambda X: np.pad(X, ((0, 0), (0, 2))),
    "zeros": np.zeros_like,
}


@pytest.mark.parametrize("name", CHANGES)
def test_embeddings_that_change_are_noticed(name):
    assert content_digest(FRAME, CHANGES[name](X)) != content_digest(FRAME, X)


def test_values_of_columns_count_and_where_they_lie_does_not():
    other = FRAME.with_columns(word=pl.col("word").fill_null("b"))
    assert content_digest(other, X) != content_digest(FRAME, X) != content_digest(FRAME, None)
    pieces = pl.concat([FRAME[:300], FRAME[300:]])
    assert content_digest(pieces, np.asfortranarray(X)) == content_digest(FRAME, X)
