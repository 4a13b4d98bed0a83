"""Run an experiment: compute the cells that are missing, then write tables, figures and page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib

from miscal.base.errors import MismatchError
from miscal.base.files import locked, parents, resolve
from miscal.base.threads import n_workers
from miscal.study.folder import CellFolder
from miscal.study.synthetic.experiments import ExperimentCell, Record, Settings, cells_of, from_stored
from miscal.study.synthetic.fits import compute

_SETTINGS = "settings.json"


class ExperimentFolder(CellFolder):
    """The folder of experiments: ``settings.json``, what its cells were made with, ``cells`` and ``timing.json``.

    A folder whose cells were made with other settings, or by another version of miscal, is refused.
    """

    BEGUN, WRITER = _SETTINGS, "`miscal synthetic`"

    def adopt(self, settings: Settings) -> None:
        """Take up an experiment: remember its settings, or refuse those that do not go with the cells there.

        Seeds may be added to an experiment; everything else stays as it was.

        Raises
        ------
        MismatchError
            With the settings that differ.
        """
        version = metadata.version("miscal")
        there = self._read(_SETTINGS) or {"miscal": version, "cells": settings.of_cells(), "experiments": {}}
        if there["miscal"] != version:
            raise MismatchError(
                f"{self.path} was written by another version of miscal ({there['miscal']}): give another --out"
            )
        before = there["experiments"].get(settings.name, {})
        differing = _differing(there["cells"], settings.of_cells()) + _differing(before, settings.of_experiment())
        if differing:
            raise MismatchError(
                f"{self.path} holds cells made with other settings: {'; '.join(differing)}. "
                "Use the same ones, or give another --out"
            )
        there["experiments"][settings.name] = settings.of_experiment()
        self._write(_SETTINGS, there)

    def experiments(self) -> list[Settings]:
        """Return the settings of all experiments taken up here."""
        there = self._read(_SETTINGS) or {"experiments": {}}
        return [from_stored(name, there["cells"], own) for name, own in there["experiments"].items()]

    def load(self, cell: ExperimentCell) -> Record:
        """Return a finished cell's record."""
        return Record.from_json(self.record(cell.name, Record.__dataclass_fields__.keys() - {"cell"}))


def _differing(there: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    return [
        f"{name} ({_shown(there[name])} there, {_shown(value)} asked)"
        for name, value in asked.items()
        if name in there and there[name] != value and not (name == "seeds" and value > there[name])
    ]


def _shown(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)


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
        folder = ExperimentFolder.open(place)
        folder.adopt(settings)
        cells = cells_of(settings)
        missing = [cell for cell in cells if not folder.is_done(cell.name)]
        if missing:
            start, jobs = time.perf_counter(), n_workers(n_jobs, 10**6)
            progress(f"0 of {len(missing)} cells")
            # with a single cell the processes go to the settings of its grid
            inner, outer = (jobs, 1) if len(missing) == 1 else (1, min(jobs, len(missing)))
            parallel = joblib.Parallel(n_jobs=outer, batch_size=1, return_as="generator_unordered")
            records = parallel(joblib.delayed(compute)(cell, settings, n_jobs=inner) for cell in missing)
            for n_done, record in enumerate(records, 1):
                folder.cells.save(record.cell.name, record.to_json())
                progress(f"{n_done} of {len(missing)} cells")
            spent = round(time.perf_counter() - start, 1)
            timing = {"experiment": settings.name, "jobs": jobs, "cells": len(missing), "wall_seconds": spent}
            folder.add_timing(timing)
        progress("tables and figures")
        # drawing loads matplotlib, which computing does not need
        from miscal.study.synthetic.output import write_all

        page, lines = write_all(folder, settings)
    return Done(page, lines, len(missing), len(cells))
