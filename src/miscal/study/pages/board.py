"""``board.md`` and ``board.csv``: the board of a study, for those who hand it on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.shown import escaped, markdown_table
from miscal.data.writing import defused
from miscal.report.formatting import DASH, metric, points
from miscal.report.texts import short
from miscal.study.answers import Answer, in_order, label, ranks
from miscal.study.folder import n_planned
from miscal.study.pages.grids import board_table
from miscal.study.pages.write import line_name, title
from miscal.study.tables import Tables, of_method, read_tables
from miscal.study.verdict import StudySummary, summarise

MARKDOWN, CSV = "board.md", "board.csv"
MOST_LINES = 20
"""Groups of a data set; the table ``groups`` has all."""
MOST_MODELS = 12
"""Models up to which there is a column for each; a table of more is too wide to be read."""
_LONGEST = 4_000
"""Characters of an answer: it names a few groups and models, none of which is long by itself."""


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


def board_markdown(tables: Tables, summary: StudySummary) -> str:
    """Write the board as markdown in which no name can become markup, a mention or a link."""
    blocks = [f"# {escaped(title(tables))}"]
    if summary.n_pairs:
        lines = summary.answer
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


def _matrix(matrix: dict[str, Any], summary: StudySummary) -> Iterator[str]:
    """Write a matrix in short: a column for each model, or of many models how many differ."""
    words, heads, lines = summary.words, matrix["models"], matrix["lines"][:MOST_LINES]
    beside = f"than on rows of equal {words.probability}"
    said, write = f"How much higher the {words.rate} is {beside}, in points; a star marks what holds", _cells
    if len(heads) > MOST_MODELS:
        heads, write = ("models lower", "models higher", "models"), _counts
        said = f"How many models have a lower or higher {words.rate} {beside}, where that holds"
    yield f"## {escaped('Models by groups on ' + short(matrix['dataset'], 80))}"
    yield markdown_table(
        ["group", *heads], [[line_name(line), *write(line)] for line in lines], numbers=range(1, len(heads) + 1)
    )
    left = len(matrix["lines"]) - len(lines)
    more = f" The table groups has {left} more groups." if left else ""
    diamond = "; a diamond marks groups in which all models, taken together, err"
    shared = diamond if any(line["finding"] for line in lines) else ""
    yield escaped(f"{said} after adjustment over all cells{shared}.{more}")


def _cells(line: dict[str, Any]) -> list[str]:
    return [
        DASH if one is None or one["hidden"] is None else points(one["hidden"], 0) + "*" * (one in line["marked"])
        for one in line["cells"]
    ]


def _counts(line: dict[str, Any]) -> list[str]:
    sides = [one["hidden"] < 0 for one in line["marked"]]
    return [str(n) for n in (sum(sides), len(sides) - sum(sides), sum(one is not None for one in line["cells"]))]
