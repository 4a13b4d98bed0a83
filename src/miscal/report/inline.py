"""Escape templates, data and scripts so that they can stand inside a page, and hash the code that may run."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


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


def templates(folders: Path | Sequence[Path], filters: Mapping[str, Callable[..., Any]]) -> Environment:
    """Return the templates of a folder, or of several, escaping everything, refusing what is undefined."""
    env = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(filters)
    return env
