"""The frame of every page: one head, one content security policy, one footer; styles and programs put in by hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from miscal.report import formatting, legend, texts
from miscal.report.inline import digest, embed, templates
from miscal.report.precision import USUAL

ASSETS = Path(__file__).parent / "assets"
"""Folder of the styles, programs and templates that pages share."""

Filters = tuple[tuple[str, Callable[..., Any]], ...]

_MORE_DECIMALS = {"points": 0, "size": 0, "percent": 0, "metric": 2, "change": 3}
"""Numbers that are written with as many decimals as the run needs, and so many more."""
_NUMBERS = ("brief_points", "ratio", "count", "p_value", "seconds", "is_opposite")


def _with_decimals(name: str, more: int) -> Callable[..., str]:
    @pass_context
    def write(context: Context, value: Any, digits: int | None = None) -> str:
        return getattr(formatting, name)(value, _decimals(context) + more if digits is None else digits)

    return write


@pass_context
def _bounds(context: Context, interval: Any, form: str = "points") -> str:
    digits = {"digits": _decimals(context) + _MORE_DECIMALS[form]} if form in _MORE_DECIMALS else {}
    return formatting.bounds(interval, form, **digits)


def _decimals(context: Context) -> int:
    """Decimals of percentage points that a page is drawn with."""
    return context.get("decimals", USUAL)


_FILTERS: Filters = (
    *((name, getattr(formatting, name)) for name in _NUMBERS),
    *((name, _with_decimals(name, more)) for name, more in _MORE_DECIMALS.items()),
    ("bounds", _bounds),
    *((name, getattr(texts, name)) for name in ("short", "listed", "begin")),
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
