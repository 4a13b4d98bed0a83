"""The pages put together and written; the same tables give the same bytes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from miscal.base.files import disk_errors, replace_file
from miscal.report.frame import render_page
from miscal.report.opening import opening
from miscal.report.texts import first_sentence
from miscal.study.aggregates import forgetting, forgetting_sentence
from miscal.study.claims import PaperClaim
from miscal.study.drawing import look, write
from miscal.study.figures import FIGURES
from miscal.study.folder import n_planned, n_planned_by_method, planned
from miscal.study.pages import board, grids, paper_grids
from miscal.study.paper_numbers import SOURCE
from miscal.study.tables import Tables, read_tables
from miscal.study.verdict import StudySummary, as_json, sentences, summarise
from miscal.study.vocabulary import StudyVocabulary

HERE = Path(__file__).parent / "templates"
_STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "print.css", "study.css", "board.css")
_PROGRAMS = ("element.js", "order.js", "sort.js", "folds.js")
_FILTERS = (("first_sentence", lambda text: first_sentence(text)[0]),)
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
    by_method = n_planned_by_method(folder)
    summary = summarise(tables, n_planned(folder, tables), by_method, planned(folder), paper=paper)
    with disk_errors(str(folder)):
        drawn = _draw(tables, folder / "figures", summary.words) if summary.of_paper else []
        content = json.dumps(as_json(summary), indent=1, ensure_ascii=False, allow_nan=False)
        replace_file(folder / "summary.json", (content + "\n").encode())
        if summary.of_paper:
            replace_file(folder / PAPER, _paper(tables, summary, by_method, drawn, folder))
        else:
            (folder / PAPER).unlink(missing_ok=True)
        replace_file(folder / "index.html", _index(tables, summary, folder))
    return folder / "index.html"


def _draw(tables: Tables, folder: Path, words: StudyVocabulary) -> list[dict[str, Any]]:
    """Draw the figures; a section for each: the figure, the drawings on the page, and the names of what is linked."""
    folder.mkdir(exist_ok=True)
    sections = []
    with look():
        for figure in FIGURES:
            names = [write(drawing, folder, name) for name, drawing in figure.draw(tables)]
            if names:
                drawn = (folder / f"{names[0]}.svg").read_bytes()
                width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', drawn)
                wide = width is not None and float(width[1]) > _WIDE
                shown = [{"name": names[0], "data": base64.b64encode(drawn).decode(), "wide": wide}]
                sections.append({"figure": figure.in_words(words), "shown": shown, "linked": names[1:]})
    return sections


def _index(tables: Tables, summary: StudySummary, out: Path) -> bytes:
    pictures = [(one, board.picture(one, summary.method, out)) for one in summary.answers]
    drawn = {one.name: (one, picture) for one, picture in pictures if picture}
    return _page(
        "index.html",
        **opening(summary.lines),
        first=[drawn[name] for name in _FIRST if name in drawn][:2],
        title=board.title(tables),
        n_pairs=summary.n_pairs,
        n_planned=summary.n_planned,
        words=summary.words,
        answers=pictures,
        doors=_DOORS,
        matrix_line=f"{sum(len(one.lines) for one in summary.matrices):,} groups; what holds for a model, and for all",
        matrices=[board.draw_matrix(one, out) for one in summary.matrices],
        firsts=grids.firsts_grid(tables, summary.method),
        board=grids.board_grid(tables, out, summary.words),
        failures=grids.failures_grid(tables),
        paper=summary.of_paper,
    )


def _paper(
    tables: Tables,
    summary: StudySummary,
    by_method: Mapping[str, int],
    drawn: list[dict[str, Any]],
    out: Path,
) -> bytes:
    methods, words = [verdict.method for verdict in summary.verdicts], summary.words
    names_drawn = {section["figure"].name for section in drawn}

    def each(make: Callable[..., grids.Grid | None], *given: Any) -> list[tuple[str, grids.Grid]]:
        return [(method, found) for method in methods if (found := make(tables, method, *given)) is not None]

    interpreted = [method for method in methods if method in set(tables["purity"]["method"])]

    return _page(
        PAPER,
        summary=summary,
        words=words,
        sentences={verdict.method: sentences(verdict, words) for verdict in summary.verdicts},
        pairs=grids.pairs_grid(tables, by_method, out, words),
        figures=drawn,
        beside=_beside(summary),
        missing=[figure.in_words(words).title for figure in FIGURES if figure.name not in names_drawn],
        nulls=[one for method in methods for one in paper_grids.null_grids(tables, method)],
        seeds=each(paper_grids.seed_grid),
        thresholds=each(paper_grids.threshold_grid),
        gaps=each(paper_grids.gap_grid),
        methods=grids.methods_grid(tables, words),
        certificates=each(grids.certificates_grid, by_method),
        deferral=each(grids.deferral_grid, words),
        neighbour_sentences=[
            f"Method {one}: {forgetting_sentence(forgetting(tables['purity'], one))}" for one in interpreted
        ],
        purity=each(grids.purity_grid),
        failures=grids.failures_grid(tables),
        source=SOURCE,
    )


def _beside(summary: StudySummary) -> dict[str, list[tuple[str, list[PaperClaim]]]]:
    """Return the claims that stand at each figure: those of the first method that has any."""
    beside: dict[str, list[tuple[str, list[PaperClaim]]]] = {}
    for method, claims in summary.claims.items():
        for name in {claim.figure for claim in claims} - beside.keys():
            beside[name] = [(method, [claim for claim in claims if claim.figure == name])]
    return beside


def _page(template: str, **values: Any) -> bytes:
    page = render_page(
        template, _STYLES, _PROGRAMS, folder=HERE, filters=_FILTERS, version=metadata.version("miscal"), **values
    )
    return page.encode()
