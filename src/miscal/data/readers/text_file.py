"""Decode text files, and name the line of the first fault."""

from __future__ import annotations

import codecs
from pathlib import Path

from miscal.base.arrays import value_list
from miscal.base.errors import CorruptFile, FileError, InputError, argument
from miscal.data.readers.table import fits, not_empty

_BINARY = {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"PK\x03\x04": "a ZIP archive", b"\x1f\x8b": "gzip"}


def text_of(path: Path, encoding: str) -> str:
    """Read and decode a whole text file, without its byte order mark.

    Raises
    ------
    CorruptFile
        If it is empty or is a known binary format.
    FileError
        If its bytes are not `encoding`; the line is named.
    """
    not_empty(path)
    # a string takes up to four bytes for each character
    fits(path, 1, 4 * path.stat().st_size)
    refuse_binary(path)
    return decoded(path.read_bytes(), encoding, path).removeprefix("\ufeff")


def refuse_binary(path: Path) -> None:
    """Refuse a file that begins as a known binary format does."""
    with path.open("rb") as file:
        head = file.read(max(map(len, _BINARY)))
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            raise CorruptFile(f"{path} is {what}, not text; rename it accordingly, or unpack it")


def python_encoding(name: str) -> str:
    """Return the name of an encoding that Python knows, or refuse it.

    Examples
    --------
    >>> python_encoding("latin1")
    'iso8859-1'
    """
    try:
        # not all codecs turn bytes into text (hex), and not all that do can hold any text (idna)
        "a..b".encode(name)
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise InputError(
            "the encoding must be one of texts that Python knows, e.g. utf-8, latin-1, cp1252 or utf-16; got "
            f"{value_list([name])}"
        ) from None


def decoded(data: bytes, encoding: str, path: Path, begin: int = 0) -> str:
    """Decode bytes that lie in a file from byte `begin` on; a fault is named with its line."""
    try:
        return data.decode(python_encoding(encoding))
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = line_of(path, begin) + data[:at].count(b"\n")
        raise FileError(
            f"{path}, line {line}: byte {data[at : at + 1]!r} at position {begin + at} is not {encoding}; "
            f"save the file as UTF-8 or name its encoding ({argument('encoding')})"
        ) from None


def line_of(path: Path, place: int) -> int:
    """Count the lines up to a byte: the number of its line, from 1."""
    line = 1
    with path.open("rb") as file:
        while place > 0 and (block := file.read(min(place, 1 << 24))):
            line, place = line + block.count(b"\n"), place - len(block)
    return line
