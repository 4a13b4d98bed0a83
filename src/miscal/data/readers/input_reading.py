"""Inputs as scikit-learn is given them (frames, arrays, texts), read as the columns of a file are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import polars as pl

from miscal.base.arrays import is_frame
from miscal.base.errors import InputError
from miscal.base.folds import content_order
from miscal.data.encoders.features import FeatureColumns
from miscal.data.encoders.protocol import Encoder
from miscal.data.encoders.texts import text_encoder
from miscal.data.readers.column_readings import ColumnReading, read_columns, used
from miscal.data.readers.opening import Frame, is_table
from miscal.data.triples import InputLayout

_MOST_DENSE = 1 << 27
"""Numbers of a sparse matrix that are written out, 1 GB of them."""


class InputReading:
    """X of any make as the numbers that the field is learned from: the reading of ``--features auto``.

    A frame is read column by column (numbers, dates, categories, each with blanks); columns that say nothing of a row's
    kind are left out. An array is read as a frame whose columns are called x0, x1 and so on; texts become TF-IDF.

    `seed`: of the encoder of texts.

    Attributes
    ----------
    readings : tuple of ColumnReading
        What each column was read as, and why it was left out; empty for texts.

    Examples
    --------
    >>> table = pl.DataFrame({"id": [1, 2, 3], "age": [20, None, 30], "kind": ["a", "b", "a"]})
    >>> reading = InputReading().fit(table)
    >>> reading.names
    ('age', 'age is blank', 'kind=a', 'kind=b', 'level of kind')
    >>> reading.transform(pl.DataFrame({"id": [9], "age": [25], "kind": [None]}))[:, :4].tolist()
    [[25.0, 0.0, 1.0, 0.0]]
    """

    seed: int
    of_texts: bool
    readings: tuple[ColumnReading, ...]
    encoder: Encoder

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.readings = seed, ()

    def fit(self, X: Any) -> Self:
        """Learn what X holds."""
        self.of_texts = _is_texts(X)
        if self.of_texts:
            self.encoder = text_encoder(model="tfidf", seed=self.seed).fit(_texts(X))
            return self
        frame = _table(X)
        self.readings = read_columns(frame, frame.columns)
        columns = FeatureColumns(used(self.readings)).fit(frame)
        self.encoder = columns.taking_as_blank(columns.can_be_blank)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the inputs as numbers, (n, d)."""
        if self.of_texts:
            return self.encoder.transform(_texts(X))
        frame = _table(X)
        missing = [name for name in self.encoder.columns if name not in frame.columns]
        if missing:
            raise InputError(f"X lacks the column {missing[0]!r}, which it had in fit; it has {frame.columns[:10]}")
        return self.encoder.transform(frame)

    @property
    def layout(self) -> InputLayout:
        """What the columns of the numbers are."""
        return self.encoder.layout

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns of the numbers, where they have any."""
        return self.encoder.names


def order_of(X: Any, *columns: Any) -> np.ndarray:
    """Order rows of whatever :class:`InputReading` reads by what they hold, then by columns, or None; int64 (n,).

    Examples
    --------
    >>> X = np.array([[3.0], [1.0], [2.0]])
    >>> bool((X[order_of(X)] == X[::-1][order_of(X[::-1])]).all())
    True
    """
    columns = tuple(column for column in columns if column is not None)
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        rows.sum_duplicates()
        parts = [slice(*ends) for ends in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
        columns = ([rows.indices[one].tobytes() + rows.data[one].tobytes() for one in parts], *columns)
    elif is_frame(X):
        try:
            table = _table(X)
        except InputError:
            # what cannot be read may still be what a classifier takes
            return np.arange(len(X))
        columns = (*(table[name].to_numpy() for name in table.columns), *columns)
    elif (values := np.asarray(X)).ndim == 2 and values.dtype.kind in "biuf":
        return content_order(values, *columns)
    else:
        columns = (*(np.asarray(X, dtype=object).T if values.ndim == 2 else [list(X)]), *columns)
    return content_order(np.zeros((len(columns[0]), 0)), *columns)


def _is_texts(X: Any) -> bool:
    if is_frame(X) or hasattr(X, "toarray"):
        return False
    values = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    return values.ndim == 1 and len(values) > 0 and isinstance(values[0], str)


def _texts(X: Any) -> tuple[str, ...]:
    return tuple("" if one is None or one != one else str(one) for one in np.asarray(X, dtype=object).tolist())


def _table(X: Any) -> pl.DataFrame:
    """Return X as a table; an array's columns are called x0, x1 and so on."""
    if hasattr(X, "toarray"):
        X = _dense(X)
    if not is_table(X):
        values = np.asarray(X)
        if values.ndim != 2:
            raise InputError(f"X must be two-dimensional, of shape (n, d), or n texts; its shape is {values.shape}")
        X = {f"x{k}": values[:, k] for k in range(values.shape[1])}
    table = Frame(X)
    return table.load(table.columns)


def _dense(X: Any) -> np.ndarray:
    if np.prod(X.shape, dtype=float) > _MOST_DENSE:
        raise InputError(
            f"X is a sparse matrix of {X.shape[0]:,} x {X.shape[1]:,}, too large to be written out: reduce it first, "
            "for instance with sklearn.decomposition.TruncatedSVD in a pipeline"
        )
    return X.toarray()
