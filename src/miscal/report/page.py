"""The page: panels, styles and programs put together, and written in one step."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, Template
from markupsafe import Markup

from miscal.base.errors import FileError
from miscal.base.files import replace_file
from miscal.report import legend, numbers, texts
from miscal.report.inline import digest, embed, templates
from miscal.report.panel import Panel
from miscal.report.panels import PANELS
from miscal.report.rows import row_words
from miscal.report.source import Source, read_source

HERE = Path(__file__).parent
STYLES = ("base.css", "tables.css", "figures.css", "cards.css", "atlas.css", "print.css")
PROGRAMS = (
    *("data.js", "numbers.js", "element.js", "colours.js", "selection.js", "pane.js", "gestures.js"),
    *("tooltip.js", "legend.js", "order.js", "table.js", "main.js"),
)
#: What the templates of panels may write numbers and texts with.
FILTERS = {
    **{
        name: getattr(numbers, name)
        for name in (
            "points",
            "size",
            "brief_points",
            "percent",
            "metric",
            "count",
            "p_value",
            "bounds",
            "seconds",
            "is_opposite",
        )
    },
    **{name: getattr(texts, name) for name in ("short", "listed")},
    "embed": embed,
}


def render(run_dir: str | Path, *, redact_text: bool = False, name: str | None = None) -> Path:
    """Draw ``RUN_DIR/report.html`` from ``summary.json``, ``field.parquet`` and ``map.parquet``.

    The page is one file without any outside resource; its content security policy allows nothing but its own styles
    and program, named by their hashes. The same folder gives the same bytes.

    Parameters
    ----------
    run_dir : str or Path
        What `miscal discover` left.
    redact_text : bool, default False
        Leave the texts of rows, and the keywords taken from them, off the page.
    name : str, optional
        What the page is called if the data are no file; by default as the folder, which has another name while a run
        is being written.

    Returns
    -------
    Path
        The page, replaced only once it is complete.

    Raises
    ------
    FileError
        The folder or a file of it is missing, or the page cannot be written.
    CorruptFile
        A file is damaged or lacks a key or column; the message names it.
    MismatchError
        The folder was written by a newer miscal.

    Examples
    --------
    >>> render("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder: no such run folder; give the folder that `miscal discover` wrote
    """
    folder = Path(run_dir)
    page = build(read_source(folder, redact_text=redact_text, name=name))
    return _write(folder / "report.html", page)


def build(source: Source) -> str:
    """Return the whole page as text."""
    style, program = stylesheet(STYLES), "(() => {\n'use strict';\n" + bundle(PROGRAMS) + "})();\n"
    return (
        environment()
        .get_template("page.html")
        .render(
            name=source.name,
            sections=[section for panel in PANELS if (section := draw(panel, source))],
            style=Markup(style),  # noqa: S704 - our own files
            program=Markup(program),  # noqa: S704
            style_hash=digest(style),
            program_hash=digest(program),
            version=source.summary.versions.get("miscal"),
        )
    )


@dataclass(frozen=True)
class Section:
    """A panel as drawn from one run."""

    panel: Panel
    body: Markup


def draw(panel: Panel, source: Source) -> Section | None:
    """Return a panel's section; None where the panel has nothing to say."""
    view, words = panel.view(source), row_words(source.summary)
    # its template escapes what it prints
    return None if view is None else Section(panel, Markup(_compiled(panel.template).render(view=view, words=words)))  # noqa: S704


def stylesheet(names: tuple[str, ...]) -> str:
    """Return the colours of the page, then the style files of these names."""
    return legend.colour_rules() + bundle(names)


def bundle(names: tuple[str, ...]) -> str:
    """Return asset files one after the other."""
    return "\n" + "".join((HERE / "assets" / name).read_text(encoding="utf-8") for name in names)


@cache
def environment() -> Environment:
    """Return the frame of the page, with the filters that templates write with."""
    return templates(HERE / "assets", FILTERS)


def plain_page(template: str, styles: tuple[str, ...], **values: object) -> str:
    """Render a page without program or outside resource.

    Parameters
    ----------
    template : str
        Its file among the assets.
    styles : tuple of str
        Its style files there.
    **values
        What the template shows.

    Returns
    -------
    str
        One HTML file.
    """
    style = stylesheet(styles)
    own = {"style": Markup(style), "style_hash": digest(style)}  # noqa: S704 - our own files
    return environment().get_template(template).render(**values, **own).lstrip()


@cache
def _compiled(template: str) -> Template:
    return environment().from_string(template)


def _write(path: Path, page: str) -> Path:
    try:
        replace_file(path, page.encode())
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written ({error.strerror}); make the folder writable, or free space"
        ) from None
    return path
