"""The correction of a run as one SQL expression, which corrects where the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import InputError, argument
from miscal.base.files import check_target, write_new
from miscal.data.encoders.kinds import CategoryColumn, NumberColumn
from miscal.data.relations import Dialect, Writer, writer_of
from miscal.discovery.run import read_run
from miscal.discovery.saved_model import SavedModel, load_model
from miscal.estimators.shifts import Shift, ShiftField
from miscal.runs.scan.correction import ReadableCorrection, ScanMap, readable_correction
from miscal.runs.scan.document import as_sql, expression


@dataclass(frozen=True)
class Exported:
    """What was written: how many `shifts`, and, but of a quick run, the `readable` correction that was fitted."""

    shifts: int
    readable: ReadableCorrection | None = None


def export_sql(run_dir: str | Path, out: str | Path, *, dialect: Dialect = "ansi", overwrite: bool = False) -> Exported:
    """Write the correction of a run as one SQL expression over the names of its columns.

    The expression stands in a select list: it has no alias, no comment and no semicolon. It is NULL where the
    probability is NULL or not in [0, 1]. Of a quick run it is the correction of the run: it gives what
    :meth:`miscal.Run.correct` gives, within rounding. It looks at the columns of its shifts alone: it is NULL where a
    number among these is NULL and never was in the rows learned from, and categories that were not there are taken as
    NULL. Of another run it is a correction of its own, as
    :func:`miscal.scan` makes them: one map, and one shift for each finding that columns name.

    Parameters
    ----------
    run_dir : str or Path
        A run on a table with a column of probabilities.
    out : str or Path
        The .sql file to write.
    dialect : {"ansi", "spark"}, default "ansi"
        How names are quoted and types called. "ansi" serves PostgreSQL, DuckDB, SQLite and others.
    overwrite : bool, default False
        Replace an existing file.

    Returns
    -------
    Exported
        How many shifts; but of a quick run with the log losses of both corrections, and the findings left out.

    Raises
    ------
    InputError
        If the file exists or has another ending, the run is of no column of probabilities, or a shift of a quick run is
        of what no column of a table says (a coordinate of an embedding, a part of a date).
    FileError, CorruptFile
        If the run folder cannot be read, or was changed.

    Examples
    --------
    >>> export_sql("no/such/run", "correction.sql")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/run is not a folder: give the folder in which a model was saved
    """
    place = check_target(out, overwrite=overwrite)
    if place.suffix.lower() != ".sql":
        raise InputError(f"{argument('out')} must end in .sql; got {str(out)!r}")
    model = load_model(run_dir)
    if isinstance(field := model.estimator.fitted, ShiftField):
        text, found = model_as_sql(model, dialect), Exported(len(field.shifts_))
    else:
        own = readable_correction(read_run(run_dir))
        text = as_sql(own.correction, own.probability, dialect)
        found = Exported(len(own.correction.shifts), own)
    write_new(place, f"{text}\n".encode(), overwrite=overwrite)
    return found


def model_as_sql(model: SavedModel, dialect: Dialect = "ansi") -> str:
    """Return the corrected probability as an expression over the columns that the model was fitted on."""
    sql, field = writer_of(dialect), model.estimator.fitted
    if not isinstance(field, ShiftField):
        raise InputError(
            "only the correction of a quick run is one expression; discover again with " + argument("quick", True)
        )
    if model.encoder is None or model.confidence is None or model.classes is not None or model.scale is not None:
        raise InputError("the expression needs a table with a column of probabilities; this model was fitted otherwise")
    shifts, never = [repr(field.level_)] if field.shifts_ else [], []
    for one in field.shifts_:
        inside = []
        for part in one.parts:
            kind, place = _column(model.encoder, part)
            if not kind.blank and isinstance(kind, NumberColumn):
                never.append(f"{sql.name(kind.column)} IS NULL")
            inside.append(_inside(kind, place, part, sql))
        shifts.append(f"CASE WHEN {' AND '.join(inside)} THEN {one.shift!r} ELSE 0 END")
    fitted: Any = field.global_map_
    if fitted.name in ("shift", "platt"):
        slope, intercept = (1.0, fitted.shift_) if fitted.name == "shift" else fitted.coefficients_.tolist()
        found = ScanMap(name="platt", slope=slope, intercept=intercept)
    elif fitted.name == "isotonic":
        found = ScanMap(name="isotonic", knots=tuple(fitted.knots_.tolist()), values=tuple(fitted.values_.tolist()))
    else:
        found = ScanMap(name="identity")
    return expression(sql.as_number(model.confidence), found, shifts, list(dict.fromkeys(never)))


def _column(encoder: Any, shift: Shift) -> tuple[Any, int]:
    """Return the column that a shift is of, and the place within what that column makes of x, levels from -1 down."""
    columns, skipped = getattr(encoder, "columns", None), 0
    if hasattr(columns, "spans"):  # an embedding, with columns of a table beside it
        skipped = encoder.layout.places
    else:
        columns = encoder
    j = shift.column - skipped
    for kind, numbers, codes in columns.spans() if hasattr(columns, "spans") and j >= 0 else ():
        if isinstance(kind, (NumberColumn, CategoryColumn)):
            if numbers.start <= j < numbers.stop:
                return kind, j - numbers.start
            if codes.start <= j < codes.stop:
                return kind, -1
    name = encoder.names[shift.column] if getattr(encoder, "names", None) else f"column {shift.column} of an embedding"
    raise InputError(f"a shift is of {name}, which has no expression in SQL: correct with `miscal calibrate`")


def _inside(kind: Any, place: int, shift: Shift, sql: Writer) -> str:
    """Write which rows a shift is for."""
    name = sql.name(kind.column)
    if isinstance(kind, NumberColumn):
        x = sql.as_number(kind.column)
        if place == 1:
            return f"{name} IS NULL"
        if place == 0:
            filled = f"COALESCE({x}, {kind.fill!r})" if kind.blank else x
            return f"{filled} {_at_least(shift.at)}"
        level, edges = int(shift.at), kind.edges
        if level > len(edges):
            return f"{name} IS NULL"
        ends = [f"{x} >= {edges[level - 1]!r}"] * (level > 0) + [f"{x} < {edges[level]!r}"] * (level < len(edges))
        return sql.known(kind.column, " AND ".join(ends))
    found = [sql.known(kind.column, sql.one_of(kind.column, [one])) for one in kind.categories]
    # what was not there is taken as a blank
    blank = f"NOT {sql.known(kind.column, sql.one_of(kind.column, kind.categories))}"
    if place < 0:
        return found[int(shift.at)] if shift.at < len(found) else blank
    if kind.type == CategoryColumn.type:
        if place == len(found):
            return blank
        # the usual category stands for a blank where there was none
        return (
            f"({found[place]} OR {blank})" if kind.categories[place] == kind.usual and not kind.blank else found[place]
        )
    if place == 1:
        return blank
    above = sql.known(kind.column, sql.one_of(kind.column, [c for k, c in enumerate(kind.categories) if k >= shift.at]))
    return f"({above} OR {blank})" if kind.fill >= shift.at else above


def _at_least(cut: float) -> str:
    """Compare as x does, which is in single precision: numbers that round to the cut are at least it."""
    middle = (float(np.float32(cut)) + float(np.nextafter(np.float32(cut), np.float32(-np.inf)))) / 2
    return f"{'>=' if np.float32(middle) >= np.float32(cut) else '>'} {middle!r}"
