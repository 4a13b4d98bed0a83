"""Read the probabilities of several classes of new rows, from columns or a matrix like those of the model."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import column_of, value_list
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.data.readers.class_columns import as_probabilities, is_matrix_file, matrix_file
from miscal.data.readers.matrix import matrix_rows, matrix_shape
from miscal.data.readers.names import listed, split_names
from miscal.data.readers.pieces import Piece, RowSource
from miscal.data.readers.row_faults import RowFaults, numbers_in
from miscal.data.readers.rows import label


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
class NewClasses:
    """Where the probabilities of new rows are found: columns in the order of the classes, or a matrix.

    Attributes
    ----------
    of_model : ModelClasses
    columns : tuple of K str
        Empty where a matrix holds them.
    matrix : path or array of shape (n, K), or None
    """

    of_model: ModelClasses
    columns: tuple[str, ...] = ()
    matrix: Any = None

    @property
    def shown(self) -> list[str] | str | None:
        """Where they are read from: columns, or the file of a matrix; None where it was given as an array."""
        if self.matrix is None:
            return list(self.columns)
        return str(self.matrix) if isinstance(self.matrix, (str, Path)) else None

    def refuse_other_length(self, n: int) -> None:
        """Refuse a matrix that has not one row for each of n rows."""
        if self.matrix is not None and (shape := matrix_shape(self.matrix))[0] != n:
            raise InputError(
                f"lengths differ: the data have {n} rows, the probabilities have shape {shape}; give one row of "
                f"probabilities per row of data, in the same order, before any {argument('where')}"
            )

    def matrix_values(self, piece: Piece, kept: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Return those rows of a piece that are kept from the matrix, (n, K); None where columns hold them."""
        if self.matrix is None:
            return None
        return np.asarray(matrix_rows(self.matrix, piece.start, piece.start + piece.rows), np.float64)[kept]

    def probabilities(
        self, frame: pl.DataFrame, matrix: NDArray[np.float64] | None, faults: RowFaults, *, typed: bool
    ) -> NDArray[np.float64]:
        """Return probabilities that sum to 1 in each row, (n, K); NaN in rows that cannot be used.

        Parameters
        ----------
        frame : DataFrame
            Columns of the rows.
        matrix : (n, K) float64 or None
            Of :meth:`matrix_values`.
        faults : RowFaults
            What is wrong with rows is added to it.
        typed : bool
            Whether the columns have types of their own.
        """
        values = matrix
        if values is None:
            values = np.column_stack([
                numbers_in(column_of(frame, name), label("probabilities", name), typed, faults, repr(name), blanks=True)
                for name in self.columns
            ])  # fmt: skip
        read = as_probabilities(values, log=self.of_model.log)
        for fault, bad in read.faults.items():
            faults.add("probabilities", bad, _AS_VALUES[fault], f"the probabilities {fault}")
        return read.probability


_AS_VALUES = {
    "are missing, NaN or infinite": "missing, NaN or infinite",
    "lie outside [0, 1]": "outside [0, 1]",
    "do not sum to 1": "in rows that do not sum to 1",
}


def find_new_classes(source: RowSource, probabilities: Any, of_model: ModelClasses) -> NewClasses:
    """Find the probabilities of each class among new rows.

    Parameters
    ----------
    source : RowSource
    probabilities : str, sequence of str, path or array of shape (n, K), or None
        Columns in the order of the classes, or a matrix; by default the columns of the model.
    of_model : ModelClasses

    Raises
    ------
    MissingColumn
        If a column is not there.
    InputError
        If the model was given a matrix and there is none here, or the number of columns is not that of the classes.
    """
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
        return NewClasses(of_model, matrix=matrix)
    columns = own if probabilities is None else _named(probabilities, source.columns, own)
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
    return NewClasses(of_model, columns)


def classes_of(
    source: RowSource, option: str, named: str | None, probabilities: Any, classes: ModelClasses | None
) -> NewClasses | None:
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
    return find_new_classes(source, probabilities, classes)


def _is_matrix(probabilities: Any, columns: Sequence[str]) -> bool:
    if isinstance(probabilities, str):
        return probabilities not in columns and is_matrix_file(probabilities)
    return isinstance(probabilities, (np.ndarray, Path))


def _named(probabilities: str | Sequence[str], columns: Sequence[str], own: tuple[str, ...]) -> tuple[str, ...]:
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
