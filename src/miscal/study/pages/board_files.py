"""The board as files to hand on: ``board.md`` for a README or a leaderboard, and ``board.csv`` with a line per pair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.markdown import escaped, table
from miscal.data.writing import defused
from miscal.report.formatting import DASH, metric, points
from miscal.report.texts import short
from miscal.study.answers.answer import Answer, label
from miscal.study.answers.ranked import ranks
from miscal.study.folder import n_planned
from miscal.study.matrix import Cell, GroupMatrix, holds
from miscal.study.measures.groups import RESIDUAL, SMECE
from miscal.study.measures.rankings import RANKED
from miscal.study.pages.board import line_name, title
from miscal.study.pages.summary import StudySummary, summarise
from miscal.study.tables import LEARNED, Tables, of_method, read_tables

MARKDOWN, CSV = "board.md", "board.csv"
MOST_LINES = 20
"""Groups of a data set in ``board.md``; the table ``groups`` has all."""
MOST_MODELS = 12
"""Models up to which ``board.md`` has a column for each; a table of more is too wide to be read."""

_LONGEST = 4_000
"""Characters of an answer: it names a few groups and models, none of which is long by itself."""

_OF_PAIRS = (
    *("pair", "dataset", "model", "method", "family", "billions", "n_test", "accuracy", "confidence", "log_loss"),
    *("log_loss_saved", "log_loss_saved_low", "log_loss_saved_high"),
    *("limit_hidden", "p_hidden", "detectable", "rows_for_5_points", "n_findings", "finding"),
)


def write_board(out: str | Path) -> Path:
    """Write ``board.md`` and ``board.csv`` of a study, from its tables alone.

    Parameters
    ----------
    out : str or Path
        Folder of the study, with ``tables``.

    Returns
    -------
    Path
        ``board.md``: the answers, a table of ranks for each measure, and the matrix of models by groups in short.
        ``board.csv`` beside it has a line for each pair, with every measure that pairs are compared by.

    Raises
    ------
    FileError
        If the folder has no tables, or cannot be written.
    CorruptFile
        If a table cannot be read.

    Examples
    --------
    >>> write_board("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder: no tables of a study are there; give the folder that `miscal study` \
wrote
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

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        A row for each pair under the method, with columns of the table ``pairs``; of each measure of the table
        ``board`` its value and ends (``residual``, ``residual_low``, ``residual_high``); and of each measure of the
        table ``rankings`` value, ends and ranks (``hidden_cost_best_rank``). Null where a pair has none.
    """
    whole = of_method(tables["pairs"], method, LEARNED).select(_OF_PAIRS)
    for name in (RESIDUAL, SMECE):
        whole = _beside(whole, of_method(tables["board"], method), name, ("low", "high"))
    for name in RANKED:
        whole = _beside(whole, of_method(tables["rankings"], method), name, ("low", "high", "best_rank", "worst_rank"))
    return whole


def _beside(whole: pl.DataFrame, some: pl.DataFrame, measure: str, more: tuple[str, ...]) -> pl.DataFrame:
    """Add a measure's value and the named columns to the rows of its pairs."""
    own = some.filter(pl.col("measure") == measure)
    columns = {measure: "value"} | {f"{measure}_{name}": name for name in more}
    return whole.join(own.select("pair", **{new: pl.col(old) for new, old in columns.items()}), on="pair", how="left")


def board_markdown(tables: Tables, summary: StudySummary) -> str:
    """Write the board as markdown in which no name can become markup, a mention or a link.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
    summary : StudySummary
        Of these tables.
    """
    blocks = [f"# {escaped(title(tables))}"]
    if summary.n_pairs != summary.n_planned:
        blocks.append(f"{summary.n_pairs} of {summary.n_planned} pairs of the plan are finished.")
    blocks += ["\n".join(f"- **{escaped(one.question)}** {escaped(one.sentence, _LONGEST)}" for one in summary.answers)]
    blocks += [block for answer in summary.answers for block in _ranking(tables, answer, summary.method)]
    blocks += [block for matrix in summary.matrices for block in _matrix(matrix, summary)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _ranking(tables: Tables, answer: Answer, method: str) -> Iterator[str]:
    """Write the table of a question that ranks models, and what is presumed; nothing for another question."""
    own = of_method(tables["rankings"], method).filter(pl.col("measure") == answer.name)
    if own.is_empty():
        return
    yield f"## {escaped(answer.question)}"
    rows = [
        [ranks(one["best_rank"], one["worst_rank"]), label(tables, one), metric(one["value"]),
         f"{metric(one['low'])} to {metric(one['high'])}"]
        for one in own.sort("dataset", "best_rank", "worst_rank", "value", maintain_order=True).iter_rows(named=True)
    ]  # fmt: skip
    yield table(("rank", "model", "log loss per row", "95 % interval"), rows, numbers=(2,))
    yield escaped(answer.note, _LONGEST)


def _matrix(matrix: GroupMatrix, summary: StudySummary) -> Iterator[str]:
    words, most = summary.words, len(matrix.models) <= MOST_MODELS
    yield f"## {escaped(f'Models by groups on {short(matrix.dataset, 80)}')}"
    lines = matrix.lines[:MOST_LINES]
    heads = ["group", *(matrix.models if most else ("models lower", "models higher", "models"))]
    rows = [
        [line_name(line),
         *(map(_cell, line.cells) if most else _counts([one for one in line.cells if one is not None]))]
        for line in lines
    ]  # fmt: skip
    yield table(heads, rows, numbers=range(1, len(heads)))
    said = (
        f"How much higher the {words.rate} is than on rows of equal {words.probability}, in points"
        if most
        else f"Models whose {words.rate} is lower, or higher, than on their rows of equal {words.probability}"
    )
    left = len(matrix.lines) - len(lines)
    more = f" The table groups has {left} more groups." if left else ""
    mark = "; a star marks what holds" if most else ", where that holds"
    diamond = "; a diamond marks groups in which all models, taken together, err"
    shared = diamond if any(line.shared for line in lines) else ""
    yield escaped(f"{said}{mark} after adjustment over all cells{shared}.{more}")


def _cell(cell: Cell | None) -> str:
    if cell is None or cell["hidden"] is None:
        return DASH
    return f"{points(cell['hidden'], 0)}{'*' if holds(cell) else ''}"


def _counts(cells: list[Cell]) -> tuple[str, str, str]:
    marked = [one["hidden"] for one in cells if holds(one)]
    return str(sum(value < 0 for value in marked)), str(sum(value > 0 for value in marked)), str(len(cells))
