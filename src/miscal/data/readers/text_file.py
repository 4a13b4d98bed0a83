"""Decoding of text files, with the line of the first fault."""

from __future__ import annotations

from pathlib import Path

from miscal.base.errors import CorruptFile, FileError, InputError
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
    data = path.read_bytes()
    for magic, what in _BINARY.items():
        if data.startswith(magic):
            raise CorruptFile(f"{path} is {what}, not text; rename it accordingly, or unpack it")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InputError(
            f"the encoding must be one that Python knows, e.g. utf-8, latin-1, cp1252 or utf-16; got {encoding!r}"
        ) from None
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = data[:at].count(b"\n") + 1
        raise FileError(
            f"{path}, line {line}: byte {data[at : at + 1]!r} at position {at} is not {encoding}; "
            "save the file as UTF-8 or name its encoding (--encoding)"
        ) from None
