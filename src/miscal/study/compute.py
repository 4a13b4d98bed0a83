"""Compute a cell in whatever process this is, and say what it needs of one.

An error ends its own cell alone: it becomes part of the cell's outcome.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from miscal.base.errors import InternalError, MiscalError
from miscal.base.extras import installed
from miscal.base.workers import Ended, LostWorker, WorkItem
from miscal.study.plan import StudyPlan
from miscal.study.table_columns import TABLES

CellJob = Any
"""A :class:`miscal.study.steps.CellJob`, whose module is heavy."""

_TRAINING = ("discover", "audit")


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


def gpus_to_deal(plan: StudyPlan) -> tuple[str, ...]:
    """Name the GPUs that processes of a study are to have one each of.

    None where there are fewer than two, or where a pair names the number of its own, which a process that sees another
    GPU alone would not find.
    """
    numbered = any(pair.score is not None and ":" in pair.score.device for pair in plan.pairs)
    if numbered or not installed("torch"):
        return ()
    from miscal.scoring.placing import visible_gpus

    gpus = visible_gpus()
    return gpus if len(gpus) > 1 else ()


def wants_gpu(job: CellJob) -> bool:
    """Whether a cell is faster on a GPU: one that asks a model, or that trains the paper's phi."""
    if job.cell.kind == "score":
        return not job.pair.score.device.startswith("cpu")
    return job.cell.method == "paper" and job.cell.kind in _TRAINING and job.pair.device != "cpu"


def task_of(job: CellJob) -> WorkItem:
    """Put a cell into the words of the workers; a model that is asked decides itself about threads."""
    cell = job.cell
    return WorkItem(cell.says, compute, (job,), key=cell, one_thread=cell.kind != "score", gpu=wants_gpu(job))


def outcome_of(ended: Ended) -> CellOutcome:
    """Return how a cell ended; one whose process was ended from outside has failed."""
    if isinstance(ended.error, LostWorker):
        return CellOutcome(ended.task.key.name, 0.0, message=str(ended.error))
    return ended.result()


def compute(job: CellJob) -> CellOutcome:
    """Compute a cell; an error becomes part of the outcome, so that other cells go on."""
    # heavy imports are for the processes that compute
    from miscal.study.steps import STEPS

    start = time.monotonic()
    try:
        found = STEPS[job.cell.kind](job)
        check_rows(found.rows)
    except MiscalError as error:
        message, mendable = error.in_shell(), not isinstance(error, InternalError)
    except Exception as error:  # whatever one pair does, the others go on
        message, mendable = f"{type(error).__name__}: {error}".rstrip(": "), isinstance(error, OSError | MemoryError)
        message = " ".join(message.split())
    else:
        return CellOutcome(job.cell.name, time.monotonic() - start, found.rows, dict(found.facts))
    return CellOutcome(job.cell.name, time.monotonic() - start, message=message, mendable=mendable)


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
