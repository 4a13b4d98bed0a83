"""Run an experiment: compute the cells that are missing, then write tables, figures and page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from miscal.base.files import locked, parents, resolve
from miscal.base.threads import n_workers
from miscal.study.synthetic.cells import ExperimentCell, cells_of
from miscal.study.synthetic.fits import compute
from miscal.study.synthetic.folder import ExperimentFolder
from miscal.study.synthetic.settings import Settings
from miscal.study.synthetic.store import Store, fill


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
    with parents(resolve(place)), locked(place):
        folder = ExperimentFolder(place)
        folder.adopt(settings)
        cells = cells_of(settings)
        missing = sum(cell not in folder.store for cell in cells)
        if missing:
            start, jobs = time.perf_counter(), n_workers(n_jobs, 10**6)
            _compute_all(folder.store, settings, cells, missing, jobs, progress)
            spent = round(time.perf_counter() - start, 1)
            folder.add_timing({"experiment": settings.name, "jobs": jobs, "cells": missing, "wall_seconds": spent})
        progress("tables and figures")
        # drawing loads matplotlib, which computing does not need
        from miscal.study.synthetic.output import write_all

        page, lines = write_all(folder, settings)
    return Done(page, lines, missing, len(cells))


def _compute_all(
    store: Store,
    settings: Settings,
    cells: list[ExperimentCell],
    missing: int,
    jobs: int,
    progress: Callable[[str], None],
) -> None:
    progress(f"0 of {missing} cells")
    # with a single cell the processes go to the settings of its grid
    inner, outer = (jobs, 1) if missing == 1 else (1, min(jobs, missing))
    work = partial(_record_of, settings, inner)
    fill(store, cells, work, n_jobs=outer, progress=lambda done, of, _: progress(f"{done} of {of} cells"))


def _record_of(settings: Settings, n_jobs: int, *key: Any) -> dict[str, Any]:
    return compute(ExperimentCell(*key), settings, n_jobs=n_jobs).to_json()
