"""Embeddings: .npy and .safetensors files, or arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn, TrustError
from miscal.data.readers.table import damage, existing, fits, not_empty
from miscal.data.splits import SAMPLED_ABOVE

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
