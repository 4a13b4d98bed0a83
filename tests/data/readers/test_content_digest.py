"""The digest of what was read: any change is noticed, and nothing else matters."""

import numpy as np
import polars as pl
import pytest

from miscal.data.readers.provenance import content_digest, row_hashes

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
    "signs of odd columns": lambda X: flipped(X, slice(1, None, 2)),
    "signs of two odd columns": lambda X: flipped(X, [1, 3]),
    "all signs": lambda X: -X,
    "double precision": lambda X: X.astype(np.float64),
    "a row less": lambda X: X[:-1],
    "a column of zeros more": lambda X: np.pad(X, ((0, 0), (0, 2))),
    "zeros": np.zeros_like,
}


@pytest.mark.parametrize("name", CHANGES)
def test_embeddings_that_change_are_noticed(name):
    assert content_digest(FRAME, CHANGES[name](X)) != content_digest(FRAME, X)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 6])
def test_each_bit_of_each_number_counts(kind, width):
    rows = np.ones((1, width), kind)
    bits, size = f"u{rows.itemsize}", 8 * rows.itemsize
    changed = np.repeat(rows.view(bits), width * size, axis=0)
    changed[np.arange(width * size), np.arange(width * size) // size] ^= np.array(1, bits) << (
        np.arange(width * size) % size
    ).astype(bits)
    hashes = row_hashes(np.concatenate([rows, changed.view(kind)]))
    assert len(np.unique(hashes, axis=0)) == width * size + 1


def test_values_of_columns_count_and_where_they_lie_does_not():
    other = FRAME.with_columns(word=pl.col("word").fill_null("b"))
    assert content_digest(other, X) != content_digest(FRAME, X) != content_digest(FRAME, None)
    pieces = pl.concat([FRAME[:300], FRAME[300:]])
    assert content_digest(pieces, np.asfortranarray(X)) == content_digest(FRAME, X)
