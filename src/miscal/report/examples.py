"""Choose and shorten the rows that are shown as examples."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miscal.base.vocabulary import Vocabulary
from miscal.discovery.layout import BACK, GAP, shared_beginnings
from miscal.report.formatting import finite
from miscal.report.map_data import COLUMN_PREFIXES, column_name
from miscal.report.source import ANSWER_PREFIX, Source
from miscal.report.texts import clean, short

if TYPE_CHECKING:
    import polars as pl

MAX_TEXT = 300
MAX_ANSWER = 120
#: Columns of a row that are shown where it has no text.
MAX_COLUMNS = 4
#: Texts that begin alike for fewer characters than this are shown from their beginning.
ALIKE = 60


@dataclass(frozen=True)
class Example:
    """A row as an example: its number in the source, and its text, or the columns in which it differs most from others.

    `answers` are the model's and the right one, with what they are called; `expected` is E[y | f]: how often rows of
    equal confidence are right.
    """

    row: int
    text: str
    answers: tuple[str, ...]
    columns: tuple[str, ...]
    confidence: float | None
    correct: float | None
    expected: float | None
    corrected: float | None

    def outcome(self, terms: Vocabulary) -> str:
        """Return the outcome in words."""
        if self.correct is None:
            return terms.unknown
        return terms.told.format(terms.one if self.correct else terms.other)


class Examples:
    """Makes examples of rows, all of which are named first: numbers from the field, texts and columns from the map."""

    def __init__(self, source: Source, rows: Iterable[int]):
        wanted = set(rows)
        self._numbers = _by_row(source.field, wanted)
        self._seen = _by_row(source.map, wanted)
        names = [name for name in source.map.columns if name.startswith(COLUMN_PREFIXES)]
        self._columns = [] if any(_text(values) for values in self._seen.values()) else names
        self._usual = {name: _usual(source.map[name]) for name in self._columns}

    def of(self, rows: Sequence[int]) -> list[Example]:
        """Return the rows as examples, in their order; texts that begin alike from where they differ."""
        known = [row for row in rows if row in self._numbers]
        texts = from_difference([_text(self._seen.get(row, {})) for row in known])
        return [self._example(row, text) for row, text in zip(known, texts, strict=True)]

    def _example(self, row: int, text: str) -> Example:
        numbers, seen = self._numbers[row], self._seen.get(row, {})
        confidence, visible = finite(numbers.get("confidence")), finite(numbers.get("visible"))
        return Example(
            row=row,
            text=text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…",
            answers=tuple(_answers(seen)),
            columns=self._telling(seen),
            confidence=confidence,
            correct=finite(numbers.get("correct")),
            expected=None if confidence is None or visible is None else confidence + visible,
            corrected=finite(seen.get("corrected")),
        )

    def _telling(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns in which a row differs most from the rows of the map."""
        known = [name for name in self._columns if _is_known(values.get(name))]
        known.sort(key=lambda name: -self._usual[name].surprise(values[name]))
        return tuple(f"{short(column_name(name), 40)} {_shown(values[name])}" for name in known[:MAX_COLUMNS])


def from_difference(texts: Sequence[str]) -> list[str]:
    """Show texts that share 60 characters of their beginning or more from where they differ, with a leading ellipsis.

    Examples
    --------
    >>> question = "Read the passage below and answer the question that follows it with a single letter. "
    >>> from_difference([question + "Who came first?", question + "Where is it?", "Why?"])
    ['… follows it with a single letter. Who came first?', '… follows it with a single letter. Where is it?', 'Why?']
    """
    return [_from(text, shared) for text, shared in zip(texts, shared_beginnings(texts), strict=True)]


def _from(text: str, shared: int) -> str:
    # equal texts differ nowhere
    if shared < ALIKE or shared >= len(text):
        return text
    start = text.rfind(" ", 0, shared - BACK) + 1
    # the map may have left out a part before: what follows is where the text differs
    gap = text.rfind(GAP, 0, shared + len(GAP))
    start = gap + len(GAP) if gap >= start else start
    return f"… {text[start:]}" if start else text


@dataclass(frozen=True)
class _Usual:
    """What a column usually holds: mean and standard deviation of numbers, else the share of each value."""

    mean: float | None
    deviation: float
    shares: Mapping[Any, float]

    def surprise(self, value: Any) -> float:
        """Return how unusual a value is: minus the logarithm of its share, or of a normal curve's height beside 1."""
        if self.mean is None:
            return -math.log(self.shares.get(value, 1.0))
        return ((value - self.mean) / self.deviation) ** 2 / 2 if self.deviation and finite(value) is not None else 0.0


def _usual(column: "pl.Series") -> _Usual:
    values = [value for value in column.to_list() if value is not None and value == value]
    if column.dtype.is_numeric():
        return _Usual(finite(column.mean()) or 0.0, finite(column.std()) or 0.0, {})
    # a value that no other row has says which row it is, not what it is like
    return _Usual(None, 0.0, {value: n / len(values) for value, n in Counter(values).items() if n > 1})


def _is_known(value: Any) -> bool:
    return value is not None and value == value and bool(str(value).strip())


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else short(value, 60)


def _text(values: Mapping[str, Any]) -> str:
    return re.sub(r"\s+", " ", clean(values.get("text") or "")).strip()


def _answers(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if name.startswith(ANSWER_PREFIX) and value is not None:
            yield f"{column_name(name)}: {short(value, MAX_ANSWER)}"


def _by_row(table: "pl.DataFrame", wanted: Collection[int]) -> dict[int, dict[str, Any]]:
    import polars as pl

    return {values["row"]: values for values in table.filter(pl.col("row").is_in(list(wanted))).iter_rows(named=True)}
