"""The folder that `miscal score` leaves: triples.parquet and embeddings.safetensors, in the same order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from miscal.readers import parquet
from miscal.readers.table import Table, existing

TRIPLES = "triples.parquet"
EMBEDDINGS = "embeddings.safetensors"


def accepts(source: Any) -> bool:
    """Whether `source` is such a folder."""
    return isinstance(source, Path) and source.is_dir() and (source / TRIPLES).exists()


def read(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open the folder; its embeddings are x unless others are named."""
    table = parquet.read(existing(path / TRIPLES))
    embeddings = path / EMBEDDINGS
    return replace(table, kind="scored", embeddings=embeddings if embeddings.exists() else None)
