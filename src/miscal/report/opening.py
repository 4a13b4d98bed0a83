"""What opens every page and every printing: a result in three lines, and one table beneath them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from miscal.base.shown import WIDTH
from miscal.discovery.summary import Answer
from miscal.report.texts import clean

LABEL = 13
"""Columns of what a fact is about, on a terminal."""
MOST_LINES, MOST_EACH = 30, 3
"""Lines on a terminal of a whole result, but for `miscal show`; and of one of the three lines, or of a fact."""
PATHS = ("page", "table", "cells", "correction", "next", "written to")
"""What a path or a command stands beside, which is never cut."""
_OBEYED = re.compile("[\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
"""Characters that turn the direction of a line, or end it."""


def opening(answer: Answer) -> dict[str, Any]:
    """Return three lines for a page: what is done stands apart from why."""
    lead, _, rest = answer.action.partition(":")
    return {"answer": answer, "lead": lead if rest else "", "rest": rest or answer.action}


def opening_lines(answer: Answer, dots: str = "…") -> list[str]:
    """Return three lines for a terminal, wrapped, each to three at most."""
    three = (one.replace("…", dots) for one in (answer.headline, answer.reason, answer.action))
    return [line for one in three for line in filled(one, WIDTH, MOST_EACH, dots)]


def aligned(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a table as lines: the first column is of texts, the others are of numbers.

    Examples
    --------
    >>> aligned(("group", "rows"), [("all", "40"), ("a longer name", "1,200")])
    ['group           rows', 'all               40', 'a longer name  1,200']
    """
    table = [heads, *rows]
    widths = [max(columns_of(row[at]) for row in table) for at in range(len(heads))]
    return [
        "  ".join(_padded(*one) for one in zip(range(len(heads)), row, widths, strict=True)).rstrip() for row in table
    ]


def short_facts(facts: Sequence[tuple[str, str]], dots: str = "…", above: int = 0) -> list[str]:
    """Write facts beside what they are about, each in three lines at most; a path or a command is never broken.

    `above`: lines that stand above them. Where there is no more room, a fact has one line.

    Examples
    --------
    >>> short_facts([("rows", "40 of 50"), ("page", "run/report.html")])
    ['rows         40 of 50', 'page         run/report.html']
    """
    lines, spare = [], max(0, MOST_LINES - above - 1 - len(facts))
    for about, said in facts:
        most = min(MOST_EACH, 1 + spare)
        texts = [said] if about in PATHS else filled(said, WIDTH - LABEL, most, dots)
        spare -= len(texts) - 1
        lines += [f"{'' if at else about:<{LABEL}}{text}" for at, text in enumerate(texts)]
    return lines


def cut(text: str, most: int, dots: str = "…") -> str:
    """Cut a text at a word, where it is too long for its place, or within its first one.

    Examples
    --------
    >>> cut("a long name", 8), cut("anotherlongname", 8), cut("short", 8), cut("a long name", 9, "...")
    ('a long …', 'another…', 'short', 'a ...')
    """
    text = tidy(text)
    if columns_of(text) <= most:
        return text
    first, _, _ = text.partition(" ")
    if columns_of(first) > most - len(dots) - 1:
        return f"{_beginning(text, most - len(dots))}{dots}"
    return f"{_beginning(text, most - len(dots)).rpartition(' ')[0]} {dots}"


def filled(text: str, width: int, most: int, dots: str = "…") -> list[str]:
    """Wrap a text to lines of so many columns, so many lines at most; a word that is longer than a line is broken.

    Examples
    --------
    >>> filled("one two three four", 9, 2), filled("one two three", 9, 2), filled("abcdefgh", 5, 2)
    (['one two', 'three …'], ['one two', 'three'], ['abcde', 'fgh'])
    """
    lines, rest = [], tidy(text)
    while rest and len(lines) < most - 1 and columns_of(rest) > width:
        part = _beginning(rest, width)
        if rest[len(part)] != " " and " " in part:
            part = part.rpartition(" ")[0]
        lines.append(part)
        rest = rest[len(part) :].lstrip()
    return [*lines, *([cut(rest, width, dots)] if rest else [])]


def tidy(text: str) -> str:
    """Write a text in one line without what a terminal would obey."""
    return _OBEYED.sub("\ufffd", clean(" ".join(text.split())))


def columns_of(text: str) -> int:
    """Count the columns that a text takes on a terminal.

    Examples
    --------
    >>> columns_of("word"), columns_of("文字"), columns_of("e\u0301")
    (4, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def _beginning(text: str, most: int) -> str:
    """Return as much of a text as stands in so many columns."""
    taken = 0
    for end, one in enumerate(text):
        taken += columns_of(one)
        if taken > most:
            return text[:end]
    return text


def _padded(at: int, cell: str, width: int) -> str:
    space = " " * (width - columns_of(cell))
    return f"{cell}{space}" if at == 0 else f"{space}{cell}"
