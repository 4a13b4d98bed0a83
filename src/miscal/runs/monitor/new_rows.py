"""New labelled rows, read as `miscal calibrate` reads rows, and corrected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import as_text, column_of, value_list
from miscal.base.errors import InputError, MiscalError, MismatchError, argument
from miscal.base.folds import row_groups
from miscal.base.vocabulary import JUDGE, vocabulary
from miscal.data.readers.class_columns import CORRECT, PREDICTED, ClassColumns
from miscal.data.readers.names import find, refuse_told
from miscal.data.readers.new_rows import NewSource
from miscal.data.readers.outcomes import outcomes
from miscal.data.readers.roles import Grouping, Roles, pair_asked, refuse_beside_classes
from miscal.data.readers.rows import RowFaults, TableRows, metadata_of, missing, refuse_missing, refuse_repeated, texts
from miscal.data.readers.rows import label as what_is_called
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import SavedModel, correct_rows
from miscal.findings.conditions.condition import Frame, frame_of_rows
from miscal.runs.correct.tally import refuse_foreign, tally_of, warnings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROW_ID, ID = "row_id", "id"
"""The column that identifies rows, where there is one."""

ON_INVALID = ("error", "drop")
"""What may be done about rows that cannot be used."""


@dataclass(frozen=True, eq=False)
class NewLabelled:
    """Labelled rows, those of a group side by side, groups in the order in which they first came.

    Attributes
    ----------
    X : (n, d) float32 or float64
    correct : (n,) float64, 0 or 1
    confidence, corrected : (n,) float64 in [0, 1]
        As given; and corrected by the saved model.
    supported : (n,) bool
    unit : (n,) int64
        Number of the unit, in rising order: of the group, of equal inputs, or of the row.
    group : (n,) object or None
        Values of the group's column, as text.
    columns : dict of str to (n,) array
        What findings are named by.
    text : tuple of n str or None
    id : (n,) object or None
        What identifies each row, as text; None where nothing does.
    taken : dict of str to what was taken for confidence, outcome, inputs and group
    dropped : int
        Rows that were left out.
    notes : tuple of str
        What must be said.
    learned : tuple of str
        Ids of the rows of the run, at a first look that recognises rows by ids.
    """

    X: np.ndarray
    correct: Floats
    confidence: Floats
    corrected: Floats
    supported: NDArray[np.bool_]
    unit: Ints
    group: np.ndarray | None = None
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    text: tuple[str, ...] | None = None
    id: np.ndarray | None = None
    taken: dict[str, Any] = field(default_factory=dict)
    dropped: int = 0
    notes: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.unit[-1]) + 1


def read_labelled(
    run: RunContent,
    model: SavedModel,
    data: Any,
    *,
    group: str | None = None,
    equal_inputs: bool = False,
    blanks_alone: bool = False,
    by_id: bool | None = None,
    on_invalid: str = "error",
    **options: Any,
) -> NewLabelled:
    """Read new labelled rows and correct them; columns that are not named are those of the run.

    `equal_inputs` says whether rows of equal inputs are one unit where no group is named; `blanks_alone` whether a row
    without group is a unit of its own, as where a run chose the column, else it is invalid; and `by_id` whether a
    column ``row_id`` or ``id`` identifies rows: by default where there is one of distinct values, not the group's.
    Further options are the columns, of which `label` is the outcome of several classes, and those of
    :func:`.new_rows.open_new_rows`.
    """
    if on_invalid not in ON_INVALID:
        raise InputError(f"on_invalid must be 'error' or 'drop'; got {on_invalid!r}")
    columns = ("confidence", "correct", "probability", "event", "positive", "label")
    named = {name: options.pop(name, None) for name in columns}
    label, positive = named.pop("label"), named["positive"]
    kind, stated, told = pair_asked(kind=run.summary.kind, **named)
    option, of_outcome = vocabulary(kind).columns
    if label is not None and model.classes is None:
        raise InputError(f"label: the run is not of several classes; name its outcome with {argument(of_outcome)}")
    if model.classes is not None:
        refuse_beside_classes(kind, stated, told, positive)
        told = label
    drop = on_invalid == "drop"
    opened = model.open(data, whole=True, **options | {option: stated, "on_invalid": on_invalid})
    roles = _roles(run, opened, told, positive, group, by_id)
    new = opened.read(opened.whole)
    if len(new) == 0:
        raise InputError(
            f"no row is left to look at: correct the condition of {argument('where')}, or the invalid values"
        )
    grouped = None if roles.grouping is None else roles.grouping.column
    beside = opened.beside(new, (roles.correct, grouped, roles.id, roles.text, *roles.naming))
    # people need not have judged every answer that a judge has
    needed = [name for name in (roles.correct, None if blanks_alone else grouped) if name is not None]
    if not drop and roles.kind != JUDGE:
        refuse_missing(beside, needed)
    if roles.id is not None:
        if beside.frame[roles.id].dtype.is_nested():
            raise InputError(f"column {ID!r} must hold text or numbers, one value for each row, or have another name")
        needed += [roles.id] if drop else []
    keep = ~np.logical_or.reduce([missing(column_of(beside.frame, name)) for name in needed])
    if not keep.any():
        raise InputError(f"no row is left: {roles.labels[1]}, group or id is missing in all {len(keep)}")
    named_outcome, learned = roles.correct, ()
    if model.classes is not None:
        names = model.classes.read.names
        codes = _codes(beside, roles, names, keep, drop=drop)
        keep &= codes >= 0
        beside, roles = _with_top_label(beside, roles, new.probability, codes, names, run)
    if roles.id is not None:
        of_run = ids_of(run, roles.id) if by_id is None else pl.Series([])
        if not by_id and any(
            ids.is_duplicated().any() for ids in (of_run, beside.take(keep).frame[roles.id].drop_nulls())
        ):
            # it says whose rows these are, and not which
            roles = replace(roles, id=None)
        else:
            refuse_missing(beside.take(keep), [roles.id])
            refuse_repeated(beside.take(keep), roles.id)
            learned = tuple(of_run)
    corrected = correct_rows(model.estimator.fitted, new, model.classes)
    tally = tally_of(new, corrected, model.estimator, opened.encoder, opened.whole.rows)
    refuse_foreign(tally, opened, model.estimator)
    beside = beside.take(keep)
    values = column_of(beside.frame, roles.correct)
    outcome, _ = outcomes(values, roles.kind, positive=roles.positive, name=roles.labels[1], rows=beside.row)
    groups, unit = _units(beside, roles.grouping, new.X[keep] if equal_inputs else None)
    order = np.argsort(unit, kind="stable")
    at = np.flatnonzero(keep)[order]
    shown = None if roles.text is None else texts(beside.frame, roles.text)
    unlabelled = int((~keep).sum())
    said = (f"{unlabelled:,} rows without outcome, group or id were left out",) if unlabelled else ()
    return NewLabelled(
        X=new.X[at],
        correct=outcome[order],
        confidence=new.confidence[at],
        corrected=corrected["corrected"].to_numpy()[at],
        supported=corrected["supported"].to_numpy()[at],
        unit=unit[order],
        group=None if groups is None else groups[order],
        columns={name: metadata_of(beside.frame, name)[order] for name in roles.naming},
        text=None if shown is None else tuple(shown[i] for i in order),
        id=None if roles.id is None else as_text(column_of(beside.frame, roles.id)).to_numpy()[order],
        taken={**opened.columns, "correct": named_outcome, "group": group},
        dropped=new.counts["dropped"] + unlabelled,
        notes=(*warnings(tally, opened, model.estimator), *said),
        learned=learned,
    )


def _roles(
    run: RunContent, opened: NewSource, told: str | None, positive: Any, group: str | None, by_id: bool | None
) -> Roles:
    """Say which columns beside those of the model play which part; `told` is that of the outcome, where it is named."""
    of_run, columns, confidence = run.summary.data.columns, opened.source.columns, opened.roles.confidence
    probability, option = vocabulary(opened.roles.kind).columns
    outcome = find(told or of_run.correct or option, columns, what=option)
    if outcome == confidence:
        raise InputError(f"{probability} and {option} must be two columns; both are {outcome!r}")
    grouping = None
    if group is not None:
        grouping = Grouping.of(group, columns, what=f"group ({argument('group', takes='COL')} names another column)")
        refuse_told("group", [grouping.column], outcome, [confidence])
    named = next((name for name in (ROW_ID, ID) if name in columns and name != group), None)
    if by_id and named is None:
        raise MismatchError(
            f"this monitor recognises rows by a column {ROW_ID!r} or {ID!r}, which the first look had, and there is "
            f"none in these data: give it, or begin a new monitor with {argument('out')}"
        )
    identity = None if by_id is False else named
    # what findings and values are named by; what asks for a column that is not there is left out and said
    found = (name for one in run.summary.findings for name in one.columns)
    naming = dict.fromkeys((*of_run.metadata, *found))
    return replace(
        opened.roles,
        correct=outcome,
        positive=of_run.positive if positive is None else positive,
        grouping=grouping,
        id=identity,
        names_only=tuple(name for name in naming if name in columns),
        text=of_run.text if of_run.text in columns else None,
    )


def _codes(beside: TableRows, roles: Roles, names: tuple[str, ...], keep: NDArray[np.bool_], *, drop: bool) -> Ints:
    """Return the class of each label, below 0 where it is none; without `drop`, refuse such among those kept."""
    codes = ClassColumns(names, roles.correct).codes(beside)
    if not drop or (codes < 0).all():
        faults, name = RowFaults(beside.row), what_is_called("label", roles.correct)
        faults.add(name, keep & (codes < 0), f"none of the classes of the model, {value_list(names)}", name)
        faults.refuse()
    return codes


def _with_top_label(
    beside: TableRows, roles: Roles, probability: Any, codes: Ints, names: tuple[str, ...], run: RunContent
) -> tuple[TableRows, Roles]:
    """Add the columns of the top label: whether it is right, which is the outcome, and what it is."""
    top = np.nan_to_num(probability).argmax(axis=1)
    predicted = PREDICTED if run.summary.classes is None else run.summary.classes.predicted_column
    columns = {CORRECT: (codes == top).astype(np.int64), predicted: np.array(names, dtype=object)[top]}
    frame = beside.frame.with_columns(pl.Series(name, values.tolist()) for name, values in columns.items())
    naming = tuple(dict.fromkeys((*roles.naming, predicted)))
    return replace(beside, frame=frame), replace(roles, correct=CORRECT, names_only=naming)


def _units(beside: TableRows, grouping: Grouping | None, X: np.ndarray | None) -> tuple[np.ndarray | None, Ints]:
    """Return the names of groups, where there are such, and the number of each row's unit, in the order they came."""
    names, number = None, np.arange(len(beside.row))
    if grouping is not None:
        names, blank = group_names(beside, grouping), missing(column_of(beside.frame, grouping.column))
        names[blank] = None
        groups = np.unique(names.astype(str), return_inverse=True)[1]
        number = np.where(blank, len(groups) + number, groups)
    elif X is not None:
        number = row_groups(X)
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return names, np.argsort(np.argsort(first))[number]


def group_names(beside: TableRows, grouping: Grouping) -> np.ndarray:
    """Return the name of each row's group, as text, object (n,)."""
    series = column_of(beside.frame, grouping.column)
    if series.dtype.is_nested():
        what = what_is_called("group", grouping.column)
        raise InputError(f"{what} must hold text or numbers, one value for each row; its type is {series.dtype}")
    names = as_text(series).to_list() if grouping.period is None else grouping.values(beside.frame)
    return np.array(names, dtype=object)


def frame_of(run: RunContent, model: SavedModel, rows: NewLabelled) -> Frame:
    """Put together what findings ask of new rows."""
    named = {name: rows.columns[name] for name in run.summary.data.columns.metadata if name in rows.columns}
    return frame_of_rows(named, rows.X, model.encoder, text=rows.text, clusters=run.load_clusters())


def ids_of(run: RunContent, column: str) -> pl.Series:
    """Return the ids of the rows of a run; none where its data are gone, or have no such column."""
    try:
        table = run.data_with(column)
        ids = column_of(table.load([column]), column) if column in table.columns else pl.Series([])
    except MiscalError:
        return pl.Series([])
    return pl.Series([]) if ids.dtype.is_nested() or ids.is_empty() else as_text(ids)[run.table["row"]].drop_nulls()
