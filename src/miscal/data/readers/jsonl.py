"""JSON lines: one object per line."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile, InputError, argument
from miscal.data.readers.source import Piece, Source, TextFile, whole_numbers

_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_LINES = 10_000

Records = tuple[list[int], list[dict[str, Any]]]
"""Numbers of the lines that are not blank, and what they hold."""


class JsonLines(Source):
    """A file of JSON lines.

    Blank lines are skipped, a byte order mark and CRLF are fine, the literals NaN and Infinity are read as such (and
    refused later where a number is needed), a key that a line lacks is a missing value. Where it is read in pieces, its
    columns are the keys of the first lines.
    """

    kind = "jsonl"

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Tell a file of JSON lines by its name."""
        endings = (".jsonl", ".ndjson", ".json")
        return isinstance(source, Path) and source.suffix.lower() in endings and not source.is_dir()

    def __init__(self, source: Path, encoding: str = "utf-8", *, whole: bool = True) -> None:
        self.path, self.files, self.text = source, (source,), TextFile(source, encoding, "\n")
        self.known: dict[Piece, Records] = {}
        if whole:
            self.text.refuse_too_large()
        first = self.pieces(1 << 62 if whole else _FIRST_LINES)[:1]
        records = self._records(first[0])[1] if first else []
        if not records:
            raise CorruptFile(f"{source} holds no records, only blank lines")
        self.columns = tuple(dict.fromkeys(key for record in records for key in record))

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many records; blank lines are none."""
        found, n, begin = [], 0, self.text.begin
        place = begin
        with self.text.open() as file:
            file.seek(begin)
            for line in file:
                place += len(line)
                if line.strip():
                    n += 1
                    if n % rows == 0:
                        found.append(Piece(len(found), n - rows, rows, begin, place))
                        begin = place
        if n % rows:
            found.append(Piece(len(found), n - n % rows, n % rows, begin, place))
        return found

    def read(self, names: Sequence[str], piece: Piece | None, *, typed: bool, kept: bool) -> pl.DataFrame:
        """Put records into columns; a key that one lacks is a missing value."""
        lines, records = self._records(piece or self.pieces(1 << 62)[0])
        columns = {}
        for name in names:
            values = [record.get(name) for record in records]
            columns[name] = _column(name, values, lines, self.path)
            if kept and (columns[name].dtype == pl.Object or _known(columns[name].to_list()) != _known(values)):
                raise InputError(
                    f"{self.path}: {name!r} holds values that no column keeps as they are, such as numbers among texts "
                    f"in a list: leave it out ({argument('keep')} names the others), or write them as text"
                )
        return pl.DataFrame(columns)

    def _records(self, piece: Piece) -> Records:
        """Parse the lines of a piece; those of a whole file are kept."""
        if piece in self.known:
            return self.known[piece]
        text, first = self.text.text(piece.begin, piece.end), self.text.line_of(piece.begin)
        if first == 1 and text.lstrip().startswith("["):
            raise CorruptFile(f"{self.path} holds one JSON array; write one object per line, e.g. with jq -c '.[]'")
        lines = [(at, line) for at, line in enumerate(text.split("\n"), start=first) if line.strip()]
        found = [at for at, _ in lines], [_record(line, at, self.path) for at, line in lines]
        if piece.end == self.text.size and not piece.start:
            self.known[piece] = found
        return found


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    place = f"{path}, line {number}"

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(record := dict(pairs)) < len(pairs):
            twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
            raise InputError(f"{place}: the key {twice!r} occurs twice; keep one of the two")
        return record

    try:
        # json alone would keep the last of two equal keys, and not say so
        record = json.loads(line, object_pairs_hook=no_duplicates)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        said = f"not valid JSON{where} ({getattr(error, 'msg', error)})"
        raise CorruptFile(f"{place}: {said}; the file is damaged, cut short or not JSON lines") from None
    if not isinstance(record, dict):
        given = _TYPES.get(type(record), "null")
        raise CorruptFile(f"{place}: each line must be an object {{...}}; got {given}")
    return record


_TYPES = {bool: "number", int: "number", float: "number", str: "text", list: "list", dict: "object"}


def _column(name: str, values: list[Any], lines: list[int], path: Path) -> pl.Series:
    """One column; a line whose type is another than the first one's is named."""
    first = next((value for value in values if value is not None), None)
    for value, line in zip(values, lines, strict=True):
        if value is not None and _TYPES[type(value)] != _TYPES[type(first)]:
            now, before = f"{_TYPES[type(value)]} here ({value!r:.40})", _TYPES[type(first)]
            raise InputError(f"{path}, line {line}: {name!r} is {now}, but was {before} before; give it one type")
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
