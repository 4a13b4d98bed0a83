"""Batches: which rows are computed together, fixed before anything is computed, and by which workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from miscal.base.errors import InputError
from miscal.base.workers import InProcess, Processes, Workers, WorkItem, choose_workers
from miscal.scoring.candidates import Encoded
from miscal.scoring.engine import Asking, BatchResult, LanguageModel, Runner
from miscal.scoring.model_source import ModelSpec

ATTEMPTS = 3
"""How often a batch whose process is ended from outside is computed, each time with half the rows per pass."""


def plan(encoded: Sequence[Encoded], batch_tokens: int) -> list[list[Encoded]]:
    """Cut the rows into batches of at most ``batch_tokens`` padded tokens.

    Rows are sorted by cost, longest first (memory runs out at once or not at all), then by row number, so the plan
    depends on the data and the budget alone: a resumed run meets the same neighbours.

    Parameters
    ----------
    batch_tokens : int
        Budget per batch, at least 1; a row above it makes a batch of its own.
    """
    if batch_tokens < 1:
        raise InputError(f"batch_tokens must be at least 1; got {batch_tokens}")
    batches: list[list[Encoded]] = []
    widest = 0
    for row in sorted(encoded, key=lambda row: (-row.cost, row.row)):
        if not batches or (len(batches[-1]) + 1) * widest > batch_tokens:
            batches.append([])
            widest = row.cost
        batches[-1].append(row)
    return batches


def choose_batch_workers(
    engine: str, *, ray_address: str | None = None, workers: int | None = None, device: str = "auto"
) -> Workers:
    """Choose what computes the batches; all give the same numbers.

    Parameters
    ----------
    engine : {"local", "ray"}
        "local" takes one process per GPU if there are several, else this process.
    ray_address : str, optional
        Of a Ray cluster.
    workers : int, optional
        Number of CPU processes of the local engine; default: this process alone.
    device : str, default "auto"
        Where the model is to go; a GPU by its number is used alone.
    """
    if engine == "ray" and workers:
        raise InputError(
            "workers can be given with engine local only: Ray starts as many as its cluster has room for. Leave it out"
        )
    return choose_workers(engine, lambda: _local_workers(workers, device), ray_address)


def _local_workers(workers: int | None, device: str) -> Workers:
    from miscal.scoring.weights import visible_gpus

    gpus = visible_gpus()
    remedy = "give smaller --batch-tokens"
    if device.startswith("cpu") or (device == "auto" and not gpus):
        return Processes(workers, remedy=remedy) if workers and workers > 1 else InProcess()
    if workers and workers > 1:
        raise InputError(
            f"workers are CPU processes, but the device is {device!r}: leave workers out, or give --device cpu"
        )
    every = device in ("auto", "cuda") and len(gpus) > 1
    return Processes(len(gpus), gpus, remedy=remedy) if every else InProcess()


def batch_results(
    workers: Workers,
    model: LanguageModel | ModelSpec,
    batches: Sequence[tuple[int, Sequence[Encoded]]],
    asking: Asking | None = None,
) -> Iterator[tuple[int, BatchResult]]:
    """Yield (number of the batch, result) as they are done.

    Parameters
    ----------
    workers : Workers
        Other processes load a `ModelSpec` themselves, once each.
    batches : sequence of (int, sequence of Encoded)
        Number of each batch, and its rows.
    asking : Asking, optional
        What is asked about each batch, hashable; by default, its candidates are weighed.
    """
    # the runner of this process remembers how many rows fit into its memory
    runner = None if isinstance(model, ModelSpec) or workers.elsewhere else Runner(model, asking)
    with workers:
        yield from workers.results(_task(model, asking, runner, index, batch) for index, batch in batches)


def _task(
    model: LanguageModel | ModelSpec,
    asking: Asking | None,
    runner: Runner | None,
    index: int,
    batch: Sequence[Encoded],
    attempt: int = 1,
) -> WorkItem:
    """Put a batch into the words of the workers; the model decides itself about threads, which its folder notes."""
    function: Callable[..., Any] = compute_batch if runner is None else runner.run
    most_rows = None if attempt == 1 else max(1, len(batch) >> (attempt - 1))
    spec = model if isinstance(model, ModelSpec) else None
    return WorkItem(
        f"batch {index}",
        function,
        (model, batch, most_rows, asking) if runner is None else (batch,),
        key=index,
        one_thread=False,
        gpu=spec is not None and not spec.device.startswith("cpu"),
        cpus=(spec.threads if spec else None) or 1,
        instead=None if attempt == ATTEMPTS else _task(model, asking, runner, index, batch, attempt + 1),
    )


def compute_batch(
    model: LanguageModel | ModelSpec,
    batch: Sequence[Encoded],
    most_rows: int | None = None,
    asking: Asking | None = None,
) -> BatchResult:
    """Compute one batch in whatever process this is; a `ModelSpec` is loaded once per process."""
    runner = _loaded(model, asking) if isinstance(model, ModelSpec) else Runner(model, asking)
    if most_rows:
        runner.most_rows = min(runner.most_rows or most_rows, most_rows)
    return runner.run(batch)


@lru_cache(maxsize=1)
def _loaded(spec: ModelSpec, asking: Asking | None) -> Runner:
    from miscal.scoring.huggingface import HuggingFaceModel

    return Runner(HuggingFaceModel(spec), asking)
