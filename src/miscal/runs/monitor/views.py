"""What the page of a monitor shows: courses of the evidence as drawn, and groups as told."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING

from miscal.report.drawing import Scale, round_ticks, whisker
from miscal.report.numbers import points
from miscal.runs.monitor.document import GroupNumbers, Monitoring, QuestionNumbers

if TYPE_CHECKING:
    import polars as pl

LEFT, RIGHT, TOP, BOTTOM = 34.0, 322.0, 8.0, 118.0
LEAST_SPAN = 0.1
"""Half-width of the axis of hidden residuals at least, so that small differences do not look large."""

TITLES = {
    "raw_total": "Raw confidences: all rows",
    "raw_hidden": "Raw confidences: the hidden field of the run",
    "total": "Corrected confidences: all rows",
    "hidden": "Corrected confidences: rows of equal confidence",
    "inputs": "Inputs: told from those of the run",
    "unsupported": "Inputs: unlike all rows of the run",
}
ASKED = {
    "raw_total": "Are the outcomes what the raw confidences say?",
    "raw_hidden": "At equal raw confidence, are rows right alike, whatever the field of the run says of them?",
    "total": "Are the outcomes what the corrected confidences say, on average and at every confidence?",
    "hidden": "At equal corrected confidence, do the outcomes not depend on the inputs?",
    "inputs": "Do the new inputs come from where those of the run come from?",
    "unsupported": "Are rows without a local estimate as rare as in the run?",
    "regime": "Are the outcomes what the corrected confidences say?",
    "finding": "Are the outcomes what the corrected confidences say?",
}
STILL = {"yes": "still there", "unclear": "not shown", "opposite": "the other way round"}


@dataclass(frozen=True)
class Chart:
    """The course of one question.

    Attributes
    ----------
    title, question, told : str
    path : str
        Of the curve.
    dots : list of (float, float)
    line : float or None
        Height of the line at which it is answered.
    across, up : list of (float, str)
        Ticks.
    answered : bool
    alarm : bool
    """

    title: str
    question: str
    told: str
    path: str
    dots: list[tuple[float, float]]
    line: float
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    answered: bool
    alarm: bool


def charts(document: Monitoring) -> list[Chart]:
    """Draw the course of every question, over rows on one axis; alarms first, then the order of the document."""
    ends = [0, *accumulate(one.rows for one in document.looks)]
    x = Scale(0, ends[-1], LEFT, RIGHT)
    drawn = [_chart(one, ends, x) for one in document.questions]
    return sorted(drawn, key=lambda one: not (one.alarm and one.answered))


def _chart(one: QuestionNumbers, ends: list[int], x: Scale) -> Chart:
    values = [0.0, *one.course]
    y = Scale(min(-1.0, *values), max(one.line * 1.25, *values), BOTTOM, TOP)
    dots = [(x(end), y(value)) for end, value in zip(ends, values, strict=True)]
    path = "".join(f"{'L' if place else 'M'}{across} {up}" for place, (across, up) in enumerate(dots))
    step = max(1, round((y.high - y.low) / 5))
    whole = range(ceil(y.low / step) * step, int(y.high) + 1, step)
    return Chart(
        title=TITLES.get(one.kind) or one.about[:1].upper() + one.about[1:],
        question=ASKED[one.kind],
        told=_told(one),
        path=path,
        dots=dots[1:],
        line=y(one.line),
        across=[(x(tick), f"{tick:,.0f}") for tick in round_ticks(0, ends[-1], 4)],
        up=[(y(tick), _power(tick)) for tick in whole],
        answered=one.answered is not None,
        alarm=one.alarm,
    )


def _told(one: QuestionNumbers) -> str:
    now = f"capital now {capital(one.evidence)}, at most {capital(one.peak)}, line at {capital(one.line)}"
    if one.answered is None:
        return f"Not answered: {now}."
    return f"{'ALARM: ' if one.alarm else ''}No, since look {one.answered}: {now}."


def capital(evidence: float) -> str:
    """Write a capital from its decimal logarithm.

    Examples
    --------
    >>> capital(0.0), capital(1.3), capital(-1.0), capital(12.2)
    ('1', '20', '0.1', '10^12')
    """
    if evidence >= 5:
        return f"10^{evidence:.0f}"
    return f"{10**evidence:,.0f}" if evidence >= 1 else f"{10**evidence:.2g}"


def _power(tick: int) -> str:
    return capital(tick) if -3 <= tick <= 4 else f"10^{tick}"


@dataclass(frozen=True)
class GroupRow:
    """A line of the table of groups.

    Attributes
    ----------
    group : GroupNumbers
    question : QuestionNumbers
    still : str
    at : float or None
        Where the hidden residual stands.
    whisker : (float, float) or None
    before : float or None
        Where that of the run stands.
    spoken : str
    ticks : list of (float, str)
    zero : float
    """

    group: GroupNumbers
    question: QuestionNumbers
    still: str
    at: float | None
    whisker: tuple[float, float] | None
    before: float | None
    spoken: str
    ticks: list[tuple[float, str]]
    zero: float


def group_rows(document: Monitoring) -> list[GroupRow]:
    """Draw regimes and findings on one axis; those with an alarm first."""
    known = [abs(value) for one in document.groups for value in (one.hidden.value, one.before) if value is not None]
    span = max([LEAST_SPAN, *known])
    axis = Scale(-1.3 * span, 1.3 * span, 8.0, 252.0)
    questions = {one.key: one for one in document.questions}
    rows = [
        GroupRow(
            group=one,
            question=questions[one.key],
            still=STILL[one.still],
            at=None if one.hidden.value is None else axis.inside(one.hidden.value),
            whisker=whisker(one.hidden.interval, axis),
            before=None if one.before is None else axis.inside(one.before),
            spoken=f"Hidden residual of {one.description}: {points(one.hidden.value)}, in the run {points(one.before)}",
            ticks=[(axis(tick), points(tick, 0)) for tick in round_ticks(axis.low, axis.high)],
            zero=axis(0.0),
        )
        for one in document.groups
    ]
    return sorted(rows, key=lambda row: row.question.answered is None)


def course_table(document: Monitoring) -> pl.DataFrame:
    """List the evidence of each question after each look.

    Parameters
    ----------
    document : Monitoring

    Returns
    -------
    polars.DataFrame
        ``look``, ``at``, ``source``, ``rows`` (of the look), ``rows_so_far``, ``question`` (its key), ``evidence``
        (decimal logarithm of the capital), ``line`` (where it is answered), ``answered`` (whether it was, by then).
    """
    import polars as pl

    so_far = list(accumulate(one.rows for one in document.looks))
    rows = [
        (
            look.look,
            look.at,
            look.source,
            look.rows,
            total,
            one.key,
            one.course[place],
            one.line,
            one.answered is not None and one.answered <= look.look,
        )
        for place, (look, total) in enumerate(zip(document.looks, so_far, strict=True))
        for one in document.questions
    ]
    schema = {
        "look": pl.Int64,
        "at": pl.String,
        "source": pl.String,
        "rows": pl.Int64,
        "rows_so_far": pl.Int64,
        "question": pl.String,
        "evidence": pl.Float64,
        "line": pl.Float64,
        "answered": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
