"""The folder that `miscal score` leaves: triples.parquet and embeddings.safetensors, in the same order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, argument
from miscal.base.files import has_digest
from miscal.data.readers import parquet
from miscal.data.readers.table import Table, existing

TRIPLES = "triples.parquet"
EMBEDDINGS = "embeddings.safetensors"
MANIFEST = "manifest.json"


def accepts(source: Any) -> bool:
    """Whether `source` is such a folder."""
    return isinstance(source, Path) and source.is_dir() and (source / TRIPLES).exists()


def read(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open the folder; its embeddings are x unless others are named."""
    embeddings = path / EMBEDDINGS
    for name, wanted in _sums(path / MANIFEST).items():
        if not has_digest(path / name, wanted):
            raise CorruptFile(
                f"{path / name} is missing or has changed since `miscal score` wrote it (its sha256 differs): score "
                f"again, or name the files, {path / TRIPLES} with {argument('embeddings', str(embeddings))}"
            )
    table = parquet.read(existing(path / TRIPLES))
    return replace(table, kind="scored", embeddings=embeddings if embeddings.exists() else None)


def _sums(manifest: Path) -> dict[str, str]:
    if not manifest.exists():
        return {}
    try:
        sums = json.loads(manifest.read_text(encoding="utf-8")).get("files", {})
        return {name: sums[name] for name in (TRIPLES, EMBEDDINGS) if name in sums}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CorruptFile(f"{manifest} is damaged ({error}): score again") from None
