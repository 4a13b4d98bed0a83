"""The list of findings: groups that are right more or less often than rows of equal confidence."""

from dataclasses import replace
from typing import Any, NamedTuple

from miscal.base.vocabulary import Vocabulary
from miscal.findings.conditions import TEXT, Missing, Trend
from miscal.findings.ledger import Finding
from miscal.findings.ledger.sizes import CORRECTED
from miscal.findings.verdict import fate_words, together_words
from miscal.report.drawing import Chart, Mark, Scale, path, reach_of
from miscal.report.examples import Example, Examples
from miscal.report.formatting import NBSP, bounds, count, points
from miscal.report.groups import Curves, curves_of, groups_of, has_curve
from miscal.report.panels.answer import forest_axis
from miscal.report.source import Source
from miscal.report.texts import clean, listed, short

SHOWN = 20
MAX_EXAMPLES = 3
_LINE = 120
_LEAST_REACH = 0.05


class Picture(NamedTuple):
    """A small drawing of a finding, with what it says and what is drawn."""

    chart: Chart
    said: str
    drawn: str


class FindingRow(NamedTuple):
    """A finding as drawn, with what is said of it and its most telling rows."""

    finding: Finding
    curves: Curves | None
    examples: list[Example]
    together: str
    conditional: str
    trend: Picture | None
    also: str
    origin: str
    odds: str
    fate: str


def findings(source: Source) -> dict[str, Any] | None:
    """Return the strongest findings; None where the run tested no named group."""
    summary = source.summary
    method = summary.findings_method
    if method is None or method.candidates == 0:
        return None
    groups, rows = groups_of(summary, SHOWN), _rows(source)
    return {
        "groups": groups,
        "rows": rows,
        "along": forest_axis(groups),
        "left_out": max(0, len(summary.findings) - SHOWN),
        "method": method,
        "of_classes": 0 if summary.classes is None else len(summary.classes.findings),
        "kind": "test rows" if method.evidence == "test" else "rows",
        "corrected": CORRECTED,
        "accounted": len(summary.accounted_for),
        "tables": bool(source.columns),
    }


def _rows(source: Source) -> list[FindingRow]:
    """Return what is shown of each finding once it is opened."""
    summary, terms = source.summary, source.terms
    found = summary.findings[:SHOWN]
    examples = Examples(source, (row for one in found for row in one.rows[:MAX_EXAMPLES]))
    return [
        FindingRow(
            finding=one,
            curves=curves_of(summary, [replace(group, colour=group.colour or "plain")], (46.0, 352.0), (318.0, 10.0))
            if has_curve(summary, group.number)
            else None,
            examples=examples.of(one.rows[:MAX_EXAMPLES]),
            together=together_words(one, found).removeprefix(", "),
            conditional=_compared(one, group.number),
            trend=_trend(one, one.condition, source, terms) if isinstance(one.condition, Trend) else None,
            also=_also(one),
            origin=_origin(one),
            odds=odds_in_words(one.odds_ratio, terms),
            fate=fate_words(one.fate, one.units_needed),
        )
        for group, one in zip(groups_of(summary, SHOWN), found, strict=True)
    ]


def _compared(finding: Finding, number: int) -> str:
    """Say what its conditional size compares; empty where that says no more than the size itself."""
    if finding.conditional.value is None:
        return ""
    if isinstance(finding.condition, Trend):
        return "Its upper third against its lower third"
    return "Beside rows in the same groups above" if number > 1 else ""


def _also(finding: Finding) -> str:
    """Return other names of its rows, whole, as many as a line holds: a beginning may be that of another name."""
    text = ""
    for one in map(clean, finding.aliases):
        longer = f"{text}; {one}" if text else one
        text = longer if len(longer) <= _LINE else text
    return text


def _origin(finding: Finding) -> str:
    """Say where the group comes from."""
    if finding.source == "named":
        columns = [f"the column {short(column, 40)}" for column in finding.columns if column != TEXT]
        return f"named by {listed([*columns, *(['a term of the texts'] if TEXT in finding.columns else [])], 'and')}"
    return "found from the inputs, then described" if finding.source == "found" else finding.source


def odds_in_words(ratio: float | None, terms: Vocabulary) -> str:
    """Say an odds ratio.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> odds_in_words(0.37, vocabulary("answer")), odds_in_words(2.0, vocabulary("event"))
    ('0.37 times', '2 times')
    """
    if ratio is None:
        return f"not defined: all {terms.equal_rows()} have one outcome"
    return f"{'over 100' if ratio > 100 else f'{ratio:.2g}'} times"


def _trend(finding: Finding, condition: Trend, source: Source, terms: Vocabulary) -> Picture | None:
    """Draw how much more often rows are right than rows of equal confidence, along a column; None without its table."""
    column = clean(condition.column)
    bins = [one for one in source.columns.get(column, ()) if not isinstance(one.condition, Missing)]
    bins = [one for one in bins if one.hidden.value is not None]
    if len(bins) < 2:
        return None
    reach, last = reach_of((one.hidden for one in bins), _LEAST_REACH), len(bins) - 1
    x, y = Scale(0, last, 40.0, 208.0), Scale(-reach, reach, 104.0, 8.0)
    marks = [
        Mark(
            x(place),
            y(one.hidden.value or 0.0),
            y.whisker(one.hidden.interval),
            f"{one.value}: {count(one.n)} rows, {points(one.hidden.value, source.decimals)} points "
            f"({bounds(one.hidden.interval, digits=source.decimals)})",
        )
        for place, one in enumerate(bins)
    ]
    chart = Chart(
        *(222, 134, x, y),
        x_ticks=[(x.start - 6, bins[0].value, "start"), (x.stop + 6, bins[-1].value, "end")],
        y_ticks=[(y(share * reach), points(share * reach, 0)) for share in (-1, 0, 1)],
        marks=marks,
        lines=[("curve", path((mark.x, mark.y) for mark in marks))],
        titles=(column, ""),
        inset=6.0,
        signed=True,
    )
    often = "less" if finding.sign == "over" else "more"
    drawn = (
        f"Points above and below rows of equal {terms.probability}, by tenths of the rows, with 95{NBSP}% intervals."
    )
    return Picture(chart, f"The {condition.higher} is, the {often} often {terms.comes_true()}", drawn)
