"""The page: panels, styles and programs put together, and written in one step."""

from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from miscal.base.errors import FileError
from miscal.base.files import replace_file
from miscal.report import words
from miscal.report.inline import digest, embed, templates
from miscal.report.panels import PANELS
from miscal.report.source import Source, read_source

HERE = Path(__file__).parent
STYLES = ("base.css", "tables.css", "figures.css", "cards.css", "atlas.css", "print.css")
PROGRAMS = (
    *("data.js", "words.js", "colours.js", "selection.js", "pane.js", "gestures.js", "tooltip.js"),
    *("legend.js", "table.js", "main.js"),
)
FILTERS = ("points", "size", "brief", "percent", "metric", "count", "p_value", "bounds", "seconds", "plain", "short")


def render(run_dir: str | Path, *, redact_text: bool = False) -> Path:
    """Draw ``RUN_DIR/report.html`` from ``summary.json``, ``field.parquet`` and ``map.parquet``.

    The page is one file without any outside resource; its content security policy allows nothing but its own styles
    and program, named by their hashes. The same folder gives the same bytes.

    Parameters
    ----------
    run_dir : str or Path
        What `miscal discover` left.
    redact_text : bool, default False
        Leave the texts of rows, and the keywords taken from them, off the page.

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
    page = build(read_source(folder, redact_text=redact_text))
    return _write(folder / "report.html", page)


def build(source: Source) -> str:
    """Return the whole page as text."""
    style, program = bundle(STYLES), "(() => {\n'use strict';\n" + bundle(PROGRAMS) + "})();\n"
    contexts = {panel.NAME: panel.context(source) for panel in PANELS}
    return (
        environment()
        .get_template("page.html")
        .render(
            name=source.name,
            panels=[
                {"name": panel.NAME, "title": panel.TITLE, "short": panel.SHORT, **contexts[panel.NAME]}
                for panel in PANELS
            ],
            style=Markup(style),  # noqa: S704 - our own files
            program=Markup(program),  # noqa: S704
            style_hash=digest(style),
            program_hash=digest(program),
            map_json=embed(contexts["atlas"]["payload"]),
            version=source.summary["versions"].get("miscal"),
        )
    )


def bundle(names: tuple[str, ...]) -> str:
    """Asset files one after the other."""
    return "\n" + "".join((HERE / "assets" / name).read_text(encoding="utf-8") for name in names)


@cache
def environment() -> Environment:
    """Return the report's templates."""
    return templates(HERE / "templates", {name: getattr(words, name) for name in FILTERS})


def _write(path: Path, page: str) -> Path:
    try:
        replace_file(path, page.encode())
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written ({error.strerror}); make the folder writable, or free space"
        ) from None
    return path
