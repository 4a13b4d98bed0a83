"""Workers compute tasks: in this process, in its threads, in processes of their own or on a Ray cluster.

Which of them it is changes no result. A task is begun with `submit`, and `next` waits until one has ended; `run` does
both for a sequence of tasks and keeps no more of them, and of their results, in memory than there is room for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any

from miscal.base.errors import InputError, MiscalError, ResourceError, argument
from miscal.base.process import need, one_thread, without_warning

ENGINES = ("local", "ray")
RAY_RETRIES = 3
"""How often Ray tries a task again whose worker died."""

GRACE_SECONDS = 10.0
"""Time that a process has to tidy up once it was told to end."""

_LOOK_SECONDS = 0.5

_COPYING = ContextVar("copying", default=False)


@contextmanager
def copying() -> Iterator[None]:
    """Let processes be copies of this one, for the length of a ``with`` block, on Linux: they import nothing anew.

    That is for commands, which start no thread that holds a lock for long: a copy has the lock, but not the thread.
    """
    token = _COPYING.set(sys.platform == "linux")
    try:
        yield
    finally:
        _COPYING.reset(token)


def copied() -> bool:
    """Whether processes are copies of this one; torch's threads would be missing in them.

    >>> copied()
    False
    """
    return _COPYING.get() and "torch" not in sys.modules


@dataclass(frozen=True)
class WorkItem:
    """A piece of work: a function, which other processes import by its name, and its arguments, which are pickled.

    ``name`` is what errors call it, ``key`` what the caller knows it by. ``one_thread`` keeps its arithmetic to one
    thread, because the number of threads changes last bits; ``gpu`` says that it is faster on a GPU, ``cpus`` how many
    processors of a cluster it takes. ``instead`` is computed in its place if its process is ended from outside.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    key: Any = None
    one_thread: bool = True
    gpu: bool = False
    cpus: int = 1
    instead: WorkItem | None = None

    def compute(self) -> Any:
        """Compute it here."""
        return _compute(self.function, self.arguments, self.one_thread)


@dataclass(frozen=True)
class Ended:
    """How a task ended: with a value, or with an error."""

    task: WorkItem
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the value, or raise the error; what is no plain message to the user names the task in a note."""
        if isinstance(self.error, LostWorker):
            raise LostWorker(f"{self.task.name}: {self.error}") from self.error
        if self.error is not None:
            if not isinstance(self.error, MiscalError):
                self.error.add_note(f"while {self.task.name} was computed")
            raise self.error
        return self.value


class LostWorker(ResourceError):
    """The process that computed a task was ended from outside."""


class Workers(ABC):
    """Computes tasks for the length of a ``with`` block.

    ``room`` is how many tasks can be begun before one has ended, ``gpus`` how many GPUs its workers have one each of (0
    where they see what there is), and ``elsewhere`` says whether other processes compute.
    """

    room = 1
    gpus = 0
    elsewhere = False

    @abstractmethod
    def submit(self, task: WorkItem) -> None:
        """Begin a task."""

    @abstractmethod
    def next(self) -> Ended:
        """Wait until a task has ended, and return how."""

    def run(self, tasks: Iterable[WorkItem | None]) -> Iterator[Ended]:
        """Begin tasks as there is room, and yield how they ended, in the order in which they do.

        None in place of a task says that no task can begin before another one has ended.

        >>> [ended.value for ended in InProcess().run(WorkItem("a square", pow, (n, 2)) for n in range(3))]
        [0, 1, 4]
        """
        coming, running, done = iter(tasks), 0, False
        while True:
            while not done and running < self.room:
                task = next(coming, _END)
                if task is None:
                    break
                done = task is _END
                if not done:
                    self.submit(task)  # type: ignore[arg-type]
                    running += 1
            if not running:
                return
            ended, running = self.next(), running - 1
            yield ended

    def results(self, tasks: Iterable[WorkItem]) -> Iterator[tuple[Any, Any]]:
        """Compute tasks, and yield the key and the value of each as it ends.

        After an error no further task is begun, and those that are running are waited for. Of several errors, that of
        the first task is raised, which is the same in every run.

        Parameters
        ----------
        tasks : iterable of WorkItem
            Their keys differ.
        """
        numbers: dict[Any, int] = {}
        failed: list[tuple[int, Ended]] = []

        def numbered() -> Iterator[WorkItem]:
            for number, task in enumerate(tasks):
                if failed:
                    return
                numbers[task.key] = number
                yield task

        for ended in self.run(numbered()):
            number = numbers.pop(ended.task.key)
            if ended.error is None:
                yield ended.task.key, ended.value
            else:
                failed.append((number, ended))
        if failed:
            min(failed, key=lambda one: one[0])[1].result()

    def close(self) -> None:  # noqa: B027
        """End what is still computing, and what was started for it."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_END = object()


class InProcess(Workers):
    """Computes in this process, one task after another, as they are waited for."""

    def __init__(self) -> None:
        self._waiting: deque[WorkItem] = deque()

    def submit(self, task: WorkItem) -> None:
        """Note a task."""
        self._waiting.append(task)

    def next(self) -> Ended:
        """Compute the oldest task."""
        task = self._waiting.popleft()
        try:
            return Ended(task, task.compute())
        except Exception as error:
            return Ended(task, error=error)


class _Pool(Workers):
    """Has tasks computed by futures."""

    def __init__(self) -> None:
        self._running: dict[Future[Any], WorkItem] = {}

    def next(self) -> Ended:
        """Wait for any task; of several that have ended, for the one that was begun first."""
        return self._first()[1]

    def _first(self) -> tuple[Future[Any], Ended]:
        # a signal that a library's thread receives is seen when this one wakes
        while not (done := wait(self._running, _LOOK_SECONDS, FIRST_COMPLETED).done):
            pass
        future = next(one for one in self._running if one in done)
        task, error = self._running.pop(future), future.exception()
        return future, Ended(task, error=error) if error is not None else Ended(task, future.result())


class Threads(_Pool):
    """Computes in threads of this process, whose arithmetic is on one thread meanwhile.

    One task more than there are threads is begun, so that none of them waits for the next.
    """

    def __init__(self, n: int) -> None:
        from threadpoolctl import threadpool_limits

        super().__init__()
        self.room = n + 1
        # OpenMP keeps a limit for each thread
        self._threads = ThreadPoolExecutor(n, initializer=threadpool_limits, initargs=(1,))
        self._open = ExitStack()

    def __enter__(self) -> Workers:
        # the number of threads is one of the process: the tasks cannot change it each for itself
        self._open.enter_context(one_thread())
        return self

    def submit(self, task: WorkItem) -> None:
        """Begin a task."""
        self._running[self._threads.submit(task.function, *task.arguments)] = task

    def close(self) -> None:
        """Wait for what is running; what has not begun never does."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._open.close()


class Processes(_Pool):
    """Computes in processes; one that the system ends takes no more than its own task with it, and is replaced.

    Parameters
    ----------
    n : int
        Number of processes.
    gpus : sequence of str, default ()
        As ``CUDA_VISIBLE_DEVICES`` names them; they are dealt to the processes in turn, one to each. Without any, every
        process sees what this one does.
    remedy : str
        What a message advises when a process was ended.
    """

    elsewhere = True

    def __init__(self, n: int, gpus: Sequence[str] = (), *, remedy: str = "use fewer processes") -> None:
        super().__init__()
        self.room, self.gpus, self.remedy = n, min(n, len(gpus)), remedy
        self._free = [_Worker.on(gpus[number % len(gpus)] if gpus else None) for number in range(n)]
        self._busy: dict[Future[Any], _Worker] = {}

    def submit(self, task: WorkItem) -> None:
        """Begin a task, where there is a choice on a GPU that no other one needs."""
        taken = {worker.gpu for future, worker in self._busy.items() if self._running[future].gpu}
        idle = [at for at, worker in enumerate(self._free) if worker.gpu not in taken]
        worker = self._free.pop(idle[0] if idle and task.gpu else -1)
        # the first task of a process starts it
        with _interrupts_held(), without_warning(DeprecationWarning, "This process"):
            future = worker.pool.submit(_compute, task.function, task.arguments, task.one_thread)
        self._running[future], self._busy[future] = task, worker

    def next(self) -> Ended:
        """Wait for any task; one whose process was ended is replaced by what is computed instead."""
        while True:
            future, ended = self._first()
            worker = self._busy.pop(future)
            lost = isinstance(ended.error, BrokenProcessPool | SystemExit)
            if lost:
                worker.pool.shutdown(wait=False)
                worker = _Worker.on(worker.gpu)
            self._free.append(worker)
            if not lost:
                return ended
            if ended.task.instead is None:
                why = "the process that computed it was ended from outside, probably for lack of memory"
                return Ended(ended.task, error=LostWorker(f"{why}: {self.remedy}"))
            self.submit(ended.task.instead)

    def close(self) -> None:
        """End the processes, what they compute included."""
        workers = [*self._free, *self._busy.values()]
        processes = [one for worker in workers for one in list((worker.pool._processes or {}).values())]
        for process in processes:
            process.terminate()
        # an exit that is raised while a library calls back is lost: such a process goes on, and is ended at once
        late = time.monotonic() + GRACE_SECONDS
        for process in processes:
            if not connection.wait([process.sentinel], max(0.0, late - time.monotonic())):
                process.kill()
        for worker in workers:
            worker.pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class _Worker:
    """A process of its own, and the GPU that it sees; None for whichever there are."""

    pool: Executor
    gpu: str | None

    @classmethod
    def on(cls, gpu: str | None) -> _Worker:
        copy = copied()
        context, told = get_context("fork" if copy else "spawn"), (gpu, copy)
        return cls(ProcessPoolExecutor(max_workers=1, mp_context=context, initializer=_prepare, initargs=told), gpu)


def _compute(function: Callable[..., Any], arguments: tuple[Any, ...], on_one_thread: bool) -> Any:
    with one_thread() if on_one_thread else nullcontext():
        return function(*arguments)


def _prepare(gpu: str | None, copy: bool) -> None:
    """Let a process see its own GPU, and end with the one that started it and as that one says.

    Ctrl-C reaches both, and is the other's to answer. When the other is gone nothing else would end this one, which
    holds locks of folders.
    """
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # an exit tidies up, which the default answer to a signal does not; a copy owns nothing
    signal.signal(signal.SIGTERM, signal.SIG_DFL if copy else lambda *_: sys.exit(1))
    parent = parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait, here and in a process that is started meanwhile: one that still imports would print a traceback.

    Windows has no such mask; there it may.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start clears the mask, so not within it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Ray(_Pool):
    """Computes in tasks of a Ray cluster: on this machine, or at an address; a task whose worker dies is tried again.

    Files must lie where every machine of the cluster sees them under the same path.

    Parameters
    ----------
    address : str, optional
        Of an existing cluster; default: the one that RAY_ADDRESS names, else one is started on this machine.
    """

    elsewhere = True

    def __init__(self, address: str | None = None) -> None:
        super().__init__()
        need("ray", "--engine ray", "ray")
        self.address = address

    def __enter__(self) -> Workers:
        import ray

        self._ray, self._started = ray, not ray.is_initialized()
        if self._started:
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False, logging_level="error")
        self._remote = ray.remote(max_retries=RAY_RETRIES)(_compute)
        return self

    @property
    def room(self) -> int:  # type: ignore[override]
        """Processors of the cluster, and one task more: a cluster that grows does so where a task waits."""
        return int(self._ray.cluster_resources().get("CPU", 1)) + 1

    @property
    def gpus(self) -> int:  # type: ignore[override]
        """GPUs of the cluster."""
        return int(self._ray.cluster_resources().get("GPU", 0))

    def submit(self, task: WorkItem) -> None:
        """Begin a task; one that is faster on a GPU takes one where there is one."""
        remote = self._remote.options(num_cpus=task.cpus, num_gpus=min(1, self.gpus) if task.gpu else 0)
        self._running[remote.remote(task.function, task.arguments, task.one_thread).future()] = task

    def next(self) -> Ended:
        """Wait for any task."""
        ended, errors = super().next(), self._ray.exceptions
        if isinstance(ended.error, errors.RayTaskError):
            return Ended(ended.task, error=ended.error.cause)
        if isinstance(ended.error, errors.RayError):
            first = str(ended.error).splitlines()[0]
            lost = LostWorker(f"Ray lost it after {RAY_RETRIES} retries ({first}): check the cluster")
            return Ended(ended.task, error=lost)
        return ended

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        if self._started:
            self._ray.shutdown()


def choose_workers(engine: str, local: Callable[[], Workers], ray_address: str | None = None) -> Workers:
    """Choose what computes.

    Parameters
    ----------
    local : callable
        Returns the workers of this machine.
    ray_address : str, optional
        Of an existing Ray cluster.
    """
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    if ray_address is not None and engine != "ray":
        raise InputError(
            f"ray_address can be given with engine ray only: leave it out, or give {argument('engine', 'ray')}"
        )
    return Ray(ray_address) if engine == "ray" else local()
