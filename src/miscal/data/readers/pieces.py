"""Open a source with the first reader that accepts it, and read any number of its rows piece by piece.

Where the pieces begin is found by one pass over a text file, or from the number of rows of any other source, so that
every piece can be read by itself, again, or by another process.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.base.errors import CorruptFile, FileError, InputError
from miscal.base.frames import scan_parquet
from miscal.data.readers import delimited, in_memory, jsonl, parquet
from miscal.data.readers.delimited import ends_of
from miscal.data.readers.table import (
    Table,
    damage,
    decoded,
    exactly,
    existing,
    line_of,
    nan_as_null,
    not_empty,
    python_encoding,
    refuse_binary,
)

READERS = (parquet, delimited, jsonl, in_memory)


def open_table(source: Any, *, encoding: str = "utf-8") -> Table:
    """Open a file, folder or table in memory with the first reader that accepts it.

    `source`: .parquet, .csv, .tsv, .jsonl; a folder written by ``miscal score``; a pandas, polars or pyarrow
    frame, or a dataset of Hugging Face; a dictionary of arrays; `encoding`: of text files.
    """
    if isinstance(source, (str, Path)):
        source = existing(Path(source))
    for reader in READERS:
        if reader.accepts(source):
            table = reader.read(source, encoding=encoding)
            return replace(table, load=lambda names, load=table.load: nan_as_null(load(names)))
    if isinstance(source, Path):
        unknown = "a folder that miscal score did not write"
        raise FileError(
            f"{source} is {unknown if source.is_dir() else 'of an unknown format'}; give a .parquet, .csv, .tsv or "
            ".jsonl file, or a folder written by miscal score"
        )
    raise InputError(
        f"the data must be a path, a table or a dictionary of columns; got a value of type {type(source).__name__}"
    )


_BLOCK = 1 << 24
# pieces of a Parquet file that are read together
_SLAB = 4


@dataclass(frozen=True)
class Piece:
    """Rows that are read together.

    Attributes
    ----------
    number : int
        Place among the pieces, from 0.
    start, rows : int
        First row in the source, and number of rows.
    begin, end : int
        Where they lie in a text file, in bytes.
    """

    number: int
    start: int
    rows: int
    begin: int = 0
    end: int = 0


class RowSource(Protocol):
    """What every source offers.

    Attributes
    ----------
    columns : tuple of str
    files : tuple of Path
        What it consists of.
    embeddings : Path or None
        A file of embeddings that belongs to it.
    notes : tuple of str
    typed : bool
        Whether its columns have types of their own; csv has none, and gives text.
    """

    columns: tuple[str, ...]
    files: tuple[Path, ...]
    embeddings: Path | None
    notes: tuple[str, ...]
    typed: bool

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows, the last one shorter."""
        ...

    def load(self, piece: Piece, columns: Sequence[str], *, typed: bool = False, kept: bool = False) -> pl.DataFrame:
        """Read some columns of a piece.

        `typed`: of the types that all their values have, where it has none itself; `kept`: to be written as they are,
        so that values which no column holds unchanged are refused.
        """
        ...


def open_pieces(source: Any, *, encoding: str = "utf-8", whole: bool = False) -> RowSource:
    """Open a source to be read in pieces.

    `source`: as for :func:`.read.read_triples`. Parquet, csv, tsv and jsonl files and folders of ``miscal
    score`` are never in memory as a whole; anything else is; `encoding`: of text files. Those in an encoding in which
    the bytes of ASCII may be parts of other characters (UTF-16) are read whole; `whole`: all rows are one piece, and
    the keys of any JSON line are columns.
    """
    if isinstance(source, (str, Path)):
        path = existing(Path(source))
        if parquet.accepts(path):
            return ParquetPieces(open_table(path))
        if delimited.accepts(path) and _plain_ascii(python_encoding(encoding), _MARKS):
            return DelimitedPieces(path, encoding)
        if jsonl.accepts(path) and not whole and _plain_ascii(python_encoding(encoding), "\n"):
            return JsonPieces(path, encoding)
    return TablePieces(open_table(source, encoding=encoding))


# characters by which the ends of records are found
_MARKS = '\n\r\t,"'
# those that shift between alphabets write other characters with the bytes of ASCII
_SHIFTING = ("iso2022", "hz", "utf-7", "utf_7")


def _plain_ascii(encoding: str, marks: str) -> bool:
    """Whether a byte of these ASCII characters is never a part of another character."""
    if encoding.startswith(_SHIFTING) or marks.encode(encoding).removeprefix(codecs.BOM_UTF8) != marks.encode("ascii"):
        return False
    pairs = ((bytes([lead]), mark) for lead in range(128, 256) for mark in marks)
    return all((lead + mark.encode()).decode(encoding, "replace").endswith(mark) for lead, mark in pairs)


def _cut_evenly(n: int, rows: int) -> list[Piece]:
    return [Piece(i, start, min(rows, n - start)) for i, start in enumerate(range(0, n, rows))]


class _OfTable:
    """A source that is a table."""

    def __init__(self, table: Table) -> None:
        self.table, self.columns, self.files = table, table.columns, table.files
        self.embeddings, self.notes = table.embeddings, table.notes


class TablePieces(_OfTable):
    """A table in memory."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.typed = table.kind != "csv"
        self._loaded: dict[str, pl.Series] = {}

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows."""
        return _cut_evenly(len(self.table.load(self.columns[:1])), rows)

    def load(self, piece: Piece, columns: Sequence[str], *, typed: bool = False, kept: bool = False) -> pl.DataFrame:
        """Read some columns of a piece; a column is read from the table once."""
        missing = [name for name in columns if name not in self._loaded]
        if missing:
            self._loaded |= self.table.load(missing).to_dict()
        return pl.DataFrame({name: self._loaded[name] for name in columns}).slice(piece.start, piece.rows)


class ParquetPieces(_OfTable):
    """A Parquet file."""

    typed = True

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.path = table.files[0]
        self._lock = Lock()
        self._slabs: dict[tuple[int, int, tuple[str, ...]], pl.DataFrame] = {}

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows."""
        with damage(self.path, "Parquet"):
            n = scan_parquet(self.path).select(pl.len()).collect().item()
        return _cut_evenly(n, rows)

    def load(self, piece: Piece, columns: Sequence[str], *, typed: bool = False, kept: bool = False) -> pl.DataFrame:
        """Read some columns of a piece, and with it those beside it, which the next calls ask for.

        A page of the file is unpacked whole, however few of its rows are wanted: eight times the work for a piece of
        10,000 rows of many columns, twice for a slab of four.
        """
        slab, place = divmod(piece.number, _SLAB)
        # the size that all pieces but the last have
        rows = piece.start // piece.number if piece.number else piece.rows
        key = slab, rows, tuple(columns)
        # one thread reads, the others find it there
        with self._lock, damage(self.path, "Parquet"):
            if key not in self._slabs:
                scan = scan_parquet(self.path).slice(piece.start - place * rows, _SLAB * rows)
                # of the slabs read before, only the last can still be asked for
                self._slabs = dict([*self._slabs.items()][-1:]) | {
                    key: scan.select(exactly(columns, self.columns)).collect()
                }
            return self._slabs[key][list(columns)].slice(place * rows, piece.rows)


class _TextPieces:
    """A text file whose records end with a line break.

    `encoding`: one in which a line break is the byte 10.
    """

    embeddings = None
    notes = ()

    def __init__(self, path: Path, encoding: str) -> None:
        refuse_binary(not_empty(path))
        self.path, self.encoding, self.files = path, encoding, (path,)
        with path.open("rb") as file:
            self.bom = len(codecs.BOM_UTF8) * file.read(3).startswith(codecs.BOM_UTF8)

    def _text(self, begin: int, end: int) -> str:
        with self.path.open("rb") as file:
            file.seek(begin)
            return decoded(file.read(end - begin), self.encoding, self.path, begin)

    def _blocks(self, begin: int) -> Iterator[bytes]:
        """Blocks of the file from a byte on."""
        with self.path.open("rb") as file:
            file.seek(begin)
            while block := file.read(_BLOCK):
                yield block


class DelimitedPieces(_TextPieces):
    """A csv or tsv file. All its columns are text: what is a number is for the reader of the rows to say."""

    typed = False

    def __init__(self, path: Path, encoding: str) -> None:
        super().__init__(path, encoding)
        self.separator = delimited.SEPARATORS[path.suffix.lower()]
        self.body = int(next(self._ends(self.bom), np.array([path.stat().st_size]))[0])
        self.columns = delimited.header_of(self._text(self.bom, self.body), self.separator, path)
        self._records = delimited.Records(self.columns, self.separator)
        self._types: dict[str, pl.DataType] = {}
        self._lock = Lock()

    def _ends(self, begin: int, fields: int | None = None) -> Iterator[np.ndarray]:
        """Places after the line breaks that end records, array by array."""
        return ends_of(
            self._blocks(begin), self.separator, str(self.path), lambda place: line_of(self.path, place), begin, fields
        )

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many records, blank lines among them."""
        size, n, bounds, last = self.path.stat().st_size, 0, [self.body], self.body
        for ends in self._ends(self.body, len(self.columns)):
            bounds += ends[rows - 1 - n % rows :: rows].tolist()
            n, last = n + len(ends), int(ends[-1])
        n += last < size
        found = _cut_evenly(n, rows)
        ends = [*bounds[1 : len(found)], size]
        places = zip(found, bounds, ends, strict=False)
        return [replace(piece, begin=begin, end=end) for piece, begin, end in places]

    def load(self, piece: Piece, columns: Sequence[str], *, typed: bool = False, kept: bool = False) -> pl.DataFrame:
        """Read some columns of a piece, as text, or with the types that the reader of whole files gives them."""
        types = self._types_of(columns) if typed else dict.fromkeys(columns, pl.String())
        # true and false are words in any case, which the parser may not know
        read_as = {name: pl.String() if kind == pl.Boolean else kind for name, kind in types.items()}
        frame = self._read(piece, columns, read_as)
        made = {name: column_of(frame, name) for name in columns}
        made |= {name: delimited.truth_values(made[name]) for name in columns if types[name] == pl.Boolean}
        return pl.DataFrame(made)

    def _read(self, piece: Piece, columns: Sequence[str], types: dict[str, pl.DataType] | None) -> pl.DataFrame:
        content = self._text(piece.begin, piece.end).encode("utf-8", "replace")
        return self._records.read(content, columns, piece.rows, self.path, types)

    def _types_of(self, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """Types by all values of the file, as whole files have them: read once, by the first thread that asks."""
        with self._lock:
            left = [name for name in columns if name not in self._types]
            seen: dict[str, set[pl.DataType]] = {name: set() for name in left}
            for piece in self.pieces(_TYPED_ROWS) if left else ():
                frame = self._read(piece, left, None)
                for name in left:
                    values = column_of(frame, name)
                    if values.null_count() < len(values):
                        seen[name].add(delimited.as_booleans(values).dtype)
            for name, kinds in seen.items():
                shared = pl.Float64() if kinds and all(kind.is_numeric() for kind in kinds) else pl.String()
                self._types[name] = kinds.pop() if len(kinds) == 1 else shared
            return {name: self._types[name] for name in columns}


class JsonPieces(_TextPieces):
    """A file of JSON lines. Its columns are the keys of the first lines."""

    typed = True

    def __init__(self, path: Path, encoding: str) -> None:
        super().__init__(path, encoding)
        first = self.pieces(_FIRST_LINES)[:1]
        records = jsonl.records_of(self._text(first[0].begin, first[0].end), path, 1)[1] if first else []
        if not records:
            raise CorruptFile(f"{path} holds no records, only blank lines")
        self.columns = tuple(dict.fromkeys(key for record in records for key in record))

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many records; blank lines are none."""
        found, n, place, begin = [], 0, self.bom, self.bom
        with self.path.open("rb") as file:
            file.seek(self.bom)
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

    def load(self, piece: Piece, columns: Sequence[str], *, typed: bool = False, kept: bool = False) -> pl.DataFrame:
        """Read some columns of a piece."""
        text = self._text(piece.begin, piece.end)
        lines, records = jsonl.records_of(text, self.path, line_of(self.path, piece.begin))
        return jsonl.frame_of(columns, records, lines, self.path, kept=kept)


_FIRST_LINES = 10_000
# rows whose values are looked at together to tell types
_TYPED_ROWS = 262_144
