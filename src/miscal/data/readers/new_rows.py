"""New rows for a saved model: x and confidence, no outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.base.errors import InputError
from miscal.data.encoders import Encoder
from miscal.data.readers.columns import find, guess
from miscal.data.readers.registry import open_table
from miscal.data.readers.rows import (
    XSource,
    choose_inputs,
    choose_rows,
    confidences,
    encoder_values,
    refuse_invalid_inputs,
    texts,
)
from miscal.data.readers.table import Table


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows to be corrected.

    Parameters
    ----------
    X : float32 array of shape (n, d)
        Made by the model's own encoder.
    confidence : float64 array of shape (n,)
        In [0, 1].
    row : int64 array of shape (n,)
        Row numbers in the source, from 0.
    text : tuple of n str, optional
    notes : tuple of str
    columns : dict
        The columns taken for confidence and x.
    """

    X: np.ndarray
    confidence: np.ndarray
    row: np.ndarray
    text: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    columns: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.confidence)


def read_inputs(
    source: Any,
    *,
    encoder: Encoder,
    confidence: str | None = None,
    fitted_on: str | None = None,
    embeddings: Any = None,
    features: str | Sequence[str] | None = None,
    text: str | None = None,
    where: str | None = None,
    encoding: str = "utf-8",
) -> NewRows:
    """Read rows without outcomes and put them through a fitted encoder.

    Parameters
    ----------
    source : path or table
        As for :func:`miscal.data.readers.read_triples`.
    encoder : Encoder
        That of the model (``Triples.encoder``, or rebuilt from its saved state).
    confidence : str, optional
        Column of the confidence; by default `fitted_on`, or found by its name.
    fitted_on : str, optional
        Column of the confidences that the model was fitted on. No other is taken for it: a file of new rows may well
        have a column of a usual name that holds something else.
    embeddings : path or array, optional
        For a model fitted on embeddings.
    features : str or sequence of str, optional
        For a model fitted on feature columns: by default its own columns; if given, they must be those, in order.
    text : str, optional
        For a model fitted on text: the column, by default the one it was fitted on.
    where : str, optional
        A condition on rows.
    encoding : str, default "utf-8"
        Of text files.

    Returns
    -------
    NewRows

    Raises
    ------
    InputError
        If the data do not offer what the encoder needs, or values are missing, not finite or out of range.

    Examples
    --------
    >>> from miscal.data.encoders import Embeddings
    >>> new = read_inputs({"conf": [0.2, 0.9]}, encoder=Embeddings(3), embeddings=np.zeros((2, 3)))
    >>> new.X.shape, new.confidence.tolist()
    ((2, 3), [0.2, 0.9])
    """
    table = open_table(source, encoding=encoding)
    column = _confidence_column(table, confidence, fitted_on)
    inputs = _needed(table, encoder, embeddings, features, text, {column: "confidence"})
    rows = choose_rows(table, [column], inputs, where)
    f, clipped = confidences(rows, column)
    refuse_invalid_inputs(rows, inputs)
    return NewRows(
        X=encoder.transform(encoder_values(rows, inputs)),
        confidence=f,
        row=rows.row.astype(np.int64),
        text=None if inputs.text is None else texts(rows, inputs.text),
        notes=(*rows.notes, *clipped),
        columns={"confidence": column, "x": list(inputs.features) or inputs.text, "text": inputs.text},
    )


def _confidence_column(table: Table, named: str | None, fitted_on: str | None) -> str:
    if named is not None:
        return find(named, table.columns, what="confidence")
    if fitted_on is None:
        return guess("confidence", table.columns)
    own = "confidence (the model was fitted on this column; --confidence COL names another)"
    return find(fitted_on, table.columns, what=own)


def _needed(
    table: Table,
    encoder: Encoder,
    embeddings: Any,
    features: str | Sequence[str] | None,
    text: str | None,
    reserved: dict[str, str],
) -> XSource:
    """Take x from where the model took it."""
    kind = encoder.kind.split("-")[0]
    if features is None and kind == "features":
        features = encoder.columns  # type: ignore[attr-defined]
        for name in features:
            find(name, table.columns, what="features")
    if text is None and kind == "text":
        text = encoder.column  # type: ignore[attr-defined]
    inputs = choose_inputs(table, embeddings=embeddings, features=features, text=text, reserved=reserved)
    if kind == "text" and embeddings is None and features is None:
        return XSource("text", text=inputs.text)
    if inputs.kind != kind:
        raise InputError(
            f"the model was fitted on {encoder.describe()}, so new rows must have the same; got {inputs.kind}"
        )
    if kind == "features" and inputs.features != encoder.columns:  # type: ignore[attr-defined]
        wanted = ", ".join(encoder.columns)  # type: ignore[attr-defined]
        raise InputError(
            f"the model was fitted on the columns {wanted}, so these must be given, in this order; "
            f"got {', '.join(inputs.features)}"
        )
    return inputs
