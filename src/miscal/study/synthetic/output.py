"""Write what finished experiments show: tables, figures, and one page for all of a folder."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.arrays import counted
from miscal.base.files import replace_file
from miscal.base.number_wording import duration
from miscal.data.writing import write_table
from miscal.report.frame import render_page
from miscal.study.drawing import look, write
from miscal.study.synthetic import tables
from miscal.study.synthetic.experiments import ExperimentCell, Record, Settings, cells_of
from miscal.study.synthetic.paper_numbers import SOURCE
from miscal.study.synthetic.run import ExperimentFolder
from miscal.study.synthetic.sections import BUILDERS, ExperimentSection

HERE = Path(__file__).parent
_STYLES = ("base.css", "tables.css", "figures.css", "page.css")


def write_all(folder: ExperimentFolder, asked: Settings) -> tuple[Path, tuple[str, ...]]:
    """Write tables and figures of the experiment asked for, and the page of all that are finished in the folder.

    Returns the page, and what was found in lines for a terminal.
    """
    records: dict[ExperimentCell, Record] = {}
    sections = []
    finished = _finished(folder)
    for name, build in BUILDERS.items():
        cells = list(dict.fromkeys(cell for s in finished if s.experiment == name for cell in cells_of(s)))
        if not cells:
            continue
        records |= {cell: folder.load(cell) for cell in cells if cell not in records}
        section = build([records[cell] for cell in cells])
        sections.append((section, _keep(folder.path, section)))
    own = list(records.values())
    _keep_tables(folder.path, {"costs": tables.costs(own)})
    page = folder.path / "index.html"
    replace_file(page, _page(sections, costs(own), folder, finished).encode())
    found = next(section.found for section, _ in sections if section.name == asked.experiment)
    return page, (*found, *map(_cost_line, costs(own)))


def costs(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Sum what fits took by kind: kind, records, cells, seconds, and busy (processor seconds where they are known)."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        capacity = record.cell.capacity
        word = f"residual regression {capacity}" if capacity else f"method {record.cell.method}"
        groups.setdefault(f"{record.cell.world}, {word}", []).append(record)
    return [
        {"kind": kind, "records": own, "cells": len(own), "seconds": sum(x.seconds for x in own),
         "busy": sum(x.busy for x in own)}
        for kind, own in sorted(groups.items())
    ]  # fmt: skip


def _cost_line(row: dict[str, Any]) -> str:
    cells, taken, busy = counted(row["cells"], "cell"), duration(row["seconds"]), duration(row["busy"])
    return f"{row['kind']}: {cells}, {taken} of one core (busy {busy} of it)"


def _finished(folder: ExperimentFolder) -> list[Settings]:
    """Experiments with all cells of as many seeds as have them; more seeds may have been asked for and broken off."""
    fewer = [[replace(s, seeds=n) for n in range(s.seeds, 0, -1)] for s in folder.experiments()]
    found = (next((s for s in options if all(folder.is_done(c.name) for c in cells_of(s))), None) for options in fewer)
    return [settings for settings in found if settings is not None]


def _keep(folder: Path, section: ExperimentSection) -> list[dict[str, Any]]:
    """Write a section's tables and figures; return its figures for the page."""
    _keep_tables(folder, section.tables)
    place = folder / "figures"
    place.mkdir(exist_ok=True)
    shown = []
    for drawing in section.drawings:
        with look():
            write(drawing.draw(), place, drawing.name)
        data = base64.b64encode((place / f"{drawing.name}.svg").read_bytes()).decode()
        shown.append({"caption": drawing.caption, "data": data, "name": drawing.name})
    return shown


def _keep_tables(folder: Path, kept: dict[str, pl.DataFrame]) -> None:
    place = folder / "tables"
    place.mkdir(exist_ok=True)
    for name, table in kept.items():
        for ending in ("parquet", "csv"):
            write_table(table, place / f"{name}.{ending}")


def _page(sections: list, cost_rows: list[dict[str, Any]], folder: ExperimentFolder, finished: list[Settings]) -> str:
    return render_page(
        "index.html",
        _STYLES,
        folder=HERE / "templates",
        filters=_FILTERS,
        sections=sections,
        costs=cost_rows,
        timing=folder.timing(),
        settings=finished[0].of_cells() if finished else {},
        experiments=[(s.name, s.of_experiment()) for s in finished],
        source=SOURCE,
        version=metadata.version("miscal"),
    )


def _listed(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


_FILTERS = (("duration", duration), ("count", counted), ("listed", _listed))
