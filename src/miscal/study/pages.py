"""The pages put together and written; the same tables give the same bytes."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from miscal.base.arrays import counted
from miscal.base.files import disk_errors, replace_file, write_whole
from miscal.base.shown import escaped, markdown_table
from miscal.data.writing import defused
from miscal.report.formatting import DASH, change, metric, points, short
from miscal.report.frame import render_page
from miscal.report.sheet import Table, opening
from miscal.study import figures, grids
from miscal.study.answers import Row, in_order, label, matrices, ranks, told
from miscal.study.drawing import look, write
from miscal.study.tables import Tables, Words, of_method, plan_content, read_tables, vocabulary_of
from miscal.study.verdict import Lines, method_of, summarise

HERE = Path(__file__).parent / "templates"
_STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "print.css", "study.css", "board.css")
_PROGRAMS = ("element.js", "order.js", "sort.js", "folds.js")
_FIRST = ("calibration_cost", "together", "promises", "corrected")
"""Questions whose pictures may open the first page: the first two that have one."""
SUMMARY, PAPER = "summary.json", "paper.html"
"""What the study says as JSON, and the page that sets the paper's claims beside what was found."""
MARKDOWN, CSV = "board.md", "board.csv"

_WIDE = 400
"""Width of a figure, in points, from which a phone scrolls it instead of shrinking it."""
MOST_DRAWN, MOST_LINES = 120, 20
"""Groups of a data set on the page, and in markdown; the table ``groups`` has all."""
MOST_MODELS = 12
"""Models up to which markdown has a column for each; a table of more is too wide to be read."""
_STEPS = (0.02, 0.05, 0.10, 0.20)
"""Absolute hidden residuals at which a cell of the matrix takes a deeper colour."""
_LONGEST = 4_000
"""Characters of an answer in markdown: it names a few groups and models, none of which is long by itself."""


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
    tables, words, summary = _told(folder, paper)
    with disk_errors(str(folder)):
        text = json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)
        replace_file(folder / SUMMARY, (text + "\n").encode())
        if "claims" in summary:
            replace_file(folder / PAPER, _paper(tables, summary, folder, words))
        else:
            (folder / PAPER).unlink(missing_ok=True)
        replace_file(folder / "index.html", _index(tables, summary, folder, words))
    return folder / "index.html"


def _told(folder: Path, paper: bool = False) -> tuple[Tables, Words, dict[str, Any]]:
    """Read the tables of a study; return them, its words, and what it says as a whole."""
    tables, plan = read_tables(folder), plan_content(folder)
    words = vocabulary_of(tables["pairs"], plan["by"])
    return tables, words, summarise(tables, words, plan, paper=paper)


def _page(template: str, tables: Tables, summary: dict[str, Any], folder: Path, words: Words, **values: Any) -> bytes:
    found = grids.pair_grids(tables, method_of(tables), summary["methods"], folder, words)
    page = render_page(
        template, _STYLES, _PROGRAMS, folder=HERE, filters=(("told", told), ("shade", _shade)), **found, words=words,
        failures=grids.failures_grid(tables, words), version=metadata.version("miscal"), summary=summary, **values,
    )  # fmt: skip
    return page.encode()


# --- the first page -----------------------------------------------------------------------------------------------


def _index(tables: Tables, summary: dict[str, Any], out: Path, words: Words) -> bytes:
    method = method_of(tables)
    found = [one | {"picture": picture(one, method, out)} for one in summary["answers"]]
    drawn = {one["name"]: one for one in found if one["picture"]}
    laid_out = matrices(*(of_method(tables[name], method) for name in ("groups", "shared_findings")))
    for matrix in laid_out:
        pairs = {cell["model"]: cell["pair"] for line in matrix["lines"] for cell in line["cells"] if cell}
        matrix["n"] = len(matrix["lines"])
        matrix["links"] = {model: grids.report_link(out, pairs[model], method) for model in matrix["models"]}
    return _page(
        "index.html", tables, summary, out, words, **opening(Lines(**summary["answer"])), title=title(tables, words),
        first=[drawn[name] for name in _FIRST if name in drawn][:2], answers=found, matrices=laid_out, most=MOST_DRAWN,
        firsts=grids.firsts_grid(tables, method, words),
    )  # fmt: skip


def title(tables: Tables, words: Words) -> str:
    """Say how many models were asked on which data sets.

    >>> import polars as pl
    >>> pairs = pl.DataFrame({"pair": ["a", "b"], "model": ["x", "y"], "dataset": ["mmlu", "mmlu"]})
    >>> title({"pairs": pairs}, {"model": "model", "models": "models"})
    '2 models on mmlu'
    """
    pairs = tables["pairs"].unique("pair", maintain_order=True)
    models, datasets = pairs["model"].n_unique(), pairs["dataset"].unique(maintain_order=True).to_list()
    if not models:
        return "No pair is finished yet"
    on = short(datasets[0], 60) if len(datasets) == 1 else f"{len(datasets)} data sets"
    said = f"{models:,} {words['model'] if models == 1 else words['models']} on {on}"
    return said if pairs.height == models * len(datasets) else f"{said}, {pairs.height} pairs"


def picture(answer: Row, method: str, out: Path) -> dict[str, Any] | None:
    """Place the bars of an answer on one axis that holds 0, in per cent of its width; None without any."""
    bars, ordered = answer["bars"], answer["ordered"]
    if not bars:
        return None
    low = min(0.0, *(one["low"] for one in bars))
    width = max(max(0.0, *(one["high"] for one in bars)) - low, 1e-9)
    place = lambda value: round(100 * (value - low) / width, 2)  # noqa: E731
    write = points if answer["unit"] == "points" else metric if ordered else change
    rows = []
    for one in bars:
        side = "" if ordered else "over" if one["high"] < 0 else "under" if one["low"] > 0 else ""
        value, *ends = (write(one[name]) for name in ("value", "low", "high"))
        text = f"{value} ({' to '.join(ends)})" + (f", {one['aside']}" if one["aside"] else "")
        places = {"low": place(one["low"]), "high": place(one["high"]), "at": place(one["value"])}
        href = grids.report_link(out, one["pair"], method) if one["pair"] else None
        rows.append({"name": one["name"], "value": value, "text": text, "side": side, "href": href} | places)
    return {"zero": place(0.0), "rows": rows}


def _shade(cell: Row) -> str:
    """Return the class of a cell of a matrix, which colours it; none where it has too few rows to be tested."""
    depth = sum(abs(cell["hidden"]) >= step for step in _STEPS)
    return f"{'over' if cell['hidden'] < 0 else 'under'}-{depth}" if depth and cell["p_value"] is not None else ""


# --- the page beside the paper ------------------------------------------------------------------------------------


class StudyFigure(NamedTuple):
    """One figure of a study, drawn from its tables alone.

    Attributes
    ----------
    name : str
        Id of its section on the page; its files begin with it.
    title : str
        What it shows, as a heading; like `lesson` it may name words of a study in braces
        (:data:`miscal.study.tables.Words`).
    place : str
        Where the paper shows the like, such as ``"figures 5a and 13"``; empty where the paper has none.
    draw : callable
        From the tables to figures with their names, of which the page shows the first and links to the others. Without
        the rows that it needs it draws none. The caller has chosen the look (:func:`miscal.study.drawing.look`).
    lesson : str
        What to look for, in whole sentences; it also serves those who cannot see the figure.
    """

    name: str
    title: str
    place: str
    draw: Callable[[Tables], Iterable[tuple[str, Figure]]]
    lesson: str


FIGURES: tuple[StudyFigure, ...] = (
    StudyFigure(
        "gaps", "How much worse the worst slice is than the whole", "figure 5b and table 5", figures.gaps,
        "The gap is the calibration error (smECE) of the worse of the two discovered slices less that of all rows. "
        "Where its interval excludes 0 (a filled mark), the whole understates how badly the {probability} is "
        "calibrated on some inputs. A calibrated model has a gap above 0, too, because the calibration error of few "
        "rows is larger: intervals allow for this, may lie left of their mark, and start at 0 where chance explains "
        "the gap. The paper appears to report the gap cut off at 0; here it keeps its sign.",
    ),
    StudyFigure(
        "fields", "How much the field varies, and which way it leans", "figures 5a and 13", figures.fields,
        "Each point is one pair of a model and a data set. Points left of the line are {over} on average. The higher a "
        "point stands, the more the error of the {probability} differs from input to input, which a single "
        "reliability diagram cannot show.",
    ),
    StudyFigure(
        "example", "One pair in detail: what the whole hides", "figure 4", figures.example,
        "On the dashed line, the {rate} equals the {probability}; rows below it are {over}, rows above it {under}. The "
        "two diagrams at the right show the rows that the field sets apart. The pair is the paper's example if the "
        "study has it, otherwise the one with the largest gap, which was chosen after looking.",
    ),
    StudyFigure(
        "improvements", "What a correction takes off, and where", "figure 6", figures.improvements,
        "A bar above 0 means that the correction lowers the calibration error (smECE) on that part of the rows; below "
        "0 it does harm. Bars are means over models, lines one standard deviation. Under each part, which the field "
        "cuts, stands how many of the data set's pairs have it with enough rows.",
    ),
    StudyFigure(
        "gains", "Where the local correction gains most", "figure 7a", figures.gains,
        "Above the line, the local correction leaves less calibration error (smECE) on the worst slice than isotonic "
        "regression, which sees the {probability} alone. If points rise to the right, the gain is larger where the "
        "field varies more. The interval presumes that pairs are independent; those of one model or one data set are "
        "not quite.",
    ),
    StudyFigure(
        "sizes", "Do larger models vary more?", "figure 7b", figures.sizes,
        "A line joins the models of one family, over a logarithmic scale of sizes. Where it rises, the larger models "
        "of the family are miscalibrated more unevenly.",
    ),
    StudyFigure(
        "raw-fields", "Raw inputs beside the learned geometry", "figure 14a", figures.raw_fields,
        "The same residuals are averaged over neighbours in the raw inputs (left) and in the learned geometry (right). "
        "Points that stand higher at the right say that learning found variation that nearness of the raw inputs does "
        "not show.",
    ),
    StudyFigure(
        "raw-gaps", "Gaps that raw inputs find, and gaps that learning finds", "figure 14b", figures.raw_gaps,
        "The further the middle histogram lies to the right of the left one, the more learning adds; the right one "
        "shows the difference within each pair. The hatched bars hold the pairs whose value is exactly 0. The gap of a "
        "calibrated model is above 0, too, so that the shares above 0 show nothing by themselves.",
    ),
    StudyFigure(
        "proxies", "How long learning goes on, on the data and with shuffled labels", "appendix F.3", figures.proxies,
        "The proxy is the validation Brier score of {probability} plus field, by which the paper's method chooses; "
        "each line starts at 0. A line that keeps falling has found structure that helps on these validation rows; "
        "only test rows can show that it holds elsewhere. Under the null called permuted, labels of training and "
        "validation rows are shuffled. Even then the field is not flat, because it learns the base rate less the "
        "{probability}.",
    ),
    StudyFigure(
        "layouts", "What the learned space forgets, and what it keeps", "figure 15", figures.layouts,
        "Each point is a {row}. In the raw inputs, {rows} that are alike lie close together; in the learned space, "
        "those on which the model errs in the same way. Where categories lie apart on the left and are mixed on the "
        "right, the learned space has forgotten the subject; where the field's colours separate, it has kept the "
        "error. A picture in two dimensions proves nothing; the purity of neighbours measures it.",
    ),
)  # fmt: skip
"""All figures, in the order of the page."""


def _paper(tables: Tables, summary: dict[str, Any], out: Path, words: Words) -> bytes:
    made: dict[str, list[tuple[str, Table]]] = defaultdict(list)
    for method, counts in summary["methods"].items():
        for name, found in grids.paper_grids(tables, method, counts["n_family"], words):
            if found is not None:
                made[name].append((method, found))
    drawn = _draw(tables, out / "figures", words)
    # the claims that stand at each figure are those of the first method that has any
    beside: dict[str, tuple[str, list[Row]]] = {}
    for method, claims in summary["claims"].items():
        for name in {claim["figure"] for claim in claims} - beside.keys():
            beside[name] = method, [claim for claim in claims if claim["figure"] == name]
    missing = [one.title.format_map(words) for one in FIGURES if one.name not in {done["name"] for done in drawn}]
    return _page(
        PAPER, tables, summary, out, words, verdict=grids.verdict_grid(summary["methods"], words), made=made,
        figures=drawn, beside=beside, missing=missing, methods=grids.methods_grid(tables, words),
    )  # fmt: skip


def _draw(tables: Tables, folder: Path, words: Words) -> list[dict[str, Any]]:
    """Draw the figures; a section for each: the words, the drawing on the page, and the names of what is linked."""
    folder.mkdir(exist_ok=True)
    sections = []
    with look():
        for figure in FIGURES:
            names = [write(drawing, folder, name) for name, drawing in figure.draw(tables)]
            if names:
                drawn = (folder / f"{names[0]}.svg").read_bytes()
                width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', drawn)
                shown = {"data": base64.b64encode(drawn).decode(), "wide": width and float(width[1]) > _WIDE}
                said = {"title": figure.title.format_map(words), "lesson": figure.lesson.format_map(words)}
                sections.append(figure._asdict() | said | shown | {"drawn": names[0], "linked": names[1:]})
    return sections


# --- to hand on ---------------------------------------------------------------------------------------------------


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
    tables, words, summary = _told(folder)
    with disk_errors(str(folder)):
        page = "\n\n".join(board_blocks(tables, summary, words)) + "\n"
        replace_file(folder / MARKDOWN, page.encode())
        write_whole(folder / CSV, defused(grids.board_table(tables, method_of(tables))).write_csv)
    return folder / MARKDOWN


def board_blocks(tables: Tables, summary: dict[str, Any], words: Words) -> Iterator[str]:
    """Write the board as blocks of markdown in which no name can become markup, a mention or a link."""
    method, lines = method_of(tables), summary["answer"]
    yield f"# {escaped(title(tables, words))}"
    if summary["n_pairs"]:
        yield from (f"**{escaped(lines['headline'])}**", escaped(lines["reason"]), escaped(lines["action"]))
    if summary["n_pairs"] != summary["n_planned"]:
        yield f"{summary['n_pairs']} of {summary['n_planned']} pairs of the plan are finished."
    for one in summary["answers"]:
        facts = [f"- {escaped(told(fact), _LONGEST)}" for fact in one["facts"]]
        yield f"## {escaped(one['question'])}\n\n" + "\n".join(facts)
        rows = [
            [ranks(row), label(tables, row), metric(row["value"]), f"{metric(row['low'])} to {metric(row['high'])}"]
            for row in in_order(of_method(tables["rankings"], method), one["name"]).iter_rows(named=True)
        ]
        if rows:
            yield markdown_table(
                ("rank", escaped(words["model"]), "log loss per row", "95 % interval"), rows, numbers=(2,)
            )
            yield escaped(one["note"], _LONGEST)
    for matrix in matrices(*(of_method(tables[name], method) for name in ("groups", "shared_findings"))):
        heads, write = (matrix["models"], _cells) if len(matrix["models"]) <= MOST_MODELS else (_SIDES, _counts)
        rows = [[line["name"] + _MARK * (line["finding"] is not None), *write(line)] for line in matrix["lines"]]
        yield f"## {escaped('Models by groups on ' + short(matrix['dataset'], 80))}"
        yield markdown_table(["group", *heads], rows[:MOST_LINES], numbers=range(1, len(heads) + 1))
        yield escaped(
            f"How much higher the {words['rate']} is than on rows of equal {words['probability']}, in points; of "
            f"many {words['models']}, in how many it is lower or higher. A star, and a count, is of what holds after "
            "adjustment over all cells; a diamond marks groups in which all, taken together, err. The table groups has "
            f"all {counted(len(rows), 'group')}."
        )


_SIDES, _MARK = ("lower in", "higher in", "of"), " \N{BLACK DIAMOND}"


def _cells(line: Row) -> list[str]:
    return [
        DASH if one is None or one["hidden"] is None else points(one["hidden"], 0) + "*" * (one in line["marked"])
        for one in line["cells"]
    ]


def _counts(line: Row) -> list[str]:
    lower = sum(one["hidden"] < 0 for one in line["marked"])
    return [str(n) for n in (lower, len(line["marked"]) - lower, sum(one is not None for one in line["cells"]))]
