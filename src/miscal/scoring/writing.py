"""What a scoring run writes: JSON, and one table of floats row by row, each whole or not there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from miscal.base.files import replace_file, write_whole


def write_json(path: Path, value: object) -> None:
    """Write JSON, keys in the order given."""
    replace_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


FLOATS = {"float32": ("F32", "<f4", 4), "float16": ("F16", "<f2", 2)}
"""Precision: its name in safetensors, its type in numpy, little-endian, and its bytes."""


def write_float_table(
    path: Path,
    name: str,
    rows: Iterator[np.ndarray],
    shape: tuple[int, int],
    about: Mapping[str, str],
    dtype: str = "float32",
) -> None:
    """Write a safetensors file of one table of floats, block by block, so that memory does not grow with the rows.

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
    dtype : {"float32", "float16"}, default "float32"
        Precision on disk.
    """
    kind, stored, width = FLOATS[dtype]
    size = shape[0] * shape[1] * width
    tensor = {"dtype": kind, "shape": list(shape), "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": dict(about), name: tensor}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the format wants its data aligned to 8 bytes

    def write(partial: Path) -> None:
        with partial.open("wb") as stream:
            stream.write(len(header).to_bytes(8, "little") + header)
            for block in rows:
                stream.write(np.ascontiguousarray(block, dtype=stored).tobytes())

    write_whole(path, write)
