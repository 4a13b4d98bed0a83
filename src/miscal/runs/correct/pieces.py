"""What every process that corrects pieces of a table needs, and the workers that do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from miscal.base.threads import n_workers
from miscal.base.workers import InProcess, Threads, Workers, WorkItem, choose_workers
from miscal.data.readers import NewSource
from miscal.data.readers.pieces import Piece
from miscal.discovery.corrected_rows import correct_rows
from miscal.discovery.saved_model import SavedModel, load_model
from miscal.runs.correct.parts import Parts
from miscal.runs.correct.piece_tally import tally_of
from miscal.runs.correct.tally import Tally

# more would hold more pieces in memory, and wait for the disk
_MOST_THREADS = 8


@dataclass(frozen=True)
class CorrectionJob:
    """Everything that a process needs to correct a piece; plain values, so that it can be sent to another machine.

    Attributes
    ----------
    model : str
        Folder of the saved model.
    data : str
        File of the rows.
    options : tuple of (str, object)
        Options of :func:`miscal.data.readers.open_new_rows`.
    parts : str
        Folder of the parts.
    ending : str
        Of the table.
    rows : int
        Rows of all pieces; 0 where they are not counted yet.
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

    Parameters
    ----------
    job : CorrectionJob
    pieces : sequence of Piece
    engine : {"local", "ray"}
        Threads of this process, one for each processor it may use (the arithmetic lets go of the interpreter), or Ray:
        on this machine, or on the cluster that RAY_ADDRESS names. Model, data and output must lie where every machine
        of the cluster sees them under the same path.
    """
    with choose_workers(engine, lambda: _local_workers(len(pieces))) as workers:
        yield from workers.results(WorkItem(f"piece {piece.number}", job.run, (piece,), key=piece) for piece in pieces)


def _local_workers(n: int) -> Workers:
    threads = min(n_workers(None, max(n, 1)), _MOST_THREADS)
    return InProcess() if threads == 1 else Threads(threads)
