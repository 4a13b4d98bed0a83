"""Run an experiment: compute the cells that are missing, then write tables, figures and page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import joblib

from miscal.base.files import locked
from miscal.base.threads import n_workers
from miscal.synthetic.cells import Cell, cells_of
from miscal.synthetic.fits import RESREG, compute
from miscal.synthetic.settings import Settings, layers
from miscal.synthetic.store import Store

STACKED_WIDTH = 256
"""Networks up to this width are trained together; wider ones fill their matrix products by themselves."""


@dataclass(frozen=True)
class Done:
    """What a run left: its page, lines to print, and how many of its cells it had to compute."""

    page: Path
    lines: tuple[str, ...]
    n_computed: int
    n_cells: int


def run(
    settings: Settings,
    out: str | Path,
    *,
    n_jobs: int | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> Done:
    """Run an experiment into a folder, which may hold others and what an earlier run of it left.

    Parameters
    ----------
    settings : Settings
    out : str or Path
    n_jobs : int, optional
        Processes of one thread each, by default as many as the cores allowed here. Changes no number.
    progress : callable, optional
        Called with a few words as the run proceeds.

    Returns
    -------
    Done

    Raises
    ------
    MismatchError
        If the folder's cells were made with other settings.
    LockedError
        If another process is writing the folder.
    InputError
        If the folder cannot be used.
    """
    place = Path(out)
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place):
        store = Store(place)
        store.adopt(settings)
        cells = cells_of(settings)
        missing = [cell for cell in cells if not store.has(cell)]
        if missing:
            start = time.perf_counter()
            jobs = n_workers(n_jobs, 10**6)
            _compute_all(store, settings, missing, jobs, progress)
            spent = time.perf_counter() - start
            store.add_timing(
                {"experiment": settings.name, "jobs": jobs, "cells": len(missing), "wall_seconds": round(spent, 1)}
            )
        progress("tables and figures")
        from miscal.synthetic.output import write_all

        page, lines = write_all(store, settings)
    return Done(page, lines, len(missing), len(cells))


def _compute_all(
    store: Store, settings: Settings, missing: list[Cell], jobs: int, progress: Callable[[str], None]
) -> None:
    tasks = together(missing)
    progress(f"0 of {len(missing)} cells")
    # with a single task the processes go to the settings of its grid
    inner, outer = (jobs, 1) if len(tasks) == 1 else (1, min(jobs, len(tasks)))
    calls = (joblib.delayed(_compute_and_keep)(store, task, settings, inner) for task in tasks)
    done = 0
    for n_cells in joblib.Parallel(n_jobs=outer, batch_size=1, return_as="generator_unordered")(calls):
        done += n_cells
        progress(f"{done} of {len(missing)} cells")


def _compute_and_keep(store: Store, cells: list[Cell], settings: Settings, n_jobs: int) -> int:
    for record in compute(cells, settings, n_jobs=n_jobs):
        store.save(record)
    return len(cells)


def together(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Group cells that are computed at once: narrow networks of one capacity and seed; all others stand alone.

    Examples
    --------
    >>> cells = [Cell("sinusoid", f"resreg-{c}", 1.0, k, 0) for c in ("1x64", "3x1024") for k in (1.0, 2.0)]
    >>> [len(group) for group in together(cells)]
    [2, 1, 1]
    """
    groups: dict[tuple, list[Cell]] = {}
    for cell in cells:
        narrow = cell.method.startswith(RESREG) and layers(cell.method.removeprefix(RESREG))[1] <= STACKED_WIDTH
        groups.setdefault((cell.method, cell.seed) if narrow else (cell,), []).append(cell)
    return list(groups.values())
