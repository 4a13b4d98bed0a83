"""The board: what the first page of a study draws, intervals along an axis and the matrix of models by groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from miscal.report.formatting import change, metric, points
from miscal.report.texts import short
from miscal.study.answers import Answer, Bar
from miscal.study.matrix import Cell, GroupLine, GroupMatrix, holds
from miscal.study.pages.grid import report_link
from miscal.study.tables import Tables

MOST_LINES = 120
"""Groups that the page draws of one data set; the table ``groups`` has all."""
_STEPS = (0.02, 0.05, 0.10, 0.20)
"""Absolute hidden residuals at which a cell of the matrix takes a deeper colour."""

_SHARED = " \N{BLACK DIAMOND}"
"""After the words of a group in which all models, taken together, err."""


class Interval(NamedTuple):
    """A bar of a picture: its words, where it lies in per cent of the width, and a link."""

    name: str
    text: str
    low: float
    high: float
    at: float
    side: str
    href: str | None


class Picture(NamedTuple):
    """An interval for each row, around a line at 0, in per cent of the width."""

    zero: float
    rows: list[Interval]


@dataclass(frozen=True)
class Shade:
    """A cell of the matrix as drawn: its text before and after, its colour, what pointing says, and a link."""

    text: str = ""
    after: str = ""
    kind: str = ""
    marked: bool = False
    hint: str = ""
    href: str | None = None


@dataclass(frozen=True)
class DrawnMatrix:
    """A matrix as drawn: models with their reports, and for each group its words and cells.

    `left` groups are in the table alone.
    """

    dataset: str
    models: Sequence[tuple[str, str | None]]
    lines: Sequence[tuple[str, Sequence[Shade]]]
    left: int


def title(tables: Tables) -> str:
    """Say how many models were asked on which data sets.

    Examples
    --------
    >>> import polars as pl
    >>> title({"pairs": pl.DataFrame({"pair": ["a", "b"], "model": ["x", "y"], "dataset": ["mmlu", "mmlu"]})})
    '2 models on mmlu'
    """
    pairs = tables["pairs"].unique("pair", maintain_order=True)
    models, datasets = pairs["model"].n_unique(), pairs["dataset"].unique(maintain_order=True).to_list()
    if not models:
        return "No pair is finished yet"
    on = short(datasets[0], 60) if len(datasets) == 1 else f"{len(datasets)} data sets"
    said = f"{models} model{'' if models == 1 else 's'} on {on}"
    return said if pairs.height == models * len(datasets) else f"{said}, {pairs.height} pairs"


def picture(answer: Answer, method: str, out: Path) -> Picture | None:
    """Place the bars of an answer on one axis that holds 0; None without any."""
    if not answer.bars:
        return None
    low = min(0.0, *(one.low for one in answer.bars))
    high = max(0.0, *(one.high for one in answer.bars))
    width = max(high - low, 1e-9)
    place = lambda value: round(100 * (value - low) / width, 2)  # noqa: E731
    return Picture(place(0.0), [_interval(one, answer, place, method, out) for one in answer.bars])


def _interval(one: Bar, answer: Answer, place, method: str, out: Path) -> Interval:
    write = points if answer.unit == "points" else metric if answer.ordered else change
    side = "" if answer.ordered else "over" if one.high < 0 else "under" if one.low > 0 else ""
    text = f"{write(one.value)} ({write(one.low)} to {write(one.high)})"
    href = None if one.pair is None else report_link(out, one.pair, method)
    said = f"{text}, {one.aside}" if one.aside else text
    return Interval(one.name, said, place(one.low), place(one.high), place(one.value), side, href)


def line_name(line: GroupLine) -> str:
    """Name the group of a line of the matrix, with a diamond where all models, taken together, err.

    Examples
    --------
    >>> line_name(GroupLine("subject", "law", ()))
    'subject = law'
    """
    return f"{short(line.column, 30)} = {short(line.value, 50)}{_SHARED if line.shared else ''}"


def drawn(matrix: GroupMatrix, out: Path) -> DrawnMatrix:
    """Write the cells of a matrix."""
    lines = [(line_name(line), [_shade(one, out) for one in line.cells]) for line in matrix.lines[:MOST_LINES]]
    left = max(0, len(matrix.lines) - MOST_LINES)
    models = [(short(model, 40), _report(matrix, k, out)) for k, model in enumerate(matrix.models)]
    return DrawnMatrix(matrix.dataset, models, lines, left)


def _report(matrix: GroupMatrix, k: int, out: Path) -> str | None:
    """Return the address of the report of a model's pair, which each of its cells names."""
    pair = next(line.cells[k]["pair"] for line in matrix.lines if line.cells[k] is not None)
    return report_link(out, pair, matrix.method)


def _shade(cell: Cell | None, out: Path) -> Shade:
    if cell is None or cell["hidden"] is None:
        return Shade()
    value, tested = cell["hidden"], cell["p_value"] is not None
    depth = sum(abs(value) >= step for step in _STEPS)
    kind = f"{'over' if value < 0 else 'under'}-{depth}" if tested and depth else ""
    told = f"{points(value)}, 95 % interval {points(cell['low'])} to {points(cell['high'])}, {cell['n']:,} rows"
    told += f"; p {cell['p_adjusted']:.2g} after adjustment" if tested else "; too few rows to be tested"
    if cell["after"] is not None:
        told += f"; {points(cell['after'])} after the correction"
    link = None if cell["finding"] is None else report_link(out, cell["pair"], cell["method"])
    if link is not None:
        link += f"#finding-{cell['finding']}"
    after = "" if cell["after"] is None else points(cell["after"], 0)
    return Shade(points(value, 0), after, kind, holds(cell), told, link)
