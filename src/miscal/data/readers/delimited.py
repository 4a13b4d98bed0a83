"""CSV and TSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.arrays import value_list
from miscal.base.errors import CorruptFile, InputError
from miscal.data.readers.table import Table, damage
from miscal.data.readers.text_file import line_of, text_of

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_BOOLEANS = {"true": True, "false": False}


def accepts(source: Any) -> bool:
    """Whether `source` is a delimited file by its name."""
    return isinstance(source, Path) and source.suffix.lower() in SEPARATORS and not source.is_dir()


def read(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open a delimited file: a header, then one row per record; types are taken from the whole file."""
    text = text_of(path, encoding)
    separator = SEPARATORS[path.suffix.lower()]
    columns = header_of(text, separator, path)
    last = text.rfind("\n") + 1
    check_end(text[last:], separator, columns, path, len(text[:last].encode("utf-8", "replace")))

    def load(names: Sequence[str]) -> pl.DataFrame:
        with damage(path, "CSV"):
            frame = pl.read_csv(
                io.BytesIO(text.encode("utf-8", "replace")),
                columns=list(names),
                separator=separator,
                infer_schema_length=None,
                raise_if_empty=False,
            )
        return frame.select(names).with_columns(_booleans(frame[name]) for name in names)

    return Table("csv", columns, load, (path,))


def header_of(text: str, separator: str, path: Path) -> tuple[str, ...]:
    """Read the names of the columns; none may occur twice."""
    try:
        columns = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error as error:
        # a carriage return alone, as in files of old, or a name of over 131,072 characters
        told = str(error).partition(" - ")[0]
        raise CorruptFile(
            f"{path}: the header cannot be read ({told}): end its lines by a newline, with or without a carriage return"
        ) from None
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise InputError(
            f"{path}: column names must be distinct; these occur more than once in the header: {value_list(repeated)}"
        )
    if len(columns) == 1 and ";" in columns[0]:
        raise InputError(
            f"{path} is separated by semicolons; save it with commas between fields and a point as decimal mark"
        )
    return tuple(columns)


def check_end(last: str, separator: str, columns: Sequence[str], path: Path, begin: int) -> None:
    """Refuse a last line, from byte `begin` on, without newline and with too few fields: the file was cut."""
    # a quoted field may hold separators, so such a line tells nothing
    if last and '"' not in last and len(columns) > 1 and last.count(separator) < len(columns) - 1:
        raise CorruptFile(
            f"{path} is cut short: line {line_of(path, begin)} at its end has {last.count(separator) + 1} of "
            f"{len(columns)} fields"
        )


def _booleans(series: pl.Series) -> pl.Series:
    """Pandas writes True and False, which polars takes for text."""
    if series.dtype != pl.String:
        return series
    values = set(series.drop_nulls().str.to_lowercase().unique().to_list())
    if not values or not values <= set(_BOOLEANS):
        return series
    return series.str.to_lowercase().replace_strict(_BOOLEANS, return_dtype=pl.Boolean)
