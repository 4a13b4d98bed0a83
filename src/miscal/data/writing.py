"""Write tables that people open: whole or not at all, and harmless in a spreadsheet."""

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.errors import InputError
from miscal.base.files import replace_file

if TYPE_CHECKING:
    import polars as pl

FORMATS = (".parquet", ".csv", ".jsonl")
# a spreadsheet takes what starts so for a formula, blanks before it and full-width forms included
_FORMULA = r"^[\s\x00]*[=+\-@\t\r\n\x00\uFF1D\uFF0B\uFF0D\uFF20]"


def write_table(table: "pl.DataFrame", path: str | Path) -> None:
    """Write a table as parquet, csv or jsonl, by the ending of its name.

    `table`: the table; `path`: where to; an existing file is replaced, when the new one is complete.

    Notes
    -----
    In csv, text that a spreadsheet would run as a formula gets a leading apostrophe (numbers never do). Reading it
    back, strip one leading apostrophe before such a character; parquet and jsonl keep text as it is.
    """
    replace_file(path, part_bytes(table, table_format(path), header=True))


def part_bytes(table: "pl.DataFrame", kind: str, *, header: bool = False) -> bytes:
    """Write a table, or the next rows of one, as bytes.

    `kind`: ``.parquet``, ``.csv`` or ``.jsonl``; `header`: whether csv begins with the names of the columns.
    """
    content = io.BytesIO()
    if kind == ".parquet":
        table.write_parquet(content, compression="zstd")
    elif kind == ".jsonl":
        table.write_ndjson(content)
    else:
        defused(table).write_csv(content, include_header=header)
    return content.getvalue()


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
        raise InputError(
            f"the name of the output file must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; got "
            f"{Path(path).name!r}"
        )
    return ending


def defused(table: "pl.DataFrame") -> "pl.DataFrame":
    """Put an apostrophe before text, names of columns included, that a spreadsheet would run.

    `table`: any table. Returns the same, with text columns made harmless.

    Examples
    --------
    >>> import polars as pl
    >>> defused(pl.DataFrame({"name": ["=1+1", "plain"], "x": [-1, 2]})).rows()
    [("'=1+1", -1), ('plain', 2)]
    """
    import polars as pl

    text = pl.col(pl.String)
    harmless = pl.when(text.str.contains(_FORMULA)).then(pl.lit("'") + text).otherwise(text)
    return table.with_columns(harmless.name.keep()).rename(
        {name: f"'{name}" for name in table.columns if re.search(_FORMULA, name)}
    )
