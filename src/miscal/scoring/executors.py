"""Who computes the batches: this process, one process per device, or a Ray cluster. All give the same numbers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import lru_cache
from multiprocessing import get_context
from typing import Any, Protocol

from miscal.base.errors import InputError, ResourceError
from miscal.base.extras import need
from miscal.base.processes import interrupts_held
from miscal.scoring.candidates import Encoded
from miscal.scoring.engine import BatchResult, LanguageModel, Runner
from miscal.scoring.model_source import ModelSpec

ATTEMPTS = 3

Job = tuple[int, Sequence[Encoded]]  # number of the batch, its rows
Model = LanguageModel | ModelSpec


class Executor(Protocol):
    """Runs batches, in any order, and hands each result over as it is done.

    ``elsewhere`` tells whether other processes compute: they are sent a `ModelSpec` and load the weights themselves.
    """

    elsewhere: bool

    def run(self, model: Model, jobs: Sequence[Job]) -> Iterator[tuple[int, BatchResult]]:
        """Yield (number of the batch, result)."""


@lru_cache(maxsize=1)
def _runner(spec: ModelSpec) -> Runner:
    from miscal.scoring.huggingface import HuggingFaceModel

    return Runner(HuggingFaceModel(spec))


def work(model: Model, batch: Sequence[Encoded], most_rows: int | None = None) -> BatchResult:
    """Compute one batch in whatever process this is; a `ModelSpec` is loaded once per process."""
    runner = _runner(model) if isinstance(model, ModelSpec) else Runner(model)
    if most_rows:
        runner.most_rows = min(runner.most_rows or most_rows, most_rows)
    return runner.run(batch)


class Local:
    """Compute in the calling process."""

    elsewhere = False

    def run(self, model: LanguageModel, jobs: Sequence[Job]) -> Iterator[tuple[int, BatchResult]]:
        """Yield (number of the batch, result), in order."""
        runner = Runner(model)
        for index, batch in jobs:
            yield index, runner.run(batch)


class Processes:
    """One process per device; a worker that the system kills is started again with half the rows per pass.

    Parameters
    ----------
    devices : sequence of str
        For instance ("cuda:0", "cuda:1") or ("cpu", "cpu").
    """

    elsewhere = True

    def __init__(self, devices: Sequence[str]) -> None:
        self.devices = tuple(devices)

    def run(self, model: Model, jobs: Sequence[Job]) -> Iterator[tuple[int, BatchResult]]:
        """Yield (number of the batch, result) as they are done.

        Raises
        ------
        ResourceError
            If a batch kills its worker three times.
        """
        waiting, running = list(reversed(jobs)), {}
        pools = [_pool() for _ in self.devices]
        try:
            for slot in range(len(pools)):
                self._start(model, waiting, running, pools, slot)
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    slot, job, attempt = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        pools[slot] = _pool()
                        self._again(model, running, pools, (slot, job, attempt))
                        continue
                    yield job[0], future.result()
                    self._start(model, waiting, running, pools, slot)
        finally:
            for pool in pools:
                pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, model: Model, pool: ProcessPoolExecutor, slot: int, job: Job, most_rows: int | None) -> Future:
        here = replace(model, device=self.devices[slot]) if isinstance(model, ModelSpec) else model
        with interrupts_held():  # the first job of a pool starts its process
            return pool.submit(work, here, job[1], most_rows)

    def _start(self, model: Model, waiting: list, running: dict, pools: list, slot: int) -> None:
        if waiting:
            job = waiting.pop()
            running[self._submit(model, pools[slot], slot, job, None)] = (slot, job, 1)

    def _again(self, model: Model, running: dict, pools: list, lost: tuple[int, Job, int]) -> None:
        slot, job, attempt = lost
        if attempt == ATTEMPTS:
            raise ResourceError(
                f"batch {job[0]} killed its worker process {ATTEMPTS} times, probably for lack of memory; give "
                "smaller --batch-tokens"
            )
        rows = max(1, len(job[1]) >> attempt)
        running[self._submit(model, pools[slot], slot, job, rows)] = (slot, job, attempt + 1)


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"), initializer=_end_without_a_word)


def _end_without_a_word() -> None:
    """Let Ctrl-C end a worker as it stands; the process that started it says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


class Ray:
    """Tasks of a Ray cluster; a task whose worker dies is retried.

    Parameters
    ----------
    address : str, optional
        Of an existing cluster; default: one is started on this machine if none is connected.
    num_cpus, num_gpus : float, optional
        What each task asks for; default: as many CPUs as the model takes threads, and a GPU if the model is to go to
        one (device "auto": if this machine has one).
    """

    elsewhere = True

    def __init__(
        self, address: str | None = None, *, num_cpus: float | None = None, num_gpus: float | None = None
    ) -> None:
        need("ray", 'engine="ray"')
        self.address, self.num_cpus, self.num_gpus = address, num_cpus, num_gpus

    def _needs(self, model: Model) -> dict[str, float]:
        import torch

        threads, device = (model.threads, model.device) if isinstance(model, ModelSpec) else (None, "cpu")
        wanted = torch.cuda.is_available() if device == "auto" else device.startswith("cuda")
        gpus = float(wanted) if self.num_gpus is None else self.num_gpus
        return {"num_cpus": self.num_cpus or threads or 1, "num_gpus": gpus}

    def run(self, model: Model, jobs: Sequence[Job]) -> Iterator[tuple[int, BatchResult]]:
        """Yield (number of the batch, result) as they are done.

        Raises
        ------
        ResourceError
            If the worker of a batch dies again after three retries.
        """
        import ray

        started = not ray.is_initialized()
        if started:
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False, logging_level="error")
        try:
            task = ray.remote(max_retries=ATTEMPTS, **self._needs(model))(work)
            shared = ray.put(model)
            running = {task.remote(shared, batch): index for index, batch in jobs}
            while running:
                for done in ray.wait(list(running))[0]:
                    yield running.pop(done), _fetched(ray, done)
        finally:
            if started:
                ray.shutdown()


def _fetched(ray: Any, reference: Any) -> BatchResult:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        first = str(error).splitlines()[0]
        raise ResourceError(
            f"Ray lost a batch after {ATTEMPTS} retries ({first}): check the cluster, then run the same command again"
        ) from error


def visible_gpus() -> tuple[str, ...]:
    """Name the GPUs that torch sees here, as ``CUDA_VISIBLE_DEVICES`` names them."""
    import torch

    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return tuple(named.split(",") if named else map(str, range(count)))[:count]


def executor(engine: str, *, address: str | None = None, workers: int | None = None, device: str = "auto") -> Executor:
    """Choose an executor.

    Parameters
    ----------
    engine : {"local", "ray"}
        "local" takes one process per GPU if there are several, else this process.
    address : str, optional
        Of a Ray cluster.
    workers : int, optional
        Number of CPU processes of the local engine; default: this process alone.
    device : str, default "auto"
        Where the model is to go; a GPU by its number is used alone.

    Raises
    ------
    InputError
        If the engine is unknown or not installed, or an option does not belong to it.
    """
    if engine not in ("local", "ray"):
        raise InputError(f"engine must be local or ray; got {engine!r}")
    if engine == "ray":
        if workers:
            raise InputError(
                "workers can be given with engine local only: Ray starts as many as its cluster has room for. Leave "
                "it out"
            )
        return Ray(address)
    if address:
        raise InputError("ray_address can be given with engine ray only: leave it out, or give --engine ray")
    return _local(workers, device)


def _local(workers: int | None, device: str) -> Executor:
    import torch

    gpus = torch.cuda.device_count()
    if device.startswith("cpu") or (device == "auto" and not gpus):
        return Processes(["cpu"] * workers) if workers and workers > 1 else Local()
    if workers and workers > 1:
        raise InputError(
            f"workers are CPU processes, but the device is {device!r}: leave workers out, or give --device cpu"
        )
    every = device in ("auto", "cuda") and gpus > 1
    return Processes([f"cuda:{number}" for number in range(gpus)]) if every else Local()
