"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile
from miscal.data.readers.table import Table, damage, fits, not_empty, width

MAGIC = b"PAR1"
NAMES = (".parquet", ".pq")


def accepts(source: Any) -> bool:
    """Whether `source` is a Parquet file by its name."""
    return isinstance(source, Path) and source.suffix.lower() in NAMES and not source.is_dir()


def read(path: Path, *, encoding: str = "utf-8") -> Table:
    """Open a Parquet file; only the columns asked for are read later."""
    _check_magic(not_empty(path))
    with damage(path, "Parquet"):
        # glob=False: a name that holds * or [ is a name
        schema = dict(pl.scan_parquet(path, glob=False).collect_schema())

    def load(columns: Sequence[str]) -> pl.DataFrame:
        with damage(path, "Parquet"):
            table = pl.scan_parquet(path, glob=False)
            fits(path, table.select(pl.len()).collect().item(), width({c: schema[c] for c in columns}))
            return table.select(columns).collect()

    return Table("parquet", tuple(schema), load, (path,))


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
