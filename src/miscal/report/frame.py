"""The frame of every page: one head, one content security policy, one footer; styles and programs put in by hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from miscal.report import formatting, legend, texts
from miscal.report.inline import digest, embed, templates

ASSETS = Path(__file__).parent / "assets"
"""Folder of the styles, programs and templates that pages share."""

Filters = tuple[tuple[str, Callable[..., Any]], ...]

_NUMBERS = (
    "points",
    "size",
    "brief_points",
    "percent",
    "metric",
    "count",
    "p_value",
    "bounds",
    "change",
    "seconds",
    "is_opposite",
)
_FILTERS: Filters = (
    *((name, getattr(formatting, name)) for name in _NUMBERS),
    *((name, getattr(texts, name)) for name in ("short", "listed")),
    ("embed", embed),
)


def render_page(
    template: str,
    styles: Sequence[str],
    programs: Sequence[str] = (),
    *,
    folder: Path = ASSETS,
    filters: Filters = (),
    **values: object,
) -> str:
    """Render a page that stands in one file and requests nothing from a network.

    Parameters
    ----------
    template : str
        File that extends ``frame.html``.
    styles, programs : sequences of str
        Files, in this order. The content security policy of the page allows these, by their hashes, and nothing else.
    folder : Path, optional
        Where files that not all pages share are looked for first.
    filters : pairs of a name and a function, optional
        Functions that the template writes numbers and texts with, beside those that all pages share.
    **values
        What the template shows.
    """
    style = legend.colour_rules() + _joined(styles, folder)
    program = f"(() => {{\n'use strict';\n{_joined(programs, folder)}}})();\n" if programs else ""
    return (
        environment(folder, filters)
        .get_template(template)
        .render(
            **values,
            style=Markup(style),  # noqa: S704 - our own files
            style_hash=digest(style),
            program=Markup(program),  # noqa: S704
            program_hash=digest(program),
        )
        .lstrip()
    )


@cache
def environment(folder: Path = ASSETS, filters: Filters = ()) -> Environment:
    """Return the templates of a folder and those that all pages share, with what they write numbers and texts with."""
    return templates([folder, ASSETS], dict(_FILTERS + filters))


def _joined(names: Sequence[str], folder: Path) -> str:
    found = (folder / name if (folder / name).exists() else ASSETS / name for name in names)
    return "\n" + "".join(path.read_text(encoding="utf-8") for path in found)
