"""Computing a cell, and keeping whatever goes wrong within it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from miscal.base.errors import InternalError, MiscalError
from miscal.study.tables import TABLES


@dataclass(frozen=True)
class Outcome:
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


def compute(job: Any) -> Outcome:
    """Compute a cell; an error becomes part of the outcome, so that other cells go on.

    Parameters
    ----------
    job : miscal.study.steps.Job

    Returns
    -------
    Outcome
    """
    # heavy imports are for the processes that compute
    from miscal.study.steps import STEPS

    start = time.monotonic()
    try:
        found = STEPS[job.cell.kind](job)
        check_rows(found.rows)
    except Exception as error:  # whatever one pair does, the others go on
        mendable, message = _said(error)
        return Outcome(job.cell.name, time.monotonic() - start, message=message, mendable=mendable)
    return Outcome(job.cell.name, time.monotonic() - start, found.rows, dict(found.facts))


def _said(error: Exception) -> tuple[bool, str]:
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
