"""Sentences as lines for a terminal."""

import textwrap

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
