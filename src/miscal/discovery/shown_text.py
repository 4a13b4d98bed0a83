"""Shorten texts that begin alike so that they can still be told apart."""

from collections.abc import Sequence
from itertools import pairwise

HEAD = 100
"""Characters that are kept of a beginning that other texts share."""

GAP = " … "
"""What stands for a part that was left out."""

BACK = 30
"""Characters that are kept of what comes before the difference, so that the sentence can be read."""


def shared_beginnings(texts: Sequence[str]) -> list[int]:
    """Count the characters that each text shares with the beginning of another one; 0 for a text that is alone.

    Examples
    --------
    >>> shared_beginnings(["abcd", "abx", "q", "abcd"])
    [2, 2, 0, 2]
    """
    # the longest beginning that a text shares with any other, it shares with a neighbour in their order
    order = sorted(set(texts))
    beside = [0, *(_common(a, b) for a, b in pairwise(order)), 0]
    shared = {text: max(beside[place : place + 2]) for place, text in enumerate(order)}
    return [shared[text] for text in texts]


def _common(a: str, b: str) -> int:
    """Length of the common beginning, by halving: comparing slices is far cheaper than comparing characters."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def shortened_texts(texts: Sequence[str], limit: int) -> list[str]:
    """Cut texts to a length of at least 200, leaving out the middle of a long beginning that they share with others.

    Of a text that is longer the beginning is kept; where it shares more than half of what would be kept with another
    text, its first 100 characters and then the text from where they differ.

    Examples
    --------
    >>> rules = "Answer with a letter. " + "Rules. " * 40
    >>> shortened_texts([rules + "Who?" + 90 * " x", rules + "Where?" + 90 * " x"], 200)[1][120:160]
    'es. Rules. Where? x x x x x x x x x x x '
    """
    return [
        text if len(text) <= limit else _cut(text, shared, limit)
        for text, shared in zip(texts, shared_beginnings(texts), strict=True)
    ]


def _cut(text: str, shared: int, limit: int) -> str:
    if shared <= limit // 2 or shared >= len(text):
        return text[:limit] + "…"
    start = shared - BACK
    rest = text[start : start + limit - HEAD]
    return f"{text[:HEAD]}{GAP}{rest}" + ("…" if start + len(rest) < len(text) else "")
