"""A table for every named column: all its values, with what the findings and the correction say of each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from miscal.findings import EPSILON
from miscal.findings.ledger import ColumnValue
from miscal.findings.ledger.values import EXPLAINED, FEW_ROWS, FINDING
from miscal.report.drawing import Scale
from miscal.report.panels.findings import SHOWN
from miscal.report.source import Source

MOST_VALUES, FEWEST_VALUES, MOST_IN_ALL = 100, 10, 2_000
"""Values that a table shows: all tables together stay a small part of the page."""

_RANKS = {FINDING: 0, EXPLAINED: 1_000, FEW_ROWS: 3_000}
"""Order of the marks: findings, what they explain, the rest, and values of few rows."""


class ValueRow(NamedTuple):
    """A value as drawn: what it and its mark are sorted by, and where its interval lies on the axis.

    `sign` is the direction of its hidden residual, empty where it is not distinguishable; `faint` whether it has too
    few rows to say much.
    """

    value: ColumnValue
    key: str | int
    rank: int
    whisker: tuple[float, float] | None
    sign: str
    faint: bool


class ColumnView(NamedTuple):
    """The table of a column; `more` values of it are not shown."""

    name: str
    rows: list[ValueRow]
    more: int
    ordered: bool
    about: str
    axis: Scale


def columns(source: Source) -> dict[str, Any] | None:
    """Return a table for each column; None where the run has none."""
    method, tables = source.summary.findings_method, source.columns
    if not tables or method is None:
        return None
    views = column_views(tables, source.epsilon or EPSILON)
    return {
        "columns": views,
        "more": len(tables) - len(views),
        "n": method.n,
        "kind": "test rows" if method.evidence == "test" else "rows",
        # findings that are on the page
        "listed": SHOWN,
    }


def column_views(tables: Mapping[str, Sequence[ColumnValue]], least: float = EPSILON) -> list[ColumnView]:
    """Return what is drawn of columns: of many the first, and of each as many values as a page holds."""
    shown = list(tables.items())[: MOST_IN_ALL // FEWEST_VALUES]
    most = min(MOST_VALUES, max(FEWEST_VALUES, MOST_IN_ALL // max(1, len(shown))))
    return [_column(name, values, most, least) for name, values in shown]


def _column(name: str, values: Sequence[ColumnValue], most: int, least: float) -> ColumnView:
    # the values that findings name, and of the others the largest; in the order of the table
    weights = [(one.finding is None, -one.n) for one in values]
    shown = [values[at] for at in sorted(sorted(range(len(values)), key=weights.__getitem__)[:most])]
    axis, ordered = _axis(shown, least), not any(one.is_text for one in values)
    rows = [
        ValueRow(
            value=one,
            key=place if ordered else one.value.lower(),
            rank=_RANKS.get(one.mark, 2_000) + (one.finding or 0),
            whisker=axis.whisker(one.hidden.interval),
            sign=("over" if (one.hidden.value or 0.0) < 0 else "under") if one.mark in (FINDING, EXPLAINED) else "",
            faint=one.mark == FEW_ROWS,
        )
        for place, one in enumerate(shown)
    ]
    return ColumnView(name, rows, len(values) - len(shown), ordered, _counted(values), axis)


def _axis(values: Sequence[ColumnValue], least: float) -> Scale:
    # intervals of a few rows would make all others too short to see
    tested = [one for one in values if one.mark != FEW_ROWS] or values
    ends = [end for one in tested for size in (one.hidden, one.after) for end in size.interval or ()]
    reach = max([least, *(abs(end) for end in ends if end is not None)])
    return Scale(-reach, reach, 4.0, 156.0)


def _counted(values: Sequence[ColumnValue]) -> str:
    """Count the values, and those that findings name."""
    many = len(values)
    parts = [f"{many:,} value{'' if many == 1 else 's'}"]
    if findings := sum(one.mark == FINDING for one in values):
        parts.append(f"{findings} finding{'' if findings == 1 else 's'}")
    if explained := sum(one.mark == EXPLAINED for one in values):
        parts.append(f"{explained} explained by findings")
    return ", ".join(parts)
