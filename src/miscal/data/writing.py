"""Write tables: whole or not at all, and those of miscal itself harmless in a spreadsheet."""

import io
import re
from pathlib import Path

import polars as pl

from miscal.base.errors import InputError, argument
from miscal.base.files import replace_file

FORMATS = (".parquet", ".csv", ".jsonl")
# a spreadsheet takes what starts so for a formula, blanks before it and full-width forms included
_FORMULA = r"^[\s\x00]*[=+\-@\t\r\n\x00\uFF1D\uFF0B\uFF0D\uFF20]"


def write_table(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table as parquet, csv or jsonl, by the ending of its name.

    `table`: the table; `path`: where to; an existing file is replaced, when the new one is complete.

    Notes
    -----
    In csv, text that a spreadsheet would run as a formula gets a leading apostrophe (numbers never do). Reading it
    back, strip one leading apostrophe before such a character; parquet and jsonl keep text as it is.
    """
    kind = table_format(path)
    replace_file(path, part_bytes(defused(table) if kind == ".csv" else table, kind, header=True))


def part_bytes(table: pl.DataFrame, kind: str, *, header: bool = False) -> bytes:
    """Write a table, or the next rows of one, as bytes; what the format cannot hold as it is, is refused.

    `kind`: ``.parquet``, ``.csv`` or ``.jsonl``; `header`: whether csv begins with the names of the columns.
    """
    for name in table.columns if kind != ".parquet" else ():
        held = _beyond_csv(table[name].dtype) if kind == ".csv" else _beyond_json(table[name])
        if held:
            remedy = f"write .parquet, or leave the column out ({argument('keep')} names the others)"
            raise InputError(f"column {name!r} holds {held}, which {kind} cannot: {remedy}")
    content = io.BytesIO()
    if kind == ".parquet":
        try:
            table.write_parquet(content, compression="zstd")
        except pl.exceptions.InvalidOperationError as error:
            remedy = f"write .jsonl, or leave such columns out ({argument('keep')} names the others)"
            raise InputError(f"{error}: {remedy}") from None
    elif kind == ".jsonl":
        table.write_ndjson(content)
    else:
        table.write_csv(content, include_header=header)
    return content.getvalue()


def _beyond_csv(kind: pl.DataType) -> str | None:
    """Say which values of a type no csv can hold."""
    return "lists" if kind.is_nested() else {pl.Binary: "bytes", pl.Duration: "durations"}.get(kind.base_type())


def _beyond_json(series: pl.Series) -> str | None:
    """Say which values of a column, lists and records included, JSON cannot hold; NaN is null."""
    # polars takes a name such as ^a$ for a pattern
    series = series.alias("")
    if isinstance(series.dtype, pl.Struct):
        return next(filter(None, map(_beyond_json, series.struct.unnest())), None)
    if series.dtype.is_nested():
        return _beyond_json(series.explode())
    if series.dtype.is_float() and series.is_infinite().any():
        return "infinite numbers"
    return "bytes" if series.dtype == pl.Binary else None


def table_format(path: str | Path) -> str:
    """Return the format that a file's name asks for.

    `path`: the file. Returns ``.parquet``, ``.csv`` or ``.jsonl``.

    Examples
    --------
    >>> table_format("out/answers.CSV")
    '.csv'
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        known = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise InputError(f"the name of the output file must end in {known}; got {Path(path).name!r}")
    return ending


def defused(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text, names of columns included, that a spreadsheet would run.

    `table`: any table. Returns the same, with text columns made harmless.

    Examples
    --------
    >>> import polars as pl
    >>> defused(pl.DataFrame({"name": ["=1+1", "plain"], "x": [-1, 2]})).rows()
    [("'=1+1", -1), ('plain', 2)]
    """
    text = pl.col(pl.String)
    harmless = pl.when(text.str.contains(_FORMULA)).then(pl.lit("'") + text).otherwise(text)
    return table.with_columns(harmless.name.keep()).rename(
        {name: f"'{name}" for name in table.columns if re.search(_FORMULA, name)}
    )
