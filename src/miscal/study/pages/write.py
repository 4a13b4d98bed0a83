"""The pages put together and written; the same tables give the same bytes."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from miscal.base.arrays import counted
from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.shown import escaped, markdown_table
from miscal.data.writing import defused
from miscal.report.formatting import DASH, change, metric, points
from miscal.report.frame import render_page
from miscal.report.opening import opening
from miscal.report.texts import first_sentence, short
from miscal.study.aggregates import forgetting, forgetting_sentence
from miscal.study.answers import Answer, group_name, in_order, label, ranks
from miscal.study.claims import PaperClaim
from miscal.study.drawing import look, write
from miscal.study.figures import FIGURES
from miscal.study.folder import n_planned, n_planned_by_method, planned
from miscal.study.pages import grids
from miscal.study.pages.grids import board_table
from miscal.study.paper_numbers import SOURCE
from miscal.study.tables import Tables, of_method, read_tables
from miscal.study.verdict import StudySummary, sentences, summarise
from miscal.study.vocabulary import StudyVocabulary

HERE = Path(__file__).parent / "templates"
_STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "print.css", "study.css", "board.css")
_PROGRAMS = ("element.js", "order.js", "sort.js", "folds.js")
_FIRST = ("calibration_cost", "together", "promises", "corrected")
"""Questions whose pictures may open the first page: the first two that have one."""
PAPER = "paper.html"
"""The page that sets the paper's claims beside what was found."""

_DOORS = {
    "promises": "Promised and kept", "calibration_cost": "Best calibrated", "hidden_cost": "What is hidden",
    "together": "Failing together", "best": "Best in each group", "corrected": "What correcting leaves",
    "log_loss_corrected": "Best once corrected", "elsewhere": "Corrections of others", "few": "Rows enough",
}  # fmt: skip
"""Short names of questions."""

_WIDE = 400
"""Width of a figure, in points, from which a phone scrolls it instead of shrinking it."""
MOST_DRAWN = 120
"""Groups of a data set on the page; the table ``groups`` has all."""
_STEPS = (0.02, 0.05, 0.10, 0.20)
"""Absolute hidden residuals at which a cell of the matrix takes a deeper colour."""


_FILTERS = (
    ("first_sentence", lambda text: first_sentence(text)[0]),
    ("line_name", lambda line: line_name(line)),
    ("shade", lambda cell: _shade(cell)),
)


def write_pages(out: str | Path, *, paper: bool = False) -> Path:
    """Draw all figures of a study and write its pages and summary, from its tables alone.

    Parameters
    ----------
    out : str or Path
        Folder of the study, with ``tables``. Tables that are missing or empty are left out of the page.
    paper : bool, default False
        Draw ``paper.html`` even if no pair is the paper's; an older one is taken away where it is not drawn.

    Returns
    -------
    Path
        ``index.html``. Beside it stands ``summary.json``; where the paper is spoken of, ``paper.html``, too, with
        ``figures/*.svg`` and ``.png``.

    Raises
    ------
    FileError
        If the folder has no tables, or cannot be written.
    CorruptFile
        If a table cannot be read.

    Examples
    --------
    >>> write_pages("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder: no tables of a study are there; give the folder that `miscal study` \
wrote
    """
    folder = Path(out)
    tables = read_tables(folder)
    summary = summarise(tables, n_planned(folder, tables), n_planned_by_method(folder), planned(folder), paper=paper)
    with disk_errors(str(folder)):
        content = json.dumps(summary.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False)
        replace_file(folder / "summary.json", (content + "\n").encode())
        if summary.of_paper:
            replace_file(folder / PAPER, _paper(tables, summary, folder))
        else:
            (folder / PAPER).unlink(missing_ok=True)
        replace_file(folder / "index.html", _index(tables, summary, folder))
    return folder / "index.html"


def _page(template: str, **values: Any) -> bytes:
    page = render_page(
        template, _STYLES, _PROGRAMS, folder=HERE, filters=_FILTERS, version=metadata.version("miscal"), **values
    )
    return page.encode()


# --- the first page -----------------------------------------------------------------------------------------------


def _index(tables: Tables, summary: StudySummary, out: Path) -> bytes:
    pictures = [(one, picture(one, summary.method, out)) for one in summary.answers]
    drawn = {one.name: (one, picture) for one, picture in pictures if picture}
    n_groups = sum(len(one["lines"]) for one in summary.matrices)
    return _page(
        "index.html",
        **opening(summary.answer),
        first=[drawn[name] for name in _FIRST if name in drawn][:2],
        title=title(tables),
        summary=summary,
        answers=pictures,
        doors=_DOORS,
        matrix_line=f"{n_groups:,} groups; what holds for a model, and for all",
        matrices=[(one, _links(one, out)) for one in summary.matrices],
        most=MOST_DRAWN,
        firsts=grids.firsts_grid(tables, summary.method),
        board=grids.board_grid(tables, summary.method, out, summary.words),
        failures=grids.failures_grid(tables),
    )


def title(tables: Tables) -> str:
    """Say how many models were asked on which data sets.

    >>> import polars as pl
    >>> title({"pairs": pl.DataFrame({"pair": ["a", "b"], "model": ["x", "y"], "dataset": ["mmlu", "mmlu"]})})
    '2 models on mmlu'
    """
    pairs = tables["pairs"].unique("pair", maintain_order=True)
    models, datasets = pairs["model"].n_unique(), pairs["dataset"].unique(maintain_order=True).to_list()
    if not models:
        return "No pair is finished yet"
    on = short(datasets[0], 60) if len(datasets) == 1 else f"{len(datasets)} data sets"
    said = f"{counted(models, 'model')} on {on}"
    return said if pairs.height == models * len(datasets) else f"{said}, {pairs.height} pairs"


def picture(answer: Answer, method: str, out: Path) -> dict[str, Any] | None:
    """Place the bars of an answer on one axis that holds 0, in per cent of its width; None without any."""
    if not answer.bars:
        return None
    low = min(0.0, *(one["low"] for one in answer.bars))
    width = max(max(0.0, *(one["high"] for one in answer.bars)) - low, 1e-9)
    place = lambda value: round(100 * (value - low) / width, 2)  # noqa: E731
    write = points if answer.unit == "points" else metric if answer.ordered else change
    rows = []
    for one in answer.bars:
        side = "" if answer.ordered else "over" if one["high"] < 0 else "under" if one["low"] > 0 else ""
        value, *ends = (write(one[name]) for name in ("value", "low", "high"))
        row = {"name": one["name"], "value": value, "text": f"{value} ({' to '.join(ends)})", "side": side}
        row["text"] += f", {one['aside']}" if one["aside"] else ""
        row |= {"low": place(one["low"]), "high": place(one["high"]), "at": place(one["value"])}
        rows.append(row | {"href": grids.report_link(out, one["pair"], method) if one["pair"] else None})
    return {"zero": place(0.0), "rows": rows}


def line_name(line: dict[str, Any]) -> str:
    """Name a group of a matrix, with a diamond where all models, taken together, err."""
    return group_name(line, 50) + (" \N{BLACK DIAMOND}" if line["finding"] else "")


def _links(matrix: dict[str, Any], out: Path) -> dict[str, str | None]:
    """Return the address of the report of each model of a matrix."""
    pairs = {cell["model"]: cell["pair"] for line in matrix["lines"] for cell in line["cells"] if cell}
    return {model: grids.report_link(out, pairs[model], matrix["method"]) for model in matrix["models"]}


def _shade(cell: dict[str, Any]) -> str:
    """Return the class of a cell of a matrix, which colours it; none where it has too few rows to be tested."""
    depth = sum(abs(cell["hidden"]) >= step for step in _STEPS)
    return f"{'over' if cell['hidden'] < 0 else 'under'}-{depth}" if depth and cell["p_value"] is not None else ""


# --- the page beside the paper ------------------------------------------------------------------------------------


def _paper(tables: Tables, summary: StudySummary, out: Path) -> bytes:
    by_method, words = n_planned_by_method(out), summary.words
    made: dict[str, list[tuple[str, grids.Grid]]] = defaultdict(list)
    for method in summary.methods:
        for name, found in grids.paper_grids(tables, method, by_method, words):
            if found is not None:
                made[name].append((method, found))
    figures = _draw(tables, out / "figures", words)
    names_drawn = {section["figure"].name for section in figures}
    return _page(
        PAPER,
        summary=summary,
        words=words,
        sentences={method: sentences(found, words) for method, found in summary.methods.items()},
        pairs=grids.pairs_grid(tables, by_method, out, words),
        figures=figures,
        beside=_beside(summary),
        missing=[words.fill(figure.title) for figure in FIGURES if figure.name not in names_drawn],
        made=made,
        methods=grids.methods_grid(tables, words),
        neighbour_sentences=[
            f"Method {method}: {forgetting_sentence(forgetting(tables['purity'], method))}"
            for method, _ in made["purity"]
        ],
        failures=grids.failures_grid(tables),
        source=SOURCE,
    )


def _draw(tables: Tables, folder: Path, words: StudyVocabulary) -> list[dict[str, Any]]:
    """Draw the figures; a section for each: the figure, the drawing on the page, and the names of what is linked."""
    folder.mkdir(exist_ok=True)
    sections = []
    with look():
        for figure in FIGURES:
            names = [write(drawing, folder, name) for name, drawing in figure.draw(tables)]
            if names:
                drawn = (folder / f"{names[0]}.svg").read_bytes()
                width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', drawn)
                wide = width is not None and float(width[1]) > _WIDE
                shown = {"name": names[0], "data": base64.b64encode(drawn).decode(), "wide": wide}
                told = {"title": words.fill(figure.title), "lesson": words.fill(figure.lesson)}
                sections.append({"figure": figure, **told, "shown": shown, "linked": names[1:]})
    return sections


def _beside(summary: StudySummary) -> dict[str, tuple[str, list[PaperClaim]]]:
    """Return the claims that stand at each figure: those of the first method that has any."""
    beside: dict[str, tuple[str, list[PaperClaim]]] = {}
    for method, claims in summary.claims.items():
        for name in {claim.figure for claim in claims} - beside.keys():
            beside[name] = method, [claim for claim in claims if claim.figure == name]
    return beside


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
