"""CSV and TSV files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, value_list
from miscal.base.errors import CorruptFile, InputError
from miscal.data.readers.records import Dialect, ends_of
from miscal.data.readers.table import Table, damage
from miscal.data.readers.text_file import text_of

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# bytes whose line breaks are looked for together
_BLOCK = 1 << 24
_BY_COMMAS = "save it with commas between fields and a point as decimal mark"
_MEANT = {
    "semicolons": (";", _BY_COMMAS),
    "tabs": ("\t", "give it a name that ends in .tsv"),
    "commas": (",", "give it a name that ends in .csv"),
    "bars": ("|", _BY_COMMAS),
}
"""What separates the fields of a file that seems to have one column, and how to mend it."""
_BOOLEANS = {"true": True, "false": False}


def accepts(source: Any) -> bool:
    """Whether `source` is a delimited file by its name."""
    return isinstance(source, Path) and source.suffix.lower() in SEPARATORS and not source.is_dir()


def read(path: Path, *, encoding: str = "utf-8", csv_escape: str | None = None) -> Table:
    """Open a delimited file: a header, then one row per record; types are taken from the whole file."""
    dialect = Dialect(SEPARATORS[path.suffix.lower()], csv_escape)
    data = text_of(path, encoding).encode("utf-8", "replace")

    def ends_from(begin: int, fields: int | None = None) -> Iterator[np.ndarray]:
        blocks = (data[i : i + _BLOCK] for i in range(begin, len(data), _BLOCK))
        return ends_of(blocks, dialect, str(path), lambda place: data.count(b"\n", 0, place) + 1, begin, fields)

    body = int(next(ends_from(0), np.array([len(data)]))[0])
    columns = header_of(dialect.doubled(data[:body].decode()), dialect.separator, path)
    n_rows, last = 0, body
    for ends in ends_from(body, len(columns)):
        n_rows, last = n_rows + len(ends), int(ends[-1])
    n_rows += last < len(data)
    rows = Records(columns, dialect.separator)
    content = memoryview(data)[body:] if csv_escape is None else dialect.doubled(data[body:].decode()).encode()

    def load(names: Sequence[str]) -> pl.DataFrame:
        frame = rows.read(content, names, n_rows, path)
        return pl.DataFrame({name: as_booleans(column_of(frame, name)) for name in names})

    return Table("csv", columns, load, (path,))


@dataclass(frozen=True)
class Records:
    """How records become columns."""

    columns: tuple[str, ...]
    separator: str

    def read(
        self,
        content: bytes | memoryview,
        names: Sequence[str],
        n_rows: int,
        path: Path,
        types: Mapping[str, Any] | None = None,
    ) -> pl.DataFrame:
        """Parse records without their header.

        Parameters
        ----------
        content : bytes-like
            In UTF-8.
        names : sequence of str
            The columns wanted.
        n_rows : int
            Number of records, counted in another way.
        path : Path
        types : mapping of str to polars data type, optional
            By default types are taken from all values.

        Raises
        ------
        CorruptFile
            If the records cannot be parsed, or are not as many.
        """
        # polars would take a name such as ^a$ or * for a pattern: columns are known by their number
        place = {name: str(i) for i, name in enumerate(self.columns)}
        header = self.separator.join(place.values()).encode() + b"\n"
        with damage(path, "CSV"):
            known = {place[name]: kind for name, kind in (types or {}).items()}
            records = io.BytesIO(b"".join([header, content]))
            options = {"separator": self.separator, "infer_schema_length": None, "raise_if_empty": False}
            read = partial(
                pl.read_csv, records, columns=[place[name] for name in names], infer_schema=types is None, **options
            )
            try:
                frame = read(schema_overrides=known)
            except pl.exceptions.ComputeError:
                # of whole numbers beyond 128 bits, it knows what they are, and then cannot read them
                scanned = pl.scan_csv(records, glob=False, **options)
                kinds = scanned.collect_schema()
                frame = read(schema_overrides={at: pl.String() for at in kinds if kinds[at] == pl.Int128} | known)
        if len(frame) != n_rows:
            raise CorruptFile(
                f"{path}: of {n_rows} records that were found by their ends, {len(frame)} can be read; save the table "
                "as Parquet or as JSON lines"
            )
        return pl.DataFrame({name: frame[place[name]] for name in names})


def header_of(text: str, separator: str, path: Path) -> tuple[str, ...]:
    """Read the names of the columns; none may occur twice."""
    try:
        columns = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error as error:
        # a carriage return alone, as in files of old, or a name of over 131,072 characters
        message = str(error).partition(" - ")[0]
        raise CorruptFile(
            f"{path}: the header cannot be read ({message}): end its lines by a newline, with or without a carriage "
            "return"
        ) from None
    if not columns:
        raise CorruptFile(f"{path}: the first line is blank; it must hold the names of the columns, so remove it")
    repeated = [name for name, n in Counter(columns).items() if n > 1]
    if repeated:
        raise InputError(
            f"{path}: column names must be distinct; these occur more than once in the header: {value_list(repeated)}"
        )
    for other, (mark, remedy) in _MEANT.items():
        if len(columns) == 1 and mark in columns[0]:
            raise InputError(f"{path} is separated by {other}; {remedy}")
    return tuple(columns)


def as_booleans(series: pl.Series) -> pl.Series:
    """Read true and false as truth values in any case: pandas writes True, R and Excel TRUE."""
    if series.dtype != pl.String:
        return series
    values = set(series.drop_nulls().str.to_lowercase().unique().to_list())
    if not values or not values <= set(_BOOLEANS):
        return series
    return truth_values(series)


def truth_values(series: pl.Series) -> pl.Series:
    """Read a column of nothing but true and false, in any case, and missing values."""
    return series.str.to_lowercase().replace_strict(_BOOLEANS, return_dtype=pl.Boolean)
