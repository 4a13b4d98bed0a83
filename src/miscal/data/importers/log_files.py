"""What a log's file holds: a JSON value, lines of JSON, a table that somebody saved, or members of an archive."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from miscal.base.errors import CorruptFile, InputError, ResourceError
from miscal.base.extras import need
from miscal.data.importers.imported_rows import UnusableLog
from miscal.data.readers import delimited, parquet
from miscal.data.readers.names import unreserved
from miscal.data.readers.table import damage, fits, not_empty, text_of

MAGIC = b"PK\x03\x04"
ZSTD = 93
MAX_MEMBER = 2**30
"""Bytes a member may unfold to: the largest samples known have a tenth of it."""

MAX_RATIO = 200
"""How many times its own size an archive may unfold to, all members together: logs of text unfold to 5 to 30 times."""

FREE_BYTES = 2**26
"""What any archive may unfold to, however small it is."""

# largest window a decoder has to offer by zstd's own default: a frame that asks for more memory is refused
_WINDOW = 2**27
_BLOCK = 2**20
_LOCAL = struct.Struct("<4s22xHH")
"""Local header: signature, then the lengths of name and extra field (APPNOTE.TXT 4.3.7)."""


class Archive(zipfile.ZipFile):
    """An archive, of which no more is unfolded than fits; one whose directory, at the end, is missing is damaged."""

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise CorruptFile(f"{path} cannot be read as a ZIP archive: {error}; it is cut short or damaged") from None
        self.path = path
        # counted before anything is unfolded; members may share their bytes, so each is counted for itself
        size, unfolded = path.stat().st_size, sum(info.file_size for info in self.infolist())
        if unfolded > max(FREE_BYTES, MAX_RATIO * size):
            self.close()
            raise ResourceError(
                f"{path} has {size:,} bytes, but would unpack to {unfolded:,}, over {MAX_RATIO} times as many: no log "
                "of text is packed so tightly, so nothing of it is read. If it is sound, convert it to JSON (inspect "
                "log convert --to json)"
            )

    def content(self, name: str) -> bytearray:
        """Return what a member holds, or refuse one that is damaged or would not fit."""
        info = self.getinfo(name)
        where = Path(f"{self.path}/{name}")
        if info.file_size > MAX_MEMBER:
            raise ResourceError(f"{where} would unpack to {info.file_size} bytes; at most {MAX_MEMBER} are read")
        fits(where, 1, 8 * info.file_size)
        with damage(where, "a member of a ZIP archive"), self._unfolding(info) as stream:
            content = _bounded(stream, info.file_size)
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise CorruptFile(f"{where} is damaged: its size or checksum is not the one the archive records")
        return content

    @contextmanager
    def _unfolding(self, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        # bit 0 marks encryption (APPNOTE.TXT 4.4.4)
        if info.flag_bits & 1:
            raise CorruptFile(
                f"{self.path}/{info.filename} is encrypted, which no supported tool writes; give the log as the "
                "tool wrote it"
            )
        if info.compress_type != ZSTD:
            try:
                with self.open(info) as stream:
                    yield stream
            except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
                raise ValueError(str(error)) from None
            return
        convert = ", or convert the log to JSON (inspect log convert --to json)"
        need("logs", f"{self.path}, which is compressed with Zstandard,", otherwise=convert)
        import zstandard

        try:
            folded = io.BytesIO(self._raw(info))
            decoder = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
            yield decoder.stream_reader(folded, read_across_frames=True)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        with self.path.open("rb") as stream:
            stream.seek(info.header_offset)
            header = stream.read(_LOCAL.size)
            if len(header) < _LOCAL.size or not header.startswith(MAGIC):
                raise ValueError("no member begins where the archive says")
            # lengths of the local header: the archive's directory may hold others
            _, name, extra = _LOCAL.unpack(header)
            stream.seek(name + extra, io.SEEK_CUR)
            return stream.read(info.compress_size)


def _bounded(stream: IO[bytes], size: int) -> bytearray:
    """Read at most one byte more than `size`, block by block: a bomb costs no memory, and nothing is held twice."""
    content = bytearray()
    while len(content) <= size and (block := stream.read(min(_BLOCK, size + 1 - len(content)))):
        content += block
    return content


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
