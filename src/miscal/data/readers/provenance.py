"""Record which files were read with which options, so that the same rows can be read again.

What was in memory can be read again from the folder of the run, which keeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.errors import InputError, MismatchError
from miscal.base.files import digest
from miscal.data.readers.rows import XSource
from miscal.data.readers.source import Source, existing

ROWS_FILE, EMBEDDINGS_FILE = "rows.parquet", "rows.safetensors"
"""Files of a run folder that keep the columns and the embeddings that were given in memory."""


def fingerprints(
    source: Any, table: Source, inputs: XSource, columns: Sequence[str], probabilities: Any = None
) -> dict[str, Any]:
    """Record the data's path and sha256, and those of every file read.

    `probabilities` are a matrix beside the table, if they are one.

    Returns ``path`` and ``sha256`` (None for a table in memory; for a folder, one fingerprint of all its files),
    ``files``, the ``reader``, and where anything was in memory ``in_memory``: its ``columns`` that were read, and
    whether ``embeddings`` were, too.
    """
    data = [_fingerprint(file) for file in table.files]
    beside = [_fingerprint(Path(one)) for one in (inputs.embeddings, probabilities) if isinstance(one, (str, Path))]
    in_memory = not isinstance(source, (str, Path))
    given = inputs.embeddings is not None and not isinstance(inputs.embeddings, (str, Path))
    memory = {"in_memory": {"columns": list(columns) if in_memory else [], "embeddings": given}}
    hashes = [file["sha256"] for file in data]
    joint = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return {
        "path": None if in_memory else str(Path(source).resolve()),
        "sha256": None if in_memory else joint,
        "files": data + beside,
        "reader": table.kind,
        **(memory if in_memory or given else {}),
    }


def found_in(folder: Path, source: dict[str, Any]) -> dict[str, Any]:
    """Return where rows can be read from: as it was, with the files of the run folder for what was in memory.

    `folder`: of the run; `source`: ``Triples.source`` of the run.
    """
    memory = source.get("in_memory")
    if memory is None:
        return source
    rows, embeddings = folder / ROWS_FILE, folder / EMBEDDINGS_FILE
    found, options = dict(source), dict(source["options"])
    if memory["columns"] and rows.is_file():
        found["path"] = str(rows)
    if memory["embeddings"] and embeddings.is_file():
        options["embeddings"] = str(embeddings)
    return found | {"options": options}


def _fingerprint(file: Path) -> dict[str, str]:
    return {"path": str(file.resolve()), "sha256": digest(file)}


def refuse_changed(source: dict[str, Any]) -> None:
    """Refuse data that are not what they were.

    `source`: ``Triples.source`` of the run.
    """
    options = source.get("options")
    gone = options is not None and source.get("in_memory", {}).get("embeddings") and options["embeddings"] is None
    if source.get("path") is None or options is None or gone:
        raise InputError("the rows were given in memory, not as a file, so they cannot be read again")
    for file in source["files"]:
        path = existing(Path(file["path"]))
        if digest(path) != file["sha256"]:
            raise MismatchError(
                f"{path} has changed since the run: its sha256 is no longer {file['sha256'][:12]}...; "
                "put the old file back, or run again"
            )


def content_digest(frame: pl.DataFrame, *matrices: np.ndarray | None) -> str:
    """SHA-256 of hashes of rows and of the matrices that belong to them.

    A row of other values in the columns keeps its hash with chance 2^-64. It guards against files that were replaced,
    not against someone who makes rows whose hashes are equal.

    `frame`: columns that were read; `matrices` (m, d): embeddings and probabilities that were read. Returns 64
    hexadecimal digits, the same whatever the time and name of a file, and wherever the values lie in memory.

    Examples
    --------
    >>> one, other = (pl.DataFrame({"f": [0.1, value]}) for value in (0.2, 0.3))
    >>> [content_digest(frame, None) == content_digest(one, None) for frame in (one.clone(), other)]
    [True, False]
    """
    sha = hashlib.sha256(frame.hash_rows().to_numpy())
    for matrix in matrices:
        if matrix is not None:
            sha.update(f"{matrix.dtype} {matrix.shape}".encode())
            sha.update(np.ascontiguousarray(matrix))
    return sha.hexdigest()
