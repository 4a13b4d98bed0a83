"""Pieces of a table: corrected by workers, and each on disk whole or not there until the table is put together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.cell_store import CellStore
from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.tables import scan_parquet
from miscal.base.threads import n_workers
from miscal.base.workers import InProcess, Threads, Workers, WorkItem, choose_workers
from miscal.data.readers import NewSource
from miscal.data.readers.pieces import Piece
from miscal.data.writing import part_bytes
from miscal.discovery.saved_model import SavedModel, correct_rows, load_model
from miscal.runs.correct.tally import Tally, tally_of

# more would hold more pieces in memory, and wait for the disk
_MOST_THREADS = 8
_MANIFEST = "manifest.json"
# rows of a row group of the Parquet file: the same whatever the parts
_GROUP_ROWS = 262_144


class Parts(CellStore):
    """The parts of one table: cells with a file of rows of the table's ending, whose record is their counts."""

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


@dataclass(frozen=True)
class CorrectionJob:
    """Everything that a process needs to correct a piece; plain values, so that it can be sent to another machine.

    Folder of the saved model, file of the rows, options of `miscal.data.readers.open_new_rows`, folder of the parts,
    ending of the table, and the rows of all pieces, 0 where they are not counted yet.
    """

    model: str
    data: str
    options: tuple[tuple[str, Any], ...]
    parts: str
    ending: str
    rows: int = 0

    def run(self, piece: Piece) -> Tally:
        """Correct a piece and put it on disk."""
        model, source = opened(self)
        rows = source.read(piece)
        table = correct_rows(model.estimator.fitted, rows, model.classes)
        tally = tally_of(rows, table, model.estimator, source.encoder, self.rows)
        Parts(Path(self.parts), self.ending).write(piece.number, table, tally)
        return tally


def opened(job: CorrectionJob) -> tuple[SavedModel, NewSource]:
    """Model and source of a job, opened once in a process."""
    return _opened(replace(job, rows=0))


def forget() -> None:
    """Let go of what is open: a file may be another one by the next command, and a source keeps rows it has read."""
    _opened.cache_clear()


@lru_cache(maxsize=1)
def _opened(job: CorrectionJob) -> tuple[SavedModel, NewSource]:
    model = load_model(job.model)
    return model, model.open(job.data, **dict(job.options))


def correct_pieces(job: CorrectionJob, pieces: Sequence[Piece], engine: str) -> Iterator[tuple[Piece, Tally]]:
    """Correct pieces, each of which is put on disk; yield what each adds to the counts, as they come.

    The engine "local" takes threads of this process, one for each processor it may use (the arithmetic lets go of the
    interpreter); "ray" this machine, or the cluster that RAY_ADDRESS names. Model, data and output must lie where every
    machine of the cluster sees them under the same path.
    """
    with choose_workers(engine, lambda: _local_workers(len(pieces))) as workers:
        yield from workers.results(WorkItem(f"piece {piece.number}", job.run, (piece,), key=piece) for piece in pieces)


def _local_workers(n: int) -> Workers:
    threads = min(n_workers(None, max(n, 1)), _MOST_THREADS)
    return InProcess() if threads == 1 else Threads(threads)
