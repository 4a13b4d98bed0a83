"""What every importer returns: the rows, and how many samples were left out and why."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from miscal.base.errors import FileError

_SCHEMA = {
    "id": pl.String,
    "text": pl.String,
    "confidence": pl.Float64,
    "correct": pl.Int8,
    "predicted": pl.Int16,
    "choices": pl.List(pl.String),
    "choice_probs": pl.List(pl.Float64),
    "candidate_mass": pl.Float64,
    "answer_index": pl.Int16,
}
COLUMNS = tuple(_SCHEMA)
"""Columns of every imported table, before the metadata; as `miscal score` writes them."""

_JUDGED = {"id": pl.String, "text": pl.String, "judge": pl.Float64, "human": pl.Float64}
"""Columns of a table of judgements, before the metadata."""

_SURROGATE = re.compile("[\ud800-\udfff]")

Sample = TypeVar("Sample")


class UnusableLog(FileError):
    """A log that is undamaged, but holds no triples."""


class UnusableRow(Exception):
    """A row that is left out; the message is the reason, the same for all rows it holds for."""


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One answer; None is for what the log does not say.

    ``confidence`` in [0, 1] is the probability of the answer given, ``correct`` 0/1 whether that answer is right.
    ``confidences`` are several of one answer, by the name of their column; None where one is missing. ``note`` says
    what confidence and outcome are in this tool. ``stated`` marks a confidence as the model stated it, percent or not.
    """

    id: str
    text: str | None
    confidence: float
    correct: int
    predicted: int | None = None
    choices: tuple[str, ...] | None = None
    choice_probs: tuple[float, ...] | None = None
    candidate_mass: float | None = None
    answer_index: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    confidences: Mapping[str, float | None] = field(default_factory=dict)
    note: str = ""
    stated: bool = False


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One answer that was judged: ``judge`` and ``human`` are scores on their own scales, None where there is none."""

    id: str
    text: str | None
    judge: float | None
    human: float | None
    metadata: Mapping[str, Any] = field(default_factory=dict)


Row = ImportedRow | JudgedRow


@dataclass(frozen=True)
class Log:
    """The rows of one log, all of one kind."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def usable_rows(
    samples: Iterable[tuple[str, Sample]], row_of: Callable[[str, Sample], ImportedRow]
) -> tuple[list[ImportedRow], dict[str, list[str]]]:
    """Return the rows of named samples, and the names of those left out by the reason."""
    rows, left_out = [], defaultdict(list)
    for name, sample in samples:
        try:
            rows.append(row_of(name, sample))
        except UnusableRow as reason:
            left_out[str(reason)].append(name)
    return rows, left_out


def log_of(path: Path, rows: Sequence[Row], left_out: Mapping[str, Sequence[str]], notes: Iterable[str] = ()) -> Log:
    """Put a log together; one without rows is refused, with the reasons."""
    counted = [
        f"{len(ids)} rows left out: {reason} ({', '.join(map(str, ids[:5]))}{', ...' if len(ids) > 5 else ''})"
        for reason, ids in left_out.items()
    ]
    if not rows:
        raise UnusableLog(f"{path} has no usable row" + "".join(f"; {reason}" for reason in counted))
    conventions = dict.fromkeys(row.note for row in rows if isinstance(row, ImportedRow) and row.note)
    return Log(tuple(rows), (*conventions, *notes, *(f"{path.name}: {reason}" for reason in counted)))


def probabilities(log_probs: Sequence[float]) -> list[float]:
    """Renormalise log-probabilities over the choices: exp(l) / sum exp(l).

    >>> probabilities([0.0, float("-inf"), 0.0])
    [0.5, 0.0, 0.5]
    """
    largest = max(log_probs)
    if not math.isfinite(largest) or any(math.isnan(value) for value in log_probs):
        raise UnusableRow("the log-probabilities are NaN or all infinite")
    # relative to the largest, or all might underflow to 0
    shares = [math.exp(value - largest) for value in log_probs]
    total = math.fsum(shares)
    return [share / total for share in shares]


def log_likelihoods(values: Sequence[Any]) -> list[float]:
    """Return log-likelihoods of choices as numbers."""
    found = [number(value) for value in values]
    if None in found:
        raise UnusableRow("a log-likelihood is not a number")
    return [value for value in found if value is not None]


def log_probability(value: Any) -> float:
    """Return the log-probability of a token; services may round one of 0 to a little above it."""
    found = number(value)
    if found is None or not found <= 1e-3:  # NaN too
        raise UnusableRow("a log-probability is not a number of at most 0")
    return min(0.0, found)


def number(value: Any) -> float | None:
    """Read a number, also one written as text; None if it is none.

    >>> number("-inf"), number(2), number("two"), number(True)
    (-inf, 2.0, None, None)
    """
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:  # a whole number beyond all floats
        return math.inf if value > 0 else -math.inf


def scalars(values: Mapping[str, Any], *but: str | None) -> dict[str, Any]:
    """Keep what can be a cell of a table: texts, numbers and truth values; the names `but` are left out."""
    return {
        str(name): value
        for name, value in values.items()
        if name not in but and (value is None or isinstance(value, str | int | float))
    }


def table_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make the table; metadata named like a column of ours get ``source_`` in front.

    The columns of several confidences come after those of every table, as numbers.

    >>> table_of([ImportedRow("a", "?", 0.5, 1, metadata={"subject": "law", "id": 7})]).columns[-2:]
    ['subject', 'source_id']
    """
    schema = _JUDGED if isinstance(rows[0], JudgedRow) else _SCHEMA
    columns = [
        pl.Series(name, [_clean(getattr(row, name)) for row in rows], dtype=kind) for name, kind in schema.items()
    ]
    for name in confidence_names(rows):
        values = [row.confidences.get(name) if isinstance(row, ImportedRow) else None for row in rows]
        columns.append(pl.Series(name, values, dtype=pl.Float64))
    taken = {column.name for column in columns}
    for name in dict.fromkeys(name for row in rows for name in row.metadata):
        own = f"source_{name}" if name in taken else name
        columns.append(_metadata(_clean(own), [row.metadata.get(name) for row in rows]))
    # of metadata called both "id" and "source_id", the last stays
    return pl.DataFrame({column.name: column for column in columns})


def confidence_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of several confidences of one answer, in the order of the log; none for judgements."""
    return tuple(dict.fromkeys(name for row in rows if isinstance(row, ImportedRow) for name in row.confidences))


def _metadata(name: str, values: list[Any]) -> pl.Series:
    """One type per column: truth values, whole numbers, numbers, or else text."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    # from 2**53 on, not every whole number is a float
    if kinds and kinds <= {int, float} and all(value is None or abs(value) < 2**53 for value in values):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, [_clean(text) for text in texts], dtype=pl.String)


def _clean(value: Any) -> Any:
    """Replace what is no Unicode text: half a surrogate pair, which JSON can hold and a table cannot."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    return [_clean(item) for item in value] if isinstance(value, tuple) else value
