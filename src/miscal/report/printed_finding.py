"""A finding in one line for a terminal."""

from collections.abc import Sequence

from miscal.base.document import Measure
from miscal.base.vocabulary import Vocabulary
from miscal.findings.conditions import Trend
from miscal.findings.ledger import SLOPE, Finding
from miscal.findings.verdict import fate_words, in_points, interval_of_size, rises, says, together_words
from miscal.report.formatting import MINUS


def more_often(difference: Measure, words: Vocabulary) -> str:
    """Say how much more or less often something comes true: ``"15 points less often (10 to 20)"``."""
    value = difference.value or 0.0
    often = "less often" if value < 0 else "more often"
    between = interval_of_size(value, difference.interval, words.digits).replace(MINUS, "-")
    return f"{in_points(abs(value), words.digits)} {often}{f' ({between})' if between else ''}"


def _left(finding: Finding, words: Vocabulary) -> str:
    """Say what the correction leaves of a finding, and what that makes of it."""
    if finding.fate is None:
        return ""
    slope = finding.effect == SLOPE
    size = rises(finding.after, words).replace(MINUS, "-") if slope else more_often(finding.after, words)
    return f"; after the correction {size}: {fate_words(finding.fate, finding.rows_needed)}"


def _told(finding: Finding, words: Vocabulary) -> str:
    if finding.effect == SLOPE:
        return says(finding, words)
    rate = words.group_rate.format(words.percent(finding.accuracy))
    ends = " at the lower end" if isinstance(finding.condition, Trend) else ""
    along = f"; {says(finding, words)}" if finding.curve else ""
    return f"{rate}, {more_often(finding.before, words)} {words.than_equal_rows()}{ends}{along}"


def finding_words(one: Finding, words: Vocabulary, findings: Sequence[Finding]) -> str:
    """Say of a finding of a list how many rows it has, how far they are off and what the correction leaves of that."""
    return f"{one.n:,} rows, {_told(one, words)}{together_words(one, findings)}{_left(one, words)}"
