"""Columns of the table as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from miscal.base.arrays import column_of, row_list, value_list
from miscal.base.checks import check_features
from miscal.base.errors import InputError
from miscal.data.encoders.protocol import State, Unknown

if TYPE_CHECKING:
    import polars as pl

MAX_CATEGORIES = 50
"""A text feature with more distinct values than this is not one-hot encoded."""


class FeatureColumns:
    """Columns of the table: numbers and booleans as they are, lists of numbers side by side, few-valued text one-hot.

    A category that was not there at `fit` gives zeros in all its columns.

    Parameters
    ----------
    columns : sequence of str
        The columns, in the order of x.

    Examples
    --------
    >>> import polars as pl
    >>> encoder = FeatureColumns(["age", "kind"]).fit(pl.DataFrame({"age": [3, 4], "kind": ["a", "b"]}))
    >>> encoder.names
    ('age', 'kind=a', 'kind=b')
    >>> encoder.transform(pl.DataFrame({"age": [5], "kind": ["b"]})).tolist()
    [[5.0, 0.0, 1.0]]
    """

    kind = "features"

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.parts: tuple[dict[str, Any], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of x."""
        return tuple(
            name for column, part in zip(self.columns, self.parts, strict=True) for name in _names(column, part)
        )

    @property
    def n_features(self) -> int:
        """Number of columns of x."""
        return len(self.names)

    def describe(self) -> str:
        """Say how x was made."""
        n_text = sum(part["type"] == "category" for part in self.parts)
        how = f", {n_text} of them text, one-hot" if n_text else ""
        return f"{len(self.columns)} feature columns ({value_list(self.columns)}){how}"

    def fit(self, values: pl.DataFrame) -> Self:
        """Learn widths and categories."""
        self.parts = tuple(_part(column_of(values, column), column) for column in self.columns)
        return self

    def transform(self, values: pl.DataFrame) -> np.ndarray:
        """Put the columns side by side."""
        blocks = [_values(column_of(values, c), c, part) for c, part in zip(self.columns, self.parts, strict=True)]
        return check_features(np.column_stack(blocks), name="features", narrow=False)

    @property
    def column_types(self) -> dict[str, str]:
        """What each column holds: 'number', 'list' or 'category'."""
        return {column: part["type"] for column, part in zip(self.columns, self.parts, strict=True)}

    def unknown(self, values: pl.DataFrame, X: np.ndarray) -> Sequence[Unknown]:
        """Categories that were not there at `fit`; they are zeros in all columns of their feature."""
        found = []
        for column, part in zip(self.columns, self.parts, strict=True):
            if part["type"] == "category":
                known = column_of(values, column).cast(str).is_in(part["categories"]).fill_null(False).to_numpy()
                rows = np.flatnonzero(~known)
                if len(rows):
                    held = tuple(column_of(values, column).cast(str)[rows].to_list())
                    reasons = tuple(f"{value!r} is a category of {column!r} that the model never saw" for value in held)
                    found.append(Unknown(f"category of {column!r}", rows, held, reasons))
        return found

    def state(self) -> State:
        """Return the saved form."""
        return {"kind": self.kind, "columns": list(self.columns), "parts": list(self.parts)}, {}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """Rebuild from the saved form."""
        encoder = cls(config["columns"])
        encoder.parts = tuple(_checked(part) for part in config["parts"])
        if len(encoder.parts) != len(encoder.columns) or not all(isinstance(column, str) for column in encoder.columns):
            raise ValueError("each feature needs a name and what it holds")
        return encoder


def _checked(part: dict[str, Any]) -> dict[str, Any]:
    """Refuse what `_part` never returns."""
    categories = part.get("categories", ["none"])
    texts = isinstance(categories, list) and categories and all(isinstance(one, str) for one in categories)
    if part["type"] not in ("number", "list", "category") or not texts or not isinstance(part.get("width", 1), int):
        raise ValueError(f"a feature is a number, a list of some width, or a category of texts; got {part}")
    return dict(part)


def _names(column: str, part: dict[str, Any]) -> list[str]:
    if part["type"] == "category":
        return [f"{column}={category}" for category in part["categories"]]
    return [f"{column}[{j}]" for j in range(part["width"])] if part["type"] == "list" else [column]


def _part(series: pl.Series, column: str) -> dict[str, Any]:
    """Say how one column becomes numbers."""
    import polars as pl

    dtype = series.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return {"type": "number"}
    if dtype in (pl.List, pl.Array):
        return {"type": "list", "width": _list_width(series, column)}
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return {"type": "category", "categories": _categories(series, column)}
    raise InputError(
        f"column {column!r} cannot be a feature: its type is {dtype}; "
        "a feature must be numbers, booleans, text with few distinct values, or lists of numbers"
    )


def _shown(part: dict[str, Any]) -> str:
    """Say in a message what a column holds."""
    return {"number": "numbers", "category": "text"}.get(part["type"]) or f"lists of {part['width']} numbers"


def _categories(series: pl.Series, column: str) -> list[str]:
    categories = sorted(series.cast(str).drop_nulls().unique().to_list())
    if len(categories) > MAX_CATEGORIES:
        raise InputError(
            f"column {column!r} is text with {len(categories)} distinct values ({value_list(categories)}); as a "
            f"feature it may have at most {MAX_CATEGORIES}. If these are numbers, write them as numbers; if they are "
            "sentences, use them as text (--text) instead of features"
        )
    return categories


def _list_width(series: pl.Series, column: str) -> int:
    import polars as pl

    widths = series.cast(pl.List(series.dtype.inner)).list.len().drop_nulls().unique().sort().to_list()
    if not series.dtype.inner.is_numeric() or len(widths) != 1 or widths[0] == 0:
        raise InputError(
            f"column {column!r} must hold lists of numbers, all of one length; got {series.dtype} "
            f"with lengths {value_list(widths)}"
        )
    return int(widths[0])


def _values(series: pl.Series, column: str, part: dict[str, Any]) -> np.ndarray:
    """One column as float64 (n,) or (n, width), in the way found at `fit`."""
    _refuse_missing(series, column)
    if part["type"] == "category":
        return _one_hot(series, column, part["categories"])
    now = _part(series, column)
    if now != part:
        raise InputError(
            f"column {column!r} held {_shown(part)} when the model was fitted, and must again; got {_shown(now)}"
        )
    return np.array(series.to_list(), dtype=np.float64) if part["type"] == "list" else series.cast(float).to_numpy()


def _refuse_missing(series: pl.Series, column: str) -> None:
    missing = series.is_null().to_numpy()
    if missing.any():
        raise InputError(
            f"column {column!r}: {int(missing.sum())} of {len(series)} values are missing ({row_list(missing)}); "
            "fill them in, or drop those rows"
        )


def _one_hot(series: pl.Series, column: str, categories: list[str]) -> np.ndarray:
    import polars as pl

    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InputError(f"column {column!r} held text when the model was fitted, and must again; got {series.dtype}")
    text = series.cast(pl.String)
    return np.stack([(text == category).to_numpy() for category in categories], 1).astype(np.float64)
