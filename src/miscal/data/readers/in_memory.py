"""Tables in memory: frames of pandas, polars and pyarrow, datasets of Hugging Face, dictionaries of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from miscal.base.arrays import frame_columns, is_frame, numeric, without_batches
from miscal.base.checks import check_lengths
from miscal.base.errors import InputError
from miscal.base.frames import narwhals_frame
from miscal.data.readers.table import Table

# every whole number up to it is a float
_LARGEST_WHOLE = 2**53


def accepts(source: Any) -> bool:
    """Whether `source` is a table in memory."""
    return isinstance(source, (Mapping, pl.LazyFrame)) or is_frame(source) or _is_dataset(source)


def _is_dataset(source: Any) -> bool:
    """Tell a dataset of Hugging Face by its name, so that the package need not be installed."""
    return type(source).__module__.split(".")[0] == "datasets" and hasattr(source, "to_polars")


def collected(source: Any) -> Any:
    """Return what a lazy frame or query of any library holds, as a polars frame, and batches as a table."""
    source = source.to_polars() if _is_dataset(source) else without_batches(source)
    frame = narwhals_frame(source)
    return frame.collect(backend="polars").to_native() if isinstance(frame, nw.LazyFrame) else source


def with_columns(source: Any, values: Mapping[str, Any]) -> Any:
    """Return a table with further columns, each value at the place of its row, whatever index either of them has.

    `source`: not changed.

    Examples
    --------
    >>> with_columns({"x": [1, 2]}, {"y": [3, 4]})
    {'x': [1, 2], 'y': [3, 4]}
    """
    source = collected(source)
    if isinstance(source, pl.DataFrame):
        check_lengths(data=source, **values)
        return source.with_columns(_series(name, one) for name, one in values.items())
    columns = {**(source if isinstance(source, Mapping) else frame_columns(source)), **values}
    check_lengths(**columns)
    return columns


def read(source: Any, *, encoding: str = "utf-8") -> Table:
    """Wrap a table in memory; only the columns asked for are converted."""
    source = collected(source)
    if isinstance(source, pl.DataFrame):
        return Table("frame", tuple(source.columns), lambda names: source[list(names)])
    arrays = isinstance(source, Mapping)
    columns = {str(name): one for name, one in source.items()} if arrays else frame_columns(source)
    if not columns:
        raise InputError("the data have no columns; at least confidence and correct are needed")
    check_lengths(**columns)
    return Table(
        "arrays" if arrays else "frame",
        tuple(columns),
        lambda names: pl.DataFrame({name: _series(name, columns[name]) for name in names}),
    )


def whole_numbers(name: str, values: Sequence[int | None]) -> pl.Series:
    """Put whole numbers of any size into a column: of up to 128 bits as numbers, else as text, which loses nothing.

    Examples
    --------
    >>> whole_numbers("hash", [1, 2**70]).dtype, whole_numbers("hash", [1, 2**200]).dtype
    (Int128, String)
    """
    column = None
    with suppress(TypeError, OverflowError, pl.exceptions.PolarsError):
        column = pl.Series(name, values, strict=False)
    # what is too large for polars is an error, or null
    if column is None or column.null_count() != sum(one is None for one in values):
        return pl.Series(name, [None if one is None else str(one) for one in values], dtype=pl.String)
    return column


def _series(name: str, values: Any) -> pl.Series:
    """Numbers through the checks all arrays pass; anything else by its Python values."""
    try:
        array = numeric(values, name)
    except InputError:
        return _from_objects(name, values)
    if array.ndim != 1:
        return _from_objects(name, array)
    # floats do not hold all of these whole numbers, which may be ids: equal ones would be one
    if array.dtype.kind == "f" and (np.abs(array) > _LARGEST_WHOLE).any():
        entries = _entries(values)
        if all(one is None or isinstance(one, (int, np.integer)) for one in entries):
            return whole_numbers(name, entries)
    return pl.Series(name, array.astype(array.dtype.newbyteorder("=")))


def _entries(values: Any) -> list[Any]:
    """Python values of a column, None where one is missing."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        gone = series.is_null().to_list()
        return [None if missing else entry for missing, entry in zip(gone, series.to_list(), strict=True)]
    entries = values.tolist() if hasattr(values, "tolist") else list(values)
    return [None if isinstance(one, float) and one != one else one for one in entries]


def _from_objects(name: str, values: Any) -> pl.Series:
    try:
        return pl.Series(name, _entries(values), dtype=_ordered(values))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"column {name!r} cannot be used, because its values are of several types ({str(error).splitlines()[0]})"
        ) from None


def _ordered(values: Any) -> pl.Enum | None:
    """Return the type of ordered categories of texts; None for anything else."""
    kind = getattr(values, "dtype", None)
    categories = list(kind.categories) if getattr(kind, "ordered", False) else []
    return pl.Enum(categories) if categories and all(isinstance(one, str) for one in categories) else None
