"""Members of ZIP archives, Zstandard ones (method 93) included, which Python's zipfile reads only from 3.14 on."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from miscal.base.errors import CorruptFile, ResourceError
from miscal.base.extras import need
from miscal.data.readers.table import damage, fits

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
