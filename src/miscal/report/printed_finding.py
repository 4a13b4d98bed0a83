"""A finding in one line for a terminal."""

from miscal.base.document import Measure
from miscal.base.vocabulary import Vocabulary
from miscal.findings.conditions.kinds.trend import Trend
from miscal.findings.ledger import SLOPE, Finding
from miscal.findings.mending import LEFT, MENDED, REVERSED, mending
from miscal.findings.slope_wording import rises, says
from miscal.findings.verdict import in_points, interval_of_size
from miscal.report.formatting import MINUS


def _more_often(difference: Measure, words: Vocabulary) -> str:
    value = difference.value or 0.0
    often = "less often" if value < 0 else "more often"
    between = interval_of_size(value, difference.interval, words.digits).replace(MINUS, "-")
    return f"{in_points(abs(value), words.digits)} {often}{f' ({between})' if between else ''}"


def _left(finding: Finding, words: Vocabulary) -> str:
    """Say what the correction leaves of a finding."""
    state = mending(finding.sign, finding.after.interval)
    if state and finding.effect == SLOPE:
        rise = rises(finding.after, words, adverb="still" if state == LEFT else "").replace(MINUS, "-")
        return f"; after the correction, {'this is no longer beyond chance' if state == MENDED else rise}"
    become = {MENDED: "no longer beyond chance,", LEFT: "still", REVERSED: "turned round,"}
    return f"; after the correction {become[state]} {_more_often(finding.after, words)}" if state else ""


def _told(finding: Finding, words: Vocabulary, first: bool) -> str:
    if finding.effect == SLOPE:
        return says(finding, words)
    rate = words.group_rate.format(words.percent(finding.accuracy))
    ends = " at the lower end" if isinstance(finding.condition, Trend) else ""
    among = ", once the findings above are allowed for" if finding.given_others and not first else ""
    return f"{rate}, {_more_often(finding.beyond, words)} {words.than_equal_rows()}{ends}{among}"


def finding_words(one: Finding, words: Vocabulary, *, first: bool) -> str:
    """Say how many rows a finding has, how far they are off and what the correction leaves of that.

    There is no finding above the first.
    """
    return f"{one.n:,} rows, {_told(one, words, first)}{_left(one, words)}"
