"""The readers. To add one, write a module with `accepts(source)` and `read(source, encoding=)` and list it here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miscal.base.errors import FileError, InputError, argument
from miscal.data.readers import delimited, hf_dataset, in_memory, jsonl, parquet, scored
from miscal.data.readers.table import Table, existing

READERS = (parquet, delimited, jsonl, scored, hf_dataset, in_memory)


def open_table(source: Any, *, encoding: str = "utf-8", csv_escape: str | None = None) -> Table:
    """Open a file, folder or table in memory with the first reader that accepts it.

    Parameters
    ----------
    source : path or table
        .parquet, .csv, .tsv, .jsonl; a folder written by ``miscal score`` or ``datasets.save_to_disk``; a pandas,
        polars or pyarrow frame; a dictionary of arrays.
    encoding : str, default "utf-8"
        Of text files.
    csv_escape : str, optional
        Of csv and tsv files: the character that stands before a quotation mark inside a quoted field. By default such
        a mark is doubled.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        If the path cannot be opened or no reader accepts it.
    InputError
        If an escape is named for anything but a csv or tsv file.
    """
    if isinstance(source, (str, Path)):
        source = existing(Path(source))
    if csv_escape is not None:
        refuse_escape(source)
        return delimited.read(source, encoding=encoding, csv_escape=csv_escape)
    for reader in READERS:
        if reader.accepts(source):
            return reader.read(source, encoding=encoding)
    if isinstance(source, Path):
        unknown = "a folder that neither miscal score nor datasets.save_to_disk wrote"
        raise FileError(
            f"{source} is {unknown if source.is_dir() else 'of an unknown format'}; give a .parquet, .csv, .tsv or "
            ".jsonl file, a folder written by miscal score, or a dataset on disk"
        )
    raise InputError(
        f"the data must be a path, a table or a dictionary of columns; got a value of type {type(source).__name__}"
    )


def refuse_escape(source: Any) -> None:
    """Refuse an escape of quotation marks where there are none to escape."""
    if not delimited.accepts(source):
        shown = source if isinstance(source, Path) else f"a value of type {type(source).__name__}"
        raise InputError(
            f"{argument('csv_escape')} says how a .csv or .tsv file was written; the data are {shown}: leave it out"
        )
