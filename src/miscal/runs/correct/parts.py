"""Parts of a table on disk: each whole or not there, so that a command that was stopped goes on where it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.cell_store import CellStore
from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.tables import scan_parquet
from miscal.data.writing import part_bytes
from miscal.runs.correct.tally import Tally

_MANIFEST = "manifest.json"
# rows of a row group of the Parquet file: the same whatever the parts
_GROUP_ROWS = 262_144


class Parts(CellStore):
    """The parts of one table: cells with a file of rows, whose record is their counts.

    Parameters
    ----------
    folder : Path
    ending : str
        That of the table: ``.parquet``, ``.csv`` or ``.jsonl``.
    """

    def __init__(self, folder: Path, ending: str) -> None:
        super().__init__(folder, (ending,))
        self.ending = ending

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Keep the parts that are there if they are of the same command, model and data; else start anew."""
        manifest = self.folder / _MANIFEST
        wanted = json.dumps(identity, sort_keys=True)
        try:
            same = manifest.read_text(encoding="utf-8") == wanted
        except OSError:
            same = False
        if not same:
            self.remove()
            with disk_errors(f"folder {self.folder}"):
                self.folder.mkdir(parents=True)
                replace_file(manifest, wanted.encode())

    def tally(self, number: int) -> Tally | None:
        """Return the counts of a part that is done; None if it is not."""
        record = self.find(f"{number:07}")
        try:
            return None if record is None else Tally(**record)
        except (TypeError, AttributeError):
            return None

    def write(self, number: int, table: pl.DataFrame, tally: Tally) -> None:
        """Put a part on disk; see `save`."""
        content = part_bytes(table, self.ending)
        self.save(f"{number:07}", asdict(tally), {self.ending: lambda path: path.write_bytes(content)})

    def join(self, numbers: Sequence[int], schema: Mapping[str, Any], out: Path) -> None:
        """Put the table together, and in its place when it is whole."""
        paths = [self.path(f"{number:07}", self.ending) for number in numbers]
        write_whole(out, lambda partial: self._join(paths, schema, partial))

    def _join(self, paths: list[Path], schema: Mapping[str, Any], partial: Path) -> None:
        if self.ending == ".parquet":
            scan = scan_parquet(paths, schema)
            scan.sink_parquet(partial, compression="zstd", row_group_size=_GROUP_ROWS, maintain_order=True)
            return
        with partial.open("wb") as whole:
            if self.ending == ".csv":
                whole.write(part_bytes(pl.DataFrame(schema=schema), self.ending, header=True))
            for path in paths:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, whole)

    def remove(self) -> None:
        """Remove all parts."""
        shutil.rmtree(self.folder, ignore_errors=True)
