"""Files that are whole or not there: atomic writes, checksums, one owner per folder, a table of floats row by row."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from miscal.base.errors import FileError, LockedError, MiscalError, ResourceError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn the errors of the operating system into ours.

    Raises
    ------
    ResourceError
        If the disk or the quota is full.
    FileError
        For every other reason.
    """
    try:
        yield
    except MiscalError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise ResourceError(f"{what}: the disk is full; free space and run the same command again") from error
        raise FileError(f"{what}: {error.strerror or error}") from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary neighbour, then put it in place: the old file or the new one, never a third.

    Parameters
    ----------
    path : Path
    write : callable
        Told the temporary path.

    Raises
    ------
    ResourceError, FileError
        See `disk_errors`; the temporary file is removed.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    with disk_errors(str(path)):
        try:
            write(temporary)
            handle = os.open(temporary, os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(temporary, path)
            _sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write JSON atomically, keys in the order given."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8") and None)


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Own a folder: created if need be, locked until the end, freed by the system when the owner dies.

    Raises
    ------
    LockedError
        If another process owns it.
    FileError
        If it cannot be created or written.
    """
    with disk_errors(f"folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LockedError(f"folder {folder}: another process is writing to it; wait for it or end it") from error
        yield
    finally:
        os.close(handle)


def float_table(path: Path, name: str, rows: Iterator[np.ndarray], shape: tuple[int, int], about: Mapping) -> None:
    """Write a safetensors file of one float32 table, block by block, so that memory does not grow with the rows.

    Parameters
    ----------
    path : Path
    name : str
        Of the tensor.
    rows : iterator of ndarray of float32, shape (any, shape[1])
        Blocks in order.
    shape : tuple of int
        Rows and columns of the whole table.
    about : mapping of str to str
        Metadata of the file.
    """
    size = shape[0] * shape[1] * 4
    tensor = {"dtype": "F32", "shape": list(shape), "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": dict(about), name: tensor}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            stream.write(len(header).to_bytes(8, "little") + header)
            for block in rows:
                stream.write(np.ascontiguousarray(block, dtype="<f4").tobytes())

    write_atomically(path, write)
