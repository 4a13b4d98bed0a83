"""CSV and TSV files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, value_list
from miscal.base.errors import CorruptFile, InputError
from miscal.data.readers.source import Piece, Source, TextFile, cut_evenly, damage

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_SHOWN = 30


def ends_of(
    blocks: Iterable[bytes],
    separator: str,
    name: str,
    line_of: Callable[[int], int],
    begin: int = 0,
    fields: int | None = None,
) -> Iterator[np.ndarray]:
    r"""Find the places after the line breaks that end records, array by array.

    `blocks`: what follows byte `begin` of a file, in order, in an encoding in which line breaks, separators and
    quotation marks are their ASCII bytes and no part of another character; `name`: the file, for messages; `line_of`:
    returns the number of the line that a byte of the file lies in; `fields`: of each record, which is not looked at by
    default. A blank line is a record of missing values. Yields bytes of the file, in rising order. What follows the
    last of them is a record without a line break.

    Examples
    --------
    >>> [ends.tolist() for ends in ends_of([b'a,b\n"x\ny",1\n'], ",", "f.csv", lambda place: 1)]
    [[4, 12]]
    """
    opened: int | None = None
    # of the record that no line break has ended yet: where it begins, and its separators so far
    start, so_far, seen_to = begin, 0, begin
    for place, block in _lines(blocks, begin):
        values = np.frombuffer(block, np.uint8)
        ends, separators = (np.flatnonzero(values == mark) for mark in (_NEWLINE, ord(separator)))
        inside = opened is not None
        if inside or b'"' in block:
            quotes = np.flatnonzero(values == _QUOTE)
            wrong = _misplaced(values, quotes, separator, inside=inside)
            if wrong is not None:
                raise CorruptFile(f"{name}, line {line_of(place + wrong)}: {_description(block, wrong)}")
            ends, separators = (
                marks[(np.searchsorted(quotes, marks) + inside) % 2 == 0] for marks in (ends, separators)
            )
            if len(quotes):
                opened = place + int(quotes[-1]) if (len(quotes) + inside) % 2 else None
        seen_to = place + len(values)
        if not len(ends):
            so_far += len(separators)
            continue
        before = np.searchsorted(separators, ends)
        begins = np.concatenate([[start - place], ends[:-1] + 1])
        if fields is not None:
            counts, length = np.diff(before, prepend=-so_far) + 1, ends - begins
            blank = (length == 0) | ((length == 1) & (values[ends - 1] == _RETURN))
            for at in np.flatnonzero((counts != fields) & ~blank)[:1]:
                raise _of_other_length(name, line_of(place + int(begins[at])), fields, int(counts[at]))
        start, so_far = place + int(ends[-1]) + 1, len(separators) - int(before[-1])
        yield ends + (place + 1)
    if opened is not None:
        said = "the quotation mark that begins a field there is never closed; the file is cut short, or"
        raise CorruptFile(f"{name}, line {line_of(opened)}: {said} {_REMEDY}")
    if fields is not None and start < seen_to and so_far + 1 != fields:
        line, found = line_of(start), so_far + 1
        if found > fields:
            raise _of_other_length(name, line, fields, found)
        raise CorruptFile(f"{name} is cut short: line {line} at its end has {found} of {_fields(fields)}")


def _of_other_length(name: str, line: int, fields: int, found: int) -> CorruptFile:
    return CorruptFile(
        f"{name}, line {line}: the header has {_fields(fields)}, but the record here has {found}; write as many in "
        "every record, and put a field that holds the separator into quotation marks"
    )


def _fields(n: int) -> str:
    return f"{n} field" + "s" * (n != 1)


def _lines(blocks: Iterable[bytes], begin: int) -> Iterator[tuple[int, bytes]]:
    """Cut blocks at line breaks, so that what stands beside a quotation mark is in its block; with their places."""
    kept: list[bytes] = []
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            whole = b"".join([*kept, block[:cut]])
            yield begin, whole
            begin, kept = begin + len(whole), []
        if cut < len(block):
            kept.append(block[cut:])
    if kept:
        yield begin, b"".join(kept)


def _misplaced(values: np.ndarray, quotes: np.ndarray, separator: str, *, inside: bool) -> int | None:
    """Place of the first quotation mark that neither begins nor ends a field, nor stands for one within a field."""
    # what lies outside is like a line break
    padded = np.full(len(values) + 2, _NEWLINE, np.uint8)
    padded[1:-1] = values
    beside = np.zeros(256, bool)
    # beside another quotation mark, two stand for one
    beside[[_NEWLINE, ord(separator), _QUOTE]] = True
    opening, closing = quotes[int(inside) :: 2], quotes[int(not inside) :: 2]
    opening, closing = opening[~beside[padded[opening]]], closing[~beside[padded[closing + 2]]]
    # a carriage return before a line break is a part of it; before the end of the file, too
    closing = closing[
        ~((padded[closing + 2] == _RETURN) & (padded[np.minimum(closing + 3, len(padded) - 1)] == _NEWLINE))
    ]
    wrong = np.concatenate([opening, closing])
    return int(wrong.min()) if len(wrong) else None


_REMEDY = (
    "its quotation marks are not those of csv: write each one inside a field twice and put the field in quotation "
    "marks, as pandas and Excel do, or save the table as Parquet"
)


def _description(block: bytes, wrong: int) -> str:
    begin, end = block.rfind(b"\n", 0, wrong) + 1, (block.find(b"\n", wrong) + 1 or len(block))
    shown = block[max(begin, wrong - _SHOWN) : min(end, wrong + _SHOWN)].decode("utf-8", "replace").strip()
    return f"a quotation mark stands where csv (RFC 4180) allows none, in {shown!r}; {_REMEDY}"


_MARKS = '\n\r\t,"'
"""Characters by which the ends of records are found."""
SEPARATORS = {".csv": ",", ".tsv": "\t"}
# rows whose values are looked at together to tell types
_TYPED_ROWS = 262_144
_BY_COMMAS = "save it with commas between fields and a point as decimal mark"
_MEANT = {
    "semicolons": (";", _BY_COMMAS),
    "tabs": ("\t", "give it a name that ends in .tsv"),
    "commas": (",", "give it a name that ends in .csv"),
    "bars": ("|", _BY_COMMAS),
}
"""What separates the fields of a file that seems to have one column, and how to fix it."""
_BOOLEANS = {"true": True, "false": False}


class Delimited(Source):
    """A csv or tsv file: a header, then one row per record.

    Read as a whole, its columns have the types that all their values have; pieces are text, unless types are asked for:
    what is a number is for the reader of the rows to say.
    """

    kind, typed = "csv", False

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Tell a delimited file by its name."""
        return isinstance(source, Path) and source.suffix.lower() in SEPARATORS and not source.is_dir()

    def __init__(self, source: Path, encoding: str = "utf-8", *, whole: bool = True) -> None:
        self.path, self.files, self.text = source, (source,), TextFile(source, encoding, _MARKS)
        self.separator = SEPARATORS[source.suffix.lower()]
        self.body = int(next(self._ends(self.text.begin), np.array([self.text.size]))[0])
        self.columns = _header(self.text.text(self.text.begin, self.body), self.separator, source)
        # polars would take a name such as ^a$ or * for a pattern: columns are known by their number
        self._place = {name: str(i) for i, name in enumerate(self.columns)}
        self._types: dict[str, pl.DataType] = {}
        self._lock = Lock()

    def _ends(self, begin: int, fields: int | None = None) -> Iterator[np.ndarray]:
        """Places after the line breaks that end records, array by array."""
        blocks, name = self.text.blocks(begin), str(self.path)
        return ends_of(blocks, self.separator, name, self.text.line_of, begin, fields)

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many records, blank lines among them."""
        n, bounds, last = 0, [self.body], self.body
        for ends in self._ends(self.body, len(self._place)):
            bounds += ends[rows - 1 - n % rows :: rows].tolist()
            n, last = n + len(ends), int(ends[-1])
        n += last < self.text.size
        found = cut_evenly(n, rows)
        places = zip(found, bounds, [*bounds[1 : len(found)], self.text.size], strict=False)
        return [replace(piece, begin=begin, end=end) for piece, begin, end in places]

    def read(self, names: Sequence[str], piece: Piece | None, *, typed: bool, kept: bool) -> pl.DataFrame:
        """Read some columns; of a piece as text, or with the types that whole files have."""
        if piece is None:
            self.text.refuse_too_large()
            frame = self._parsed(self._all, names, None)
            return pl.DataFrame({name: _as_booleans(column_of(frame, name)) for name in names})
        types = self._types_of(names) if typed else dict.fromkeys(names, pl.String())
        # true and false are words in any case, which the parser may not know
        read_as = {name: pl.String() if kind == pl.Boolean else kind for name, kind in types.items()}
        frame = self._parsed(piece, names, read_as)
        made = {name: column_of(frame, name) for name in names}
        return pl.DataFrame(made | {n: _truth_values(made[n]) for n in names if types[n] == pl.Boolean})

    @cached_property
    def _all(self) -> Piece:
        """All records as one piece."""
        return [*self.pieces(1 << 62), Piece(0, 0, 0)][0]

    def _types_of(self, names: Sequence[str]) -> dict[str, pl.DataType]:
        """Types by all values of the file, as whole files have them: read once, by the first thread that asks."""
        with self._lock:
            left = [name for name in names if name not in self._types]
            seen: dict[str, set[pl.DataType]] = {name: set() for name in left}
            for piece in self.pieces(_TYPED_ROWS) if left else ():
                frame = self._parsed(piece, left, None)
                for name in left:
                    values = column_of(frame, name)
                    if values.null_count() < len(values):
                        seen[name].add(_as_booleans(values).dtype)
            for name, kinds in seen.items():
                shared = pl.Float64() if kinds and all(kind.is_numeric() for kind in kinds) else pl.String()
                self._types[name] = kinds.pop() if len(kinds) == 1 else shared
            return {name: self._types[name] for name in names}

    def _parsed(self, piece: Piece, names: Sequence[str], types: Mapping[str, Any] | None) -> pl.DataFrame:
        """Parse the records of a piece; by default types are taken from all its values."""
        place, content = self._place, self.text.text(piece.begin, piece.end).encode("utf-8", "replace")
        with damage(self.path, "CSV"):
            known = {place[name]: kind for name, kind in (types or {}).items()}
            records = io.BytesIO(self.separator.join(place.values()).encode() + b"\n" + content)
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
        if len(frame) != piece.rows:
            found = f"of {piece.rows} records that were found by their ends, {len(frame)} can be read"
            raise CorruptFile(f"{self.path}: {found}; save the table as Parquet or as JSON lines")
        return pl.DataFrame({name: frame[place[name]] for name in names})


def _header(text: str, separator: str, path: Path) -> tuple[str, ...]:
    """Read the names of the columns; none may occur twice."""
    try:
        columns = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error as error:
        # a carriage return alone, as in files of old, or a name of over 131,072 characters
        said = f"the header cannot be read ({str(error).partition(' - ')[0]})"
        raise CorruptFile(f"{path}: {said}: end its lines by a newline, with or without a carriage return") from None
    if not columns:
        raise CorruptFile(f"{path}: the first line is blank; it must hold the names of the columns, so remove it")
    repeated = [name for name, n in Counter(columns).items() if n > 1]
    if repeated:
        raise InputError(f"{path}: column names must be distinct; the header repeats {value_list(repeated)}")
    for other, (mark, remedy) in _MEANT.items():
        if len(columns) == 1 and mark in columns[0]:
            raise InputError(f"{path} is separated by {other}; {remedy}")
    return tuple(columns)


def _as_booleans(series: pl.Series) -> pl.Series:
    """Read true and false as truth values in any case: pandas writes True, R and Excel TRUE."""
    if series.dtype != pl.String:
        return series
    values = set(series.drop_nulls().str.to_lowercase().unique().to_list())
    if not values or not values <= set(_BOOLEANS):
        return series
    return _truth_values(series)


def _truth_values(series: pl.Series) -> pl.Series:
    """Read a column of nothing but true and false, in any case, and missing values."""
    return series.str.to_lowercase().replace_strict(_BOOLEANS, return_dtype=pl.Boolean)
