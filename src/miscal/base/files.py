"""Write files and folders so that nobody ever sees half of one: lock, write beside the final place, rename.

Everything is written to a hidden sibling, flushed to disk and renamed in one step. A failure of any kind, a signal
included, removes the sibling; what a killed process left is removed by the next one.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from miscal.base.errors import FileError, InputError, LockedError, MiscalError, ResourceError, either

ANOTHER_FOLDER, _ANOTHER_FILE, _ANOTHER_NAME = (
    either("another --out", f"another {what}") for what in ("folder", "file", "name")
)
_REPLACING = either("add --overwrite to replace it", "overwrite=True to replace it")

_FULL = "the disk is full; free some space and run the same command again"
NO_ROOM = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "a file would be larger than files may be here (`ulimit -f` shows it); raise the limit, or write "
    "to another place",
}
"""What to say of the operating system's errors, by number, that mean that there is no room for a file."""

_WHOLE = {
    "a run": ("manifest.json", "summary.json"),
    "a saved model": ("config.json", "tensors.safetensors"),
    "a monitor": ("monitor.json", "monitor.html"),
    "a comparison": ("compare.json", "compare.html"),
    "a scan": ("cells.parquet", "correction.json"),
}
"""Folders that are written, checked and replaced as a whole: the files by which each is known."""

_OWN = ("monitor", "report.html")
"""What is put into the folder of a run afterwards."""


_OF_RUST = re.compile(r"\(os error (\d+)\)")


def system_error(error: BaseException) -> OSError | None:
    """Return the operating system's error behind an error, if there is one.

    Libraries written in Rust (polars, safetensors) and C++ (DuckDB) tell a full disk in words alone, by errors of their
    own.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    OSError or None
        With its number.

    >>> system_error(RuntimeError("IO error: No space left on device (os error 28)")).errno
    28
    >>> system_error(ValueError("parquet: File out of specification: Invalid thrift: transport error")).errno
    28
    >>> system_error(ValueError("no such column")) is None
    True
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error
    said = str(error) if isinstance(error, Exception) else ""
    # all that Parquet says where the disk is full when it comes to its last lines; DuckDB has words alone
    found = [errno.ENOSPC] if "Invalid thrift: transport error" in said else [*map(int, _OF_RUST.findall(said))]
    found += [number for number in NO_ROOM if os.strerror(number) in said]
    return next((OSError(number, os.strerror(number)) for number in found), None)


def _sibling(out: Path, kind: str) -> Path:
    # a digest, not the name: a name of 255 bytes leaves no room for a suffix
    return out.parent / f".miscal-{hashlib.sha256(os.fsencode(out.name)).hexdigest()[:12]}.{kind}"


def parts_folder(out: str | Path) -> Path:
    """Return the hidden folder beside a file in which its parts may wait until all are there."""
    return _sibling(resolve(out), "parts")


def resolve(out: str | Path) -> Path:
    """Return the absolute place of a run folder, symbolic links followed; refuse one that can be none."""
    if not str(out) or "\0" in str(out):
        raise InputError(f"the output folder must have a name, without NUL characters: give {ANOTHER_FOLDER}")
    place = Path(os.path.realpath(out))
    if place.is_symlink() or not place.name:
        raise InputError(
            f"{out} cannot be an output folder, because it is a root folder or its links form a circle: give "
            f"{ANOTHER_FOLDER}"
        )
    return place


@contextlib.contextmanager
def disk_errors(what: str, *, room_only: bool = False) -> Iterator[None]:
    """Turn the errors of the operating system into ours while the block runs.

    Parameters
    ----------
    what : str
        The file or folder, as messages name it.
    room_only : bool, default False
        Leave all errors but those of room as they are: for a block that does more than write.
    """
    try:
        yield
    except MiscalError:
        raise
    except Exception as error:
        cause = system_error(error)
        if cause is not None and cause.errno in NO_ROOM:
            raise ResourceError(f"{what}: {NO_ROOM[cause.errno]}") from error
        if room_only or (cause is None and not isinstance(error, OSError)):
            raise
        raise FileError(f"{what}: {cause.strerror if cause else error}; check the path and its permissions") from error


@contextlib.contextmanager
def locked(out: str | Path, *, inside: bool = False, kind: str = "lock") -> Iterator[None]:
    """Own a run folder for the length of a ``with`` block.

    Parameters
    ----------
    out : str or Path
        The run folder; it need not exist, its parent must.
    inside : bool, default False
        Keep the lock in the folder, which must exist then, instead of beside it. For a folder that is filled step by
        step and never renamed: its parent need not be writable.
    kind : str, default "lock"
        Another lock than that of whoever writes the folder, for what comes before.

    Notes
    -----
    The lock is an advisory ``flock`` on a hidden file beside or in the folder. Where the system has none (Windows),
    there is no protection.
    """
    path = _sibling(resolve(out) / "inside" if inside else resolve(out), kind)
    handle = _lock_file(path, out)
    try:
        yield
    finally:
        # Windows removes no file that is open
        with contextlib.suppress(FileNotFoundError, PermissionError):
            # while still locked: whoever locks the old file after us sees in `_lock_file` that it has lost its name
            path.unlink()
        os.close(handle)


def _lock_file(path: Path, out: str | Path) -> int:
    while True:
        with disk_errors(f"folder {path.parent}"):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _flock(handle, out)
            # the owner before us may have removed the file between our open and our lock
            if _same_file(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _flock(handle: int, out: str | Path) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LockedError(
            f"another miscal process is writing {out}: wait until it has ended, or give another folder"
        ) from None


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def check_target(
    out: str | Path,
    *,
    overwrite: bool = False,
    holds: Collection[str] | None = None,
    writer: str = "miscal",
    reads: Collection[Any] = (),
    mark: bytes = b"",
) -> Path:
    """Decide what may be written, and replaced, on disk: every command and method asks here before it writes.

    Parameters
    ----------
    out : str or Path
        The file or folder as the user gave it.
    overwrite : bool, default False
        Whether one that exists may be replaced.
    holds : collection of str, optional
        For a folder: the entries that may be in one that is replaced or filled. Without it, `out` is a file.
    writer : str
        What writes such folders, as messages name it.
    reads : collection
        What the same command reads; all but paths are ignored.
    mark : bytes, optional
        Replace a file that begins with it (within 4,096 bytes), and no other.

    Returns
    -------
    Path
        Absolute path, links followed.
    """
    place, another = resolve(out), _ANOTHER_FILE if holds is None else ANOTHER_FOLDER
    if holds is None and place.is_dir():
        raise InputError(f"{out} is a folder, not a file: give {another}")
    if holds is not None and place.exists() and not place.is_dir():
        raise InputError(f"{out} is a file, not a folder: give {another}")
    for above in place.parents:
        kind = next((kind for kind, names in _WHOLE.items() if all((above / name).is_file() for name in names)), None)
        if kind is not None and place.relative_to(above).parts[0] not in _OWN:
            raise InputError(f"{out} lies in {above}, {kind}, whose files stay as miscal wrote them: give {another}")
        if above.exists() and not above.is_dir():
            raise FileError(f"{out} cannot be written, because {above} is a file: give {another}")
    for given in reads:
        read = Path(os.path.realpath(given)) if isinstance(given, (str, Path)) and os.path.exists(given) else None
        if read is not None and os.path.lexists(place) and _loses(place, read):
            raise InputError(f"{out} would replace what is read from {given}: give {another}")
    if not os.path.lexists(place):
        return place
    if mark:
        with disk_errors(f"file {out}"), place.open("rb") as stream:
            if mark not in stream.read(4096):
                raise InputError(f"{out} exists, and {writer} did not write it: move it away, or give {another}")
    elif not overwrite:
        raise InputError(f"{out} already exists: give {_ANOTHER_NAME}, or {_REPLACING}")
    if holds is not None:
        _refuse_foreign(out, place, holds, writer)
    return place


def _refuse_foreign(out: str | Path, folder: Path, holds: Collection[str], writer: str) -> None:
    if foreign := sorted(set(os.listdir(folder)) - set(holds)):
        raise InputError(
            f"{out} holds files that {writer} did not write ({', '.join(map(repr, foreign[:5]))}) and that would be "
            f"lost: move them away, or give {ANOTHER_FOLDER}"
        )


def _loses(place: Path, read: Path) -> bool:
    """Whether replacing a place replaces what is read: itself, a file beside others in a folder, or a folder's file."""
    return os.path.samefile(place, read) or place in read.parents or (place.is_file() and place.parent == read)


@contextlib.contextmanager
def whole_folder(
    out: str | Path, *, holds: Collection[str], writer: str, overwrite: bool = False, reads: Collection[Any] = ()
) -> Iterator[Path]:
    """Yield an empty folder that becomes ``out`` when the block ends well, and vanishes when it does not.

    Parameters
    ----------
    out : str or Path
        The folder to make. Missing parents are made, and removed again if the block fails.
    holds, writer, overwrite, reads
        As for :func:`check_target`, which is asked at once, again when the folder is locked, and again before the old
        folder is replaced: what others have put into it meanwhile is not lost.

    Yields
    ------
    Path
        The folder to write into: a hidden sibling of ``out``.

    >>> import tempfile, pathlib
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> with whole_folder(out, holds=["note.txt"], writer="this example") as folder:
    ...     _ = (folder / "note.txt").write_text("done")
    ...     out.exists()
    False
    >>> (out / "note.txt").read_text()
    'done'
    """
    place = resolve(out)

    def check() -> None:
        check_target(out, overwrite=overwrite, holds=holds, writer=writer, reads=reads)

    check()
    with disk_errors(f"folder {out}", room_only=True), parents(place), locked(place):
        _restore(place)
        check()
        partial = _sibling(place, "partial")
        _remove(partial)
        partial.mkdir()
        try:
            yield partial
            for path in (*sorted(partial.rglob("*")), partial):
                _sync(path)
            check()
            _swap(partial, place, lambda old: _refuse_foreign(out, old, holds, writer))
        except BaseException:
            _remove(partial)
            raise


@contextlib.contextmanager
def parents(place: Path) -> Iterator[None]:
    """Make the folders above a place for a ``with`` block; if it fails, those that were made and are empty go again."""
    missing = [folder for folder in reversed(place.parents) if not folder.exists()]
    with disk_errors(f"folder {place.parent}"):
        place.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in reversed(missing):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _restore(place: Path) -> None:
    """Put back the old folder if a killed process had moved it away and not yet put the new one in its place."""
    old = _sibling(place, "old")
    if os.path.lexists(place):
        _remove(old)
    elif old.exists():
        os.rename(old, place)


def _swap(new: Path, place: Path, check_old: Callable[[Path], None]) -> None:
    old = _sibling(place, "old")
    if place.exists():
        # no folder can be renamed onto one that holds files, so the old one steps aside
        os.rename(place, old)
    try:
        if old.exists():
            check_old(old)
        os.rename(new, place)
    except BaseException:
        if old.exists():
            os.rename(old, place)
        raise
    _sync(place.parent)
    _remove(old)


def _remove(folder: Path) -> None:
    if os.path.lexists(folder):
        shutil.rmtree(folder)


def _sync(path: Path) -> None:
    windows = os.name == "nt"
    if windows and path.is_dir():
        return  # it opens no folder
    handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write a file so that a reader sees the old content or the new, never a part of either.

    Parameters
    ----------
    path : str or Path
        The file.
    write : callable
        Called with the path to write to: a hidden sibling, which is then put in place of the file.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.json"
    >>> write_whole(path, lambda partial: partial.write_text("{}")); path.read_text()
    '{}'
    """
    place = resolve(path)
    partial = _sibling(place, "partial")
    with disk_errors(f"file {path}"):
        try:
            write(partial)
            _sync(partial)
            os.replace(partial, place)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()
            raise
        _sync(place.parent)  # without it, the new name may be lost with the power


def replace_file(path: str | Path, content: bytes) -> None:
    """Write bytes as :func:`write_whole` does.

    Parameters
    ----------
    path : str or Path
        The file.
    content : bytes
        All of it.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.json"
    >>> replace_file(path, b"{}"); path.read_bytes()
    b'{}'
    """
    write_whole(path, lambda partial: partial.write_bytes(content))


def write_new(out: str | Path, content: bytes, **target: Any) -> Path:
    """Write bytes into a file that a user named; missing folders are made.

    Parameters
    ----------
    **target
        Options of :func:`check_target`.

    Returns
    -------
    Path
        Absolute path.
    """
    place = check_target(out, **target)
    with disk_errors(f"file {out}"), parents(place), locked(place):
        check_target(out, **target)
        replace_file(place, content)
    return place


def digest(path: str | Path) -> str:
    """Return the sha256 of a file, read in blocks.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def has_digest(path: Path, wanted: str) -> bool:
    """Whether the file is there and has the sha256 it should have."""
    return path.is_file() and digest(path) == wanted
