"""What maps pieces to parts: threads of this process, or Ray Data on many machines. Both call the same function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError
from miscal.base.threads import n_workers
from miscal.data.readers import NewSource
from miscal.data.readers.pieces import Piece
from miscal.discovery.correcting.batch import correct_rows, tally_of
from miscal.discovery.correcting.parts import Parts
from miscal.discovery.correcting.tally import Tally
from miscal.discovery.saved_model import SavedModel, load_model

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
    """

    model: str
    data: str
    options: tuple[tuple[str, Any], ...]
    parts: str
    ending: str

    def run(self, piece: Piece) -> Tally:
        """Correct a piece and put it on disk."""
        model, source = opened(self)
        rows = source.read(piece)
        table = correct_rows(model.estimator.fitted, rows)
        tally = tally_of(rows, table, model.estimator.fitted, source.encoder)
        Parts(Path(self.parts), self.ending).write(piece.number, table, tally)
        return tally


@lru_cache(maxsize=1)
def opened(job: Job) -> tuple[SavedModel, NewSource]:
    """Model and source of a job, opened once in a process."""
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
    try:
        import ray.data
    except ImportError:
        raise InputError("--engine ray needs an extra: install it with pip install 'miscal[ray]'") from None
    known = {piece.number: piece for piece in pieces}

    def run(row: dict[str, Any]) -> dict[str, Any]:
        return {"number": row["number"], "tally": asdict(job.run(Piece(**row)))}

    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    done = ray.data.from_items([asdict(piece) for piece in pieces], override_num_blocks=len(pieces)).map(run)
    for row in done.iter_rows():
        yield known[row["number"]], Tally(**row["tally"])


ENGINES: dict[str, Engine] = {"local": local, "ray": ray}
