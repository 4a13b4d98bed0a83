"""Write what finished experiments show: tables, figures, and one page for all of a folder."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment
from markupsafe import Markup

from miscal.base.files import digest, replace_file
from miscal.data.writing import write_table
from miscal.report import inline
from miscal.report.page import stylesheet
from miscal.synthetic import tables
from miscal.synthetic.cells import Cell, Record, cells_of
from miscal.synthetic.cited import SOURCE
from miscal.synthetic.figures.style import look, write
from miscal.synthetic.fits import RESREG
from miscal.synthetic.numbers import count, duration
from miscal.synthetic.sections import BUILDERS, Section
from miscal.synthetic.settings import Settings
from miscal.synthetic.store import Store

HERE = Path(__file__).parent
_STYLES = ("base.css", "tables.css", "figures.css")


def write_all(store: Store, asked: Settings) -> tuple[Path, tuple[str, ...]]:
    """Write tables and figures of the experiment asked for, and the page of all that are finished in the folder.

    Parameters
    ----------
    store : Store
    asked : Settings
        Of the experiment that has just been run.

    Returns
    -------
    page : Path
    lines : tuple of str
        What came out, for a terminal.
    """
    records: dict[Cell, Record] = {}
    sections = []
    finished = _finished(store)
    for name, build in BUILDERS.items():
        cells = list(dict.fromkeys(cell for s in finished if s.experiment == name for cell in cells_of(s)))
        if not cells:
            continue
        records |= {cell: store.load(cell) for cell in cells if cell not in records}
        section = build([records[cell] for cell in cells])
        sections.append((section, _keep(store.folder, section, redraw=name == asked.experiment)))
    own = list(records.values())
    _keep_tables(store.folder, {"costs": tables.costs(own)})
    page = store.folder / "index.html"
    replace_file(page, _page(sections, costs(own), store, finished).encode())
    found = next(section.found for section, _ in sections if section.name == asked.experiment)
    return page, (*found, *_told(costs(own)))


def costs(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Sum what fits took, by kind, beside the floor of their matrix products.

    Parameters
    ----------
    records : sequence of Record

    Returns
    -------
    list of dict
        kind, cells, seconds, cpu (processor seconds; those taken where not known); where products were counted also
        tflop, floor (seconds, at the best speed measured beside any of these fits), ratio (cpu by floor), and
        plain_tflop and plain_seconds, what fits one by one, sharing nothing, would take at the same speed.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        kind = record.cell.method.removeprefix(RESREG)
        word = f"residual regression {kind}" if record.cell.method.startswith(RESREG) else f"method {kind}"
        groups.setdefault(f"{record.cell.world}, {word}", []).append(record)
    return [{"kind": kind, **_cost(own)} for kind, own in sorted(groups.items())]


def _cost(records: Sequence[Record]) -> dict[str, Any]:
    seconds = sum(record.seconds for record in records)
    busy = [record.seconds if record.cpu is None else record.cpu for record in records]
    row: dict[str, Any] = {"cells": len(records), "seconds": seconds, "cpu": sum(busy), "floor": None}
    if all(record.flops for record in records):
        flops, plain = (_by_shape(getattr(r, name) for r in records) for name in ("flops", "plain_flops"))
        floor = sum(n / max(r.rates[shape] for r in records) for shape, n in flops.items())
        tflop, plain_tflop = (sum(n.values()) / 1e12 for n in (flops, plain))
        slow = sum(t * sum(r.plain_flops.values()) / sum(r.flops.values()) for t, r in zip(busy, records, strict=True))
        row |= {"tflop": tflop, "floor": floor, "ratio": sum(busy) / floor, "rate": 1e3 * tflop / floor}
        row |= {"plain_tflop": plain_tflop, "plain_seconds": slow}
    return row


def _by_shape(counts: Iterable[dict[str, float]]) -> Counter[str]:
    return sum(map(Counter, counts), Counter())


def _told(rows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for row in rows:
        line = f"{row['kind']}: {count(row['cells'], 'cell')}, {duration(row['seconds'])} of one core"
        line += f" (busy {duration(row['cpu'])} of it)"
        if row["floor"] is not None:
            line += f", floor of its matrix products {duration(row['floor'])} ({row['ratio']:.1f} times it)"
        lines.append(line)
    return lines


def _finished(store: Store) -> list[Settings]:
    """Experiments with all cells of as many seeds as have them; more seeds may have been asked for and broken off."""
    fewer = [[replace(s, seeds=n) for n in range(s.seeds, 0, -1)] for s in store.experiments()]
    found = (next((s for s in options if all(map(store.has, cells_of(s)))), None) for options in fewer)
    return [settings for settings in found if settings is not None]


def _keep(folder: Path, section: Section, *, redraw: bool) -> list[dict[str, Any]]:
    """Write a section's tables and figures; return its figures for the page. Those of unchanged tables are kept."""
    redraw = _keep_tables(folder, section.tables) or redraw
    place = folder / "figures"
    place.mkdir(exist_ok=True)
    shown = []
    for drawing in section.drawings:
        path = place / f"{drawing.name}.svg"
        if redraw or not path.exists():
            with look():
                write(drawing.draw(), place, drawing.name)
        data = base64.b64encode(path.read_bytes()).decode()
        shown.append({"caption": drawing.caption, "data": data, "name": drawing.name})
    return shown


def _keep_tables(folder: Path, kept: dict[str, pl.DataFrame]) -> bool:
    """Write tables; whether any differs from the one that was there."""
    place = folder / "tables"
    place.mkdir(exist_ok=True)
    changed = False
    for name, table in kept.items():
        paths = [place / f"{name}.{ending}" for ending in ("parquet", "csv")]
        before = [digest(path) if path.exists() else None for path in paths]
        for path in paths:
            write_table(table, path)
        changed |= before != [digest(path) for path in paths]
    return changed


def _page(sections: list, cost_rows: list[dict[str, Any]], store: Store, finished: list[Settings]) -> str:
    style = stylesheet(_STYLES) + (HERE / "templates" / "page.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("index.html")
        .render(
            sections=sections,
            costs=cost_rows,
            total=cost_total(cost_rows),
            timing=store.timing(),
            settings=finished[0].of_cells() if finished else {},
            experiments=[(s.name, s.of_experiment()) for s in finished],
            source=SOURCE,
            style=Markup(style),  # noqa: S704 - our own files
            style_hash=inline.digest(style),
            version=metadata.version("miscal"),
        )
    )


def cost_total(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Sum rows of :func:`costs` that have a floor; empty where none has.

    Examples
    --------
    >>> cost_total([{"seconds": 9.0, "floor": None}])
    {}
    """
    counted = [row for row in rows if row["floor"] is not None]
    names = ("seconds", "cpu", "floor", "tflop", "plain_tflop", "plain_seconds")
    return {name: sum(row[name] for row in counted) for name in names} if counted else {}


@cache
def _environment() -> Environment:
    return inline.templates(HERE / "templates", {"duration": duration, "count": count, "listed": _listed})


def _listed(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{x:g}" if isinstance(x, float) else str(x) for x in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
