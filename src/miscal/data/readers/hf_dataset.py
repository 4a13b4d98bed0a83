"""Hugging Face datasets: folders written by `save_to_disk`, and dataset objects in memory.

The Arrow files are read by polars; the package `datasets` is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile, TrustError
from miscal.data.readers.table import Table, damage, existing, fits, width

STATE = "state.json"
PARTS = "dataset_dict.json"
SPLIT = "split"


def accepts(source: Any) -> bool:
    """Whether `source` is a dataset, on disk or in memory."""
    if isinstance(source, Path):
        return source.is_dir() and any((source / name).exists() for name in (STATE, PARTS, "dataset_info.json"))
    return type(source).__module__.split(".")[0] == "datasets" and hasattr(source, "to_polars")


def read(source: Any, *, encoding: str = "utf-8") -> Table:
    """Open a dataset. The parts of a DatasetDict follow one another, with their names in the column ``split``."""
    if not isinstance(source, Path):
        return Table("datasets", tuple(source.column_names), lambda names: source.select_columns(names).to_polars())
    parts = _parts(source)
    files = [file for _, folder in parts for file in _files(folder)]
    with damage(files[0], "an Arrow stream"):
        columns = tuple(pl.read_ipc_stream(files[0], n_rows=0).columns)
    add_split = len(parts) > 1 and SPLIT not in columns

    def load(names: Sequence[str]) -> pl.DataFrame:
        stored = [name for name in names if not (add_split and name == SPLIT)]
        frames = [_load(_files(folder), stored, part if add_split else None) for part, folder in parts]
        with damage(source, "one dataset"):
            return pl.concat(frames, how="vertical")[list(names)]

    return Table("datasets", (*columns, *([SPLIT] if add_split else [])), load, tuple(files))


def _parts(folder: Path) -> list[tuple[str, Path]]:
    if not (folder / PARTS).exists():
        return [("", folder)]
    names = _json(folder / PARTS).get("splits")
    if not isinstance(names, list) or not names:
        raise CorruptFile(f"{folder / PARTS} does not name its splits")
    return [(name, folder / _plain_name(name, folder)) for name in names]


def _files(folder: Path) -> list[Path]:
    entries = _json(existing(folder / STATE)).get("_data_files")
    if not isinstance(entries, list) or not entries:
        raise CorruptFile(f"{folder / STATE} does not name its data files")
    return [existing(folder / _plain_name(entry.get("filename"), folder)) for entry in entries]


def _plain_name(name: Any, folder: Path) -> str:
    if not isinstance(name, str) or PurePath(name).name != name or "\\" in name or name in ("", ".", ".."):
        raise TrustError(f"{folder} names a file outside itself, {name!r}; only plain file names are followed")
    return name


def _json(path: Path) -> dict[str, Any]:
    with damage(path, "JSON"):
        content = json.loads(path.read_text("utf-8"))
    if not isinstance(content, dict):
        raise CorruptFile(f"{path} is not a JSON object")
    return content


def _load(files: list[Path], names: Sequence[str], part: str | None) -> pl.DataFrame:
    frames = []
    for file in files:
        fits(file, 1, file.stat().st_size)
        with damage(file, "an Arrow stream"):
            frames.append(pl.read_ipc_stream(file, columns=list(names)))
    frame = pl.concat(frames, how="vertical")
    fits(files[0], len(frame), width(dict(frame.schema)))
    return frame if part is None else frame.with_columns(pl.lit(part).alias(SPLIT))
