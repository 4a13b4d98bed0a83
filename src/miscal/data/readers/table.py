"""The table that every reader returns, the checks that readers need (paths, size, damage, encoding), and matrices."""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import os
import stat
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars import selectors

from miscal.base.arrays import nearest, value_list
from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn, ResourceError, TrustError, argument
from miscal.base.frames import read_parquet
from miscal.data.splits import SAMPLED_ABOVE

ROW_BYTES = 64
"""What a text or list cell is taken to need when sizes are estimated before reading."""


@dataclass(frozen=True)
class Table:
    """A table that has been opened but not yet read.

    Parameters
    ----------
    kind : str
        The reader's name, for the summary.
    columns : tuple of str
        All column names.
    load : callable
        Reads the named columns, all rows, in order.
    files : tuple of Path
        The files the table consists of, to be fingerprinted.
    embeddings : Path, optional
        A file of embeddings that belongs to the table.
    notes : tuple of str
        What whoever reads the results must know.
    """

    kind: str
    columns: tuple[str, ...]
    load: Callable[[Sequence[str]], pl.DataFrame]
    files: tuple[Path, ...] = ()
    embeddings: Path | None = None
    notes: tuple[str, ...] = ()


def exactly(names: Sequence[str], columns: Sequence[str]) -> pl.Expr:
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
        raise FileError(
            f"the {what} file {str(path)!r} cannot be opened: {getattr(error, 'strerror', None) or error}"
        ) from None
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
_OF_PARSERS = (OSError, ValueError, EOFError, OverflowError, SyntaxError, tokenize.TokenError, RecursionError)


@contextlib.contextmanager
def damage(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a parser says of a broken file into CorruptFile."""
    try:
        yield
    except MemoryError:
        raise ResourceError(f"{path} does not fit into memory") from None
    except InputError:
        raise
    except (*_OF_PARSERS, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if getattr(error, "errno", None) == errno.ENOMEM:
            raise ResourceError(f"{path} does not fit into memory") from None
        first = str(error).strip().splitlines()
        raise CorruptFile(
            f"{path} cannot be read as {what}: {first[0][:200] if first else type(error).__name__}; "
            "it is damaged, cut short, or not what its name says"
        ) from None


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
        raise ResourceError(
            f"{path} has {n_rows} rows of about {row_bytes} bytes, {needed / 1e9:.1f} GB in all, but this process "
            f"may use only {allowed / 1e9:.1f} GB. Read fewer rows or columns, or use a larger machine"
        )


def width(schema: dict[str, Any]) -> int:
    """Estimate the bytes of a row."""
    return sum(
        8 if dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean else ROW_BYTES
        for dtype in schema.values()
    )


_BINARY = {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"PK\x03\x04": "a ZIP archive", b"\x1f\x8b": "gzip"}


def text_of(path: Path, encoding: str) -> str:
    """Read and decode a whole text file, without its byte order mark."""
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


TENSOR = "x"


def read_matrix(source: Any) -> np.ndarray:
    """Open embeddings: a matrix of shape (n, d), of any float or integer type, not yet checked for values.

    `source`: a .npy file (memory-mapped; never unpickled), a .safetensors file whose tensor ``x`` (or whose only
    tensor) is the matrix, or an array.
    """
    if not isinstance(source, (str, Path)):
        return source
    path = matrix_file(source)
    npy = path.suffix.lower() == ".npy"
    matrix = _npy(path) if npy else _with_slices(path, lambda whole, shape: np.asarray(whole[:]))
    if matrix.ndim != 2:
        raise InputError(f"{path} must hold a matrix of shape (n, d); its shape is {tuple(matrix.shape)}")
    # of more rows a sample is fitted, and a .npy file stays on disk
    n_held = matrix.shape[0] if path.suffix.lower() != ".npy" else min(matrix.shape[0], SAMPLED_ABOVE)
    fits(path, n_held, 4 * matrix.shape[1])
    return matrix


def matrix_file(source: str | Path) -> Path:
    """Return the path of a file of embeddings that can be opened, or say why not."""
    path = existing(Path(source), what="embeddings")
    if path.suffix.lower() not in (".npy", ".safetensors") or path.is_dir():
        raise FileError(f"embeddings must be a .npy or .safetensors file; {path} is neither")
    return not_empty(path)


def matrix_shape(source: Any) -> tuple[int, ...]:
    """Shape of embeddings, without reading them.

    `source`: as for :func:`read_matrix`.
    """
    return source.shape if isinstance(source, np.ndarray) else _with_slices(source, lambda whole, shape: shape)


def matrix_rows(source: Any, start: int, stop: int) -> np.ndarray:
    """Read some rows of embeddings, as a copy: the file stays out of this process's memory.

    `source`: as for :func:`read_matrix`.
    """
    if isinstance(source, np.ndarray):
        return source[start:stop]
    return _with_slices(source, lambda whole, shape: np.array(whole[start:stop]))


def matrix_rows_at(source: Any, index: np.ndarray) -> np.ndarray:
    """Read the rows of embeddings with these numbers, as a copy.

    `source`: as for :func:`read_matrix`. Of a .npy file no other row is read; of a .safetensors file all rows from the
    first to the last of them are.

    Examples
    --------
    >>> matrix_rows_at(np.array([[0.0], [1.0], [2.0]]), np.array([2, 0, 2])).ravel().tolist()
    [2.0, 0.0, 2.0]
    """
    if isinstance(source, np.ndarray):
        return source[index]
    if matrix_file(source).suffix.lower() == ".npy":
        return _with_slices(source, lambda whole, shape: np.array(whole[index]))
    first, last = (int(index.min()), int(index.max()) + 1) if len(index) else (0, 0)
    return matrix_rows(source, first, last)[index - first]


def _with_slices(source: Any, use: Callable[[Any, tuple[int, ...]], Any]) -> Any:
    """Open a file for as long as it is used; what was mapped is let go afterwards."""
    path = matrix_file(source)
    if path.suffix.lower() == ".npy":
        array = _npy(path)
        return use(array, array.shape)
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            name = _tensor_name(list(file.keys()), path)
            part = file.get_slice(name)
            if part.get_dtype() != "BF16":
                return use(part, tuple(part.get_shape()))
            return use(_Floats(_halves(path, name, part.get_shape())), tuple(part.get_shape()))
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise CorruptFile(f"{path} cannot be read as safetensors: {error}; it is damaged or cut short") from None


class _Floats:
    """Rows of a bfloat16 tensor as float32: numpy has no bfloat16, which is the upper half of a float32."""

    def __init__(self, halves: np.ndarray) -> None:
        self.halves = halves

    def __getitem__(self, rows: slice) -> np.ndarray:
        return (self.halves[rows].astype(np.uint32) << 16).view(np.float32)


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


def _halves(path: Path, name: str, shape: list[int]) -> np.ndarray:
    """Map a bfloat16 tensor of a checked file as whole numbers."""
    with path.open("rb") as file:
        # the file is the length of its header, the header, and the tensors at offsets counted from its end
        start = 8 + int.from_bytes(file.read(8), "little")
        start += json.loads(file.read(start - 8))[name]["data_offsets"][0]
    return np.memmap(path, "<u2", "r", start, tuple(shape))


def _tensor_name(names: list[str], path: Path) -> str:
    if TENSOR in names:
        return TENSOR
    if len(names) != 1:
        raise MissingColumn(f"{path} must hold the embeddings as tensor {TENSOR!r}; it holds {names}")
    return names[0]
