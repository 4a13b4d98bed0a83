"""Rows as conditions ask of them: named columns, readable inputs and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from miscal.findings.conditions.condition import Frame
from miscal.findings.input_clusters import InputClusters


class ReadsColumns(Protocol):
    """What makes inputs of the columns of a table, and tells these again from them."""

    def columns_of(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns that a person reads, (n,) each."""
        ...


def readable(encoder: ReadsColumns | None, X: np.ndarray) -> bool:
    """Whether inputs are columns that a person reads one by one, not the coordinates of an embedding.

    Examples
    --------
    >>> readable(None, np.zeros((1, 384)))
    False
    """
    return encoder is not None and bool(encoder.columns_of(X[:1]))


def with_features(metadata: Mapping[str, Any], X: np.ndarray, encoder: ReadsColumns | None) -> dict[str, np.ndarray]:
    """Columns that may name a group: metadata, and the columns of the table that inputs are made of.

    `metadata`, str (n,). `X`, (n, d). `encoder`: what made X; None for arrays. Returns str (n,): a name that both have
    is the metadata's.

    Examples
    --------
    >>> from miscal.data.encoders.features import FeatureColumns
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30], "kind": ["b", "a"]})
    >>> encoder = FeatureColumns(table.columns).fit(table)
    >>> columns = with_features({"year": np.zeros(2)}, encoder.transform(table), encoder)
    >>> sorted(columns), columns["kind"].tolist()
    (['age', 'kind', 'year'], ['b', 'a'])
    """
    return (encoder.columns_of(X) if encoder is not None else {}) | dict(metadata)


def frame_of_rows(
    metadata: Mapping[str, np.ndarray],
    X: np.ndarray,
    encoder: Any = None,
    *,
    text: Sequence[str] | None = None,
    clusters: InputClusters | None = None,
) -> Frame:
    """Put together what findings ask of rows.

    `metadata`, str (n,). `X`, (n, d): inputs, as the encoder makes them. `encoder`: what made X, and can tell the
    columns of a table from it; None for arrays. `text`: texts whose terms findings may name. `clusters`: how the run
    clustered its inputs. Columns that are inputs have the values that the model sees.

    Examples
    --------
    >>> frame_of_rows({"kind": np.array(["a", "b"])}, np.zeros((2, 3))).columns["kind"].tolist()
    ['a', 'b']
    """
    places = X if encoder is None else X[:, : encoder.layout.places]
    columns = with_features(metadata, X, encoder)
    return Frame(len(X), columns, text=text, X=places, clusters=clusters)
