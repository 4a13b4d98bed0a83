"""Parquet files, and folders of `miscal score`: triples.parquet and embeddings.safetensors, in the same order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile, argument
from miscal.base.files import has_digest
from miscal.base.frames import scan_parquet
from miscal.data.readers.table import Table, damage, exactly, existing, fits, not_empty, width

MAGIC = b"PAR1"
NAMES = (".parquet", ".pq")
_SAMPLE = 32
TRIPLES = "triples.parquet"
EMBEDDINGS = "embeddings.safetensors"
MANIFEST = "manifest.json"


def accepts(source: Any) -> bool:
    """Whether `source` is a Parquet file by its name, or a folder of `miscal score`."""
    if not isinstance(source, Path):
        return False
    return (source / TRIPLES).exists() if source.is_dir() else source.suffix.lower() in NAMES


def read(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open a Parquet file; only the columns asked for are read later. The embeddings of a folder are its x."""
    if path.is_dir():
        return _scored(path)
    _check_magic(not_empty(path))
    with damage(path, "Parquet"):
        schema = dict(scan_parquet(path).collect_schema())

    def load(columns: Sequence[str]) -> pl.DataFrame:
        with damage(path, "Parquet"):
            table = scan_parquet(path)
            n_rows, wanted = table.select(pl.len()).collect().item(), {c: schema[c] for c in columns}
            fits(path, n_rows, width(wanted) + _text_bytes(table, wanted, n_rows, tuple(schema)))
            return table.select(exactly(columns, tuple(schema))).collect()[list(columns)]

    return Table("parquet", tuple(schema), load, (path,))


def _scored(path: Path) -> Table:
    """Open a scored folder, whose files must be those that were written."""
    embeddings = path / EMBEDDINGS
    for name, wanted in _sums(path / MANIFEST).items():
        if not has_digest(path / name, wanted):
            raise CorruptFile(
                f"{path / name} is missing or has changed since `miscal score` wrote it (its sha256 differs): score "
                f"again, or name the files, {path / TRIPLES} with {argument('embeddings', str(embeddings))}"
            )
    table = read(existing(path / TRIPLES))
    return replace(table, kind="scored", embeddings=embeddings if embeddings.exists() else None)


def _sums(manifest: Path) -> dict[str, str]:
    if not manifest.exists():
        return {}
    try:
        sums = json.loads(manifest.read_text(encoding="utf-8")).get("files", {})
        return {name: sums[name] for name in (TRIPLES, EMBEDDINGS) if name in sums}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CorruptFile(f"{manifest} is damaged ({error}): score again") from None


def _text_bytes(table: pl.LazyFrame, schema: dict[str, Any], n_rows: int, columns: tuple[str, ...]) -> int:
    """Estimate the bytes of a row's texts by some rows at the beginning, in the middle and at the end.

    Texts that repeat take next to nothing in the file, whose own sizes therefore say nothing.
    """
    texts = [name for name, kind in schema.items() if kind == pl.String]
    if not texts or not n_rows:
        return 0
    lengths = table.select(exactly(texts, columns).str.len_bytes())
    places = {0, n_rows // 2, max(0, n_rows - _SAMPLE)}
    seen = [lengths.slice(place, _SAMPLE).collect().sum_horizontal().mean() for place in places]
    return int(max(mean or 0 for mean in seen))


def _check_magic(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(4)
        # a file of under four bytes has no place four before its end
        file.seek(-min(4, path.stat().st_size), 2)
        tail = file.read(4)
    if head != MAGIC:
        raise CorruptFile(f"{path} is not a Parquet file: it begins with {head!r}, not {MAGIC!r}")
    if tail != MAGIC:
        raise CorruptFile(f"{path} is cut short: at byte {path.stat().st_size} the end mark {MAGIC!r} is missing")
