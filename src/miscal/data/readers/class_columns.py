"""Read the probabilities of several classes: columns of a table, or a matrix beside it."""

from __future__ import annotations

import fnmatch
import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import SHOWN_IN_WARNING, as_text, column_of, row_list, value_list
from miscal.base.checks import DROP
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.data.columns import split_names
from miscal.data.judged import LEAST_CLASSES, ClassProbabilities
from miscal.data.readers.names import find, guess, listed
from miscal.data.readers.pieces import Piece, RowSource
from miscal.data.readers.rows import RowFaults, TableRows, label, numbers, numbers_in
from miscal.data.readers.table import Table, damage, existing, matrix_rows, matrix_rows_at, matrix_shape, read_matrix

CONFIDENCE, CORRECT, PREDICTED = "largest probability", "largest is right", "predicted"
"""What the confidence, the outcome and the class of the top label are called, which no column of the table holds."""

_ROUNDING = 0.01
"""How far the sum of a row may be from 1: a hundred probabilities of four digits are off by less."""

MATRIX_FILES = (".npy", ".safetensors")


@dataclass(frozen=True)
class ModelClasses:
    """The classes of a model, and how it was given their probabilities.

    Attributes
    ----------
    names : tuple of K str
    columns : tuple of K str
        Columns of the probabilities, in the order of `names`; empty where a matrix held them.
    log : bool
        Whether they were natural logarithms.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    log: bool = False


@dataclass(frozen=True, eq=False)
class ClassColumns:
    """Where the probabilities of classes, and the class of each row, are found.

    Attributes
    ----------
    names : tuple of K str
        The classes, as the column of labels writes them.
    label : str or None
        Column of the class that each row has; None where new rows have none.
    columns : tuple of K str
        Columns of probabilities, in the order of `names`; empty where a matrix holds them.
    matrix : path or array of shape (m, K), or None
        A row for each row of the table, in its order.
    predicted : str
        What the class of the largest probability is called among the columns that name what is found.
    log : bool or None
        Whether they are natural logarithms; None where the values say it.
    """

    names: tuple[str, ...]
    label: str | None
    columns: tuple[str, ...] = ()
    matrix: Any = None
    predicted: str = PREDICTED
    log: bool | None = None

    @property
    def _file(self) -> Path | None:
        return Path(self.matrix) if isinstance(self.matrix, (str, Path)) else None

    @property
    def options(self) -> dict[str, Any]:
        """The options by which the same is found again."""
        path = None if self._file is None else str(self._file.resolve())
        return {"probabilities": list(self.columns) or path, "label": self.label, "classes": list(self.names)}

    @property
    def read_from(self) -> list[str] | str | None:
        """The columns, or the file of a matrix; None where it was given as an array."""
        return list(self.columns) if self.matrix is None else None if self._file is None else str(self._file)

    @property
    def shown(self) -> str:
        """What messages call the probabilities."""
        if self.matrix is not None:
            return "probabilities"
        return f"probabilities (columns {self.columns[0]!r} to {self.columns[-1]!r})"

    def refuse_other_length(self, n: int) -> None:
        """Refuse a matrix that has not one row for each of n rows."""
        if self.matrix is not None and (shape := matrix_shape(self.matrix))[0] != n:
            raise InputError(
                f"lengths differ: the data have {n} rows, the probabilities have shape {shape}; give one row of "
                f"probabilities per row of data, in the same order, before any {argument('where')}"
            )

    def values(self, rows: TableRows) -> NDArray[np.float64]:
        """Return the numbers as they are written, (n, K), NaN where missing."""
        if self.matrix is not None:
            return np.asarray(matrix_rows_at(self.matrix, rows.row), dtype=np.float64)
        return np.column_stack([numbers(rows, name, label("probabilities", name)) for name in self.columns])

    def codes(self, rows: TableRows) -> NDArray[np.int64]:
        """Return the place of each row's class, (n,): -1 where it is missing, -2 where it is none of the classes."""
        places = {name: place for place, name in enumerate(self.names)}
        written = as_written(column_of(rows.frame, str(self.label))).to_list()
        return np.array([-1 if one is None else places.get(one, -2) for one in written], dtype=np.int64)

    def matrix_values(self, piece: Piece, kept: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Return those rows of a piece that are kept from the matrix, (n, K); None where columns hold them."""
        if self.matrix is None:
            return None
        return np.asarray(matrix_rows(self.matrix, piece.start, piece.start + piece.rows), np.float64)[kept]

    def probabilities(
        self, frame: pl.DataFrame, matrix: NDArray[np.float64] | None, faults: RowFaults, *, typed: bool
    ) -> NDArray[np.float64]:
        """Return probabilities of new rows that sum to 1, (n, K), NaN in rows that cannot be used, and note why.

        `matrix` is of :meth:`matrix_values`; `typed` says whether the columns have types of their own.
        """
        values = matrix
        if values is None:
            values = np.column_stack([
                numbers_in(column_of(frame, name), label("probabilities", name), typed, faults, repr(name), blanks=True)
                for name in self.columns
            ])  # fmt: skip
        read = as_probabilities(values, log=self.log)
        for fault, bad in read.faults.items():
            faults.add("probabilities", bad, _AS_VALUES[fault], f"the probabilities {fault}")
        return read.probability


_AS_VALUES = {
    "are missing, NaN or infinite": "missing, NaN or infinite",
    "lie outside [0, 1]": "outside [0, 1]",
    "do not sum to 1": "in rows that do not sum to 1",
}


def find_classes(
    table: Table, probabilities: Any, named_label: str | None, classes: str | Path | Sequence[Any] | None
) -> ClassColumns | None:
    """Find the classes that were asked for, by a pattern, columns or a matrix; None where none were."""
    if probabilities is None:
        given = {"label": named_label, "classes": classes}
        for name, value in given.items():
            if value is not None:
                raise InputError(f"{name} is of several classes: name their probabilities too "
                                 f"({argument('probabilities', takes='NAMES')})")  # fmt: skip
        return None
    known_names = None if classes is None else class_names(classes)
    column = guess("label", table.columns) if named_label is None else find(named_label, table.columns, what="label")
    predicted = PREDICTED if PREDICTED not in table.columns else f"{PREDICTED} class"
    if _is_matrix(probabilities, table.columns):
        matrix = probabilities if isinstance(probabilities, np.ndarray) else matrix_file(probabilities)
        return ClassColumns(_of_matrix(matrix_shape(matrix), known_names), column, matrix=matrix, predicted=predicted)
    columns, opened = _columns(probabilities, table, column)
    if known_names is not None and len(known_names) != len(columns):
        raise InputError(f"classes: {len(known_names)} names are given for {len(columns)} columns of probabilities")
    names = known_names
    if names is None:
        # labels may rather be written as what the pattern leaves open than as the columns are
        held = set(as_written(column_of(table.load([column]), column)).drop_nulls().unique().to_list())
        names = opened if held & set(opened) or not held else columns
    return ClassColumns(_check_class_names(names), column, columns, predicted=predicted)


def class_names(given: str | Path | Sequence[Any]) -> tuple[str, ...]:
    """Return names of classes: of a file with one on each line, of a comma-separated text, or as given.

    Examples
    --------
    >>> class_names("cat, dog,owl"), class_names([0, 1, 2])
    (('cat', 'dog', 'owl'), ('0', '1', '2'))
    """
    if isinstance(given, Path) or (isinstance(given, str) and os.path.isfile(given)):
        path = existing(Path(given), what="classes")
        with damage(path, "text"):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        return tuple(line.strip() for line in lines if line.strip())
    if isinstance(given, str):
        return split_names(given)
    return tuple(str(one) if isinstance(one, str) else as_written(pl.Series([one])).item() for one in given)


def as_written(series: pl.Series) -> pl.Series:
    """Return labels as texts: whole numbers without a point, whatever type they were read with."""
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError(f"label must hold the name or number of a class; its type is {series.dtype}")
    series = series.fill_nan(None) if series.dtype.is_float() else series
    return as_text(series).str.strip_chars()


def is_matrix_file(source: Any) -> bool:
    """Say whether something is the path of a matrix by its ending.

    Examples
    --------
    >>> is_matrix_file("p.npy"), is_matrix_file("p_*"), is_matrix_file(["p_a", "p_b"])
    (True, False, False)
    """
    return isinstance(source, (str, Path)) and Path(source).suffix.lower() in MATRIX_FILES


def matrix_file(path: str | Path) -> Path:
    """Return the path of a matrix of probabilities, or say why it is none."""
    if not is_matrix_file(path):
        raise InputError(f"probabilities: a matrix is a .npy or .safetensors file; got {str(path)!r}")
    read_matrix(path)
    return Path(path)


def _is_matrix(probabilities: Any, columns: Sequence[str]) -> bool:
    if not isinstance(probabilities, str):
        return isinstance(probabilities, (np.ndarray, Path))
    named = Path(probabilities).suffix.lower() in (*MATRIX_FILES, ".npz", ".csv", ".parquet")
    return named and probabilities not in columns


def _of_matrix(shape: tuple[int, ...], names: tuple[str, ...] | None) -> tuple[str, ...]:
    if len(shape) != 2:
        raise InputError(f"probabilities must be a matrix of shape (n, K); its shape is {shape}")
    if names is None:
        raise InputError(
            f"classes: a matrix of probabilities does not say what its {shape[1]} columns are: give their names in "
            f"this order ({argument('classes', takes='FILE')}), as the labels write them"
        )
    if len(names) != shape[1]:
        raise InputError(f"classes: {len(names)} names are given for the {shape[1]} columns of probabilities")
    return _check_class_names(names)


def _check_class_names(names: Sequence[str]) -> tuple[str, ...]:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise InputError(f"classes: names must be distinct; {value_list(twice)} come more than once")
    if len(names) < LEAST_CLASSES:
        raise InputError(
            f"probabilities: at least {LEAST_CLASSES} classes are needed; got {len(names)} ({value_list(names)}). Of "
            "two classes, give the probability of one as that of an event "
            f"({argument('probability', takes='COL')} {argument('event', takes='COL')} "
            f"{argument('positive', takes='VALUE')})"
        )
    return tuple(names)


def _columns(probabilities: Any, table: Table, own: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns, and what the patterns leave open of their names."""
    found: dict[str, str] = {}
    for pattern in split_names(probabilities):
        if pattern in table.columns:
            found.setdefault(pattern, pattern)
            continue
        matched = [name for name in fnmatch.filter(table.columns, pattern) if name != own]
        if not matched:
            raise MissingColumn(f"probabilities: {pattern!r} matches no column. {listed(table.columns)}")
        before, _, after = pattern.partition("*")
        cut = len(before), len(after)
        found |= {name: name[cut[0] : len(name) - cut[1]] if "*" in pattern else name for name in matched}
    if own in found:
        raise InputError(f"probabilities: {own!r} is the label, which can play no other part; leave it out")
    columns = tuple(found)
    opened = tuple(found.values())
    if columns == opened:
        prefix = os.path.commonprefix(columns)  # noqa: RUF071  no paths, but texts
        prefix = prefix[: max(map(prefix.rfind, "_-.: /")) + 1]
        opened = tuple(name.removeprefix(prefix) or name for name in columns)
    return columns, opened


# --- values -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReadProbabilities:
    """Probabilities of rows as they were written.

    Attributes
    ----------
    probability : (n, K) float64
        Rows sum to 1; NaN in rows that cannot be used.
    faults : dict of str to bool array of shape (n,)
        What is wrong with which rows, in words; no row has two faults.
    log : bool
        Whether logarithms were written.
    """

    probability: NDArray[np.float64]
    faults: Mapping[str, NDArray[np.bool_]]
    log: bool


def as_probabilities(values: NDArray[np.float64], *, log: bool | None = None) -> ReadProbabilities:
    """Turn what is written into probabilities that sum to 1.

    `values` (n, K): probabilities, or their natural logarithms; the sum of a row's probabilities may be off by 0.01;
    `log`: by default they are taken as logarithms where none is above 0, and their exponentials sum to 1 in half of the
    rows at least.

    Examples
    --------
    >>> as_probabilities(np.array([[0.2, 0.3, 0.5], [0.9, 0.9, 0.9]])).faults["do not sum to 1"].tolist()
    [False, True]
    >>> as_probabilities(np.log([[0.2, 0.3, 0.5]])).log
    True
    """
    missing = np.isnan(values).any(axis=1) | (values == np.inf).any(axis=1)
    known = values[~missing]
    if log is None:
        log = bool(len(known)) and bool((known <= 0).all()) and bool((_off(np.exp(known)) <= _ROUNDING).mean() >= 0.5)
    given = np.exp(np.where(missing[:, None], -1.0, values)) if log else np.where(missing[:, None], 0.0, values)
    outside = ~missing & (((given < -_ROUNDING) | (given > 1 + _ROUNDING)).any(axis=1))
    other_sum = ~missing & ~outside & (_off(given) > _ROUNDING)
    faults = {"are missing, NaN or infinite": missing, "lie outside [0, 1]": outside, "do not sum to 1": other_sum}
    bad = missing | outside | other_sum
    clipped = np.clip(given, 0.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # sorted, so that the order of the classes does not decide the last digit
        found = clipped / np.sort(clipped, axis=1).sum(axis=1, keepdims=True)
    found[bad] = np.nan
    return ReadProbabilities(found, faults, log)


def _off(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(values.sum(axis=1) - 1)


def with_top_label(rows: TableRows, classes: ClassColumns, *, drop: bool) -> tuple[TableRows, tuple[str, ...]]:
    """Check the probabilities, and add the top label to the rows: its probability, and whether it is right.

    `rows`: with the columns that are needed; `drop`: leave out rows without usable probabilities or label, instead of
    refusing them. Returns `rows`: those that are kept, with the columns `CONFIDENCE`, `CORRECT` and the class
    predicted.
    """
    classes.refuse_other_length(rows.n_read)
    read, code = as_probabilities(classes.values(rows)), classes.codes(rows)
    shown = f"labels (column {classes.label!r})"
    faults = {(classes.shown, words): mask for words, mask in read.faults.items()}
    faults |= {(shown, "are missing"): code == -1, (shown, "are none of the classes"): code == -2}
    bad = np.any(list(faults.values()), axis=0)
    if bad.any() and (not drop or bad.all()):
        raise InputError(_refusal(faults, classes, rows))
    kept = ~bad
    notes = [
        f"{int(mask.sum()):,} of {len(mask):,} rows were dropped: their {name} {words}"
        for (name, words), mask in faults.items() if mask.any()
    ]  # fmt: skip
    if read.log:
        notes.append(
            f"{classes.shown} were read as natural logarithms: none is above 0, and e to their power sums to 1"
        )
    found = ClassProbabilities(classes.names, read.probability[kept], code[kept])
    absent = np.bincount(found.code, minlength=len(found.names)) == 0
    if absent.any():
        gone = [name for name, one in zip(found.names, absent, strict=True) if one]
        notes.append(f"no row has the {'class' if len(gone) == 1 else 'classes'} {value_list(gone, SHOWN_IN_WARNING)}")
    if (~absent).sum() < 2:
        raise InputError(
            f"{shown} holds one class alone, {value_list([found.names[found.code[0]]])}: give rows of others"
        )
    rows, top = rows.take(kept) if bad.any() else rows, found.predicted
    frame = rows.frame.with_columns(
        pl.Series(CONFIDENCE, found.probability[np.arange(len(top)), top]),
        pl.Series(CORRECT, (top == found.code).astype(np.int64)),
        pl.Series(classes.predicted, [found.names[k] for k in top], dtype=pl.String),
    )
    return replace(rows, frame=frame), tuple(notes)


def probabilities_of(rows: TableRows, classes: ClassColumns) -> ClassProbabilities:
    """Return the probabilities and classes of rows that were checked."""
    read = as_probabilities(classes.values(rows))
    return ClassProbabilities(
        classes.names, read.probability, classes.codes(rows), classes.predicted, classes.columns, read.log
    )


def _refusal(faults: Mapping[tuple[str, str], NDArray[np.bool_]], classes: ClassColumns, rows: TableRows) -> str:
    (name, words), bad = next((key, mask) for key, mask in faults.items() if mask.any())
    count = f"{name}: those of {int(bad.sum())} of {len(bad)} rows {words} ({row_list(bad, rows.row)})"
    if words == "do not sum to 1":
        first = classes.values(rows)[bad].sum(axis=1)[0]
        return (
            f"{count}; the first sums to {first:.4g}. Probabilities, or their logarithms, are allowed: give those of "
            "all classes"
        )
    if words == "lie outside [0, 1]":
        percentages = np.allclose(classes.values(rows)[bad].sum(axis=1), 100, atol=1)
        mend = "divide percentages by 100" if percentages else "turn scores into probabilities (softmax)"
        return f"{count}; probabilities, or their logarithms, are allowed: {mend}"
    if words == "are none of the classes":
        written = as_written(column_of(rows.frame, str(classes.label)))
        held = written.filter(bad).unique().sort().to_list()
        return (
            f"{name} holds {value_list(held)} in {int(bad.sum())} of {len(bad)} rows ({row_list(bad, rows.row)}), "
            f"which is none of the classes {value_list(classes.names)}: give the probability of that class, name the "
            f"classes as the labels do ({argument('classes')}), or {DROP}"
        )
    return f"{count}; fill them in, or {DROP}"


# --- new rows -----------------------------------------------------------------------------------------------------


def classes_of(
    source: RowSource, option: str, named: str | None, probabilities: Any, classes: ModelClasses | None
) -> ClassColumns | None:
    """Find the probabilities of the classes of a model; None, unless they are asked for, where it has none."""
    if classes is None:
        if probabilities is not None:
            raise InputError(f"probabilities: the model has no classes; name its column with {argument(option)}")
        return None
    if named is not None:
        raise InputError(
            f"{option}: the model is of {len(classes.names)} classes, so it needs the probability of each: name their "
            f"columns with {argument('probabilities')} instead"
        )
    return _new_classes(source, probabilities, classes)


def _new_classes(source: RowSource, probabilities: Any, of_model: ModelClasses) -> ClassColumns:
    k, own = len(of_model.names), of_model.columns
    if probabilities is None and not own:
        raise InputError(
            f"probabilities: the model was given a matrix of {k} classes, so new rows need one, too: name it "
            f"({argument('probabilities', takes='FILE')})"
        )
    if _is_matrix(probabilities, source.columns):
        matrix = matrix_file(probabilities) if isinstance(probabilities, (str, Path)) else np.asarray(probabilities)
        if matrix_shape(matrix)[1:] != (k,):
            raise InputError(
                f"probabilities: the matrix must have {k} columns, one for each class of the model "
                f"({value_list(of_model.names)}), in this order; its shape is {matrix_shape(matrix)}"
            )
        return ClassColumns(of_model.names, None, matrix=matrix, log=of_model.log)
    columns = own if probabilities is None else _in_order_of_classes(probabilities, source.columns, own)
    absent = [name for name in columns if name not in source.columns]
    if absent:
        raise MissingColumn(
            f"probabilities: there is no column {value_list(absent)}, and the model needs the probability of each of "
            f"its {k} classes: give it, or name other columns ({argument('probabilities', takes='NAMES')}). "
            f"{listed(source.columns)}"
        )
    if len(columns) != k:
        raise InputError(
            f"probabilities: {len(columns)} columns are named for the {k} classes of the model "
            f"({value_list(of_model.names)}): name one for each, in this order"
        )
    return ClassColumns(of_model.names, None, columns, log=of_model.log)


def _in_order_of_classes(
    probabilities: str | Sequence[str], columns: Sequence[str], own: tuple[str, ...]
) -> tuple[str, ...]:
    """Return columns in the order of the classes: the model's own in its order, however they are named."""
    names = split_names(probabilities)
    patterns = [name for name in names if name not in columns and any(sign in name for sign in "*?[")]
    matched = {column for name in names for column in ([name] if name in columns else fnmatch.filter(columns, name))}
    if own and matched == set(own):
        return own
    if patterns:
        raise InputError(
            f"probabilities: {value_list(patterns)} does not match the columns of the model ({value_list(own)}) and no "
            "others: name one column for each class, in their order"
        )
    return names
