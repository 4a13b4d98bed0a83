"""The words of a finding, and what columns were read as."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.shown import fact_lines
from miscal.base.vocabulary import Vocabulary
from miscal.data.column_reading import ColumnReading
from miscal.discovery.summary import Summary
from miscal.findings.ledger import Finding
from miscal.findings.verdict import fate_words, in_points, interval_of_size, together_words
from miscal.report.formatting import MINUS

MOST_FINDINGS, MOST_CLASSES, MOST_COLUMNS = 5, 3, 20
"""Findings, models of a judge, confusions and classes with findings, and columns that are shown of all."""

Facts = list[tuple[str, str]]
"""What something is about, in a word, and what is said of it."""


def finding_words(finding: Finding, words: Vocabulary, findings: Sequence[Finding]) -> str:
    """Say of a finding of a list how many rows it has, how far they are off and what the correction leaves of that."""
    left = ""
    if finding.fate is not None:
        after = _more_often(finding.after, words)
        left = f"; after the correction {after}: {fate_words(finding.fate, finding.units_needed)}"
    rate = words.group_rate.format(words.percent(finding.accuracy))
    off = f"{rate}, {_more_often(finding.hidden, words)} {words.than_equal_rows()}"
    return f"{finding.n:,} rows, {off}{together_words(finding, findings)}{left}"


def _more_often(difference: Measure, words: Vocabulary) -> str:
    """Say how much more or less often something comes true: ``"15 points less often (10 to 20)"``."""
    value = difference.value or 0.0
    often = "less often" if value < 0 else "more often"
    between = interval_of_size(value, difference.interval, words.digits).replace(MINUS, "-")
    return f"{in_points(abs(value), words.digits)} {often}{f' ({between})' if between else ''}"


def column_lines(summary: Summary) -> list[str]:
    """Write what every column was read as, or why it was left out."""
    wide = max((len(one.name) for one in summary.columns), default=0) + 2
    said = [
        (one.name, _read_as(one) if one.left_out is None else f"left out: {one.left_out}") for one in summary.columns
    ]
    return fact_lines(said, min(wide, 40)) or ["the inputs have no columns with names"]


def _read_as(column: ColumnReading) -> str:
    """Say what a column was read as, and its role."""
    blanks = f", {column.missing:,} blank" if column.missing else ""
    return f"{column.read_as} of {column.levels:,} values{blanks}{f', {column.role}' if column.role else ''}"
