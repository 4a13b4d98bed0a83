"""Run an experiment: compute the cells that are missing, then write tables, figures and page."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib
import polars as pl
from matplotlib.figure import Figure

from miscal.base.arrays import counted
from miscal.base.errors import MismatchError
from miscal.base.files import locked, parents, replace_file, resolve
from miscal.base.number_wording import duration
from miscal.base.process import n_workers
from miscal.data.writing import write_table
from miscal.report.frame import render_page
from miscal.report.sheet import aligned
from miscal.study.drawing import look, write
from miscal.study.plan import differing
from miscal.study.synthetic.experiments import KEYS, RESREG, ExperimentCell, Settings, cells_of, costs_of, from_stored
from miscal.study.synthetic.fits import compute
from miscal.study.synthetic.sections import BUILDERS, SAID, SOURCE, TITLES, written
from miscal.study.tables import CellFolder

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
        if there.get("miscal") != version:
            wrote = there.get("miscal", "an earlier one")
            raise MismatchError(f"{self.path} was written by another version of miscal ({wrote}): give another --out")
        known = there["cells"] | there["experiments"].get(settings.name, {})
        asked = settings.of_cells() | settings.of_experiment()
        kept = [name for name in asked if name in known and not (name == "seeds" and asked[name] > known[name])]
        changes = differing({name: known[name] for name in kept}, {name: asked[name] for name in kept})
        if changes:
            raise MismatchError(
                f"{self.path} holds cells made with other settings: {'; '.join(changes)}. "
                "Use the same ones, or give another --out"
            )
        there["experiments"][settings.name] = settings.of_experiment()
        self._write(_SETTINGS, there)

    def experiments(self) -> list[Settings]:
        """Return the settings of all experiments taken up here."""
        there = self._read(_SETTINGS) or {"experiments": {}}
        return [from_stored(name, there["cells"], own) for name, own in there["experiments"].items()]

    def load(self, cell: ExperimentCell) -> dict[str, Any]:
        """Return a finished cell's record."""
        return self.record(cell.name, KEYS)


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
                folder.cells.save(ExperimentCell(*(record[name] for name in ExperimentCell._fields)).name, record)
                progress(f"{n_done} of {len(missing)} cells")
            spent = round(time.perf_counter() - start, 1)
            about = {"experiment": settings.name, "jobs": jobs, "cells": len(missing), "wall_seconds": spent}
            folder.add_timing(about)
        progress("tables and figures")
        # drawing loads matplotlib, which computing does not need
        page, lines = write_all(folder, settings)
    return Done(page, lines, len(missing), len(cells))


HERE = Path(__file__).parent
_STYLES = ("base.css", "tables.css", "figures.css", "page.css")


def write_all(folder: ExperimentFolder, asked: Settings) -> tuple[Path, tuple[str, ...]]:
    """Write tables and figures of the experiment asked for, and the page of all that are finished in the folder.

    Returns the page, and what was found in lines for a terminal.
    """
    records: dict[ExperimentCell, dict[str, Any]] = {}
    sections = {}
    finished = _finished(folder)
    for name, build in BUILDERS.items():
        cells = list(dict.fromkeys(cell for s in finished if s.experiment == name for cell in cells_of(s)))
        if cells:
            records |= {cell: folder.load(cell) for cell in cells if cell not in records}
            with look():
                section = build([records[cell] for cell in cells])
                drawn = [
                    {"name": title, "caption": caption, "data": _written(folder.path / "figures", figure, title)}
                    for title, caption, figure in section["drawings"]
                ]
            _keep_tables(folder.path, section["tables"])
            section |= {one: written(section[one]) for one in ("found", "shown")}
            sections[name] = section | {"name": name, "title": TITLES[name], "said": SAID[name], "figures": drawn}
    every = costs_of(list(records.values()))
    _keep_tables(folder.path, {"costs": every})
    spent = every.group_by("world", "method", maintain_order=True).agg(
        pl.len().alias("cells"), pl.col("seconds").sum(), pl.col("cpu_seconds").fill_null(pl.col("seconds")).sum()
    )
    costs = [
        (f"{world}, {method.replace(RESREG, 'residual regression ')}", str(cells), duration(taken), duration(busy))
        for world, method, cells, taken, busy in spent.sort("world", "method").rows()
    ]
    page = render_page(
        "index.html", _STYLES, folder=HERE / "templates", filters=_FILTERS, sections=sections.values(), costs=costs,
        timing=folder.timing(), settings=finished[0].of_cells() if finished else {},
        experiments=[(s.name, s.of_experiment()) for s in finished], source=SOURCE, version=metadata.version("miscal"),
    )  # fmt: skip
    replace_file(folder.path / "index.html", page.encode())
    spent_in = aligned(("cells of", "number", "took", "busy"), costs)
    return folder.path / "index.html", (*aligned(*sections[asked.experiment]["found"]), "", *spent_in)


def _finished(folder: ExperimentFolder) -> list[Settings]:
    """Experiments with all cells of as many seeds as have them; more seeds may have been asked for and broken off."""
    fewer = [[replace(s, seeds=n) for n in range(s.seeds, 0, -1)] for s in folder.experiments()]
    found = (next((s for s in options if all(folder.is_done(c.name) for c in cells_of(s))), None) for options in fewer)
    return [settings for settings in found if settings is not None]


def _written(folder: Path, figure: Figure, name: str) -> str:
    """Write a figure and return its SVG, as a page holds it."""
    folder.mkdir(exist_ok=True)
    return base64.b64encode((folder / f"{write(figure, folder, name)}.svg").read_bytes()).decode()


def _keep_tables(folder: Path, kept: dict[str, pl.DataFrame]) -> None:
    place = folder / "tables"
    place.mkdir(exist_ok=True)
    for name, table in kept.items():
        for ending in ("parquet", "csv"):
            write_table(table, place / f"{name}.{ending}")


def _listed(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


_FILTERS = (("duration", duration), ("count", counted), ("listed", _listed))
