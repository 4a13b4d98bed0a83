"""What opens every page and every printing: a result in three lines, and one table beneath them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from miscal.base.shown import WIDTH, wrapped
from miscal.discovery.summary_parts import Answer

LABEL = 13
"""Columns of what a fact is about, on a terminal."""
PATHS = ("page", "table", "next", "written to")
"""What a path or a command stands beside, which is never cut."""


def opening(answer: Answer) -> dict[str, Any]:
    """Return three lines for a page: what is done stands apart from why."""
    lead, _, rest = answer.action.partition(":")
    return {"answer": answer, "lead": lead if rest else "", "rest": rest or answer.action}


def opening_lines(answer: Answer) -> list[str]:
    """Return three lines for a terminal, wrapped."""
    return [line for one in (answer.headline, answer.reason, answer.action) for line in wrapped(one, 0)]


def aligned(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a table as lines: the first column is of texts, the others are of numbers.

    Examples
    --------
    >>> aligned(("group", "rows"), [("all", "40"), ("a longer name", "1,200")])
    ['group           rows', 'all               40', 'a longer name  1,200']
    """
    table = [heads, *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def one_line(about: str, said: str) -> str:
    """Write a fact in one line; a path or a command is never cut."""
    return f"{about:<{LABEL}}{said if about in PATHS else cut(said, WIDTH - LABEL)}"


def cut(text: str, most: int) -> str:
    """Cut a text where it is too long for its place, between words if it has any.

    Examples
    --------
    >>> cut("a long name", 8), cut("anotherlongname", 8), cut("short", 8)
    ('a long …', 'another…', 'short')
    """
    if len(text) <= most:
        return text
    place = text.rfind(" ", most // 2, most - 1)
    return f"{text[: place + 1]}…" if place > 0 else f"{text[: most - 1]}…"
