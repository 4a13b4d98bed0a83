"""The board: what the first page of a study draws, and ``board.md`` and ``board.csv`` for those who hand it on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.shown import escaped, markdown_table
from miscal.data.writing import defused
from miscal.report.formatting import DASH, change, metric, points
from miscal.report.texts import short
from miscal.study.answers import Answer, in_order, label, ranks
from miscal.study.folder import n_planned
from miscal.study.matrix import Cell, GroupLine, GroupMatrix, holds
from miscal.study.pages.grids import report_link
from miscal.study.tables import (
    CALIBRATION_COST,
    HIDDEN_COST,
    LEARNED,
    LOG_LOSS,
    RESIDUAL,
    SMECE,
    Tables,
    of_method,
    read_tables,
)
from miscal.study.verdict import StudySummary, summarise
from miscal.study.vocabulary import count_of

MARKDOWN, CSV = "board.md", "board.csv"
MOST_LINES, MOST_DRAWN = 20, 120
"""Groups of a data set in ``board.md``, and on the page; the table ``groups`` has all."""
MOST_MODELS = 12
"""Models up to which ``board.md`` has a column for each; a table of more is too wide to be read."""

_STEPS = (0.02, 0.05, 0.10, 0.20)
"""Absolute hidden residuals at which a cell of the matrix takes a deeper colour."""
_LONGEST = 4_000
"""Characters of an answer: it names a few groups and models, none of which is long by itself."""

_OF_PAIRS = (
    *("pair", "dataset", "model", "method", "family", "billions", "n_test", "accuracy", "confidence", "log_loss"),
    *("log_loss_saved", "log_loss_saved_low", "log_loss_saved_high"),
    *("limit_hidden", "p_hidden", "detectable", "rows_for_5_points", "n_findings", "finding"),
)


def title(tables: Tables) -> str:
    """Say how many models were asked on which data sets.

    >>> title({"pairs": pl.DataFrame({"pair": ["a", "b"], "model": ["x", "y"], "dataset": ["mmlu", "mmlu"]})})
    '2 models on mmlu'
    """
    pairs = tables["pairs"].unique("pair", maintain_order=True)
    models, datasets = pairs["model"].n_unique(), pairs["dataset"].unique(maintain_order=True).to_list()
    if not models:
        return "No pair is finished yet"
    on = short(datasets[0], 60) if len(datasets) == 1 else f"{len(datasets)} data sets"
    said = f"{count_of(models, 'model')} on {on}"
    return said if pairs.height == models * len(datasets) else f"{said}, {pairs.height} pairs"


def picture(answer: Answer, method: str, out: Path) -> dict[str, Any] | None:
    """Place the bars of an answer on one axis that holds 0, in per cent of its width; None without any."""
    if not answer.bars:
        return None
    low = min(0.0, *(one.low for one in answer.bars))
    width = max(max(0.0, *(one.high for one in answer.bars)) - low, 1e-9)
    zero, *places = (
        round(100 * (value - low) / width, 2)
        for value in (0.0, *(end for one in answer.bars for end in (one.low, one.high, one.value)))
    )
    write = points if answer.unit == "points" else metric if answer.ordered else change
    rows = []
    for k, one in enumerate(answer.bars):
        side = "" if answer.ordered else "over" if one.high < 0 else "under" if one.low > 0 else ""
        text = f"{write(one.value)} ({write(one.low)} to {write(one.high)})" + (f", {one.aside}" if one.aside else "")
        href = None if one.pair is None else report_link(out, one.pair, method)
        at = dict(zip(("low", "high", "at"), places[3 * k : 3 * k + 3], strict=True))
        rows.append({"name": one.name, "value": write(one.value), "text": text, "side": side, "href": href, **at})
    return {"zero": zero, "rows": rows}


def _name(line: GroupLine) -> str:
    """Name a group, with a diamond where all models, taken together, err."""
    return line.name(50) + (" \N{BLACK DIAMOND}" if line.shared else "")


def draw_matrix(matrix: GroupMatrix, out: Path) -> dict[str, Any]:
    """Write models and cells of a matrix; a model links to the report of its pair, which each of its cells names."""
    models = []
    for k, model in enumerate(matrix.models):
        pair = next(line.cells[k]["pair"] for line in matrix.lines if line.cells[k] is not None)
        models.append((short(model, 40), report_link(out, pair, matrix.method)))
    lines = [(_name(line), [_shade(one, out) for one in line.cells]) for line in matrix.lines[:MOST_DRAWN]]
    left = max(0, len(matrix.lines) - MOST_DRAWN)
    return {"dataset": matrix.dataset, "models": models, "lines": lines, "left": left}


def _shade(cell: Cell | None, out: Path) -> dict[str, Any]:
    """Write a cell: its text before and after, its colour, what pointing says, and a link."""
    blank = {"text": "", "after": "", "kind": "", "marked": False, "hint": "", "href": None}
    if cell is None or cell["hidden"] is None:
        return blank
    value, tested = cell["hidden"], cell["p_value"] is not None
    depth = sum(abs(value) >= step for step in _STEPS)
    hint = f"{points(value)}, 95 % interval {points(cell['low'])} to {points(cell['high'])}, {cell['n']:,} rows"
    hint += f"; p {cell['p_adjusted']:.2g} after adjustment" if tested else "; too few rows to be tested"
    kind = f"{'over' if value < 0 else 'under'}-{depth}" if tested and depth else ""
    shade = blank | {"text": points(value, 0), "kind": kind, "marked": holds(cell), "hint": hint}
    if cell["after"] is not None:
        shade |= {"after": points(cell["after"], 0), "hint": f"{hint}; {points(cell['after'])} after the correction"}
    if cell["finding"] is not None and (link := report_link(out, cell["pair"], cell["method"])) is not None:
        shade["href"] = f"{link}#finding-{cell['finding']}"
    return shade


def write_board(out: str | Path) -> Path:
    """Write ``board.md`` and ``board.csv`` of a study, from its tables alone; return the path of the first.

    It has the answers, a table of ranks for each measure, and the matrix of models by groups in short; ``board.csv``
    has a line for each pair, with every measure that pairs are compared by.

    Raises
    ------
    FileError
        If the folder has no tables, or cannot be written.
    CorruptFile
        If a table cannot be read.
    """
    folder = Path(out)
    tables = read_tables(folder)
    summary = summarise(tables, n_planned(folder, tables))
    with disk_errors(str(folder)):
        replace_file(folder / MARKDOWN, board_markdown(tables, summary).encode())
        write_whole(folder / CSV, defused(board_table(tables, summary.method)).write_csv)
    return folder / MARKDOWN


def board_table(tables: Tables, method: str) -> pl.DataFrame:
    """Put the measures of each pair into one row.

    There are columns of the table ``pairs``; of each measure of the table ``board`` its value and ends (``residual``,
    ``residual_low``, ``residual_high``); and of each measure of the table ``rankings`` value, ends and ranks
    (``hidden_cost_best_rank``). Null where a pair has none.
    """
    whole, ends = of_method(tables["pairs"], method, LEARNED).select(_OF_PAIRS), ("low", "high")
    for name, measures, more in (
        ("board", (RESIDUAL, SMECE), ends),
        ("rankings", (CALIBRATION_COST, HIDDEN_COST, LOG_LOSS), (*ends, "best_rank", "worst_rank")),
    ):
        for measure in measures:
            columns = {measure: "value"} | {f"{measure}_{end}": end for end in more}
            own = of_method(tables[name], method).filter(measure=measure).select("pair", **columns)
            whole = whole.join(own, on="pair", how="left")
    return whole


def board_markdown(tables: Tables, summary: StudySummary) -> str:
    """Write the board as markdown in which no name can become markup, a mention or a link."""
    blocks = [f"# {escaped(title(tables))}"]
    if summary.n_pairs:
        lines = summary.lines
        blocks += [f"**{escaped(lines.headline)}**", escaped(lines.reason), escaped(lines.action)]
    if summary.n_pairs != summary.n_planned:
        blocks.append(f"{summary.n_pairs} of {summary.n_planned} pairs of the plan are finished.")
    blocks += ["\n".join(f"- **{escaped(one.question)}** {escaped(one.sentence, _LONGEST)}" for one in summary.answers)]
    blocks += [block for answer in summary.answers for block in _ranking(tables, answer, summary.method)]
    blocks += [block for matrix in summary.matrices for block in _matrix(matrix, summary)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _ranking(tables: Tables, answer: Answer, method: str) -> Iterator[str]:
    """Write the table of a question that ranks models, and what is presumed; nothing for another question."""
    own = in_order(of_method(tables["rankings"], method), answer.name)
    if own.is_empty():
        return
    yield f"## {escaped(answer.question)}"
    rows = [
        [ranks(one), label(tables, one), metric(one["value"]), f"{metric(one['low'])} to {metric(one['high'])}"]
        for one in own.iter_rows(named=True)
    ]
    yield markdown_table(("rank", "model", "log loss per row", "95 % interval"), rows, numbers=(2,))
    yield escaped(answer.note, _LONGEST)


def _matrix(matrix: GroupMatrix, summary: StudySummary) -> Iterator[str]:
    words, each, lines = summary.words, len(matrix.models) <= MOST_MODELS, matrix.lines[:MOST_LINES]
    yield f"## {escaped(f'Models by groups on {short(matrix.dataset, 80)}')}"
    if each:
        heads, cells = matrix.models, [map(_cell, line.cells) for line in lines]
        said = (
            f"How much higher the {words.rate} is than on rows of equal {words.probability}, in points; a star marks "
        )
        said += "what holds"
    else:
        heads, cells = ("models lower", "models higher", "models"), [_counts(line) for line in lines]
        said = f"Models whose {words.rate} is lower, or higher, than on their rows of equal {words.probability}, where "
        said += "that holds"
    rows = [[_name(line), *own] for line, own in zip(lines, cells, strict=True)]
    yield markdown_table(["group", *heads], rows, numbers=range(1, len(heads) + 1))
    diamond = "; a diamond marks groups in which all models, taken together, err"
    left = len(matrix.lines) - len(lines)
    more = f" The table groups has {left} more groups." if left else ""
    shared = diamond if any(line.shared for line in lines) else ""
    yield escaped(f"{said} after adjustment over all cells{shared}.{more}")


def _cell(cell: Cell | None) -> str:
    if cell is None or cell["hidden"] is None:
        return DASH
    return f"{points(cell['hidden'], 0)}{'*' if holds(cell) else ''}"


def _counts(line: GroupLine) -> tuple[str, str, str]:
    marked = [one["hidden"] for one in line.marked]
    models = sum(one is not None for one in line.cells)
    return str(sum(value < 0 for value in marked)), str(sum(value > 0 for value in marked)), str(models)
