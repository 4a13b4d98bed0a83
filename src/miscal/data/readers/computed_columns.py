"""Columns that are computed from others where they are asked for by name: the length of a text, the family of a model.

A run stores their names like those of other columns, so that new rows are given them in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from miscal.base.arrays import column_of
from miscal.data.readers.pieces import Piece, RowSource
from miscal.data.readers.table import Table

_WORDS = re.compile("words in (.+)", re.DOTALL)
_FAMILY = re.compile("(.+) is of the family of (.+)", re.DOTALL)

_OF_FAMILY = {"chatgpt": "gpt", "o": "gpt", "davinci": "gpt", "codex": "gpt", "gemma": "gemini", "mixtral": "mistral",
              "ministral": "mistral", "codestral": "mistral", "magistral": "mistral", "qwq": "qwen"}  # fmt: skip
"""Names of models by the first letters of which their family does not follow."""


@dataclass(frozen=True)
class ComputedColumn:
    """A column that is computed row by row.

    Attributes
    ----------
    name : str
    sources : tuple of str
        The columns that it is computed from.
    """

    name: str
    sources: tuple[str, ...]

    def values(self, frame: pl.DataFrame) -> pl.Series:
        """Compute it; null where a source is."""
        first, *others = (column_of(frame, name).cast(pl.String) for name in self.sources)
        if others:
            pairs = zip(first, others[0], strict=True)
            values = [None if None in pair else family(pair[0]) == family(pair[1]) for pair in pairs]
            return pl.Series(self.name, values, dtype=pl.Boolean)
        return first.str.count_matches(r"\S+").cast(pl.Int64)


def words_in(column: str) -> str:
    """Name the column that counts the words of another.

    Examples
    --------
    >>> words_in("answer")
    'words in answer'
    """
    return f"words in {column}"


def same_family(model: str, judge: str) -> str:
    """Name the column that says whether two columns name models of one family."""
    return f"{model} is of the family of {judge}"


def family(model: str) -> str:
    """Return the family of a model by its name: the first letters, without the organisation.

    Examples
    --------
    >>> family("openai/gpt-4o-mini"), family("o3"), family("Qwen/Qwen3-8B-Base"), family("claude-3-5-sonnet")
    ('gpt', 'gpt', 'qwen', 'claude')
    """
    name = model.rsplit("/", 1)[-1].lower()
    letters = re.match(r"(?:meta[-_])?([a-z]+)", name)
    return name if letters is None else _OF_FAMILY.get(letters[1], letters[1])


def computed(name: str, columns: Sequence[str]) -> ComputedColumn | None:
    """Say how a column is computed; None where it is there, or its name does not say how.

    Examples
    --------
    >>> computed("words in answer", ["id", "answer"])
    ComputedColumn(name='words in answer', sources=('answer',))
    >>> computed("words in answer", ["words in answer", "answer"]) is None
    True
    """
    if name in columns:
        return None
    for pattern in (_WORDS, _FAMILY):
        found = pattern.fullmatch(name)
        if found is not None and all(source in columns for source in found.groups()):
            return ComputedColumn(name, found.groups())
    return None


def given_columns(names: Iterable[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Replace the names of computed columns by those of the columns that they are computed from.

    `columns`: those that a table has by itself.

    Examples
    --------
    >>> given_columns(["topic", "words in answer"], ["topic", "answer"])
    ('topic', 'answer')
    """
    found = ((name, computed(name, columns)) for name in names)
    return tuple(dict.fromkeys(s for name, one in found for s in ((name,) if one is None else one.sources)))


def with_computed(table: Table, names: Iterable[str]) -> Table:
    """Add columns to a table that are named, are not there, and can be computed."""
    found = _found(names, table.columns)
    if not found:
        return table

    def load(asked: Sequence[str]) -> pl.DataFrame:
        return _loaded(asked, found, table.load)

    return replace(table, columns=(*table.columns, *found), load=load)


def pieces_with_computed(source: RowSource, names: Iterable[str]) -> RowSource:
    """Add such columns to a source that is read in pieces."""
    found = _found(names, source.columns)
    return _ComputedPieces(source, found) if found else source


class _ComputedPieces:
    """A source with computed columns."""

    def __init__(self, source: RowSource, found: dict[str, ComputedColumn]) -> None:
        self._source, self._computed = source, found
        self.columns = (*source.columns, *found)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def load(self, piece: Piece, columns: Sequence[str], **how: bool) -> pl.DataFrame:
        """Read some columns of a piece."""
        return _loaded(columns, self._computed, lambda names: self._source.load(piece, names, **how))


def _found(names: Iterable[str], columns: Sequence[str]) -> dict[str, ComputedColumn]:
    found = {name: computed(name, columns) for name in names}
    return {name: one for name, one in found.items() if one is not None}


def _loaded(asked: Sequence[str], found: dict[str, ComputedColumn], load: Any) -> pl.DataFrame:
    sources = [source for name in asked if name in found for source in found[name].sources]
    frame = load(list(dict.fromkeys([*(name for name in asked if name not in found), *sources])))
    values = {name: found[name].values(frame) if name in found else column_of(frame, name) for name in asked}
    return pl.DataFrame(values)
