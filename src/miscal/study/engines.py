"""Compute cells in this process, in several processes or on a Ray cluster; all give the same results.

An error ends its own cell alone: it becomes part of the cell's outcome.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process
from typing import Any, Protocol

from miscal.base.errors import InputError, InternalError, MiscalError
from miscal.base.extras import installed, need
from miscal.base.processes import interrupts_held
from miscal.base.threads import one_thread
from miscal.study.plan import Plan
from miscal.study.tables import TABLES

Job = Any
"""A :class:`miscal.study.steps.Job`, whose module is heavy."""

_LOST = "the process that computed it was ended from outside, probably for lack of memory: give fewer --jobs"


class Engine(Protocol):
    """Takes jobs, and hands over their outcomes as they come.

    ``room`` is how many jobs it works on at a time, and ``models`` how many of them may ask a language model.
    """

    room: int
    models: int

    def submit(self, job: Job) -> None:
        """Begin a job."""

    def next(self) -> CellOutcome:
        """Wait for the outcome of any job that was begun."""


class InProcess:
    """Compute in this process, one cell after another."""

    room = models = 1

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        """Begin a job."""
        self._jobs.append(job)

    def next(self) -> CellOutcome:
        """Compute the oldest job."""
        return _alike(self._jobs.popleft())


@dataclass(frozen=True)
class _Worker:
    """A process of its own, and the GPU that it sees; None for whichever there are."""

    pool: ProcessPoolExecutor
    gpu: str | None

    @classmethod
    def on(cls, gpu: str | None) -> _Worker:
        context = get_context("spawn")
        return cls(ProcessPoolExecutor(max_workers=1, mp_context=context, initializer=_prepare, initargs=(gpu,)), gpu)


class Processes:
    """Compute in so many processes; one that the system ends takes no more than its own cell with it.

    Parameters
    ----------
    room : int
        Number of processes.
    gpus : sequence of str, default ()
        As ``CUDA_VISIBLE_DEVICES`` names them; they are dealt to the processes in turn, one to each. Without any, every
        process sees what this one does.
    """

    def __init__(self, room: int, gpus: Sequence[str] = ()) -> None:
        self.room, self.models = room, max(1, min(room, len(gpus)))
        self._free = [_Worker.on(gpus[number % len(gpus)] if gpus else None) for number in range(room)]
        self._running: dict[Future[CellOutcome], tuple[Job, _Worker]] = {}

    def submit(self, job: Job) -> None:
        """Begin a job, where there is a choice on a GPU that no other one needs."""
        busy = {worker.gpu for other, worker in self._running.values() if wants_gpu(other)}
        idle = [at for at, worker in enumerate(self._free) if worker.gpu not in busy]
        worker = self._free.pop(idle[0] if idle and wants_gpu(job) else -1)
        # the first job of a pool starts its process
        with interrupts_held():
            self._running[worker.pool.submit(_alike, job)] = (job, worker)

    def next(self) -> CellOutcome:
        """Wait for the outcome of any job."""
        done = next(iter(wait(self._running, return_when=FIRST_COMPLETED).done))
        job, worker = self._running.pop(done)
        try:
            found = done.result()
        except (BrokenProcessPool, SystemExit):
            worker.pool.shutdown(wait=False)
            worker, found = _Worker.on(worker.gpu), CellOutcome(job.cell.name, 0.0, message=_LOST)
        self._free.append(worker)
        return found

    def close(self) -> None:
        """End the processes, what they compute included."""
        for worker in [*self._free, *(worker for _, worker in self._running.values())]:
            for process in list((worker.pool._processes or {}).values()):
                process.terminate()
            worker.pool.shutdown(wait=True, cancel_futures=True)


def gpus_to_deal(plan: Plan) -> tuple[str, ...]:
    """Name the GPUs that processes of a study are to have one each of.

    None where there are fewer than two, or where a pair names the number of its own, which a process that sees another
    GPU alone would not find.
    """
    numbered = any(pair.score is not None and ":" in pair.score.device for pair in plan.pairs)
    if numbered or not installed("torch"):
        return ()
    from miscal.scoring.executors import visible_gpus

    gpus = visible_gpus()
    return gpus if len(gpus) > 1 else ()


def wants_gpu(job: Job) -> bool:
    """Whether a cell is faster on a GPU: one that asks a model, or that trains the paper's phi."""
    if job.cell.kind == "score":
        return not job.pair.score.device.startswith("cpu")
    return job.cell.method == "paper" and job.cell.kind in _TRAINING and job.pair.device != "cpu"


_TRAINING = ("discover", "audit")


def _prepare(gpu: str | None) -> None:
    """Let a process see its own GPU, and end with the one that started it and as that one says.

    Ctrl-C reaches both, and is the other's to answer. When the other is gone nothing else would end this one, which
    holds locks of folders.
    """
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # an exit tidies up, which the default answer to a signal does not
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parent = parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _alike(job: Job) -> CellOutcome:
    """Compute on one thread wherever it is, because the number of threads changes last bits; fits have processes.

    A model that is asked is left its threads: its folder notes what its numbers depend on.
    """
    if job.cell.kind == "score":
        return compute(job)
    with one_thread():
        return compute(job)


class Ray:
    """Compute in tasks of a Ray cluster: on this machine, or at an address.

    Data and output must lie where every machine of the cluster sees them under the same path.
    """

    def __init__(self, address: str | None) -> None:
        need("ray", "--engine ray", "ray")
        import ray

        self._ray = ray
        self._started = not ray.is_initialized()
        if self._started:
            ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level="error")
        resources = ray.cluster_resources()
        self.room = max(1, int(resources.get("CPU", 1)))
        self.models = max(1, int(resources.get("GPU", 0)))
        self._gpus = min(1, int(resources.get("GPU", 0)))
        self._running: dict[Any, Job] = {}

    def submit(self, job: Job) -> None:
        """Begin a job; one that is faster on a GPU takes one where there is one."""
        gpus = self._gpus if wants_gpu(job) else 0
        task = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=3)(_alike)
        self._running[task.remote(job)] = job

    def next(self) -> CellOutcome:
        """Wait for the outcome of any job."""
        [done], _ = self._ray.wait(list(self._running), num_returns=1)
        job = self._running.pop(done)
        try:
            return self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            first = str(error).splitlines()[0]
            return CellOutcome(
                job.cell.name, 0.0, message=f"Ray lost it after three retries ({first}): check the cluster"
            )

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        if self._started:
            self._ray.shutdown()


@contextmanager
def open_engine(
    name: str, *, n_jobs: int, ray_address: str | None = None, gpus: Sequence[str] = ()
) -> Iterator[Engine]:
    """Open an engine for the length of a ``with`` block.

    Parameters
    ----------
    name : {"local", "ray"}
    n_jobs : int
        Processes of the local engine; with one, this process computes.
    ray_address : str, optional
        Of an existing cluster.
    gpus : sequence of str, default ()
        That the processes of the local engine have one each of (:func:`gpus_to_deal`); Ray deals its own.

    Raises
    ------
    InputError
        If there is no such engine, Ray is not installed, or an option does not belong to it.
    """
    if name not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}; got {name!r}")
    if ray_address is not None and name != "ray":
        raise InputError("ray_address can be given with engine ray only: leave it out, or give --engine ray")
    if name == "local" and n_jobs == 1:
        yield InProcess()
        return
    opened = Ray(ray_address) if name == "ray" else Processes(n_jobs, gpus)
    try:
        yield opened
    finally:
        opened.close()


ENGINES = ("local", "ray")


@dataclass(frozen=True)
class CellOutcome:
    """How a cell ended.

    Attributes
    ----------
    name : str
        Of the cell.
    seconds : float
    rows, facts : mapping
        What it left.
    message : str or None
        Why it failed, in one sentence; None where it did not.
    mendable : bool
        Whether the user can mend what failed; False for a fault of miscal.
    """

    name: str
    seconds: float
    rows: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    message: str | None = None
    mendable: bool = True


def compute(job: Any) -> CellOutcome:
    """Compute a cell; an error becomes part of the outcome, so that other cells go on.

    Parameters
    ----------
    job : miscal.study.steps.Job

    Returns
    -------
    CellOutcome
    """
    # heavy imports are for the processes that compute
    from miscal.study.steps import STEPS

    start = time.monotonic()
    try:
        found = STEPS[job.cell.kind](job)
        check_rows(found.rows)
    except Exception as error:  # whatever one pair does, the others go on
        mendable, message = _error_message(error)
        return CellOutcome(job.cell.name, time.monotonic() - start, message=message, mendable=mendable)
    return CellOutcome(job.cell.name, time.monotonic() - start, found.rows, dict(found.facts))


def _error_message(error: Exception) -> tuple[bool, str]:
    if isinstance(error, MiscalError):
        return not isinstance(error, InternalError), str(error)
    words = f"{type(error).__name__}: {error}".rstrip(": ")
    return isinstance(error, OSError | MemoryError), " ".join(words.split())


def check_rows(rows: Mapping[str, Any]) -> None:
    """Refuse rows that do not have the columns of their table.

    Raises
    ------
    InternalError
        Naming the table and the columns.
    """
    for name, some in rows.items():
        if name not in TABLES:
            raise InternalError(f"there is no table {name!r}")
        wanted = set(TABLES[name].columns)
        for row in some:
            if set(row) != wanted:
                raise InternalError(f"a row of the table {name} has other columns: {sorted(set(row) ^ wanted)} differ")
