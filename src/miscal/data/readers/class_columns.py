"""Read the probabilities of several classes: columns of a table, or a matrix beside it."""

from __future__ import annotations

import fnmatch
import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import SHOWN_IN_WARNING, as_text, column_of, value_list
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.data.columns import Columns, split_names
from miscal.data.judged import LEAST_CLASSES, ClassProbabilities
from miscal.data.readers.names import find, guess, listed
from miscal.data.readers.rows import RowFaults, TableRows, label, numbers_in, refuse_lengths
from miscal.data.readers.source import ENDINGS, Source, damage, existing, is_matrix_file, read_matrix

CONFIDENCE, CORRECT, PREDICTED = "largest probability", "largest is right", "predicted"
"""What the confidence, the outcome and the class of the top label are called, which no column of the table holds."""

_NO_MATRICES = (".npz", ".csv", ".parquet")
"""Endings of files that may be taken for a matrix."""

_ROUNDING = 0.01
"""How far the sum of a row may be from 1: a hundred probabilities of four digits are off by less."""


@dataclass(frozen=True, eq=False)
class ClassColumns:
    """The classes of a table or a model, and where their probabilities and the class of each row are found.

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
    label: str | None = None
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
        if self.matrix is not None:
            refuse_lengths(read_matrix(self.matrix).shape, n, "probabilities")

    def values(self, frame: pl.DataFrame, faults: RowFaults) -> NDArray[np.float64]:
        """Return the numbers of rows as they are written, (n, K), NaN where missing."""
        if self.matrix is not None:
            return np.array(read_matrix(self.matrix)[faults.row], dtype=np.float64)
        read = partial(numbers_in, faults=faults, blanks=True)
        shown = [label("probabilities", name) for name in self.columns]
        columns = zip(self.columns, shown, strict=True)
        return np.column_stack([read(column_of(frame, name), said, said=repr(name)) for name, said in columns])

    def codes(self, rows: TableRows) -> NDArray[np.int64]:
        """Return the place of each row's class, (n,): -1 where it is missing, -2 where it is none of the classes."""
        places = {name: place for place, name in enumerate(self.names)}
        written = as_written(column_of(rows.frame, str(self.label))).to_list()
        return np.array([-1 if one is None else places.get(one, -2) for one in written], dtype=np.int64)


def find_classes(table: Source, asked: Columns) -> ClassColumns | None:
    """Find the classes that were asked for, by a pattern, columns or a matrix; None where none were."""
    if asked.probabilities is None:
        for name in ("label", "classes"):
            if getattr(asked, name) is not None:
                raise InputError(f"{name} is of several classes: name {argument('probabilities', takes='NAMES')}, too")
        return None
    names = None if asked.classes is None else class_names(asked.classes)
    column = guess("label", table.columns) if asked.label is None else find(asked.label, table.columns, what="label")
    predicted = PREDICTED if PREDICTED not in table.columns else f"{PREDICTED} class"
    columns, opened, matrix = (), (), _matrix(asked.probabilities, table.columns)
    if matrix is None:
        columns, opened = _columns(asked.probabilities, table, column)
    elif len(shape := read_matrix(matrix).shape) != 2:
        raise InputError(f"probabilities must be a matrix of shape (n, K); its shape is {shape}")
    elif names is None:
        raise InputError(
            f"classes: a matrix does not say what its {shape[1]} columns are: give their names in this order, as the "
            f"labels write them ({argument('classes', takes='FILE')})"
        )
    k = len(columns) if matrix is None else shape[1]
    if names is None:
        # labels may rather be written as what the pattern leaves open than as the columns are
        held = set(as_written(column_of(table.load([column]), column)).drop_nulls().unique().to_list())
        names = opened if held & set(opened) or not held else columns
    if len(names) != k:
        raise InputError(f"classes: {len(names)} names are given for {k} columns of probabilities")
    return ClassColumns(_check_class_names(names), column, columns, matrix, predicted)


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


def _matrix(probabilities: Any, columns: Sequence[str]) -> Path | np.ndarray | None:
    """Return the matrix that probabilities are, or its file; None where they are columns."""
    if isinstance(probabilities, np.ndarray):
        return probabilities
    if not isinstance(probabilities, (str, Path)) or probabilities in columns:
        return None
    if not isinstance(probabilities, Path) and Path(probabilities).suffix.lower() not in (*ENDINGS, *_NO_MATRICES):
        return None
    if not is_matrix_file(probabilities):
        raise InputError(f"probabilities: a matrix is a .npy or .safetensors file; got {str(probabilities)!r}")
    return Path(probabilities)


def _check_class_names(names: Sequence[str]) -> tuple[str, ...]:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise InputError(f"classes: names must be distinct; {value_list(twice)} come more than once")
    if len(names) < LEAST_CLASSES:
        raise InputError(
            f"probabilities: at least {LEAST_CLASSES} classes are needed; got {len(names)} ({value_list(names)}). Of "
            f"two, one is an event: {argument('probability', takes='COL')} {argument('event', takes='COL')}"
        )
    return tuple(names)


def _columns(probabilities: Any, table: Source, own: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
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


def as_probabilities(
    values: NDArray[np.float64], faults: RowFaults, name: str = "probabilities", *, log: bool | None = None
) -> tuple[NDArray[np.float64], bool]:
    """Turn what is written into probabilities that sum to 1; NaN in rows that cannot be used, which are noted.

    `values` (n, K): probabilities, or their natural logarithms; the sum of a row's probabilities may be off by 0.01;
    `log`: by default they are taken as logarithms where none is above 0, and their exponentials sum to 1 in half of the
    rows at least. Returns with them whether they were.

    Examples
    --------
    >>> faults = RowFaults(np.arange(2))
    >>> as_probabilities(np.array([[0.2, 0.3, 0.5], [0.9, 0.9, 0.9]]), faults)[1], faults.sound.tolist()
    (False, [True, False])
    >>> as_probabilities(np.log([[0.2, 0.3, 0.5]]), RowFaults(np.arange(1)))[1]
    True
    """
    missing = np.isnan(values).any(axis=1) | (values == np.inf).any(axis=1)
    known = values[~missing]
    if log is None:
        log = bool(len(known)) and bool((known <= 0).all()) and bool((_off(np.exp(known)) <= _ROUNDING).mean() >= 0.5)
    given = np.exp(np.where(missing[:, None], -1.0, values)) if log else np.where(missing[:, None], 0.0, values)
    outside = ~missing & (((given < -_ROUNDING) | (given > 1 + _ROUNDING)).any(axis=1))
    other_sum = ~missing & ~outside & (_off(given) > _ROUNDING)
    allowed, sums = "probabilities, or their logarithms, are allowed:", values.sum(axis=1)
    percent = outside.any() and np.allclose(sums[outside], 100, atol=1)
    scores = "divide percentages by 100" if percent else "turn scores into probabilities (softmax)"
    first = f"the first sums to {sums[other_sum][0]:.4g}; " if other_sum.any() else ""
    faults.add(name, missing, "missing, NaN or infinite", "the probabilities are missing, NaN or infinite")
    faults.add(name, outside, "outside [0, 1]", "the probabilities lie outside [0, 1]", f"{allowed} {scores}")
    faults.add(
        name, other_sum, "in rows that do not sum to 1", "the probabilities do not sum to 1",
        f"{first}{allowed} give those of all classes",
    )  # fmt: skip
    clipped = np.clip(given, 0.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # sorted, so that the order of the classes does not decide the last digit
        found = clipped / np.sort(clipped, axis=1).sum(axis=1, keepdims=True)
    found[missing | outside | other_sum] = np.nan
    return found, log


def _off(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(values.sum(axis=1) - 1)


def with_top_label(rows: TableRows, classes: ClassColumns, *, drop: bool) -> TableRows:
    """Check the probabilities, and add the top label to the rows: its probability, and whether it is right.

    `rows`: with the columns that are needed; `drop`: leave out rows without usable probabilities or label, instead of
    refusing them. Returns `rows`: those that are kept, with `classes` and the columns `CONFIDENCE`, `CORRECT` and the
    class predicted.
    """
    classes.refuse_other_length(rows.n_read)
    faults, shown = RowFaults(rows.row), f"labels (column {classes.label!r})"
    probability, log = as_probabilities(classes.values(rows.frame, faults), faults, classes.shown)
    code = classes.codes(rows)
    faults.add(shown, code == -1, "missing", f"{classes.label!r} is missing")
    strange = as_written(column_of(rows.frame, str(classes.label))).filter(code == -2).unique().sort().to_list()
    faults.add(
        shown, code == -2, f"none of the classes {value_list(classes.names)}, such as {value_list(strange)}",
        f"{classes.label!r} is none of the classes",
        f"give the probability of that class, or name the classes as the labels do ({argument('classes')})",
    )  # fmt: skip
    rows = replace(rows, classes=ClassProbabilities(
        classes.names, probability, code, classes.predicted, classes.columns, log
    ))  # fmt: skip
    rows, notes = faults.refuse_or_drop(rows, drop=drop), []
    if log:
        notes.append(
            f"{classes.shown} were read as natural logarithms: none is above 0, and e to their power sums to 1"
        )
    found: ClassProbabilities = rows.classes  # type: ignore[assignment]
    absent = np.bincount(found.code, minlength=len(found.names)) == 0
    if absent.any():
        gone = [name for name, one in zip(found.names, absent, strict=True) if one]
        notes.append(f"no row has the {'class' if len(gone) == 1 else 'classes'} {value_list(gone, SHOWN_IN_WARNING)}")
    if (~absent).sum() < 2:
        raise InputError(
            f"{shown} holds one class alone, {value_list([found.names[found.code[0]]])}: give rows of others"
        )
    top = found.predicted
    frame = rows.frame.with_columns(
        pl.Series(CONFIDENCE, found.probability[np.arange(len(top)), top]),
        pl.Series(CORRECT, (top == found.code).astype(np.int64)),
        pl.Series(classes.predicted, [found.names[k] for k in top], dtype=pl.String),
    )
    return replace(rows, frame=frame).noting(*notes)


# --- new rows -----------------------------------------------------------------------------------------------------


def classes_of(
    source: Source, option: str, named: str | None, probabilities: Any, classes: ClassColumns | None
) -> ClassColumns | None:
    """Find the probabilities of the classes of a model; None, unless they are asked for, where it has none."""
    if classes is None:
        if probabilities is not None:
            raise InputError(f"probabilities: the model has no classes; name its column with {argument(option)}")
        return None
    k, asked = len(classes.names), argument("probabilities", takes="NAMES")
    needed = f"the model needs the probability of each of its {k} classes ({value_list(classes.names)}), in this order"
    if named is not None:
        raise InputError(f"{option}: {needed}: name {asked} instead")
    if (matrix := _matrix(probabilities, source.columns)) is not None:
        if (shape := read_matrix(matrix).shape)[1:] != (k,):
            raise InputError(f"probabilities: {needed}; the matrix has the shape {shape}")
        return replace(classes, columns=(), matrix=matrix)
    columns = classes.columns
    if probabilities is not None:
        columns = _in_order_of_classes(split_names(probabilities), source.columns, columns)
    absent = [name for name in columns if name not in source.columns]
    if absent:
        raise MissingColumn(
            f"probabilities: there is no column {value_list(absent)}, and {needed}: give it, or name others ({asked}). "
            f"{listed(source.columns)}"
        )
    if len(columns) != k:
        raise InputError(f"probabilities: {needed}; got {value_list(columns) if columns else 'none'}: name {asked}")
    return replace(classes, columns=columns)


def _in_order_of_classes(names: tuple[str, ...], columns: Sequence[str], own: tuple[str, ...]) -> tuple[str, ...]:
    """Return columns in the order of the classes: the model's own in its order, however they are named."""
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
