"""Embeddings that rows share: a column says which row of the matrix each of them has."""

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError, MissingColumn
from miscal.data.readers import read_triples, reread

from .formats import N, frame


def with_rows(at):
    return frame().with_columns(pl.Series("at", at, strict=False))


def test_embeddings_may_be_shared_and_in_any_order(tmp_path):
    rng = np.random.default_rng(1)
    matrix, at = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(0, 30, N)
    np.save(tmp_path / "x.npy", matrix)
    data = with_rows(at)
    data.write_parquet(tmp_path / "data.parquet")
    named = {"embeddings": tmp_path / "x.npy", "embedding_rows": "at", "where": "x_2 >= 10"}
    found = read_triples(tmp_path / "data.parquet", **named)
    # the same as a matrix laid out row by row beforehand
    np.testing.assert_array_equal(found.X, read_triples(data, embeddings=matrix[at], where="x_2 >= 10").X)
    np.testing.assert_array_equal(reread(found.source).X, found.X)


@pytest.mark.parametrize(("value", "count"), [(-1, 1), (30, 1), (0.5, 1), (None, 1)])
def test_row_numbers_outside_the_embeddings_are_refused(value, count):
    at = [0, 0, 0, 0, 0, 0, 0, value, *[0] * (N - 8)]
    data = with_rows(at)
    with pytest.raises(InputError, match=rf"'at'.*from 0 to 29; {count} of 120 are not \(row 7\)"):
        read_triples(data, embeddings=np.eye(30), embedding_rows="at")


def test_row_numbers_need_embeddings():
    with pytest.raises(InputError, match="name the embeddings too"):
        read_triples(with_rows([0] * N), features="x_1", embedding_rows="at")
    with pytest.raises(MissingColumn, match="embedding_rows: there is no column 'att'"):
        read_triples(with_rows([0] * N), embeddings=np.eye(3), embedding_rows="att")
