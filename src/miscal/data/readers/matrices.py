"""Embeddings and matrices of probabilities: arrays, also where they lie in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.checks import check_features
from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn, TrustError
from miscal.data.readers.source import damage, existing, fits, not_empty
from miscal.data.splits import SAMPLED_ABOVE

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
