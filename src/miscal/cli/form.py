"""How a command prints its result: text for people, JSON, or markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from miscal.base.errors import InputError

Markdown = Annotated[
    bool,
    typer.Option(
        "--markdown", help="Print GitHub-flavoured markdown instead of text, for an issue or the summary of a job."
    ),
]


def check_form(*, json: bool, markdown: bool) -> None:
    """Refuse to start work whose result is asked for in two forms.

    Raises
    ------
    InputError
        If both are asked for.
    """
    if json and markdown:
        raise InputError("give one of --json and --markdown; got both")


def print_result(
    lines: Callable[[], Sequence[str]],
    as_json: Callable[[], str],
    as_markdown: Callable[[], str],
    *,
    json: bool,
    markdown: bool,
) -> None:
    """Print a result in the form that was asked for.

    Parameters
    ----------
    lines, as_json, as_markdown : callable
        Return it as lines of text, as a document of JSON that ends with a line break, and as markdown.
    json, markdown : bool
        Which of the last two; by default the lines.
    """
    if json:
        print(as_json(), end="")
    else:
        print(as_markdown() if markdown else "\n".join(lines()))
