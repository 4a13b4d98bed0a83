"""Tables in memory: pandas, polars and pyarrow frames, and dictionaries of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import polars as pl

from miscal.base.arrays import frame_columns, is_frame, numeric
from miscal.base.checks import check_lengths
from miscal.base.errors import InputError
from miscal.base.frames import narwhals_frame
from miscal.data.readers.table import Table


def accepts(source: Any) -> bool:
    """Whether `source` is a table in memory."""
    return isinstance(source, (Mapping, pl.LazyFrame)) or is_frame(source)


def collected(source: Any) -> Any:
    """Return what a lazy frame or query of any library holds, as a polars frame; anything else as it is."""
    frame = narwhals_frame(source)
    return frame.collect(backend="polars").to_native() if isinstance(frame, nw.LazyFrame) else source


def with_columns(source: Any, values: Mapping[str, Any]) -> Any:
    """Return a table with further columns, each value at the place of its row, whatever index either of them has.

    Parameters
    ----------
    source : frame or dictionary of arrays
        Not changed.
    values : mapping of str to array-like of shape (n,)

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
    if isinstance(source, Mapping):
        if not source:
            raise InputError("the data have no columns; at least confidence and correct are needed")
        check_lengths(**{str(name): values for name, values in source.items()})
        columns = {str(name): values for name, values in source.items()}
        return Table("arrays", tuple(columns), lambda names: pl.DataFrame([_series(n, columns[n]) for n in names]))
    if isinstance(source, pl.DataFrame):
        return Table("frame", tuple(source.columns), lambda names: source[list(names)])
    by_name = frame_columns(source)
    return Table("frame", tuple(by_name), lambda names: pl.DataFrame([_series(n, by_name[n]) for n in names]))


def _series(name: str, values: Any) -> pl.Series:
    """Numbers through the checks all arrays pass; anything else by its Python values."""
    try:
        array = numeric(values, name)
    except InputError:
        return _from_objects(name, values)
    if array.ndim == 1:
        return pl.Series(name, array.astype(array.dtype.newbyteorder("=")))
    return _from_objects(name, array)


def _from_objects(name: str, values: Any) -> pl.Series:
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        gone = series.is_null().to_list()
        entries = [None if missing else entry for missing, entry in zip(gone, series.to_list(), strict=True)]
    else:
        entries = values.tolist() if hasattr(values, "tolist") else list(values)
    try:
        return pl.Series(name, entries, dtype=_ordered(values))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"column {name!r} cannot be used, because its values are of several types ({str(error).splitlines()[0]})"
        ) from None


def _ordered(values: Any) -> pl.Enum | None:
    """Return the type of ordered categories of texts; None for anything else."""
    kind = getattr(values, "dtype", None)
    categories = list(kind.categories) if getattr(kind, "ordered", False) else []
    return pl.Enum(categories) if categories and all(isinstance(one, str) for one in categories) else None
