"""Shorten and clean texts and settings so that a page can show them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from miscal.base.shown import first_words
from miscal.report.formatting import MINUS, count, finite

#: Longer lists are cut to their first values, with their full length stated.
MAX_LISTED, FIRST_LISTED = 8, 5
#: Surrogates cannot be written as UTF-8; control characters are errors in HTML.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def clean(text: Any) -> str:
    """Replace everything that HTML or UTF-8 cannot carry by U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def short(text: Any, length: int = 80) -> str:
    """Cut the text to `length` characters with its full length stated where it was cut.

    Examples
    --------
    >>> short("abcdef", 3)
    'abc… (6 characters)'
    """
    text = str(text)
    return clean(text) if len(text) <= length else f"{clean(text[:length])}… ({count(len(text))} characters)"


def few_words(text: Any, most: int) -> str:
    """Cut a text after so many words, or before a bracket that would stay open.

    Examples
    --------
    >>> few_words("humid afternoons in spring", 2), few_words("humid  afternoons", 2)
    ('humid afternoons …', 'humid afternoons')
    >>> few_words("coasts (84 % are cities)", 3)
    'coasts'
    """
    first = first_words(str(text), most)
    before, bracket, inside = first.rpartition(" (")
    return before if first.endswith(" …") and bracket and ")" not in inside else first


def first_sentence(text: str) -> tuple[str, str]:
    """Split a text after its first sentence; the rest is empty where there is only one.

    Examples
    --------
    >>> first_sentence("It is late. Go home. Now.")
    ('It is late.', 'Go home. Now.')
    """
    first, stop, rest = text.strip().partition(". ")
    return (f"{first}.", rest.strip()) if stop else (first, "")


def begin(text: str) -> str:
    """Write a phrase as the beginning of a sentence.

    Examples
    --------
    >>> begin("over-confident rows of the UK")
    'Over-confident rows of the UK'
    """
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], last: str = "or") -> str:
    """Write a list as a sentence has it.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a or b', 'a, b or c')
    """
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def setting(value: Any) -> str:
    """Put any JSON value of the settings into words.

    Examples
    --------
    >>> setting(None), setting(True), setting([1, 0.25]), setting({"a": 1})
    ('not set', 'yes', '1, 0.25', 'a: 1')
    >>> setting(list(range(100)))
    '0, 1, 2, 3, 4, … (100 in all)'
    """
    if value is None or value == "":
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        number = finite(value)
        if number is None:
            return "not defined"
        return (str(value) if isinstance(value, int) else f"{number:.5g}").replace("-", MINUS)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {setting(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _list(value)
    return short(value, 300)


def _list(values: Sequence[Any]) -> str:
    shown = values if len(values) <= MAX_LISTED else values[:FIRST_LISTED]
    rest = [] if len(shown) == len(values) else [f"… ({count(len(values))} in all)"]
    return ", ".join([*(setting(value) for value in shown), *rest]) or "none"
