"""The frame of every page: one head, one content security policy, one footer; styles and programs put in by hash.

Whatever stands inside a page is escaped, and only code that is named by its hash may run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from markupsafe import Markup

from miscal.base.shown import first_words
from miscal.report import formatting, legend, texts
from miscal.report.source import Source

ASSETS = Path(__file__).parent / "assets"
"""Folder of the styles, programs and templates that pages share."""

Filters = tuple[tuple[str, Callable[..., Any]], ...]

View = dict[str, Any]
"""What a template reads of one of the things that it shows, by name."""

_MORE_DECIMALS = {"points": 0, "size": 0, "percent": 0, "metric": 2, "change": 3}
"""Numbers that are written with as many decimals as the run needs, and so many more."""
_NUMBERS = ("brief_points", "ratio", "count", "p_value", "rate", "seconds", "is_opposite")


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

    `template` extends ``frame.html``. Its content security policy allows `styles` and `programs`, files in this order,
    by their hashes, and nothing else. Files are looked for in `folder` first, then among those that all pages share;
    `filters` are more functions to write numbers and texts with, and `values` what the template shows.
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


class _Compiled(FileSystemBytecodeCache):
    """Keeps compiled templates beside Python's own compiled files, if these may be written: .2 s of every page."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a template; a folder that cannot be written to has none."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(parents=True, exist_ok=True)
                super().dump_bytecode(bucket)


@cache
def environment(folder: Path = ASSETS, filters: Filters = ()) -> Environment:
    """Return the templates of a folder and those that all pages share, with what they write numbers and texts with.

    They escape everything, and refuse what is undefined.
    """
    env = Environment(
        loader=FileSystemLoader([folder, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(str(Path(cache_from_source(str(ASSETS / "_"))).parent), f"{version('jinja2')}-%s.bin"),
    )
    env.filters |= {name: getattr(formatting, name) for name in _NUMBERS}
    env.filters |= {name: _with_decimals(name, more) for name, more in _MORE_DECIMALS.items()}
    env.filters |= {name: getattr(texts, name) for name in ("short", "listed", "begin")}
    env.filters["few_words"] = first_words
    env.filters |= {"bounds": _bounds, "embed": embed, **dict(filters)}
    return env


def shared(source: Source) -> dict[str, Any]:
    """Return what every template of a run's page reads.

    What the evaluation rows are called is ``words``, the words of the run's kind of probability ``terms``, and how many
    decimals points and per cents have ``decimals``, and in brief ``digits``.
    """
    terms, decimals = source.terms, source.decimals
    words = texts.row_words(source.summary)
    return {"words": words, "terms": terms, "decimals": decimals, "digits": decimals if terms.digits else 0}


def draw(source: Source, panel: str, **values: object) -> Markup:
    """Draw the template of a panel, in ``assets/panels``, from one run; it escapes all that it prints."""
    return Markup(environment().get_template(f"panels/{panel}.html").render(**shared(source), **values))  # noqa: S704


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
    return context.get("decimals", formatting.USUAL)


def _joined(names: Sequence[str], folder: Path) -> str:
    found = (folder / name if (folder / name).exists() else ASSETS / name for name in names)
    return "\n" + "".join(path.read_text(encoding="utf-8") for path in found)


def embed(value: Any) -> Markup:
    r"""Write JSON that may stand inside a ``<script type="application/json">`` element whatever texts it holds.

    Examples
    --------
    >>> print(embed({"a": "</script>&"}))
    {"a":"\u003c/script\u003e\u0026"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def embedded_size(text: str) -> int:
    """Return how many bytes a text takes inside the page, quotes included."""
    return len(str(embed(text)).encode())


def digest(text: str) -> str:
    """Return the hash by which the content security policy knows a style or program."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
