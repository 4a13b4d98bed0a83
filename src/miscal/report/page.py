"""Put panels, styles and programs together into the page, and write it.

A panel is a function from a run to its section of the page, a fold, or None where it has nothing to say; and its line
in the list here. A section holds blocks, as every fold does, or what :func:`miscal.report.frame.draw` makes of its
template in ``assets/panels``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup

from miscal.base.files import replace_file
from miscal.discovery.summary import Summary
from miscal.report.brief import WIDER
from miscal.report.decision_panels import alone, classes, decisions, judge
from miscal.report.field_panels import corrections, histogram, over_time, regimes, reliability
from miscal.report.formatting import count, decimals_for, finite
from miscal.report.frame import ASSETS, Source, draw_template, page_words, read_source, render_page, row_words
from miscal.report.group_panels import answer, columns, findings, first_screen
from miscal.report.legend import COLOURS
from miscal.report.map_data import atlas
from miscal.report.sheet import Fold
from miscal.report.trust_panels import glossary, making, notes, verdict

PANELS: tuple[Callable[[Source], Fold | None], ...] = (
    *(answer, findings, notes, verdict, judge, classes, columns, alone, decisions),
    *(over_time, atlas, corrections, reliability, regimes, histogram, making, glossary),
)


STYLES = (
    *("base.css", "answer.css", "tables.css", "figures.css", "values.css"),
    *("alone.css", "cards.css", "atlas.css", "print.css"),
)
DOORS = ("findings", "columns", "alone", "atlas", "corrections", "making")
"""Sections that the first screen leads to."""

MARK = b"<title>miscal report: "
"""By this the page of a run is known."""

PROGRAMS = (
    *("alone.js", "data.js", "numbers.js", "element.js", "colours.js", "pane.js"),
    *("tooltip.js", "legend.js", "order.js", "sort.js", "folds.js", "main.js"),
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
    units, counted = source.summary.units, f"{count(source.summary.n)} rows"
    if units is not None and units.widening >= WIDER:
        counted += f", counted by {units.unit} ({count(units.n_units)})"
    return render_page(
        "page.html",
        STYLES,
        PROGRAMS,
        command="report",
        name=source.name,
        folds=[fold for panel in PANELS if (fold := panel(source)) is not None],
        doors=DOORS,
        aside=counted,
        version=source.summary.versions.get("miscal"),
        words=row_words(source.summary),
        **page_words(source.summary.kind, source.decimals),
    )


USED = ("paper", "ink", "muted", "rule", "link", "use", "good", "g1", "g2", "g3")
"""Colours of the first screen."""
THEMES = {
    "light": ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]'),
    "dark": ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]'),
}
"""How Jupyter, VS Code and Colab say that they are light or dark, whatever the screen is."""


def notebook(summary: Summary) -> str:
    """Return the first screen of a run's page for a notebook: no program, nothing from a network."""
    light, dark = (" ".join(f"--{name}: {COLOURS[name][place]};" for name in USED) for place in range(2))
    # by the theme of the notebook, else by that of the screen
    rules = [f".miscal-run {{ {light} }}", f"@media (prefers-color-scheme: dark) {{ .miscal-run {{ {dark} }} }}"]
    for theme, shades in zip(THEMES.values(), (light, dark), strict=True):
        rules.append(f"{', '.join(f'{one} .miscal-run' for one in theme)} {{ {shades} }}")
    return draw_template(
        "notebook.html",
        summary.kind,
        decimals_for(finite(summary.settings.get("epsilon"))),
        style=Markup((ASSETS / "answer.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        colours=Markup("\n".join(rules) + "\n"),  # noqa: S704
        **first_screen(summary),
    )
