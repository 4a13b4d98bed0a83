"""What every opened source offers, and what can be wrong with a file before any of its rows is read."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, Self

import numpy as np
import polars as pl
from polars import selectors

from miscal.base.arrays import nearest, value_list
from miscal.base.checks import check_features
from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn, ResourceError, TrustError, argument
from miscal.base.frames import read_parquet
from miscal.data.splits import SAMPLED_ABOVE


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


class Source:
    """A file or table that has been opened but not yet read.

    A reader of a format is a class of its own: `accepts` says of what, `__init__` opens it.

    Attributes
    ----------
    kind : str
        The reader's name, for the summary.
    columns : tuple of str
    files : tuple of Path
        What it consists of.
    embeddings : Path or None
        A file of embeddings that belongs to it.
    typed : bool
        Whether its columns have types of their own; csv has none, and its pieces are text.
    """

    kind: str
    columns: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    embeddings: Path | None = None
    typed = True

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Tell whether the reader opens `source`."""
        raise NotImplementedError

    def __init__(self, source: Any, encoding: str = "utf-8", *, whole: bool = True) -> None:
        raise NotImplementedError

    def offering(self, columns: Sequence[str]) -> Self:
        """Return the source with some of its columns alone."""
        found = copy(self)
        found.columns = tuple(columns)
        return found

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows, the last one shorter; each can be read by itself, by another process."""
        raise NotImplementedError

    def load(
        self, names: Sequence[str], piece: Piece | None = None, *, typed: bool = False, kept: bool = False
    ) -> pl.DataFrame:
        """Read some columns, in order, with NaN as missing: of all rows, by default, or those of a piece.

        `typed`: of the types that all their values have, where a piece has none itself; `kept`: to be written as they
        are, NaN too, so that values which no column holds unchanged are refused.
        """
        frame = self.read(names, piece, typed=typed, kept=kept)
        return frame if kept else nan_as_null(frame)

    def read(self, names: Sequence[str], piece: Piece | None, *, typed: bool, kept: bool) -> pl.DataFrame:
        """Read as :meth:`load`, NaN as it is."""
        raise NotImplementedError


def cut_evenly(n: int, rows: int) -> list[Piece]:
    """Cut n rows into pieces of so many, the last one shorter."""
    return [Piece(i, start, min(rows, n - start)) for i, start in enumerate(range(0, n, rows))]


def exactly(names: Sequence[str], columns: Iterable[str]) -> pl.Expr:
    """Select columns by their exact names, which polars would take for patterns if they look like some.

    `columns`: all columns of the table, in order.

    Examples
    --------
    >>> table = pl.LazyFrame({"a": [1], "^a$": [2], "*": [3]})
    >>> table.select(exactly(["*", "^a$"], ["a", "^a$", "*"])).collect().row(0)
    (3, 2)
    """
    place = {name: i for i, name in enumerate(columns)}
    return pl.nth([place[name] for name in names])


def nan_as_null(frame: pl.DataFrame) -> pl.DataFrame:
    """Read NaN, which pandas and numpy write where a number is missing, as missing.

    Examples
    --------
    >>> nan_as_null(pl.DataFrame({"^a$": [1.0, float("nan")], "a": [float("nan"), 2.0]})).rows()
    [(1.0, None), (None, 2.0)]
    """
    # the frame's own fill_nan takes the name ^a$ for a pattern
    return frame.with_columns(selectors.float().fill_nan(None))


def whole_numbers(name: str, values: Sequence[int | None]) -> pl.Series:
    """Put whole numbers of any size into a column: of up to 128 bits as numbers, else as text, which loses nothing.

    Examples
    --------
    >>> whole_numbers("hash", [1, 2**70]).dtype, whole_numbers("hash", [1, 2**200]).dtype
    (Int128, String)
    """
    column = None
    with suppress(TypeError, OverflowError, pl.exceptions.PolarsError):
        column = pl.Series(name, values, strict=False)
    # what is too large for polars is an error, or null
    if column is None or column.null_count() != sum(one is None for one in values):
        return pl.Series(name, [None if one is None else str(one) for one in values], dtype=pl.String)
    return column


# --- paths --------------------------------------------------------------------------------------------------------


def existing(path: Path, *, what: str = "data") -> Path:
    """Return a path that can be opened, or say why it cannot.

    Examples
    --------
    >>> existing(Path("no-such-file.csv"))
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: the data file no-such-file.csv does not exist
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileError(f"the {what} file {path} does not exist{_near_file(path)}") from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise FileError(f"the {what} file {str(path)!r} cannot be opened: {said}") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError(f"the {what} file {path} is a pipe or a device, not a regular file; write it to disk first")
    if stat.S_ISREG(mode) and not os.access(path, os.R_OK):
        raise FileError(f"the {what} file {path} cannot be read: permission denied")
    return path


def _near_file(path: Path) -> str:
    with contextlib.suppress(OSError):
        others = os.listdir(path.parent)
        # equal endings make no names alike
        stems = {Path(name).stem: name for name in reversed(others) if Path(name).suffix == path.suffix}
        stems = {Path(name).stem: name for name in others} | stems
        near = nearest(path.stem, stems)
        return f"; did you mean {stems[near]}?" if near else ""
    return ""


def not_empty(path: Path) -> Path:
    """Refuse a file of no bytes."""
    if path.stat().st_size == 0:
        raise CorruptFile(f"{path} is empty (0 bytes); give a file with one row per prediction")
    return path


# --- damage and size ----------------------------------------------------------------------------------------------


# the last two: numpy reads the header of a .npy file as Python's own words
_OF_PARSERS = (MemoryError, OSError, ValueError, EOFError, OverflowError, RecursionError, SyntaxError, TokenError)


@contextlib.contextmanager
def damage(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a parser says of a broken file into CorruptFile."""
    try:
        yield
    except InputError:
        raise
    except (*_OF_PARSERS, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            raise ResourceError(f"{path} does not fit into memory") from None
        said = [*str(error).strip().splitlines(), type(error).__name__][0][:200]
        damaged = "it is damaged, cut short, or not what its name says"
        raise CorruptFile(f"{path} cannot be read as {what}: {said}; {damaged}") from None


def own_parquet(path: Path) -> pl.DataFrame:
    """Read a table that miscal itself wrote."""
    with damage(path, "Parquet"):
        return read_parquet(path)


def memory_limit() -> int:
    """Bytes this process may use: the least of the machine, its container and what its own limit leaves."""
    limits = [sys.maxsize]
    # Windows says neither
    with contextlib.suppress(AttributeError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError):
        # "max", which stands for no limit, is no number
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    with contextlib.suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            limits.append(max(0, soft - _address_space()))
    return min(limits)


def _address_space() -> int:
    """Bytes of addresses in use, libraries included: that limit counts these too."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def fits(path: Path, n_rows: int, row_bytes: int) -> None:
    """Refuse, before reading, a table or matrix that memory cannot hold."""
    needed, allowed = n_rows * row_bytes, memory_limit()
    if needed > 0.8 * allowed:
        size = f"{n_rows} rows of about {row_bytes} bytes, {needed / 1e9:.1f} GB in all"
        remedy = "read fewer rows or columns, or use a larger machine"
        raise ResourceError(f"{path} has {size}, but this process may use only {allowed / 1e9:.1f} GB: {remedy}")


# --- texts --------------------------------------------------------------------------------------------------------

_BINARY = {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"PK\x03\x04": "a ZIP archive", b"\x1f\x8b": "gzip"}
# those that shift between alphabets write other characters with the bytes of ASCII
_SHIFTING = ("iso2022", "hz", "utf-7", "utf_7")
_BLOCK = 1 << 24


class TextFile:
    """A text file that is read from any byte on.

    `marks`: characters of ASCII by whose bytes the ends of records are found. A file in an encoding in which these may
    be parts of other characters (UTF-16) is decoded as a whole, and read from memory.
    """

    def __init__(self, path: Path, encoding: str, marks: str) -> None:
        with not_empty(path).open("rb") as file:
            head = file.read(max(map(len, _BINARY)))
        for magic, what in _BINARY.items():
            if head.startswith(magic):
                raise CorruptFile(f"{path} is {what}, not text; rename it accordingly, or unpack it")
        self.path, self.encoding, self.content = path, encoding, None
        self.size, self.begin = path.stat().st_size, len(codecs.BOM_UTF8) * head.startswith(codecs.BOM_UTF8)
        if not _plain_ascii(python_encoding(encoding), marks):
            self.refuse_too_large()
            text = self.text(0, self.size).removeprefix("\ufeff")
            self.content, self.encoding, self.begin = text.encode("utf-8", "replace"), "utf-8", 0
            self.size = len(self.content)

    def refuse_too_large(self) -> None:
        """Refuse to read all of a file that memory cannot hold: a text takes up to four bytes for each character."""
        fits(self.path, 1, 4 * self.size)

    def open(self) -> BinaryIO:
        """Open it at its first byte."""
        return self.path.open("rb") if self.content is None else io.BytesIO(self.content)

    def blocks(self, begin: int) -> Iterator[bytes]:
        """Yield blocks of the file from a byte on."""
        with self.open() as file:
            file.seek(begin)
            while block := file.read(_BLOCK):
                yield block

    def line_of(self, place: int) -> int:
        """Count the lines up to a byte: the number of its line, from 1."""
        line = 1
        for block in self.blocks(0):
            line += block.count(b"\n", 0, max(place, 0))
            place -= len(block)
            if place <= 0:
                break
        return line

    def text(self, begin: int, end: int) -> str:
        """Read and decode what lies between two bytes; a fault is named with its line."""
        with self.open() as file:
            file.seek(begin)
            data = file.read(end - begin)
        try:
            return data.decode(python_encoding(self.encoding))
        except UnicodeError as error:
            at = getattr(error, "start", 0)
            wrong = f"byte {data[at : at + 1]!r} at position {begin + at} is not {self.encoding}"
            remedy = f"save the file as UTF-8 or name its encoding ({argument('encoding')})"
            raise FileError(f"{self.path}, line {self.line_of(begin + at)}: {wrong}; {remedy}") from None


def text_of(path: Path, encoding: str = "utf-8") -> str:
    """Read and decode a whole text file, without its byte order mark."""
    file = TextFile(path, encoding, "\n")
    file.refuse_too_large()
    return file.text(file.begin, file.size)


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
        known = "one of texts that Python knows, e.g. utf-8, latin-1, cp1252 or utf-16"
        raise InputError(f"the encoding must be {known}; got {value_list([name])}") from None


def _plain_ascii(encoding: str, marks: str) -> bool:
    """Whether a byte of these ASCII characters is never a part of another character."""
    if encoding.startswith(_SHIFTING) or marks.encode(encoding).removeprefix(codecs.BOM_UTF8) != marks.encode("ascii"):
        return False
    pairs = ((bytes([lead]), mark) for lead in range(128, 256) for mark in marks)
    return all((lead + mark.encode()).decode(encoding, "replace").endswith(mark) for lead, mark in pairs)


# --- matrices ---------------------------------------------------------------------------------------------------------


TENSOR = "x"
ENDINGS = (".npy", ".safetensors")
_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
}  # fmt: skip
"""Types of safetensors as those of numpy."""


def is_matrix_file(source: Any) -> bool:
    """Say whether something is the path of a matrix by its ending.

    Examples
    --------
    >>> is_matrix_file("p.npy"), is_matrix_file("p_*"), is_matrix_file(["p_a", "p_b"])
    (True, False, False)
    """
    return isinstance(source, (str, Path)) and Path(source).suffix.lower() in ENDINGS


def read_matrix(source: Any) -> Any:
    """Open a matrix of shape (n, d), of any float or integer type, not yet checked for values.

    `source`: a .npy file (never unpickled), a .safetensors file whose tensor ``x`` (or whose only tensor) is the
    matrix, or an array. What lies in a file stays there until rows are asked for, and is let go with what is returned.

    Examples
    --------
    >>> read_matrix(np.eye(3))[1:].shape
    (2, 3)
    """
    if not isinstance(source, (str, Path)):
        return source
    path = existing(Path(source), what="embeddings")
    if not is_matrix_file(path) or path.is_dir():
        raise FileError(f"embeddings must be a .npy or .safetensors file; {path} is neither")
    matrix = _npy(not_empty(path)) if path.suffix.lower() == ".npy" else _safetensors(not_empty(path))
    if len(matrix.shape) != 2:
        raise InputError(f"{path} must hold a matrix of shape (n, d); its shape is {tuple(matrix.shape)}")
    # of more rows a sample is fitted
    fits(path, min(matrix.shape[0], SAMPLED_ABOVE), 4 * matrix.shape[1])
    return matrix


def numbers_or_checked(X: Any) -> np.ndarray:
    """Take a numpy matrix of numbers as it is; anything else is converted exactly or refused."""
    X = X[:] if isinstance(X, _Halves) else X
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "fiub"
    return X if plain else check_features(X, name="embeddings", narrow=False)


def _npy(path: Path) -> np.ndarray:
    with path.open("rb") as file, damage(path, "a .npy file"):
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
        # Python takes True for a 1
        if any(type(size) is not int or size < 0 for size in shape):
            raise ValueError(f"its header claims the shape {shape}, which is no shape of a matrix")
    if dtype.hasobject:
        raise TrustError(f"{path} holds Python objects, which can run code when loaded; save a plain number array")
    with damage(path, "a .npy file"):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _safetensors(path: Path) -> Any:
    """Map a tensor of a file that safetensors has checked."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            name = _tensor_name(list(file.keys()), path)
            tensor = file.get_slice(name)
            shape, kind = tuple(tensor.get_shape()), tensor.get_dtype()
        with path.open("rb") as file:
            # the file is the length of its header, the header, and the tensors at offsets counted from its end
            start = 8 + int.from_bytes(file.read(8), "little")
            start += json.loads(file.read(start - 8))[name]["data_offsets"][0]
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise CorruptFile(f"{path} cannot be read as safetensors: {error}; it is damaged or cut short") from None
    if kind not in _TYPES:
        raise InputError(f"{path}: tensor {name!r} must hold numbers of at least 8 bits; its type is {kind}")
    values = np.memmap(path, _TYPES[kind], "r", start, shape) if np.prod(shape) else np.zeros(shape, _TYPES[kind])
    return _Halves(values) if kind == "BF16" else values


class _Halves:
    """A bfloat16 tensor whose rows are read as float32, of which bfloat16, which numpy has not, is the upper half."""

    def __init__(self, halves: np.ndarray) -> None:
        self.halves, self.shape = halves, halves.shape

    def __getitem__(self, rows: Any) -> np.ndarray:
        return (self.halves[rows].astype(np.uint32) << 16).view(np.float32)


def _tensor_name(names: list[str], path: Path) -> str:
    if TENSOR in names:
        return TENSOR
    if len(names) != 1:
        raise MissingColumn(f"{path} must hold the embeddings as tensor {TENSOR!r}; it holds {names}")
    return names[0]
