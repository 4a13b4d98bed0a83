"""Edits of valid files as Hypothesis draws them: bits, bytes, cuts and pieces of any file, other values in JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

EDITS = st.lists(
    st.tuples(
        st.sampled_from(["bit", "byte", "cut", "drop", "repeat", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 255),
        st.binary(min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=4,
)


def edited(content: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    """Apply edits to the bytes of a file."""
    for kind, place, value, more in edits:
        at = int(place * max(1, len(content)))
        if kind == "bit":
            content = content[:at] + bytes([content[at] ^ 1 << value % 8]) + content[at + 1 :] if content else content
        elif kind == "byte":
            content = content[:at] + bytes([value]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "drop":
            content = content[:at] + content[at + value :]
        elif kind == "repeat":
            content = content[: at + value] + content[at:]
        else:
            content = content[:at] + more + content[at:]
    return content


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Every place in a JSON value, up to some hundreds."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:20]) if isinstance(value, list) else ()
    return [at, *(place for key, inner in items for place in places(inner, (*at, key)))][:2_000]


EDITS_OF_VALUES = ("junk", "drop", "wrap", "text", "repeat", "rename")


def changed(value: Any, at: tuple, kind: str, junk: Any) -> Any:
    """Put junk at a place, or leave it out, wrap it in a list, write it as text, call it otherwise, or repeat it."""
    if not at:
        return junk
    value = copy.deepcopy(value)
    inner, key = value, at[-1]
    for one in at[:-1]:
        inner = inner[one]
    old = inner.pop(key)
    new = {"junk": junk, "wrap": [old], "text": json.dumps(old)}.get(kind, old)
    if isinstance(inner, list):
        inner[key:key] = {"drop": [], "repeat": [old, copy.deepcopy(old)]}.get(kind, [new])
    elif kind != "drop":
        inner[str(junk) if kind == "rename" else key] = new
    return value


@st.composite
def json_edits(draw: Callable, value: Any) -> Any:
    """Draw a JSON value with junk somewhere."""
    for _ in range(draw(st.integers(1, 2))):
        value = changed(value, draw(st.sampled_from(places(value))), draw(st.sampled_from(EDITS_OF_VALUES)), draw(JUNK))
    return value
