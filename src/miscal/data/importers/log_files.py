"""What a log's file holds: a JSON value, lines of JSON, or a table that a tool or its user saved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, InputError
from miscal.data.importers.imported_rows import UnusableLog
from miscal.data.readers import delimited, parquet
from miscal.data.readers.names import unreserved
from miscal.data.readers.table import not_empty, text_of

TABLES = ("*.parquet", "*.pq", "*.csv", "*.tsv", "*.json", "*.jsonl", "*.ndjson")
_PICKLE = b"\x80"


def parsed(text: str | bytes | bytearray, where: str) -> Any:
    """Parse JSON, with NaN and Infinity; a `CorruptFile` names `where` and the place of the fault."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        reason = getattr(error, "msg", error)
        raise CorruptFile(
            f"{where}: not valid JSON{at} ({reason}); the file is damaged, cut short, or of another kind"
        ) from None


def whole(path: Path) -> Any:
    """Read a file that is one JSON value."""
    return parsed(text_of(path, "utf-8"), str(path))


def records(path: Path) -> list[Any]:
    """Read a file that is one JSON array, or one JSON value per line; blank lines are skipped."""
    text = text_of(path, "utf-8")
    if text.lstrip().startswith("["):
        return parsed(text, str(path))
    # not splitlines: texts in JSON may hold other line separators as they are
    lines = enumerate(text.split("\n"), start=1)
    return [parsed(line, f"{path}, line {number}") for number, line in lines if line.strip()]


def whole_or_records(path: Path) -> Any:
    """Read a file that is one JSON value, or one per line."""
    try:
        return whole(path)
    except InputError:
        return records(path)


def get_in(value: Any, *keys: str | int) -> Any:
    """Return what stands inside objects and arrays of JSON; None where it is not there.

    >>> get_in({"a": [{"b": 1}]}, "a", 0, "b"), get_in({"a": 1}, "a", "b")
    (1, None)
    """
    for key in keys:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def dict_in(value: Any, *keys: str | int) -> dict[str, Any]:
    """Return an object of JSON as it is, and an empty one for anything else."""
    found = get_in(value, *keys)
    return found if isinstance(found, dict) else {}


def list_in(value: Any, *keys: str | int) -> list[Any]:
    """Return an array of JSON as it is, and an empty one for anything else."""
    found = get_in(value, *keys)
    return found if isinstance(found, list) else []


def first_text(*values: Any) -> str | None:
    """Return the first that is a text."""
    return next((one for one in values if isinstance(one, str)), None)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read a table as a list of rows, without the row index that pandas has written.

    JSON may hold a list of objects, objects one per line, an object whose key ``data`` is such a list (as the
    interfaces of Langfuse and Phoenix return it), or columns as ``DataFrame.to_json`` of pandas writes them.
    """
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
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        found = records(path)
    else:
        content = whole_or_records(path)
        data = get_in(content, "data")
        found = content if isinstance(content, list) else data if isinstance(data, list) else _columns(content)
    if not found or not all(isinstance(row, dict) for row in found):
        endings = ", ".join(name.removeprefix("*") for name in TABLES)
        raise UnusableLog(f"{path} holds no rows: it must be a table ({endings}) with one row per record")
    return found


def rows_beside(path: Path, *beginnings: str) -> list[dict[str, Any]]:
    """Read the tables beside a log whose names begin in one of these ways."""
    places = [
        one for name in beginnings for one in sorted(path.parent.glob(f"{name}*")) if f"*{one.suffix.lower()}" in TABLES
    ]
    return [row for place in places for row in rows_of(place)]


def _columns(content: Any) -> list[Any]:
    """Turn columns of the form {name: {label: value}} into rows; anything else is one row."""
    columns = dict_in(content)
    if columns and all(isinstance(column, Mapping) and column for column in columns.values()):
        labels = list(next(iter(columns.values())))
        if all(list(column) == labels for column in columns.values()):
            return [{name: column[label] for name, column in columns.items()} for label in labels]
    return [content]
