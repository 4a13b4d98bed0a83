"""The pages put together and written; the same tables give the same bytes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import polars as pl

from miscal.base.files import disk_errors, replace_file
from miscal.report.frame import render_page
from miscal.study.aggregates.corrections import correction_transfer
from miscal.study.aggregates.forgetting import forgetting
from miscal.study.claims import PaperClaim
from miscal.study.drawing import look, write
from miscal.study.figures import FIGURES, StudyFigure
from miscal.study.figures.labels import datasets_in
from miscal.study.folder import n_planned, n_planned_by_method, planned
from miscal.study.pages import board, board_grids, paper_grids, sheets, study_grids
from miscal.study.pages.grid import Grid
from miscal.study.pages.sheets import sheet_names
from miscal.study.pages.summary import StudySummary, as_json, summarise
from miscal.study.paper_numbers import SOURCE
from miscal.study.plan import METHODS
from miscal.study.tables import REGIONS, Tables, read_tables
from miscal.study.verdict import sentences
from miscal.study.vocabulary import StudyVocabulary, vocabulary_of

HERE = Path(__file__).parent / "templates"
_STYLES = ("base.css", "tables.css", "figures.css", "print.css", "study.css", "board.css")
_PROGRAMS = ("element.js", "order.js", "sort.js")
PAPER = "paper.html"
"""The page that sets the paper's claims beside what was found."""

_WIDE = 400
"""Width of a figure, in points, from which a phone scrolls it instead of shrinking it."""


@dataclass(frozen=True)
class Shown:
    """A figure on the page: its data, and whether it is too wide for a phone."""

    name: str
    data: str
    wide: bool


@dataclass(frozen=True)
class FigureSection:
    """A figure's section: what stands on the page, and the names of what is linked."""

    figure: StudyFigure
    shown: Sequence[Shown]
    linked: Sequence[str]


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
        ``index.html``. Beside it stand ``datasets/*.html`` and ``summary.json``; where the paper is spoken of,
        ``paper.html``, too, with ``figures/*.svg`` and ``.png``.

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
    by_method = n_planned_by_method(folder)
    summary = summarise(tables, n_planned(folder, tables), by_method, planned(folder), paper=paper)
    with disk_errors(str(folder)):
        drawn = _draw(tables, folder / "figures", summary.words) if summary.of_paper else []
        names = sheet_names(datasets_in(tables["pairs"]))
        (folder / "datasets").mkdir(exist_ok=True)
        for dataset, name in names.items():
            replace_file(folder / "datasets" / f"{name}.html", _sheet(tables, dataset, folder).encode())
        content = json.dumps(as_json(summary), indent=1, ensure_ascii=False, allow_nan=False)
        replace_file(folder / "summary.json", (content + "\n").encode())
        page, of_paper = folder / "index.html", folder / PAPER
        if summary.of_paper:
            replace_file(of_paper, _paper(tables, summary, by_method, drawn, names, folder).encode())
        else:
            of_paper.unlink(missing_ok=True)
        replace_file(page, _index(tables, summary, names, folder).encode())
    return page


def _draw(tables: Tables, folder: Path, words: StudyVocabulary) -> list[FigureSection]:
    folder.mkdir(exist_ok=True)
    sections = []
    with look():
        for figure in FIGURES:
            names = [write(drawing, folder, name) for name, drawing in figure.draw(tables)]
            if names:
                sections.append(FigureSection(figure.in_words(words), [_shown(folder, names[0])], names[1:]))
    return sections


def _shown(folder: Path, name: str) -> Shown:
    drawing = (folder / f"{name}.svg").read_bytes()
    width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', drawing)
    return Shown(name, base64.b64encode(drawing).decode(), width is not None and float(width[1]) > _WIDE)


def _index(tables: Tables, summary: StudySummary, names: dict[str, str], out: Path) -> str:
    return _page(
        "index.html",
        title=board.title(tables),
        n_pairs=summary.n_pairs,
        n_planned=summary.n_planned,
        words=summary.words,
        answers=[(one, board.picture(one, summary.method, out)) for one in summary.answers],
        matrices=[board.drawn(one, out) for one in summary.matrices],
        firsts=board_grids.firsts_grid(tables, summary.method),
        board=board_grids.board_grid(tables, out, summary.words),
        sheets=names,
        failures=study_grids.failures_grid(tables),
        paper=summary.of_paper,
    )


def _paper(
    tables: Tables,
    summary: StudySummary,
    by_method: Mapping[str, int],
    drawn: list[FigureSection],
    names: dict[str, str],
    out: Path,
) -> str:
    methods, words = [verdict.method for verdict in summary.verdicts], summary.words
    names_drawn = {section.figure.name for section in drawn}
    nulls = sorted(set(tables["nulls"]["null"].to_list()))
    return _page(
        PAPER,
        summary=summary,
        words=words,
        sentences={verdict.method: sentences(verdict, words) for verdict in summary.verdicts},
        pairs=study_grids.pairs_grid(tables, by_method, out, words),
        figures=drawn,
        beside=_beside(summary),
        missing=[figure.in_words(words).title for figure in FIGURES if figure.name not in names_drawn],
        nulls=_each(methods, lambda method: [paper_grids.null_grid(tables, method, null) for null in nulls]),
        seeds=_each(methods, lambda method: [paper_grids.seed_grid(tables, method)]),
        thresholds=_each(methods, lambda method: [paper_grids.threshold_grid(tables, method)]),
        gaps=_each(methods, lambda method: [paper_grids.gap_grid(tables, method)]),
        methods=study_grids.methods_grid(tables, words),
        certificates=_each(methods, lambda method: [study_grids.certificates_grid(tables, by_method, method)]),
        deferral=_each(methods, lambda method: [study_grids.deferral_grid(tables, method, words)]),
        fields=_each(methods, lambda method: [study_grids.fields_grid(tables, method, words)]),
        elsewhere=_each(methods, lambda method: [study_grids.elsewhere_grid(tables, method)]),
        correction_sentences=_sentences(
            tables["transfer_corrections"],
            methods,
            lambda method: correction_transfer(tables["transfer_corrections"], method).sentence(words),
        ),
        neighbour_sentences=_sentences(
            tables["purity"], methods, lambda method: forgetting(tables["purity"], method).sentence
        ),
        purity=_each(methods, lambda method: [study_grids.purity_grid(tables, method)]),
        failures=study_grids.failures_grid(tables),
        sheets=names,
        source=SOURCE,
    )


def _beside(summary: StudySummary) -> dict[str, list[tuple[str, list[PaperClaim]]]]:
    """Return the claims that stand at each figure: those of the first method that has any."""
    beside: dict[str, list[tuple[str, list[PaperClaim]]]] = {}
    for method, claims in summary.claims.items():
        for name in {claim.figure for claim in claims} - beside.keys():
            beside[name] = [(method, [claim for claim in claims if claim.figure == name])]
    return beside


def _each(methods: list[str], make) -> list[tuple[str, Grid]]:
    """Return each method's tables that have rows, beside the method."""
    return [(method, grid) for method in methods for grid in make(method) if grid is not None]


def _sentences(table: pl.DataFrame, methods: list[str], find) -> list[str]:
    """Return the sentence of each method that the table has rows of."""
    held = set(table["method"].to_list())
    return [f"Method {method}: {find(method)}" for method in methods if method in held]


def _sheet(tables: Tables, dataset: str, out: Path) -> str:
    words = vocabulary_of(tables["pairs"].filter(pl.col("dataset") == dataset))
    axes = sheets.axes_of(tables, dataset)
    rows = sheets.model_rows(tables, dataset, out, words, axes)
    return _page(
        "dataset.html",
        dataset=dataset,
        words=words,
        by_method=[(method, own) for method in METHODS if (own := [row for row in rows if row.method == method])],
        axes=axes,
        regions=REGIONS,
    )


def _page(template: str, **values) -> str:
    return render_page(template, _STYLES, _PROGRAMS, folder=HERE, version=metadata.version("miscal"), **values)
