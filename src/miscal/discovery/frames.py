"""Rows as the conditions of findings see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from miscal.findings.conditions import Frame
from miscal.findings.input_clusters import InputClusters
from miscal.findings.ledger import with_features


def frame_of_rows(
    metadata: Mapping[str, np.ndarray],
    X: np.ndarray,
    encoder: Any = None,
    *,
    text: Sequence[str] | None = None,
    clusters: InputClusters | None = None,
    hidden: np.ndarray | None = None,
) -> Frame:
    """Put together what findings ask of rows.

    `metadata`, str (n,). `X`, (n, d): inputs, as the encoder makes them. `encoder`: what made X, and can tell the
    columns of a table from it; None for arrays. `text`: texts whose terms findings may name. `clusters`: how the run
    clustered its inputs. `hidden`, (n,): estimated hidden field, learned from other rows. Returns columns that are
    inputs have the values that the model sees.

    Examples
    --------
    >>> frame_of_rows({"kind": np.array(["a", "b"])}, np.zeros((2, 3))).columns["kind"].tolist()
    ['a', 'b']
    """
    places = X if encoder is None else X[:, : encoder.layout.places]
    columns = with_features(metadata, X, encoder)
    return Frame(len(X), columns, text=text, X=places, clusters=clusters, hidden=hidden)
