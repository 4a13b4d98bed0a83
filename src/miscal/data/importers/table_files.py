"""Read a table that a tool or its user saved, of any of the usual formats, as one dictionary per row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError
from miscal.data.importers.imported_rows import UnusableLog
from miscal.data.importers.json_files import as_dict, as_list, records, whole
from miscal.data.readers import delimited, parquet
from miscal.data.readers.columns import unreserved
from miscal.data.readers.table import not_empty

ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_PICKLE = b"\x80"
_LINES = (".jsonl", ".ndjson")


def table_files(folder: Path) -> list[Path]:
    """Find the tables of a folder and its subfolders."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read a table as a list of rows, without the row index that pandas has written.

    JSON may hold a list of objects, objects one per line, an object whose key ``data`` is such a list (as the
    interfaces of Langfuse and Phoenix return it), or columns as ``DataFrame.to_json`` of pandas writes them.

    Raises
    ------
    UnusableLog
        If it is a pickle, is of no such format, or holds no rows.
    CorruptFile
        If it is damaged.
    """
    kind = path.suffix.lower()
    with not_empty(path).open("rb") as stream:
        if stream.read(1) == _PICKLE:
            raise UnusableLog(
                f"{path} is a pickle, which can run any program when it is opened, so it is not read: save the table "
                "by its method to_parquet, to_csv or to_json"
            )
    reader = next((one for one in (parquet, delimited) if one.accepts(path)), None)
    if reader is not None:
        table = reader.read(path)
        names = unreserved(table.columns, ())
        found = table.load(names).to_dicts() if names else []
    else:
        found = _json(path, lines=kind in _LINES)
    if not found or not all(isinstance(row, dict) for row in found):
        raise UnusableLog(f"{path} holds no rows: it must be a table ({', '.join(ENDINGS)}) with one row per record")
    return found


def _json(path: Path, *, lines: bool) -> list[Any]:
    if lines:
        return records(path)
    try:
        content = whole(path)
    except InputError:
        # JSON lines by another name
        return records(path)
    if isinstance(content, list):
        return content
    if isinstance(as_dict(content).get("data"), list):
        return as_list(content["data"])
    return _columns(content) or [content]


def _columns(content: Any) -> list[dict[str, Any]]:
    """Turn columns of the form {name: {label: value}} into rows."""
    columns = as_dict(content)
    if not columns or not all(isinstance(column, Mapping) and column for column in columns.values()):
        return []
    labels = list(next(iter(columns.values())))
    if not all(list(column) == labels for column in columns.values()):
        return []
    return [{name: column[label] for name, column in columns.items()} for label in labels]
