"""A correction as one expression in SQL, and as a module of Python that needs nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pprint import pformat

import numpy as np

from miscal.calibration.calibrators import LOGIT_CLIP
from miscal.data.counting import Cut
from miscal.data.relations import DATE, TEXT, Dialect, Writer, farthest, odds_of, real, sigmoid, steps, writer_of
from miscal.runs.scan import correct_row
from miscal.runs.scan.correction import ScanCorrection, ScanMap, ScanShift

_TRUTHS = {"True": ("True", "true", "1"), "False": ("False", "false", "0")}
"""How engines write them as texts."""


def as_sql(correction: ScanCorrection, probability: str, dialect: Dialect = "ansi") -> str:
    """Return the corrected probability as one expression over the columns."""
    sql = writer_of(dialect)
    f = sql.as_number(probability)
    base, odds = _mapped(correction.map, f)
    unknown = f"CASE WHEN {f} IS NULL OR {f} < 0 OR {f} > 1 THEN NULL"
    if not correction.shifts:
        return f"{unknown} ELSE {base} END"
    shift = f"({' + '.join(_shift(one, sql) for one in correction.shifts)})"
    return f"{unknown} WHEN {shift} = 0 THEN {base} ELSE {sigmoid(f'({odds}) + {shift}')} END"


def as_python(correction: ScanCorrection, probability: str) -> str:
    """Return a module whose `correct(row)` is the corrected probability."""
    content = {"probability": probability, **correction.model_dump(include={"map", "shifts"})}
    text = pformat(content, width=118, sort_dicts=False, compact=True)
    return inspect.getsource(correct_row).replace("CORRECTION: dict = {}", f"CORRECTION: dict = {text}", 1)


def _mapped(found: ScanMap, f: str) -> tuple[str, str]:
    """Write what the map makes of a probability, and the log-odds of that."""
    end = farthest(LOGIT_CLIP)
    if found.name == "platt":
        line = f"({real(found.slope)} * ({odds_of(f, LOGIT_CLIP)}) + {real(found.intercept)})"
        inside = f"CASE WHEN {line} <= {-end!r} THEN {-end!r} WHEN {line} >= {end!r} THEN {end!r} ELSE {line} END"
        return sigmoid(line), inside
    base = f if found.name == "identity" else steps(f, list(found.knots), list(found.values))
    return base, odds_of(base, LOGIT_CLIP)


def _shift(one: ScanShift, sql: Writer) -> str:
    cuts = [Cut(**column) for column in one.columns]
    if one.scores:
        cases = (f"WHEN {_cells(cuts[0], [k], sql)} THEN {real(one.size * x)}" for k, x in enumerate(one.scores))
        return f"CASE {' '.join(cases)} ELSE {real(0)} END"
    if len(cuts) == 1:
        inside = _cells(cuts[0], [cell for (cell,) in one.cells], sql)
    else:
        both = (" AND ".join(_cells(cut, [k], sql) for cut, k in zip(cuts, pair, strict=True)) for pair in one.cells)
        inside = " OR ".join(f"({pair})" for pair in both)
    yes, no = (0, one.size) if one.others else (one.size, 0)
    return f"CASE WHEN {inside} THEN {real(yes)} ELSE {real(no)} END"


def _cells(cut: Cut, cells: Sequence[int], sql: Writer) -> str:
    """Write which rows are in some cells of a column, as a condition that is never NULL."""
    column, parts = sql.name(cut.column), []
    number = column if cut.kind == DATE else sql.as_number(cut.column)
    # what is not finite is missing. Engines take NaN as the largest number, and DuckDB decides a comparison with the
    # largest one by the ends of a column of Parquet, which are written without NaN
    finite = cut.kind not in (DATE, TEXT)
    if cut.count in cells:
        parts.append(f"COALESCE({number} - {number}, 1) <> 0" if finite else f"{column} IS NULL")
    known = sorted(cell for cell in cells if 0 <= cell < cut.count)
    if cut.kind == TEXT:
        if known:
            parts.append(sql.known(cut.column, sql.one_of(cut.column, _texts(cut, known))))
    elif cut.values and known:
        listed = ", ".join(real(cut.values[cell]) for cell in known)
        parts.append(sql.known(cut.column, f"{number} IN ({listed})"))
    elif known:
        for first, last in _runs(known):
            low, high = (_end(cut, first - 1) if first else "", _end(cut, last) if last < cut.count - 1 else "")
            ends = [f"{number} >= {low}"] * bool(low) + [f"{number} < {high}"] * bool(high)
            ends += [f"COALESCE({number} - {number}, 1) = 0"] * (finite and not (low and high))
            parts.append(sql.known(cut.column, " AND ".join(ends)) if ends else f"{column} IS NOT NULL")
    return f"({' OR '.join(parts)})" if parts else "(1 = 0)"


def _texts(cut: Cut, cells: Sequence[int]) -> list[str]:
    values = [cut.values[cell] for cell in cells]
    return [text for one in values for text in _TRUTHS[one]] if cut.truth else values


def _runs(cells: Sequence[int]) -> list[tuple[int, int]]:
    breaks = [k for k in range(1, len(cells)) if cells[k] != cells[k - 1] + 1]
    return [(cells[a], cells[b - 1]) for a, b in zip([0, *breaks], [*breaks, len(cells)], strict=True)]


def _end(cut: Cut, place: int) -> str:
    if cut.kind != DATE:
        return real(cut.edges[place])
    moment = np.datetime64(int(cut.edges[place]), "s")
    return f"TIMESTAMP '{str(moment).replace('T', ' ')}'" if cut.timed else f"DATE '{str(moment)[:10]}'"
