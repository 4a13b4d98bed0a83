"""What maps pieces to parts: threads of this process, or Ray Data on many machines. Both call the same function."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from miscal.base import errors
from miscal.base.errors import MiscalError
from miscal.base.extras import need
from miscal.base.threads import n_workers, one_thread
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
class Job:
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
        table = correct_rows(model.estimator.fitted, rows)
        tally = tally_of(rows, table, model.estimator, source.encoder, self.rows)
        Parts(Path(self.parts), self.ending).write(piece.number, table, tally)
        return tally


def opened(job: Job) -> tuple[SavedModel, NewSource]:
    """Model and source of a job, opened once in a process."""
    return _opened(replace(job, rows=0))


def forget() -> None:
    """Let go of what is open: a file may be another one by the next command, and a source keeps rows it has read."""
    _opened.cache_clear()


@lru_cache(maxsize=1)
def _opened(job: Job) -> tuple[SavedModel, NewSource]:
    model = load_model(job.model)
    return model, model.open(job.data, **dict(job.options))


Engine = Callable[[Job, Sequence[Piece]], Iterator[tuple[Piece, Tally]]]


def local(job: Job, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Tally]]:
    """Run in threads of this process, one for each processor it may use: the arithmetic lets go of the interpreter."""
    opened(job)
    threads = min(n_workers(None, max(len(pieces), 1)), _MOST_THREADS)
    if threads == 1:
        for piece in pieces:
            yield piece, job.run(piece)
        return
    waiting, running = iter(pieces), {}
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                # a piece more than there are threads: none waits for the next
                for piece in waiting:
                    running[pool.submit(job.run, piece)] = piece
                    if len(running) > threads:
                        break
                if not running:
                    return
                done: set[Future[Tally]] = wait(running, return_when=FIRST_COMPLETED).done
                # by number: the first of two errors is the same in every run
                for future in sorted(done, key=lambda one: running[one].number):
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def ray(job: Job, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Tally]]:
    """Run in tasks of Ray Data: on this machine, or on the cluster that RAY_ADDRESS names.

    Model, data and output must lie where every machine of the cluster sees them under the same path.
    """
    # Ray Data moves rows with the other two
    need("ray", "--engine ray", "ray", "pyarrow", "pandas")
    import ray
    import ray.data

    known = {piece.number: piece for piece in pieces}
    started = not ray.is_initialized()
    if started:
        # on the cluster that RAY_ADDRESS names, or on this machine
        ray.init(log_to_driver=False, include_dashboard=False, logging_level="error")
    try:
        # its own progress would stand beside ours
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        items = ray.data.from_items([asdict(piece) for piece in pieces], override_num_blocks=max(len(pieces), 1))
        done = items.map(_task, fn_kwargs={"job": job})
        for row in done.iter_rows():
            yield known[row["number"]], Tally(**_result(row["result"]))
    finally:
        if started:
            ray.shutdown()


def _task(row: dict[str, Any], job: Job) -> dict[str, Any]:
    """Correct a piece on some machine: its counts as JSON, or what the reader must mend, which Ray would wrap."""
    with one_thread():
        piece = Piece(**row)
        try:
            result = asdict(job.run(piece))
        except MiscalError as error:
            result = {"error": type(error).__name__, "message": str(error)}
    return {"number": piece.number, "result": json.dumps(result)}


def _result(text: str) -> dict[str, Any]:
    content = json.loads(text)
    if "error" in content:
        raise getattr(errors, content["error"])(content["message"])
    return content


ENGINES: dict[str, Engine] = {"local": local, "ray": ray}
