"""Conditions on rows: ``model == 'gpt-4o' and n > 3``. SQL expressions of one row, parsed by polars; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from miscal.base.errors import InputError, MissingColumn
from miscal.data.readers.columns import find

_HELP = "write, for instance: model == 'gpt-4o' and n > 3"


def columns_of(expression: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Name the columns that a condition looks at.

    Raises
    ------
    InputError
        If the condition cannot be parsed or looks at no column.
    MissingColumn
        If it names a column that is not there.

    Examples
    --------
    >>> columns_of("a > 1 and b = 'x'", ["a", "b", "c"])
    ('a', 'b')
    """
    names = tuple(dict.fromkeys(_parse(expression).meta.root_names()))
    if not names:
        raise InputError(f"where: {expression!r} names no column; {_HELP}")
    for name in names:
        try:
            find(name, columns, what="where")
        except MissingColumn as error:
            quoted = ". Text values are written in single quotes" if f'"{name}"' in expression else ""
            raise MissingColumn(f"{error}{quoted}") from None
    return names


def _parse(expression: str) -> pl.Expr:
    try:
        return pl.sql_expr(expression)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"where: {expression!r} is not a condition ({_first_line(error)}); {_HELP}") from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0]


def kept(expression: str, frame: pl.DataFrame) -> tuple[np.ndarray, str | None]:
    """Say which rows a condition keeps.

    Parameters
    ----------
    expression : str
    frame : polars.DataFrame

    Returns
    -------
    keep : bool array of shape (n,)
        Where a value is missing so that the condition is neither true nor false, the row is not kept.
    note : str or None
        How many rows were left out for that.

    Raises
    ------
    InputError
        If the condition does not fit the types, is not true or false row by row, or keeps no row.

    Examples
    --------
    >>> kept("n > 1", pl.DataFrame({"n": [1, 2, None]}))
    (array([False,  True, False]), 'where: 1 rows were left out, because the value that decides is missing')
    """
    keep, unknown = decided(expression, frame)
    if not keep.any():
        raise InputError(
            f"where: {expression!r} keeps none of the {len(frame)} rows; correct the condition, or leave it out"
        )
    return keep, f"where: {unknown} rows were left out, because the value that decides is missing" if unknown else None


def decided(expression: str, frame: pl.DataFrame) -> tuple[np.ndarray, int]:
    """Say which rows a condition keeps, and for how many the value that decides is missing.

    Raises
    ------
    InputError
        If the condition does not fit the types, or is not true or false row by row.
    """
    try:
        result = frame.lazy().select(_parse(expression).alias("keep")).collect()["keep"]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"where: {expression!r} does not fit the data ({_first_line(error)}); {_HELP}") from None
    if result.dtype != pl.Boolean or len(result) != len(frame):
        raise InputError(f"where: {expression!r} is not true or false for each row; {_HELP}")
    return result.fill_null(False).to_numpy(), int(result.null_count())
