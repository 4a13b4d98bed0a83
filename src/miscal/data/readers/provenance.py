"""Record which files were read with which options, so that the same rows can be read again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError, MismatchError
from miscal.base.files import digest
from miscal.data.readers.rows import XSource
from miscal.data.readers.table import Table, existing


def fingerprints(source: Any, table: Table, inputs: XSource) -> dict[str, Any]:
    """Record the data's path and sha256, and those of every file read.

    Returns
    -------
    dict
        ``path`` and ``sha256`` (None for a table in memory; for a folder, one fingerprint of all its files), ``files``
        and the ``reader``.
    """
    data = [_fingerprint(file) for file in table.files]
    beside = [_fingerprint(Path(inputs.embeddings))] if isinstance(inputs.embeddings, (str, Path)) else []
    in_memory = not isinstance(source, (str, Path))
    hashes = [file["sha256"] for file in data]
    joint = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return {
        "path": None if in_memory else str(Path(source).resolve()),
        "sha256": None if in_memory else joint,
        "files": data + beside,
        "reader": table.kind,
    }


def _fingerprint(file: Path) -> dict[str, str]:
    return {"path": str(file.resolve()), "sha256": digest(file)}


def refuse_changed(source: dict[str, Any]) -> None:
    """Refuse data that are not what they were.

    Parameters
    ----------
    source : dict
        ``Triples.source`` of the run.

    Raises
    ------
    InputError
        If the rows were given as a table in memory, so that they cannot be read again.
    FileError
        If a file is gone.
    MismatchError
        If a file's content has changed.
    """
    if source.get("path") is None or source.get("options") is None:
        raise InputError("the rows were given in memory, not as a file, so they cannot be read again")
    for file in source["files"]:
        path = existing(Path(file["path"]))
        if digest(path) != file["sha256"]:
            raise MismatchError(
                f"{path} has changed since the run: its sha256 is no longer {file['sha256'][:12]}...; "
                "put the old file back, or run again"
            )
