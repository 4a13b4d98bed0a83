"""A disk whose n-th operation fails: every opening for writing, write, flush, rename and new folder counts.

Faults are injected in the process, below the library: writers written in Rust are given what they write and cut it.
"""

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import safetensors.numpy

TABLES = ("write_parquet", "write_csv", "write_ndjson")


class Disk:
    """Operations below a folder, of which the n-th fails.

    Parameters
    ----------
    folder : Path
        Operations elsewhere neither count nor fail.
    nth : int
        From 1; 0 fails none.
    fault : callable
        Makes what is raised.
    """

    def __init__(self, folder: Path, nth: int, fault: Callable[[], BaseException]) -> None:
        self.folder, self.nth, self.fault, self.done = os.path.realpath(folder), nth, fault, 0

    def within(self, path) -> bool:
        """Whether a path or an open file lies below the folder."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        elif not isinstance(path, (str, bytes, os.PathLike)):
            return False
        return os.path.realpath(os.fsdecode(path)).startswith(self.folder)

    def count(self, path, before: Callable[[], object] = lambda: None) -> None:
        """Count an operation; if it is the one that fails, do what comes before the fault, and raise."""
        if self.within(path):
            self.done += 1
            if self.done == self.nth:
                before()
                raise self.fault()


class Stream:
    """An open file that writes half and then fails, when its turn has come."""

    def __init__(self, stream, disk: Disk, path) -> None:
        self._stream, self._disk, self._path = stream, disk, path

    def write(self, content):
        self._disk.count(self._path, lambda: (self._stream.write(content[: len(content) // 2]), self._stream.flush()))
        return self._stream.write(content)

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __enter__(self):
        self._stream.__enter__()
        return self

    def __exit__(self, *error):
        return self._stream.__exit__(*error)


@contextmanager
def failing(disk: Disk, monkeypatch) -> Iterator[Disk]:
    """Let the operations of Python and of the libraries that write files go through a disk."""
    with monkeypatch.context() as patched:
        for name in ("fsync", "mkdir", "rename", "replace"):
            patched.setattr(os, name, _counted(getattr(os, name), disk))
        real_open = io.open

        def opened(file, mode="r", *args, **kwargs):
            if not set("wax+") & set(mode):
                return real_open(file, mode, *args, **kwargs)
            disk.count(file)
            stream = real_open(file, mode, *args, **kwargs)
            return Stream(stream, disk, file) if disk.within(file) else stream

        patched.setattr(io, "open", opened)
        patched.setattr(builtins, "open", opened)
        for name in TABLES:
            patched.setattr(pl.DataFrame, name, _cut(getattr(pl.DataFrame, name), disk))
        patched.setattr(safetensors.numpy, "save_file", _cut(safetensors.numpy.save_file, disk))
        yield disk


def _counted(real, disk: Disk):
    def run(path, *args, **kwargs):
        # that a folder is there already is no fault
        if real.__name__ != "mkdir" or not os.path.exists(path):
            disk.count(path)
        return real(path, *args, **kwargs)

    return run


def _cut(real, disk: Disk, at: int = 1):
    """Let a function that writes a whole file leave half of it, and fail as Rust does."""

    def run(*args, **kwargs):
        path = args[at] if len(args) > at else None

        def half():
            real(*args, **kwargs)
            os.truncate(path, os.path.getsize(path) // 2)

        try:
            disk.count(path, half)
        except OSError as error:
            # their own error, which names the system's in words alone
            raise pl.exceptions.ComputeError(f"IO error: {error.strerror} (os error {error.errno})") from None
        return real(*args, **kwargs)

    return run
