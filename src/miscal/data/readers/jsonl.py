"""JSON lines: one object per line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile, InputError, argument
from miscal.data.readers.in_memory import whole_numbers
from miscal.data.readers.table import Table, text_of

NAMES = (".jsonl", ".ndjson", ".json")
_SURROGATE = re.compile("[\ud800-\udfff]")


def accepts(source: Any) -> bool:
    """Whether `source` is a file of JSON lines by its name."""
    return isinstance(source, Path) and source.suffix.lower() in NAMES and not source.is_dir()


def read(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open a file of JSON lines.

    Blank lines are skipped, a byte order mark and CRLF are fine, the literals NaN and Infinity are read as such (and
    refused later where a number is needed), a key that a line lacks is a missing value.
    """
    text = text_of(path, encoding)
    lines, records = records_of(text, path, 1)
    if not records:
        raise CorruptFile(f"{path} holds no records, only blank lines")
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    return Table("jsonl", columns, lambda names: frame_of(names, records, lines, path), (path,))


def records_of(text: str, path: Path, first: int) -> tuple[list[int], list[dict[str, Any]]]:
    """Parse lines of which the first has the number `first`: numbers of those that are not blank, and their records."""
    if first == 1 and text.lstrip().startswith("["):
        raise CorruptFile(f"{path} holds one JSON array; write one object per line instead, e.g. with jq -c '.[]'")
    lines, records = [], []
    for number, line in enumerate(text.split("\n"), start=first):
        if line.strip():
            lines.append(number)
            records.append(_record(line, number, path))
    return lines, records


def frame_of(
    names: Sequence[str], records: list[dict[str, Any]], lines: list[int], path: Path, *, kept: bool = False
) -> pl.DataFrame:
    """Put records into columns; a key that one lacks is a missing value.

    `kept`: refuse values that are others in a column: true among numbers, numbers and texts in a list.
    """
    columns = {}
    for name in names:
        values = [record.get(name) for record in records]
        columns[name] = _column(name, values, lines, path)
        if kept and (columns[name].dtype == pl.Object or _known(columns[name].to_list()) != _known(values)):
            raise InputError(
                f"{path}: {name!r} holds values that no column keeps as they are, such as numbers among texts in a "
                f"list: leave it out ({argument('keep')} names the others), or write them as text"
            )
    return pl.DataFrame(columns)


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        # json alone would keep the last of two equal keys, and not say so
        record = json.loads(line, object_pairs_hook=_no_duplicates)
    except _DuplicateKeyError as error:
        raise InputError(
            f"{path}, line {number}: the key {error.args[0]!r} occurs twice; keep one of the two"
        ) from None
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise CorruptFile(
            f"{path}, line {number}: not valid JSON{where} ({getattr(error, 'msg', error)}); "
            "the file is damaged, cut short or not JSON lines"
        ) from None
    if not isinstance(record, dict):
        raise CorruptFile(
            f"{path}, line {number}: each line must be an object {{...}}; got {_TYPES.get(type(record), 'null')}"
        )
    return record


class _DuplicateKeyError(Exception):
    pass


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKeyError(next(key for key in keys if keys.count(key) > 1))
    return record


_TYPES = {bool: "number", int: "number", float: "number", str: "text", list: "list", dict: "object"}


def _column(name: str, values: list[Any], lines: list[int], path: Path) -> pl.Series:
    """One column; a line whose type is another than the first one's is named."""
    first = next((value for value in values if value is not None), None)
    for value, line in zip(values, lines, strict=True):
        if value is not None and _TYPES[type(value)] != _TYPES[type(first)]:
            raise InputError(
                f"{path}, line {line}: {name!r} is {_TYPES[type(value)]} here ({value!r:.40}), but was "
                f"{_TYPES[type(first)]} "
                "before; give it the same type in every line"
            )
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {bool, int, float} and len(kinds) > 1:
        return pl.Series(name, [None if value is None else _float(value) for value in values], dtype=pl.Float64)
    if kinds == {int}:
        return whole_numbers(name, values)
    if kinds == {str}:
        values = [None if value is None else _SURROGATE.sub("\ufffd", value) for value in values]
    nested = not kinds <= {bool, int, float, str}
    if nested:
        values = [_shallow(value, _MOST_LEVELS) for value in values]
    try:
        return pl.Series(name, values, strict=not nested)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: {name!r} cannot be a column: {str(error).splitlines()[0]}") from None


# polars takes seconds for a thousand values of more
_MOST_LEVELS = 16


def _shallow(value: Any, levels: int) -> Any:
    """Return a nested value without what lies deeper: no such column is an input, and to keep one is refused."""
    if not isinstance(value, (list, dict)):
        return value
    if not levels:
        return None
    if isinstance(value, list):
        return [_shallow(one, levels - 1) for one in value]
    return {key: _shallow(one, levels - 1) for key, one in value.items()}


def _known(value: Any, levels: int = _MOST_LEVELS + 1) -> Any:
    """Return values without keys of null, which a column gives every record; what is too deep equals nothing."""
    if isinstance(value, (list, dict)) and not levels:
        return object()
    if isinstance(value, dict):
        return {key: _known(one, levels - 1) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_known(one, levels - 1) for one in value]
    return str(value) if isinstance(value, bool) else None if value != value else value


def _float(value: float) -> float:
    """Convert like the literal 1e999 does: beyond the largest float is infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
