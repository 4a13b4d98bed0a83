"""Choose rows of an opened table: columns, condition, embeddings; and say what is wrong with rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, row_list, value_list
from miscal.base.checks import DROP, refuse_outside, refuse_rows, rows_at_fault
from miscal.base.errors import InputError, argument
from miscal.base.precision import chosen_rows, held, held_rows
from miscal.base.vocabulary import Kind, vocabulary
from miscal.data.encoders.dates import read_dates
from miscal.data.judged import ClassProbabilities
from miscal.data.readers.names import columns_of, decide
from miscal.data.readers.source import Piece, Source, numbers_or_checked, read_matrix

_WRITTEN = {
    r"^\s*-?[\d.,]+\s*%\s*$": "these are percentages: write decimals with a point, no sign, and divide by 100",
    r"^\s*-?\d*,\d+\s*$": "write decimals with a point in place of the comma",
}
"""Numbers in another form, and how to fix them."""

_TOO_LARGE = r"^[-+]?\d{20,}$"
"""Whole numbers beyond 64 bits, which are text in every source: as floats, neighbours would be one."""


class RowFaults:
    """What is wrong with rows: of each the first fault that was found.

    Attributes
    ----------
    row : int64 array of shape (n,)
        Row numbers in the source, from 0, for messages.
    first : int64 array of shape (n,)
        Number of each row's first fault, from 1; 0 where there is none.
    """

    def __init__(self, row: np.ndarray) -> None:
        self.row, self.first = row, np.zeros(len(row), np.int64)
        self._found: list[tuple[str, str, str, str | None]] = []

    def add(self, name: str, bad: np.ndarray, what: str, reason: str, remedy: str | None = None) -> None:
        """Note rows: what the values of `name` are in a message, the reason that a row is given, and how to fix it."""
        if bad.any():
            self._found.append((name, what, reason, remedy))
            self.first[bad & (self.first == 0)] = len(self._found)

    @property
    def sound(self) -> np.ndarray:
        """Rows without a fault, bool (n,)."""
        return self.first == 0

    def refuse(self) -> None:
        """Raise where there is a fault, for all kinds of them."""
        told = [
            rows_at_fault(name, bad, what, self.row)
            for number, (name, what, *_) in enumerate(self._found, start=1)
            if (bad := self.first == number).any()
        ]
        if told:
            own = dict.fromkeys(remedy for *_, remedy in self._found if remedy)
            raise InputError("; ".join((*told, *own, f"correct them, or {DROP}")))

    def refuse_or_drop(self, rows: TableRows, *, drop: bool) -> TableRows:
        """Return the rows without a fault, noting how many were dropped for which one; refuse any, or all."""
        if not self._found:
            return rows
        if not drop:
            self.refuse()
        parts = ", ".join(f"{reason} ({n})" for reason, n in self.counts().items())
        note = f"{int((~self.sound).sum())} of {len(self.first)} rows were dropped as invalid: {parts}"
        if not self.sound.any():
            raise InputError("; ".join(filter(None, (f"no valid row is left: {note}", self._found[0][-1]))))
        kept = rows.take(self.sound)
        return replace(kept, notes=(*kept.notes, note), dropped=rows.dropped + len(self.first) - len(kept.row))

    def reasons(self) -> np.ndarray:
        """Reason by row, (n,) of str, None where there is no fault."""
        return np.array([None, *(reason for *_, reason, _ in self._found)], dtype=object)[self.first]

    def counts(self) -> dict[str, int]:
        """Rows by reason."""
        found = Counter(self.reasons().tolist())
        return {reason: found[reason] for *_, reason, _ in self._found if found[reason]}


def numbers_in(series: pl.Series, name: str, faults: RowFaults, said: str = "", *, blanks: bool = False) -> np.ndarray:
    """Read a column as float64, NaN where it holds no number; `blanks` says that missing ones are no faults.

    Text is read as the numbers that it holds, and a word among them is a fault of its row.
    """
    if series.dtype == pl.String:
        return _parse_numbers(series, name, faults, said, blanks=blanks)
    if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        raise InputError(f"{name} must be numbers; got {series.dtype}")
    values = series.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    if not blanks:
        faults.add(name, np.isnan(values), "missing", f"{said} is missing")
    return values


def _parse_numbers(series: pl.Series, name: str, faults: RowFaults, said: str, *, blanks: bool) -> np.ndarray:
    # truth values in any case: pandas writes True, R and Excel TRUE
    text = series.str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0"})
    large = text.str.contains(_TOO_LARGE).fill_null(False).to_numpy()
    if large.any():
        at = int(large.argmax())
        raise InputError(
            f"{name} must be numbers; got whole numbers of too many digits (such as {value_list(series[at : at + 1])} "
            f"in row {faults.row[at]}): round them"
        )
    values = text.cast(pl.Float64, strict=False)
    missing = (series.is_null() | (text == "") | values.is_nan().fill_null(False)).fill_null(True).to_numpy()
    words = values.is_null().to_numpy() & ~missing
    held = series.filter(words)
    meant = next((remedy for form, remedy in _WRITTEN.items() if len(held) and held.str.contains(form).all()), None)
    if words.sum() > len(words) / 2:
        raise InputError(
            f"{name} must be numbers; {int(words.sum())} of {len(series)} values are not: {value_list(held.to_list())} "
            f"({row_list(words, faults.row)}){f'; {meant}' if meant else ''}"
        )
    if not blanks:
        faults.add(name, missing, "missing", f"{said} is missing")
    faults.add(name, words, f"not numbers, such as {value_list(held.to_list())}", f"{said} is no number", meant)
    return values.fill_null(np.nan).to_numpy().copy()


def lists_not_finite(series: pl.Series) -> np.ndarray:
    """Rows whose list holds NaN or infinity, bool (n,)."""
    inner = series.cast(pl.List(pl.Float64)).fill_null([])
    return inner.list.eval(~pl.element().is_finite().fill_null(False)).list.any().fill_null(False).to_numpy()


@dataclass(frozen=True)
class TableRows:
    """Rows of a table that passed the condition, in order.

    Parameters
    ----------
    frame : polars.DataFrame
    row : int64 array
        Row numbers in the source.
    X : array, optional
        The rows' embeddings, not yet checked for values.
    n_read : int
        Rows in the source.
    notes : tuple of str
    classes : ClassProbabilities, optional
        What was read of several classes.
    undecided : int
        Rows that are not among them because the value that decides is missing.
    dropped : int
        Rows that were left out because they could not be used.
    """

    frame: pl.DataFrame
    row: np.ndarray
    X: np.ndarray | None
    n_read: int
    notes: tuple[str, ...] = ()
    classes: ClassProbabilities | None = None
    undecided: int = 0
    dropped: int = 0

    def noting(self, *notes: str) -> TableRows:
        """Return the rows with further notes."""
        return replace(self, notes=self.notes + notes)

    def take(self, index: np.ndarray) -> TableRows:
        """Return the rows `index` (numbers or a mask)."""
        index = np.flatnonzero(index) if index.dtype == bool else index
        X = None if self.X is None else chosen_rows(self.X, index)
        classes = None if self.classes is None else self.classes.take(index)
        return replace(self, frame=self.frame[index], row=self.row[index], X=X, classes=classes)


def load_rows(
    source: Source,
    columns: Iterable[str],
    embeddings: Any,
    where: str | None,
    piece: Piece | None = None,
    absent: Collection[str] = (),
) -> TableRows:
    """Read columns and embeddings, and keep the rows that the condition keeps: of a piece, or all.

    `absent`: columns that the source does not have, which are blank in every row.
    """
    asked = () if where is None else columns_of(where, source.columns)
    named = [one for one in dict.fromkeys((*columns, *asked)) if one not in absent]
    frame = source.load(named, piece).with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    if len(frame) == 0:
        raise InputError("the data have no rows; give one row per prediction")
    kept, undecided = np.full(len(frame), True), 0
    if where is not None:
        typed = piece is None or source.typed
        kept, undecided = decide(where, frame if typed else source.load(asked, piece, typed=True))
    at, start = np.flatnonzero(kept), 0 if piece is None else piece.start
    X = None
    if embeddings is not None and piece is None:
        X = numbers_or_checked(read_matrix(embeddings))
        refuse_lengths(X.shape, len(frame))
        X = held_rows(X if where is None else chosen_rows(X, at))
    elif embeddings is not None:
        # a copy: what lies in a file stays out of this process's memory
        X = held(np.array(read_matrix(embeddings)[start : start + len(frame)])[at])
    rows = frame if where is None else frame.filter(kept)
    return TableRows(rows, at + start, X, len(frame), undecided=undecided)


def refuse_lengths(shape: tuple[int, ...], n: int, what: str = "embeddings") -> None:
    """Refuse a matrix whose shape does not fit n rows of data."""
    if len(shape) != 2 or shape[0] != n:
        raise InputError(
            f"lengths differ: the data have {n} rows, the {what} have shape {shape}; give one row of {what} per row of "
            f"data, in the same order, before any {argument('where')}"
        )
    if shape[1] == 0:
        raise InputError(f"the {what} have no columns: their shape is {shape}; give at least one number per row")


# --- values -------------------------------------------------------------------------------------------------------


def numbers(rows: TableRows, column: str, role: str) -> np.ndarray:
    """Read a column as float64 with NaN for missing."""
    faults = RowFaults(rows.row)
    values = numbers_in(column_of(rows.frame, column), label(role, column), faults, blanks=True)
    faults.refuse()
    return values


def label(role: str, column: str | None) -> str:
    """Name a column in messages, with its role."""
    return role if column == role else f"{role} (column {column!r})"


def confidences(series: pl.Series, name: str, kind: Kind, faults: RowFaults) -> np.ndarray:
    """Read a column of confidences, not yet clipped; NaN in rows without one that can be used, which are noted."""
    words = vocabulary(kind)
    said = f"the {words.probability}"
    f = numbers_in(series, name, faults, said)
    faults.add(name, np.isinf(f), "infinite", f"{said} is infinite")
    remedy = f"correct them, or name another column with {argument(words.columns[0])}"
    outside = refuse_outside(f, name, faults.row, some=True, remedy=remedy)
    faults.add(name, outside, "outside [0, 1]", f"{said} lies outside [0, 1]")
    return np.where(np.isfinite(f) & ~outside, f, np.nan)


def missing(series: pl.Series) -> np.ndarray:
    """Find missing, NaN and infinite values of a column (inside lists too); bool array of shape (n,)."""
    bad = series.is_null().to_numpy()
    if series.dtype.is_float():
        bad = bad | ~series.fill_null(0).is_finite().to_numpy()
    if isinstance(series.dtype, (pl.List, pl.Array)) and series.dtype.inner.is_numeric():
        bad = bad | lists_not_finite(series)
    return bad


def refuse_missing(rows: TableRows, columns: Sequence[str]) -> None:
    """Refuse missing values in any of the columns."""
    for column in columns:
        what, remedy = "missing, NaN or infinite", f"fill them in, or {DROP}"
        refuse_rows(f"column {column!r}", missing(column_of(rows.frame, column)), what, rows.row, remedy)


def texts(frame: pl.DataFrame, column: str) -> tuple[str, ...]:
    """Read a column as text; missing becomes the empty text."""
    series = column_of(frame, column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError(f"text: column {column!r} must hold text; its type is {series.dtype}")
    return tuple(series.cast(pl.String).fill_null("").to_list())


def metadata_of(frame: pl.DataFrame, column: str) -> np.ndarray:
    """Read a metadata column: numbers (NaN where missing), booleans, dates, or text ('(missing)' where missing).

    Dates are numpy's, to the second, NaT where missing, with the time of UTC where a zone is given. Text that is
    nothing but dates in the form of ISO 8601 is read as dates, because CSV and JSON have no other way to give them.
    """
    series = column_of(frame, column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError(f"metadata: column {column!r} must hold numbers or text; its type is {series.dtype}")
    if series.dtype.is_numeric():
        plain = series.null_count() == 0 and not series.dtype.is_decimal()
        return series.to_numpy() if plain else series.cast(pl.Float64).to_numpy()
    if series.dtype == pl.Boolean and series.null_count() == 0:
        return series.to_numpy()
    dates = read_dates(series)
    if dates is not None:
        return dates.dt.epoch("s").fill_null(np.iinfo(np.int64).min).to_numpy().astype("datetime64[s]")
    return np.array(series.cast(pl.String).fill_null("(missing)").to_list(), dtype=object)


def refuse_repeated(rows: TableRows, column: str) -> None:
    """Refuse an id of new rows that occurs twice."""
    series = column_of(rows.frame, column)
    repeated = series.is_duplicated() & series.is_not_null()
    shown = f"the same id as in another row: {value_list(series.filter(repeated).to_list())}"
    remedy = f"give each row one of its own, or begin a new monitor with {argument('out')}"
    name = f"column {column!r}"
    refuse_rows(name, repeated.to_numpy(), shown, rows.row, f"the first look knew rows by it: {remedy}")
