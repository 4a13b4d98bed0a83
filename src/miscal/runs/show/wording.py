"""Write the table of a column as lines for a terminal."""

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.markdown import escaped
from miscal.base.markdown import table as markdown_table
from miscal.base.terminal import wrapped
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.tables import ColumnTable
from miscal.findings.ledger import ColumnValue
from miscal.findings.ledger.values import EXPLAINED
from miscal.report.formatting import MINUS, THIN, bounds, decimals_for, percent, points, ratio
from miscal.report.texts import begin, clean

LONGEST = 36
"""Characters of a value that are printed."""


def table_lines(table: ColumnTable) -> list[str]:
    """Write the table of a column.

    Returns
    -------
    list of str
        Heads, a line for each value, and what the numbers are.
    """
    lines = _lines(table)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        _title(table),
        "",
        *("  ".join(_aligned(cells, widths)).rstrip() for cells in lines),
        "",
        *(line for sentence in _notes(table) for line in wrapped(sentence, indent=0)),
    ]


def table_markdown(table: ColumnTable) -> str:
    """Write the table of a column as GitHub-flavoured markdown, in the same words."""
    heads, *rows = _lines(table)
    numbers = [place for place in range(len(heads)) if place not in _texts(len(heads))]
    notes = (escaped(sentence) for sentence in _notes(table))
    return "\n\n".join([f"### {escaped(_title(table))}", markdown_table(heads, rows, numbers=numbers), *notes])


def _title(table: ColumnTable) -> str:
    rows = "test rows" if table.evidence == "test" else "rows"
    return f"{clean(table.column)}: {len(table.values):,} values, {table.n:,} {rows}"


def _lines(table: ColumnTable) -> list[tuple[str, ...]]:
    """Return the cells of the heads and of each value."""
    words, decimals = vocabulary(table.kind), decimals_for(table.epsilon)
    heads = ("value", "rows", *words.heads, *([words.ratio] if words.ratio else []), *HEADS)
    return [heads, *(_cells(one, words, decimals) for one in table.values)]


def _notes(table: ColumnTable) -> tuple[str, str]:
    return _columns_are(vocabulary(table.kind)), NOTE


HEADS = ("residual", "hidden", "after correction", "mark", "rise", "its mark")
NOTE = (
    "Intervals are of one value at a time, at 95 %: where nothing is hidden, up to one in twenty excludes zero. The "
    "marks allow for all groups that were tested. What is explained differs by itself, but the findings account for it "
    "in part or whole; what they leave stands behind the mark."
)


def _columns_are(words: Vocabulary) -> str:
    ratio = f"{begin(words.ratio)}: the one divided by the other. " if words.ratio else ""
    return (
        f"Residual: {words.rate} minus {words.probability}, in points. {ratio}Hidden: how much more (+) or less (-) "
        f"often {words.of_rows('the rows')} {words.than_equal_rows()}; after correction: "
        f"{words.than_equal_rows('corrected')}. Rise: how much more (+) or less (-) the {words.rate} of the rows rises "
        f"from their lower to their upper third of {words.probability} than that of {words.equal_rows()}, had they the "
        f"{words.rate} of these rows."
    )


def _cells(one: ColumnValue, words: Vocabulary, decimals: int) -> tuple[str, ...]:
    value = clean(one.value)
    value = value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."
    left = (
        f", leaves {_measured(one.conditional, decimals)}"
        if one.mark == EXPLAINED and one.conditional.value is not None
        else ""
    )
    return (
        *(value, f"{one.n:,}", *(_rate(share, words, decimals) for share in (one.accuracy, one.confidence))),
        *([_ratio(one.observed_over_expected)] if words.ratio else []),
        *(_measured(size, decimals) for size in (one.residual, one.hidden, one.after)),
        *(f"{one.told}{left}", _measured(one.slope, decimals), one.slope_told if one.slope_finding else ""),
    )


def _rate(share: float, words: Vocabulary, decimals: int) -> str:
    return percent(share, decimals if words.digits else 0).replace(THIN, "")


def _ratio(measure: Measure) -> str:
    between = bounds(measure.interval, "ratio")
    return "-" if measure.value is None else f"{ratio(measure.value)}{f' ({between})' if between else ''}"


def _measured(size: Measure, decimals: int) -> str:
    low, high = size.interval or (None, None)
    if size.value is None or low is None or high is None:
        return "-"
    # ends are told in whole points, so that a line stays short; those near zero in tenths, to show their side of it;
    # where sizes are so small that they need more decimals, ends have as many
    short = 0 if decimals == 1 else decimals
    ends = (points(end, short + int(abs(end) < 0.0095 * 10.0**-short)) for end in (low, high))
    return f"{points(size.value, decimals)} ({' to '.join(ends)})".replace(MINUS, "-")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.ljust(width) if place in _texts(len(widths)) else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _texts(n_columns: int) -> tuple[int, int, int]:
    """Return the places of the columns that hold words."""
    return 0, n_columns - 3, n_columns - 1
