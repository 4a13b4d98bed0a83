"""Choose rows of an opened table: columns, condition, embeddings; and say what is wrong with rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, row_list, value_list
from miscal.base.checks import CLIP_TOLERANCE, DROP, check_confidence, non_finite_rows, other_unit
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.base.precision import chosen_rows, held_rows
from miscal.base.vocabulary import Kind, vocabulary
from miscal.data.columns import RowColumns
from miscal.data.encoders.dates import read_dates
from miscal.data.encoders.texts import PlacesAndColumns
from miscal.data.judged import ClassProbabilities
from miscal.data.readers.matrices import numbers_or_checked, read_matrix
from miscal.data.readers.names import columns_of, find, kept, listed, match, unreserved
from miscal.data.readers.source import Source
from miscal.data.splits import MIN_FIT_ROWS

_WRITTEN = {
    r"^\s*-?[\d.,]+\s*%\s*$": "these are percentages: write decimals with a point, no sign, and divide by 100",
    r"^\s*-?\d*,\d+\s*$": "write decimals with a point in place of the comma",
}
"""Numbers in another form, and how to fix them."""


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

    def refuse(self, remedy: str = f"correct them, or {DROP}") -> None:
        """Raise for the first fault."""
        for name, what, _, own in self._found[:1]:
            bad = self.first == 1
            raise InputError(
                f"{name}: {int(bad.sum())} of {len(bad)} values are {what} ({row_list(bad, self.row)}); "
                + "; ".join(filter(None, (own, remedy)))
            )

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
        return rows.take(self.sound).noting(note)

    def reasons(self) -> np.ndarray:
        """Reason by row, (n,) of str, None where there is no fault."""
        return np.array([None, *(reason for *_, reason, _ in self._found)], dtype=object)[self.first]

    def counts(self) -> dict[str, int]:
        """Rows by reason."""
        found: Counter[str] = Counter()
        for (*_, reason, _), n in zip(self._found, np.bincount(self.first)[1:].tolist(), strict=False):
            found[reason] += n
        return {reason: n for reason, n in found.items() if n}


def numbers_in(
    series: pl.Series, name: str, faults: RowFaults, said: str = "", *, typed: bool = True, blanks: bool = False
) -> np.ndarray:
    """Read a column as float64, NaN where it holds no number; `blanks` says that these are no faults."""
    if series.dtype == pl.String and not typed:
        return _parse_numbers(series, name, faults, said, blanks=blanks)
    if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        raise InputError(_not_numbers(series, name, faults.row))
    values = series.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    if not blanks:
        faults.add(name, np.isnan(values), "missing", f"{said} is missing")
    return values


def _not_numbers(series: pl.Series, name: str, row: np.ndarray) -> str:
    if series.dtype != pl.String:
        return f"{name} must be numbers; got {series.dtype}"
    words = (series.str.strip_chars().cast(pl.Float64, strict=False).is_null() & series.is_not_null()).to_numpy()
    if words.any():
        return _words_among_numbers(series, words, name, row)
    at = int(series.str.len_chars().arg_max() or 0)
    return (
        f"{name} must be numbers; got numbers written as text or of too many digits (such as "
        f"{value_list(series[at : at + 1])} in row {row[at]}): store them as numbers, without quotes, or round them"
    )


def _parse_numbers(series: pl.Series, name: str, faults: RowFaults, said: str, *, blanks: bool) -> np.ndarray:
    # truth values in any case: pandas writes True, R and Excel TRUE
    text = series.str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0"})
    values = text.cast(pl.Float64, strict=False)
    missing = (series.is_null() | (text == "") | values.is_nan().fill_null(False)).fill_null(True).to_numpy()
    words = values.is_null().to_numpy() & ~missing
    if words.sum() > len(words) / 2:
        raise InputError(_words_among_numbers(series, words, name, faults.row))
    if not blanks:
        faults.add(name, missing, "missing", f"{said} is missing")
    faults.add(
        name, words, f"not numbers, such as {value_list(series.filter(words).to_list())}", f"{said} is no number"
    )
    return values.fill_null(np.nan).to_numpy().copy()


def _words_among_numbers(series: pl.Series, words: np.ndarray, name: str, row: np.ndarray) -> str:
    """Say which values of a column of text are no numbers, in which rows they stand, and what they are meant for."""
    held = series.filter(words)
    meant = next((f"; {remedy}" for form, remedy in _WRITTEN.items() if held.str.contains(form).all()), "")
    return (
        f"{name} must be numbers; {int(words.sum())} of {len(series)} values are not: {value_list(held.to_list())} "
        f"({row_list(words, row)}){meant}"
    )


def lists_not_finite(series: pl.Series) -> np.ndarray:
    """Rows whose list holds NaN or infinity, bool (n,)."""
    inner = series.cast(pl.List(pl.Float64)).fill_null([])
    return inner.list.eval(~pl.element().is_finite().fill_null(False)).list.any().fill_null(False).to_numpy()


def refuse_other_unit(name: str, values: np.ndarray, outside: np.ndarray, row: np.ndarray, column: str) -> None:
    """Refuse a column in another unit as a whole: row by row, those that happen to lie in [0, 1] would be corrected."""
    if not len(values) or not (other_unit(values) or outside.sum() > len(values) / 2):
        return
    remedy = other_unit(values) or f"correct them, or name another column with {argument(column)}"
    found = f"from {values.min():.6g} to {values.max():.6g}"
    raise InputError(
        f"{name} must lie in [0, 1]; got {int(outside.sum())} of {len(outside)} values outside it, {found} "
        f"({row_list(outside, row)}); {remedy}"
    )


TEXT = "text"
AUTO = "auto"
"""In the place of feature columns: every column that plays no other part and can be a feature."""


@dataclass(frozen=True)
class XSource:
    """Where x comes from.

    Parameters
    ----------
    kind : str
        'embeddings', 'features' or 'text': what places rows near or far from each other.
    features : tuple of str
        Feature columns: x, or what stands beside embeddings.
    embeddings : path or array, optional
    text : str, optional
        The column x is made from, or which is only shown, if there are embeddings or features.
    notes : tuple of str
    chosen : tuple of str
        The feature columns that a person named as such; of the others, those that say nothing of a row's kind are left
        out.
    """

    kind: str
    features: tuple[str, ...] = ()
    embeddings: Any = None
    text: str | None = None
    notes: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are needed."""
        return self.features if self.text is None else (*self.features, self.text)

    def made_of(self, path: str | None = None) -> str | list[str] | None:
        """Return what x is made of, for people: the file of embeddings at `path`, a column of text, feature columns."""
        if self.kind == "features":
            return list(self.features)
        places = self.text if self.kind == "text" else path
        return [*([places] if places else []), *self.features] if self.features else places


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
    notes : tuple of str
    n_read : int
        Rows in the source.
    classes : ClassProbabilities, optional
        What was read of several classes.
    """

    frame: pl.DataFrame
    row: np.ndarray
    X: np.ndarray | None
    notes: tuple[str, ...]
    n_read: int
    classes: ClassProbabilities | None = None

    def noting(self, *notes: str) -> TableRows:
        """Return the rows with further notes."""
        return replace(self, notes=self.notes + notes)

    def take(self, index: np.ndarray) -> TableRows:
        """Return the rows `index` (numbers or a mask)."""
        index = np.flatnonzero(index) if index.dtype == bool else index
        X = None if self.X is None else chosen_rows(self.X, index)
        classes = None if self.classes is None else self.classes.take(index)
        return replace(self, frame=self.frame[index], row=self.row[index], X=X, classes=classes)


BESIDE = "the inputs are those of {}, which lies beside the data"
"""What is said where a source brings embeddings that nobody named."""
UNSEEN_SHOWN = 5
"""Columns that are named where some play no part."""


def choose_inputs(
    table: Source, columns: RowColumns, *, reserved: dict[str, str], metadata: Sequence[str] = ()
) -> XSource:
    """Decide where x comes from, from what was asked for and what is there.

    Columns of `metadata` are seen beside whatever else x is made of.
    """
    embeddings, features, text = columns.embeddings, columns.features, columns.text
    if text is not None:
        find(text, table.columns, what="text")
    shown = shown_text(table, text)
    beside: tuple[str, ...] = ()
    if features is not None:
        passed_over = reserved | ({} if shown is None else {shown: "text"})
        beside = every_other(table, passed_over) if features == AUTO else match(features, table.columns, passed_over)
    seen = tuple(dict.fromkeys((*beside, *metadata)))
    known = {"text": shown, "chosen": () if features == AUTO else beside}
    if embeddings is not None:
        return XSource("embeddings", seen, embeddings=embeddings, **known)
    if beside or features == AUTO:
        return XSource("features", seen, **known)
    if table.embeddings is not None:
        notes = (BESIDE.format(table.embeddings.name),)
        return XSource("embeddings", seen, embeddings=table.embeddings, notes=notes, **known)
    if shown is not None:
        notes = () if text else (f"the inputs are the column {shown!r}, since nothing else was named",)
        return XSource("text", seen, notes=notes, **known)
    return XSource("features", (*every_other(table, reserved), *metadata), **known)


def unseen_note(table: Source, inputs: XSource, passed_over: Collection[str | None]) -> tuple[str, ...]:
    """Say which columns play no part beside embeddings or texts, and which option looks at them.

    `passed_over`: columns that have another part, None among them standing for none. Nothing is said where any column
    is an input, or there is none left.
    """
    columns = [] if inputs.features else [one for one in table.columns if one not in passed_over]
    if not columns:
        return ()
    shown = ", ".join(map(repr, columns[:UNSEEN_SHOWN]))
    more = f" and {len(columns) - UNSEEN_SHOWN} more" if len(columns) > UNSEEN_SHOWN else ""
    one = len(columns) == 1
    return (
        f"the column{'' if one else 's'} {shown}{more} {'was' if one else 'were'} not looked at: --metadata auto looks "
        f"for findings there, and lets the correction see {'it' if one else 'them'}",
    )


def shown_text(table: Source, text: str | None) -> str | None:
    """Return the column of texts: the one named, or the one that is called so."""
    return text or (TEXT if TEXT in table.columns else None)


def every_other(table: Source, reserved: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that play no other part, in the order of the table."""
    found = unreserved(table.columns, reserved)
    if not found and "metadata" not in reserved.values():
        raise MissingColumn(
            "no inputs are left: every column plays another part. Name embeddings "
            f"({argument('embeddings', takes='FILE.npy')}), or "
            "columns "
            f"of the inputs. {listed(table.columns)}"
        )
    return found


def choose_rows(table: Source, columns: Sequence[str], inputs: XSource, where: str | None) -> TableRows:
    """Read the columns and embeddings needed, and keep the rows that the condition keeps."""
    asked = columns_of(where, table.columns) if where is not None else ()
    frame = table.load(list(dict.fromkeys([*columns, *inputs.columns, *asked])))
    if len(frame) == 0:
        raise InputError("the data have no rows; give one row per prediction")
    X = None
    if inputs.embeddings is not None:
        X = numbers_or_checked(read_matrix(inputs.embeddings))
        refuse_lengths(X.shape, len(frame))
    rows = TableRows(frame, np.arange(len(frame)), X, table.notes + inputs.notes, len(frame))
    if where is not None:
        keep, note = kept(where, frame)
        rows = rows.take(keep).noting(*([note] if note else []))
    if len(rows.row) == 1:
        raise InputError(f"too few rows: got 1; at least {MIN_FIT_ROWS} are needed, one per prediction")
    return rows if rows.X is None else replace(rows, X=held_rows(rows.X))


def refuse_lengths(shape: tuple[int, ...], n: int) -> None:
    """Refuse embeddings whose shape does not fit n rows of data."""
    if len(shape) != 2 or shape[0] != n:
        raise InputError(
            f"lengths differ: the data have {n} rows, the embeddings have shape {shape}; "
            f"give one row of embeddings per row of data, in the same order, before any {argument('where')}"
        )
    if shape[1] == 0:
        raise InputError(f"the embeddings have no columns: their shape is {shape}; give at least one number per row")


# --- values -------------------------------------------------------------------------------------------------------


def numbers(rows: TableRows, column: str, name: str) -> np.ndarray:
    """Read a column as float64 with NaN for missing."""
    return numbers_in(column_of(rows.frame, column), name, RowFaults(rows.row), blanks=True)


def label(role: str, column: str | None) -> str:
    """Name a column in messages, with its role."""
    return role if column == role else f"{role} (column {column!r})"


def confidences(rows: TableRows, column: str, kind: Kind) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read and check confidences; the note counts those clipped for rounding."""
    words = vocabulary(kind)
    name = label(words.columns[0], column)
    raw = numbers(rows, column, name)
    checked = check_confidence(raw, name=name, rows=rows.row)
    clipped = int((raw != checked).sum())
    note = f"{clipped} {words.probabilities} were up to {CLIP_TOLERANCE} outside [0, 1] and were clipped"
    return checked, (note,) if clipped else ()


def unusable(rows: TableRows, column: str) -> np.ndarray:
    """Find values of a feature that no number can be made of, bool (n,): infinite ones, and lists with missing ones.

    Blanks are values like others.
    """
    series = column_of(rows.frame, column)
    if isinstance(series.dtype, (pl.List, pl.Array)):
        return missing(rows, column)
    return series.is_infinite().fill_null(False).to_numpy() if series.dtype.is_float() else np.zeros(len(series), bool)


def missing(rows: TableRows, column: str) -> np.ndarray:
    """Find missing, NaN and infinite values of a column (inside lists too); bool array of shape (n,)."""
    series = column_of(rows.frame, column)
    bad = series.is_null().to_numpy()
    if series.dtype.is_float():
        bad = bad | ~series.fill_null(0).is_finite().to_numpy()
    if isinstance(series.dtype, (pl.List, pl.Array)) and series.dtype.inner.is_numeric():
        bad = bad | lists_not_finite(series)
    return bad


def refuse_missing(rows: TableRows, columns: Sequence[str]) -> None:
    """Refuse missing values in any of the columns."""
    faults = RowFaults(rows.row)
    for column in columns:
        faults.add(f"column {column!r}", missing(rows, column), "missing, NaN or infinite", repr(column))
    faults.refuse(f"fill them in, or {DROP}")


def add_invalid_inputs(faults: RowFaults, rows: TableRows, inputs: XSource) -> None:
    """Note rows whose x is not complete, by column."""
    bad = {column: unusable(rows, column) for column in inputs.features}
    if inputs.kind == "text":
        bad[str(inputs.text)] = missing(rows, str(inputs.text))
    for column, mask in bad.items():
        faults.add(f"column {column!r}", mask, "missing, NaN or infinite", repr(column))
    if inputs.kind == "embeddings":
        mask = non_finite_rows(rows.X)  # type: ignore[arg-type]
        faults.add("embeddings", mask, "NaN, infinite or too large for float32", repr("embeddings"))


def texts(frame: pl.DataFrame, column: str) -> tuple[str, ...]:
    """Read a column as text; missing becomes the empty text."""
    series = column_of(frame, column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError(f"text: column {column!r} must hold text; its type is {series.dtype}")
    return tuple(series.cast(pl.String).fill_null("").to_list())


def metadata_of(rows: TableRows, column: str) -> np.ndarray:
    """Read a metadata column: numbers (NaN where missing), booleans, dates, or text ('(missing)' where missing).

    Dates are numpy's, to the second, NaT where missing, with the time of UTC where a zone is given. Text that is
    nothing but dates in the form of ISO 8601 is read as dates, because CSV and JSON have no other way to give them.
    """
    series = column_of(rows.frame, column)
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
    series, faults = column_of(rows.frame, column), RowFaults(rows.row)
    repeated = series.is_duplicated() & series.is_not_null()
    shown = f"the same id as in another row: {value_list(series.filter(repeated).to_list())}"
    faults.add(f"column {column!r}", repeated.to_numpy(), shown, repr(column))
    faults.refuse(
        f"the first look knew rows by it: give each row one of its own, or begin a new monitor with {argument('out')}"
    )


def encoder_values(inputs: XSource, frame: pl.DataFrame, X: np.ndarray | None) -> Any:
    """Return what an encoder takes, of rows whose x is complete: matrix, table or texts."""
    if inputs.kind == "features":
        return frame
    places = X if inputs.kind == "embeddings" else texts(frame, str(inputs.text))
    return PlacesAndColumns(places, frame) if inputs.features else places
