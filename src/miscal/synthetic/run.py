"""Run an experiment: compute the cells that are missing, then write tables, figures and page.

The output folder holds ``settings.json``, what its cells were made with, ``cells.jsonl``, the finished cells, and
``timing.json``, how long each run took. A folder whose cells were made with other settings, or by another version of
miscal, is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, InputError, MismatchError
from miscal.base.files import locked, replace_file, resolve
from miscal.base.threads import n_workers
from miscal.synthetic.cells import ExperimentCell, Record, cells_of
from miscal.synthetic.fits import compute
from miscal.synthetic.settings import Settings, from_stored
from miscal.synthetic.store import Store, fill

_SETTINGS, _CELLS, _TIMING = "settings.json", "cells.jsonl", "timing.json"


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
        folder = Folder(place)
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
        from miscal.synthetic.output import write_all

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
    fill(store, cells, work, n_jobs=outer, told=lambda done, of, _: progress(f"{done} of {of} cells"))


def _record_of(settings: Settings, n_jobs: int, *key: Any) -> dict[str, Any]:
    return compute(ExperimentCell(*key), settings, n_jobs=n_jobs).to_json()


class Folder:
    """An output folder: its finished cells and the settings they were made with.

    Parameters
    ----------
    out : str or Path
        Made, parents included, if it is not there.

    Raises
    ------
    InputError
        If it is a file, or holds files that `miscal synthetic` did not write.
    """

    def __init__(self, out: str | Path) -> None:
        self.path = resolve(out)
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{out} is a file, not a folder: give another --out")
        if self.path.is_dir() and not (self.path / _SETTINGS).exists() and _holds_files(self.path):
            raise InputError(f"{out} holds files that `miscal synthetic` did not write: give another --out")
        self.path.mkdir(parents=True, exist_ok=True)
        self.store = Store(self.path / _CELLS, ExperimentCell._fields)

    def adopt(self, settings: Settings) -> None:
        """Take up an experiment: remember its settings, or refuse those that do not go with the cells there.

        Seeds may be added to an experiment; everything else stays as it was.

        Raises
        ------
        MismatchError
            With the settings that differ.
        """
        if others := self.store.other_versions():
            raise MismatchError(
                f"{self.path} was written by another version of miscal ({', '.join(others)}): give another --out"
            )
        there = self._read(_SETTINGS) or {"cells": settings.of_cells(), "experiments": {}}
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
        return Record.from_json(self.store[cell])

    def add_timing(self, entry: dict[str, Any]) -> None:
        """Remember how long a run took."""
        self._write(_TIMING, [*self.timing(), entry])

    def timing(self) -> list[dict[str, Any]]:
        """Return the runs so far: experiment, jobs, cells computed, wall seconds."""
        return self._read(_TIMING) or []

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise CorruptFile(f"{self.path / name} is damaged: give another --out") from None

    def _write(self, name: str, content: Any) -> None:
        replace_file(self.path / name, (json.dumps(content, indent=1) + "\n").encode())


def _holds_files(folder: Path) -> bool:
    # a run killed at its very start leaves hidden halves of files
    return any(path.is_file() and not path.name.startswith(".") for path in folder.rglob("*"))


def _differing(there: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    return [
        f"{name} ({_shown(there[name])} there, {_shown(value)} asked)"
        for name, value in asked.items()
        if name in there and there[name] != value and not (name == "seeds" and value > there[name])
    ]


def _shown(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)
