"""Embeddings: .npy and .safetensors files, or arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn, TrustError
from miscal.data.readers.table import damage, existing, fits, not_empty
from miscal.data.sampling import SAMPLED_ABOVE

TENSOR = "x"


def read_matrix(source: Any) -> np.ndarray:
    """Open embeddings: a matrix of shape (n, d), of any float or integer type, not yet checked for values.

    Parameters
    ----------
    source : path or array-like
        A .npy file (memory-mapped; never unpickled), a .safetensors file whose tensor ``x`` (or whose only tensor)
        is the matrix, or an array.

    Raises
    ------
    CorruptFile
        If the file is damaged or cut short.
    TrustError
        If a .npy file holds Python objects.
    MissingColumn
        If a .safetensors file has several tensors and none is called ``x``.
    """
    if not isinstance(source, (str, Path)):
        return source
    path = existing(Path(source), what="embeddings")
    reader = {".npy": _npy, ".safetensors": _safetensors}.get(path.suffix.lower())
    if reader is None or path.is_dir():
        raise FileError(f"embeddings must be a .npy or .safetensors file; {path} is neither")
    matrix = reader(not_empty(path))
    if matrix.ndim != 2:
        raise InputError(f"{path} must hold a matrix of shape (n, d); its shape is {tuple(matrix.shape)}")
    # of more rows a sample is fitted, and a .npy file stays on disk
    n_held = matrix.shape[0] if path.suffix.lower() != ".npy" else min(matrix.shape[0], SAMPLED_ABOVE)
    fits(path, n_held, 4 * matrix.shape[1])
    return matrix


def _npy(path: Path) -> np.ndarray:
    with path.open("rb") as file, damage(path, "a .npy file"):
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        _, _, dtype = header(file)
    if dtype.hasobject:
        raise TrustError(f"{path} holds Python objects, which can run code when loaded; save a plain number array")
    with damage(path, "a .npy file"):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _safetensors(path: Path) -> np.ndarray:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            name = _tensor_name(list(file.keys()), path)
            if file.get_slice(name).get_dtype() != "BF16":
                return file.get_tensor(name)
        with safe_open(path, framework="pt") as file:  # numpy has no bfloat16
            return file.get_tensor(name).float().numpy()
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise CorruptFile(f"{path} cannot be read as safetensors: {error}; it is damaged or cut short") from None


def _tensor_name(names: list[str], path: Path) -> str:
    if TENSOR in names:
        return TENSOR
    if len(names) != 1:
        raise MissingColumn(f"{path} must hold the embeddings as tensor {TENSOR!r}; it holds {names}")
    return names[0]
