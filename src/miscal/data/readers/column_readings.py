"""Say what each column of a table is read as, and leave out those that say nothing of a row's kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

import polars as pl

from miscal.base.arrays import column_of
from miscal.base.checks import DATES
from miscal.base.errors import InputError, argument
from miscal.data.column_reading import COORDINATE, ColumnReading
from miscal.data.encoders.features import embedding_columns
from miscal.data.encoders.kinds import CategoryColumn, NumberColumn, kind_of
from miscal.data.encoders.kinds.category import hardly_repeats
from miscal.data.encoders.kinds.date import STROKED

READ_COLUMNS = "read_columns"
"""Key of ``Triples.source`` that holds the readings, as JSON values."""
ROW_NAMES = re.compile(r"(?i)(.*[_\s])?(id|uuid|guid|index|row|key|hash)|Unnamed: \d+|__index_level_\d+__")
"""Names of columns that number the rows or name them, where every value occurs once."""
SENTENCE = 3
"""Words that values have in the middle which are taken for texts, and not for names of rows."""
LEAKS = {
    "ranking": "it tells the outcome nearly perfectly",
    "entropy": "it takes away half of what is not known of the outcome",
    "blanks": "all rows in which it is blank have one outcome",
    "together": "together with others it tells the outcome nearly perfectly",
}
"""Why a column is left out that may be known only after the outcome."""
KEY = "it holds the right answer: name it as a feature if new rows have it"
LIST = "its lists name nothing: name it as a feature"


def read_columns(
    frame: pl.DataFrame, names: Sequence[str], *, chosen: Collection[str] = ()
) -> tuple[ColumnReading, ...]:
    """Say what each of some columns is read as.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
    chosen : collection of str
        Those that a person named as inputs: of these, none is left out.

    Returns
    -------
    tuple of ColumnReading
        In the order of the names.

    Examples
    --------
    >>> table = pl.DataFrame({"id": [1, 2, 3], "age": [20, None, 30], "same": ["x", "x", "x"]})
    >>> [(one.name, one.read_as, one.missing, one.left_out) for one in read_columns(table, table.columns)]
    [('id', 'number', 0, 'it numbers or names the rows'), ('age', 'number', 1, None), ('same', 'category', 0, 'it is the same in all rows')]
    """  # noqa: E501
    readings: list[ColumnReading] = []
    coordinates = embedding_columns(frame, names)
    for name in names:
        reading = _reading(column_of(frame, name), name, chosen=name in chosen)
        if name in coordinates and reading.read_as == NumberColumn.type:
            reading = replace(reading, read_as=COORDINATE)
        if reading.left_out is None and name not in chosen:
            before = _same_before(frame, name, readings)
            if before is not None:
                reading = replace(reading, left_out=f"it is the same as {before!r}")
        readings.append(reading)
    return tuple(readings)


def used(readings: Sequence[ColumnReading], *, needed: bool = True) -> tuple[str, ...]:
    """Names of the columns that are part of x.

    Parameters
    ----------
    readings : sequence of ColumnReading
    needed : bool, default True
        Whether x is made of nothing else.

    Raises
    ------
    InputError
        If all of them were left out, and x is made of nothing else.
    """
    kept = tuple(one.name for one in readings if one.left_out is None)
    if needed and readings and not kept:
        reasons = "; ".join(f"{one.name!r}: {one.left_out}" for one in readings[:5])
        raise InputError(
            f"no inputs are left: none of the {len(readings)} other columns says of what kind a row is ({reasons}). "
            f"Name feature columns ({argument('features', takes='COL,COL')}), embeddings "
            f"({argument('embeddings', takes='FILE.npy')}) or a column of text "
            f"({argument('text', takes='COL')})"
        )
    return kept


def stroked_dates(frame: pl.DataFrame, readings: Sequence[ColumnReading]) -> tuple[str, ...]:
    """Say which columns hold dates that were not read as such.

    Examples
    --------
    >>> table = pl.DataFrame({"day": ["12/31/2013", None], "share": ["1/2", "3/4"]})
    >>> stroked_dates(table, read_columns(table, table.columns))
    ("'day' holds dates with strokes, which countries order differently, so they are read as text: write them as ...",)
    """
    text = [one.name for one in readings if one.read_as == CategoryColumn.type and one.levels]
    return tuple(
        f"{name!r} holds dates with strokes, which countries order differently, so they are read as text: {DATES}"
        for name in text
        if column_of(frame, name).drop_nulls().cast(pl.String).str.contains(STROKED).all()
    )


def _reading(series: pl.Series, name: str, *, chosen: bool) -> ColumnReading:
    kind = kind_of(series)
    known = series.drop_nulls()
    if series.dtype.is_float():
        known = known.drop_nans()
    distinct = 0 if series.dtype.is_nested() or series.dtype == pl.Object else known.n_unique()
    blanks = len(series) - len(known)
    read_as = "other" if kind is None else "boolean" if series.dtype == pl.Boolean else kind.type
    why = None if chosen else _left_out(series, name, read_as, distinct, len(known))
    return ColumnReading(name, read_as, distinct, blanks, why)


def _left_out(series: pl.Series, name: str, read_as: str, distinct: int, known: int) -> str | None:
    if read_as == "other":
        return f"its type is {series.dtype}"
    if read_as == "list":
        return _no_vector(series)
    if distinct <= 1 and (known == len(series) or known == 0):
        return "it is the same in all rows"
    every_one = distinct == known == len(series)
    if every_one and not series.dtype.is_float() and ROW_NAMES.fullmatch(name):
        return "it numbers or names the rows"
    if read_as == CategoryColumn.type and hardly_repeats(distinct, known):
        words = series.drop_nulls().cast(pl.String).str.count_matches(r"\S+").median()
        if words is not None and words >= SENTENCE:  # type: ignore[operator]
            return f"it holds texts that hardly repeat: --text {name} makes inputs of them"
        return "its values hardly repeat: they name the rows"
    return None


def _no_vector(series: pl.Series) -> str | None:
    whole = series.null_count() == 0 and series.dtype.inner.is_numeric()
    if not whole or series.cast(pl.List(series.dtype.inner)).list.len().n_unique() != 1:
        return "its lists do not all hold as many numbers"
    return None


def _same_before(frame: pl.DataFrame, name: str, readings: Sequence[ColumnReading]) -> str | None:
    """Name an earlier column that holds the same numbers or texts."""
    series = column_of(frame, name)
    for one in readings:
        other = column_of(frame, one.name)
        comparable = one.left_out is None and other.dtype == series.dtype and other.dtype not in (pl.List, pl.Array)
        if comparable and other.equals(series.rename(other.name)):
            return one.name
    return None
