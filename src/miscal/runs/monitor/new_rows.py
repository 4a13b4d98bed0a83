"""New labelled rows: read as `miscal calibrate` reads rows, corrected by the saved model, with outcomes and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import as_text, column_of, row_list, value_list
from miscal.base.errors import InputError, MismatchError, argument
from miscal.base.folds import row_groups
from miscal.base.vocabulary import ANSWER, JUDGE, Kind, Vocabulary, vocabulary
from miscal.data.readers import open_table
from miscal.data.readers.class_columns import CORRECT, PREDICTED, ClassColumns
from miscal.data.readers.computed_columns import with_computed
from miscal.data.readers.grouping import Grouping
from miscal.data.readers.names import find, refuse_told
from miscal.data.readers.outcomes import Asked, outcomes
from miscal.data.readers.rows import TableRows, metadata_of, missing, refuse_missing, refuse_repeated, texts
from miscal.data.readers.rows import label as what_is_called
from miscal.discovery.corrected_rows import correct_rows, only_blank
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel
from miscal.estimators.estimate import regimes_of
from miscal.findings import EPSILON
from miscal.runs.correct.tally import refuse_foreign, tally_of, warnings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ID = "id"
"""The column that identifies rows, where there is one."""

ON_INVALID = ("error", "drop")
"""What may be done about rows that cannot be used."""


@dataclass(frozen=True, eq=False)
class NewLabelled:
    """New labelled rows, those of a group side by side, groups in the order in which they first came.

    Attributes
    ----------
    X : (n, d) float32 or float64
    correct : (n,) float64, 0 or 1
    confidence, corrected, visible : (n,) float64 in [0, 1]
        As given; corrected by the saved model; and by its global map alone.
    regime : (n,) object
        "over", "good" or "under" by the saved model; None where it has no local estimate.
    supported : (n,) bool
    unit : (n,) int64
        Number of the unit, in rising order: of the group, of equal inputs, or of the row.
    group : (n,) object or None
        Values of the group's column, as text.
    columns : dict of str to (n,) array
        What findings are named by.
    text : tuple of n str or None
    id : (n,) object or None
        What identifies each row, as text; None where its values do.
    kind : {"answer", "event", "judge"}
        What the confidences are the probabilities of.
    """

    X: np.ndarray
    correct: Floats
    confidence: Floats
    corrected: Floats
    visible: Floats
    regime: np.ndarray
    supported: NDArray[np.bool_]
    unit: Ints
    group: np.ndarray | None
    columns: dict[str, np.ndarray]
    text: tuple[str, ...] | None
    id: np.ndarray | None = None
    kind: Kind = ANSWER

    @property
    def words(self) -> Vocabulary:
        """The words of this kind of probability."""
        return vocabulary(self.kind)

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.unit[-1]) + 1


@dataclass(frozen=True, eq=False)
class Read:
    """Rows that were read, with what must be said of them.

    Attributes
    ----------
    rows : NewLabelled
    columns : dict
        Columns taken for confidence, outcome, inputs and group.
    dropped : int
    notes : tuple of str
    """

    rows: NewLabelled
    columns: dict[str, Any]
    dropped: int
    notes: tuple[str, ...]


def read_labelled(
    run: RunContent,
    model: SavedModel,
    data: Any,
    *,
    confidence: str | None = None,
    correct: str | None = None,
    probability: str | None = None,
    event: str | None = None,
    positive: Any = None,
    label: str | None = None,
    group: str | None = None,
    equal_inputs: bool = False,
    blanks_alone: bool = False,
    by_id: bool | None = None,
    on_invalid: str = "error",
    encoding: str = "utf-8",
    csv_escape: str | None = None,
    **options: Any,
) -> Read:
    """Read new labelled rows and correct them.

    Parameters
    ----------
    run : RunContent
    model : SavedModel
        Of the run.
    data : path or table
        As for :func:`miscal.data.readers.read_triples`.
    confidence, correct, probability, event, group : str, optional
        Columns, the first two or the next two as the run is of an answer or of an event; by default those of the run.
    positive : optional
        The value of the outcome's column that is the event; by default that of the run.
    label : str, optional
        Of several classes: the column of the class that each row has; by default that of the run.
    equal_inputs : bool, default False
        Whether rows of equal inputs are one unit where no group is named.
    blanks_alone : bool, default False
        Whether a row without group is a unit of its own, as where a run chose the column; else it is invalid.
    by_id : bool, optional
        Whether the column ``id`` identifies rows; by default where there is one that is not the group's.
    on_invalid : {"error", "drop"}, default "error"
    encoding : str, default "utf-8"
    csv_escape : str, optional
    **options
        Further options of :func:`miscal.data.readers.open_new_rows`.

    Returns
    -------
    Read

    Raises
    ------
    MiscalError
        If the data do not offer what the model and the monitor need.
    """
    if on_invalid not in ON_INVALID:
        raise InputError(f"on_invalid must be 'error' or 'drop'; got {on_invalid!r}")
    named = {"confidence": confidence, "correct": correct, "probability": probability, "event": event}
    asked = Asked.of(kind=run.summary.kind, **named, positive=positive)
    if label is not None and model.classes is None:
        raise InputError(
            f"label: the run is not of several classes; name its outcome with {argument(asked.words.columns[1])}"
        )
    if model.classes is not None:
        asked.refuse_beside("probabilities")
        asked = replace(asked, outcome=label)
    option = asked.words.columns[0]
    options |= {option: asked.probability, "on_invalid": on_invalid, "encoding": encoding, "csv_escape": csv_escape}
    opened = model.open(data, **options)
    table = open_table(data, encoding=encoding, csv_escape=csv_escape)
    table = with_computed(table, run.summary.data.columns.metadata)
    roles = _roles(run, table.columns, opened.confidence, asked, group, by_id)
    (piece,) = opened.pieces(1 << 62)
    new = opened.read(piece)
    if len(new) == 0:
        raise InputError(
            f"no row is left to look at: correct the condition of {argument('where')}, or the invalid values"
        )
    # the labels of the rows that were kept
    beside = TableRows(table.load(roles.columns)[new.row], new.row, None, (), len(new))
    # people need not have judged every answer that a judge has
    keep = _labelled(beside, roles, blanks_alone, drop=on_invalid == "drop" or roles.kind == JUDGE)
    named_outcome = roles.correct
    if model.classes is not None:
        keep &= _of_known_class(beside, roles, model.classes.read.names, keep, drop=on_invalid == "drop")
        beside, roles = _with_top_label(beside, roles, new.probability, model.classes.read.names, run)
    if roles.id is not None:
        _refuse_no_ids(beside.take(keep), roles.id)
    field = model.estimator.fitted
    corrected = correct_rows(field, new, model.classes)
    tally = tally_of(new, corrected, model.estimator, opened.encoder, piece.rows)
    refuse_foreign(tally, opened, model.estimator)
    visible = np.clip(field.global_map_.apply(new.confidence), 0.0, 1.0)
    made = {"X": new.X, "confidence": new.confidence, "visible": visible}
    made |= {name: corrected[name].to_numpy() for name in ("corrected", "supported", "delta")}
    made["local"] = (corrected["reason"].is_null() | only_blank(corrected, new)).to_numpy()
    epsilon = float(run.summary.settings.get("epsilon") or EPSILON)
    rows = _ordered(
        {name: array[keep] for name, array in made.items()}, beside.take(keep), roles, epsilon, equal_inputs
    )
    unlabelled = int((~keep).sum())
    said = (f"{unlabelled:,} rows without outcome or group were left out",) if unlabelled else ()
    return Read(
        rows,
        {**opened.columns, "correct": named_outcome, "group": group},
        new.counts["dropped"] + unlabelled,
        (*warnings(tally, opened, model.estimator), *said),
    )


@dataclass(frozen=True)
class _Roles:
    """Columns beside those that the model needs."""

    kind: Kind
    correct: str
    positive: str | None
    grouping: Grouping | None
    id: str | None
    named: tuple[str, ...]
    text: str | None

    @property
    def label(self) -> str:
        """What messages call the column of outcomes."""
        return what_is_called(vocabulary(self.kind).columns[1], self.correct)

    @property
    def grouped(self) -> str | None:
        """The column that says which rows are a group."""
        return None if self.grouping is None else self.grouping.column

    @property
    def columns(self) -> list[str]:
        every = (self.correct, self.grouped, self.id, self.text, *self.named)
        return list(dict.fromkeys(name for name in every if name is not None))


def _roles(
    run: RunContent, columns: Sequence[str], confidence: str, asked: Asked, group: str | None, by_id: bool | None
) -> _Roles:
    of_run = run.summary.data.columns
    probability, option = asked.words.columns
    outcome = find(asked.outcome or of_run.correct or option, columns, what=option)
    if outcome == confidence:
        raise InputError(f"{probability} and {option} must be two columns; both are {outcome!r}")
    grouping = None
    if group is not None:
        grouping = Grouping.of(group, columns, what=f"group ({argument('group', takes='COL')} names another column)")
        refuse_told("group", [grouping.column], outcome, [confidence])
    if by_id and ID not in columns:
        raise MismatchError(
            f"this monitor recognises rows by the column {ID!r}, which the first look had, and there is none in these "
            f"data: give it, or begin a new monitor with {argument('out')}"
        )
    identity = ID if by_id is not False and ID in columns and group != ID else None
    # what findings and values are named by; what asks for a column that is not there is left out and said
    found = (name for one in run.summary.findings for name in one.columns)
    naming = dict.fromkeys((*of_run.metadata, *found))
    text = of_run.text if of_run.text in columns else None
    positive = of_run.positive if asked.positive is None else asked.positive
    return _Roles(
        asked.kind, outcome, positive, grouping, identity, tuple(name for name in naming if name in columns), text
    )


def _labelled(beside: TableRows, roles: _Roles, blanks_alone: bool, *, drop: bool) -> NDArray[np.bool_]:
    """Mark the rows with outcome and, unless blanks are units, group; without `drop`, refuse others."""
    needed = [name for name in (roles.correct, None if blanks_alone else roles.grouped) if name is not None]
    if not drop:
        refuse_missing(beside, needed)
    keep = ~np.logical_or.reduce([missing(beside, name) for name in needed])
    if not keep.any():
        raise InputError(f"no row is left: {roles.label} or the group is missing in all {len(keep)}")
    return keep


def _of_known_class(
    beside: TableRows, roles: _Roles, names: tuple[str, ...], keep: NDArray[np.bool_], *, drop: bool
) -> NDArray[np.bool_]:
    """Mark the rows whose label is one of the classes; without `drop`, refuse others among those that are kept."""
    known = ClassColumns(names, roles.correct).codes(beside) >= 0
    strange = keep & ~known
    if strange.any() and (not drop or not known.any()):
        raise InputError(
            f"{what_is_called('label', roles.correct)} holds no class of the model in {int(strange.sum())} of "
            f"{len(keep)} rows ({row_list(strange, beside.row)}): correct them, or leave such rows out with "
            f"{argument('on_invalid', 'drop')}. The classes are {value_list(names)}"
        )
    return known


def _with_top_label(
    beside: TableRows, roles: _Roles, probability: Any, names: tuple[str, ...], run: RunContent
) -> tuple[TableRows, _Roles]:
    """Add the columns of the top label: whether it is right, which is the outcome, and what it is."""
    top = np.nan_to_num(probability).argmax(axis=1)
    right = ClassColumns(names, roles.correct).codes(beside) == top
    predicted = PREDICTED if run.summary.classes is None else run.summary.classes.predicted_column
    columns = {CORRECT: right.astype(np.int64), predicted: np.array(names, dtype=object)[top]}
    frame = beside.frame.with_columns(pl.Series(name, values.tolist()) for name, values in columns.items())
    named = tuple(dict.fromkeys((*roles.named, predicted)))
    return replace(beside, frame=frame), replace(roles, correct=CORRECT, named=named)


def _refuse_no_ids(beside: TableRows, column: str) -> None:
    if beside.frame[column].dtype.is_nested():
        raise InputError(f"column {column!r} must hold text or numbers, one value for each row, or have another name")
    refuse_missing(beside, [column])
    refuse_repeated(beside, column)


def _ordered(
    values: dict[str, np.ndarray], beside: TableRows, roles: _Roles, epsilon: float, equal_inputs: bool
) -> NewLabelled:
    values_of = column_of(beside.frame, roles.correct)
    correct, _ = outcomes(values_of, roles.kind, positive=roles.positive, name=roles.label, rows=beside.row)
    names, number = None, np.arange(len(correct))
    if roles.grouping is not None:
        names = group_names(beside, roles.grouping)
        blank = missing(beside, roles.grouping.column)
        names[blank] = None
        number = np.unique(names.astype(str), return_inverse=True)[1]
        number = np.where(blank, len(number) + np.arange(len(number)), number)
    elif equal_inputs:
        number = row_groups(values["X"])
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    unit = np.argsort(np.argsort(first))[number]
    order = np.argsort(unit, kind="stable")
    text = None if roles.text is None else texts(beside, roles.text)
    return NewLabelled(
        X=values["X"][order],
        correct=correct[order],
        confidence=values["confidence"][order],
        corrected=values["corrected"][order],
        visible=values["visible"][order],
        regime=regimes_of(values["delta"], epsilon, values["local"])[order],
        supported=values["supported"][order],
        unit=unit[order],
        group=None if names is None else names[order],
        columns={name: metadata_of(beside, name)[order] for name in roles.named},
        text=None if text is None else tuple(text[i] for i in order),
        id=None if roles.id is None else as_text(column_of(beside.frame, roles.id)).to_numpy()[order],
        kind=roles.kind,
    )


def group_names(beside: TableRows, grouping: Grouping) -> np.ndarray:
    """Return the name of each row's group, as text, object (n,)."""
    series = column_of(beside.frame, grouping.column)
    if series.dtype.is_nested():
        what = what_is_called("group", grouping.column)
        raise InputError(f"{what} must hold text or numbers, one value for each row; its type is {series.dtype}")
    names = as_text(series).to_list() if grouping.period is None else grouping.values(beside.frame)
    return np.array(names, dtype=object)


def name_of(data: Any) -> str:
    """Say what the data are called: the name of the file, or that they were in memory."""
    return Path(data).name if isinstance(data, (str, Path)) else "rows in memory"
