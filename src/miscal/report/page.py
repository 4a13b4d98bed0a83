"""Put panels, styles and programs together into the page, and write it."""

from pathlib import Path

from markupsafe import Markup

from miscal.base.files import replace_file
from miscal.report import lines
from miscal.report.frame import environment, render_page
from miscal.report.panels import PANELS, Panel
from miscal.report.row_wording import row_words
from miscal.report.source import Source, read_source

STYLES = (
    "base.css",
    "answer.css",
    "tables.css",
    "figures.css",
    "values.css",
    "decisions.css",
    "cards.css",
    "atlas.css",
    "print.css",
)
DOORS = ("findings", "columns", "decisions", "atlas", "corrections", "making")
"""Sections that the first screen leads to."""

MARK = b"<title>miscal report: "
"""By this the page of a run is known."""

PROGRAMS = (
    *("decisions.js", "data.js", "numbers.js", "element.js", "colours.js", "selection.js", "pane.js", "gestures.js"),
    *("tooltip.js", "legend.js", "order.js", "sort.js", "table.js", "folds.js", "main.js"),
)


def render(run_dir: str | Path) -> Path:
    """Draw ``RUN_DIR/report.html`` from ``summary.json`` and the tables beside it, and return its path.

    The page is one file without any outside resource, replaced once it is complete; the same folder gives the same
    bytes.

    Examples
    --------
    >>> render("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder: no such run folder; give the folder of a run, ...
    """
    folder = Path(run_dir)
    return write_page(read_source(folder), folder)


def write_page(source: Source, folder: Path) -> Path:
    """Write the page of a run into its folder, and return where it is."""
    path = folder / "report.html"
    replace_file(path, build(source).encode())
    return path


def build(source: Source) -> str:
    """Return the whole page as text."""
    terms, version = source.terms, source.summary.versions.get("miscal")
    heads = {name: getattr(terms, name) for name in ("judged", "over_and_under", "probabilities")}
    sections = [
        (
            *(panel, panel.title.format(**heads), "" if panel.line is None else panel.line(source), body),
            None if panel.picture is None else panel.picture(source),
        )
        for panel in PANELS
        if (body := draw(panel, source)) is not None
    ]
    return render_page(
        "page.html",
        STYLES,
        PROGRAMS,
        name=source.name,
        sections=sections,
        version=version,
        doors=DOORS,
        counted=lines.counted(source),
    )


def draw(panel: Panel, source: Source) -> Markup | None:
    """Draw a panel from one run; None where the panel has nothing to say."""
    view, terms, decimals = panel.view(source), source.terms, source.decimals
    if view is None:
        return None
    words = row_words(source.summary)
    shared = {"words": words, "terms": terms, "decimals": decimals, "digits": decimals if terms.digits else 0}
    # its template escapes what it prints
    return Markup(environment().get_template(f"panels/{panel.name}.html").render(**shared, **view))  # noqa: S704
