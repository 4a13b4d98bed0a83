"""Write the table of a column as lines for a terminal."""

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.discovery.column_tables import ColumnTable
from miscal.findings.ledger import ColumnValue
from miscal.findings.ledger.values import EXPLAINED
from miscal.report.formatting import MINUS, points
from miscal.report.terminal import wrapped
from miscal.report.texts import clean

LONGEST = 36
"""Characters of a value that are printed."""

HEADS = ("value", "rows", "right", "says", "residual", "hidden", "after correction", "mark", "rise", "its mark")


def table_lines(table: ColumnTable) -> list[str]:
    """Write the table of a column.

    Returns
    -------
    list of str
        Heads, a line for each value, and what the numbers are.
    """
    lines = [HEADS, *(_cells(one) for one in table.values)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = "test rows" if table.evidence == "test" else "rows"
    return [
        f"{clean(table.column)}: {len(table.values):,} values, {table.n:,} {rows}",
        "",
        *("  ".join(_aligned(cells, widths)).rstrip() for cells in lines),
        "",
        *(line for sentence in NOTES for line in wrapped(sentence, indent=0)),
    ]


NOTES = (
    "Residual: accuracy minus confidence, in points. Hidden: how much more (+) or less (-) often the rows are right "
    "than rows of equal confidence; after correction: than rows of equal corrected confidence.",
    "Intervals are of one value at a time, at 95 %: where nothing is hidden, up to one in twenty excludes zero. The "
    "marks allow for all groups that were tested. What is explained differs by itself, but the findings account for it "
    "in part or whole; what they leave stands behind the mark.",
    "Rise: how much more (+) or less (-) the accuracy of the rows rises from their lower to their upper third of "
    "confidence than that of rows of equal confidence would, were they as often right.",
)


def _cells(one: ColumnValue) -> tuple[str, ...]:
    value = clean(one.value)
    value = value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."
    left = f", leaves {_measured(one.beyond)}" if one.mark == EXPLAINED and one.beyond.value is not None else ""
    return (
        *(value, f"{one.n:,}", f"{one.accuracy:.0%}", f"{one.confidence:.0%}"),
        *(_measured(size) for size in (one.residual, one.hidden, one.after)),
        *(f"{one.told}{left}", _measured(one.slope), one.slope_told if one.slope_finding else ""),
    )


def _measured(size: Measure) -> str:
    low, high = size.interval or (None, None)
    if size.value is None or low is None or high is None:
        return "-"
    # ends are told in whole points, so that a line stays short; those near zero in tenths, to show their side of it
    ends = (points(end, int(abs(end) < 0.0095)) for end in (low, high))
    return f"{points(size.value)} ({' to '.join(ends)})".replace(MINUS, "-")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    numbers = (*range(1, 7), 8)
    return [
        cell.rjust(width) if place in numbers else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
