"""Parquet files, and folders of `miscal score`: triples.parquet and embeddings.safetensors, in the same order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile, argument
from miscal.base.files import has_digest
from miscal.base.frames import scan_parquet
from miscal.data.readers.source import (
    Piece,
    Source,
    cut_evenly,
    damage,
    exactly,
    existing,
    fits,
    nan_as_null,
    not_empty,
)

MAGIC = b"PAR1"
_SAMPLE = 32
_CELL = 64
"""Bytes that a text or list cell is taken to need when sizes are estimated before reading."""
# pieces that are read together
_SLAB = 4
TRIPLES = "triples.parquet"
EMBEDDINGS = "embeddings.safetensors"
MANIFEST = "manifest.json"


class Parquet(Source):
    """A Parquet file, of which only the columns asked for are read; the embeddings of a scored folder are its x."""

    kind = "parquet"

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Tell a Parquet file by its name, or a folder of `miscal score` by what it holds."""
        if not isinstance(source, Path):
            return False
        return (source / TRIPLES).exists() if source.is_dir() else source.suffix.lower() in (".parquet", ".pq")

    def __init__(self, source: Path, encoding: str = "utf-8", *, whole: bool = True) -> None:
        path = source
        if source.is_dir():
            self.kind, path, embeddings = "scored", existing(source / TRIPLES), source / EMBEDDINGS
            _refuse_changed(source)
            self.embeddings = embeddings if embeddings.exists() else None
        _check_magic(not_empty(path))
        with damage(path, "Parquet"):
            self.schema = dict(scan_parquet(path).collect_schema())
        self.path, self.files, self.columns = path, (path,), tuple(self.schema)
        self._lock = Lock()
        self._slabs: dict[tuple[int, int, tuple[str, ...]], pl.DataFrame] = {}

    def _n_rows(self) -> int:
        with damage(self.path, "Parquet"):
            return scan_parquet(self.path).select(pl.len()).collect().item()

    def pieces(self, rows: int) -> list[Piece]:
        """Cut into pieces of so many rows."""
        return cut_evenly(self._n_rows(), rows)

    def load(
        self, names: Sequence[str], piece: Piece | None = None, *, typed: bool = False, kept: bool = False
    ) -> pl.DataFrame:
        """Read some columns; of a piece with those beside it, which the next calls ask for.

        A page of the file is unpacked whole, however few of its rows are wanted: eight times the work for a piece of
        10,000 rows of many columns, twice for a slab of four.
        """
        table = scan_parquet(self.path)
        if piece is None:
            n = self._n_rows()
            with damage(self.path, "Parquet"):
                fits(self.path, n, self._row_bytes(table, names, n))
                return nan_as_null(table.select(exactly(names, self.schema)).collect()[list(names)])
        slab, place = divmod(piece.number, _SLAB)
        # the size that all pieces but the last have
        rows = piece.start // piece.number if piece.number else piece.rows
        key = slab, rows, tuple(names)
        # one thread reads, the others find it there
        with self._lock, damage(self.path, "Parquet"):
            if key not in self._slabs:
                part = table.slice(piece.start - place * rows, _SLAB * rows).select(exactly(names, self.schema))
                # of the slabs read before, only the last can still be asked for
                self._slabs = dict([*self._slabs.items()][-1:]) | {key: part.collect()}
            return self._slabs[key][list(names)].slice(place * rows, piece.rows)

    def _row_bytes(self, table: pl.LazyFrame, names: Sequence[str], n: int) -> int:
        """Estimate the bytes of a row; of texts by some rows at the beginning, in the middle and at the end.

        Texts that repeat take next to nothing in the file, whose own sizes therefore say nothing.
        """
        kinds = [self.schema[name] for name in names]
        plain = sum(kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean for kind in kinds)
        texts = [name for name, kind in zip(names, kinds, strict=True) if kind == pl.String]
        seen = [0.0]
        if texts and n:
            lengths = table.select(exactly(texts, self.schema).str.len_bytes())
            parts = [lengths.slice(at, _SAMPLE).collect() for at in {0, n // 2, max(0, n - _SAMPLE)}]
            seen = [part.sum_horizontal().mean() or 0 for part in parts]
        return 8 * plain + _CELL * (len(kinds) - plain) + int(max(seen))


def _refuse_changed(folder: Path) -> None:
    """Refuse a scored folder whose files are not those that were written."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        return
    try:
        sums = json.loads(manifest.read_text(encoding="utf-8")).get("files", {})
        wanted = {name: sums[name] for name in (TRIPLES, EMBEDDINGS) if name in sums}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CorruptFile(f"{manifest} is damaged ({error}): score again") from None
    for name, digest in wanted.items():
        if not has_digest(folder / name, digest):
            raise CorruptFile(
                f"{folder / name} is missing or has changed since `miscal score` wrote it (its sha256 differs): score "
                f"again, or name the files, {folder / TRIPLES} with "
                f"{argument('embeddings', str(folder / EMBEDDINGS))}"
            )


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
