"""Sentences as lines for a terminal."""

import textwrap
from collections.abc import Iterable

WIDTH = 100
"""Columns that sentences are wrapped to."""


def wrapped(text: str, indent: int = 12) -> list[str]:
    """Wrap a sentence to lines, all but the first of them indented; words and paths are never broken.

    Examples
    --------
    >>> [len(line) for line in wrapped("ten columns " * 10)]
    [99, 31]
    """
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def fact_lines(facts: Iterable[tuple[str, str]], width: int = 12) -> list[str]:
    """Write facts, each beside what it is about; one that goes on from the fact before stands under nothing.

    Examples
    --------
    >>> fact_lines([("rows", "400"), ("", "of two sets")], width=6)
    ['rows  400', '      of two sets']
    """
    return [line for about, text in facts for line in wrapped(f"{about:<{width}}{text}", width)]
