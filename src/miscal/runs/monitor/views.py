"""Arrange the numbers of a monitor for its page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from miscal.base.vocabulary import vocabulary
from miscal.report.drawing import Scale, round_ticks
from miscal.report.formatting import points
from miscal.runs.monitor.document import Monitoring, QuestionNumbers
from miscal.runs.monitor.questions import GAIN
from miscal.runs.monitor.wording import numbers

if TYPE_CHECKING:
    import polars as pl

STRIP_LEFT, STRIP_RIGHT, STRIP_TOP, STRIP_BOTTOM = 30.0, 252.0, 4.0, 52.0
STRIP_LOOKS = 24
"""Looks that a strip shows at most: the last ones."""
STRIP_SPAN = (0.05, 0.3)
"""Least and largest half-width of the axis of strips: small differences do not look large, and one wild look does not
flatten the others."""


@dataclass(frozen=True)
class StripLook:
    """The rows up to a look, on the strip of a question.

    Attributes
    ----------
    x, y, low, high : float
    off : bool
        Whether the interval is clear of what counts as right.
    """

    x: float
    y: float
    low: float
    high: float
    off: bool


@dataclass(frozen=True)
class QuestionRow:
    """A row of the table of questions.

    Attributes
    ----------
    question : QuestionNumbers
    numbers : str
        Value with its interval, and what counts as right.
    looks : list of StripLook
        None of the gain, which has another scale.
    band : (float, float)
        Heights of what counts as right.
    ticks : list of (float, str)
    zero : float
    first, latest : int
        Numbers of the looks at both ends.
    spoken : str
    """

    question: QuestionNumbers
    numbers: str
    looks: list[StripLook]
    band: tuple[float, float]
    ticks: list[tuple[float, str]]
    zero: float
    first: int
    latest: int
    spoken: str


def question_rows(document: Monitoring) -> list[QuestionRow]:
    """Draw the questions look by look: those about all rows first, then what does not hold."""
    ends = [
        abs(one.value)
        for asked in document.questions
        for one in asked.course[-STRIP_LOOKS:]
        if asked.kind != GAIN and one.value is not None
    ]
    widest = min(max([STRIP_SPAN[0], *ends]), STRIP_SPAN[1])
    axis = Scale(-widest, widest, STRIP_BOTTOM, STRIP_TOP)
    order = {"does not hold": 0, "not known": 1, "holds": 2}
    asked = sorted(document.questions, key=lambda one: (not one.alarms, order[one.state]))
    return [_row(one, axis, document) for one in asked]


def _row(one: QuestionNumbers, axis: Scale, document: Monitoring) -> QuestionRow:
    looks = [] if one.kind == GAIN else one.course[-STRIP_LOOKS:]
    across = Scale(0, max(len(looks), 1), STRIP_LEFT, STRIP_RIGHT)
    low, high = one.allowed
    low = axis.low if low is None else low
    drawn = [
        StripLook(
            across(k + 0.5), axis.inside(look.value), axis.inside(ends[0]), axis.inside(ends[1]),
            ends[0] > high or ends[1] < low,
        )
        for k, look in enumerate(looks)
        if look.value is not None and (ends := look.interval) and ends[0] is not None and ends[1] is not None
    ]  # fmt: skip
    said = numbers(one, document)
    return QuestionRow(
        question=one,
        numbers=said,
        looks=drawn,
        band=(axis.inside(high), axis.inside(low)),
        ticks=[(axis(tick), points(tick, 0)) for tick in round_ticks(axis.low, axis.high, 3)],
        zero=axis(0.0),
        first=len(one.course) - len(looks) + 1,
        latest=len(one.course),
        spoken=f"Outcomes less corrected {vocabulary(document.kind).probabilities}, {one.about}: {said}",
    )


def course_table(document: Monitoring) -> pl.DataFrame:
    """List the value and the interval of each question after each look.

    Parameters
    ----------
    document : Monitoring

    Returns
    -------
    polars.DataFrame
        ``look``, ``at``, ``source``, ``rows`` (of the look), ``rows_so_far``, ``question`` (its key), ``value``,
        ``low`` and ``high`` (of all rows so far; blank where nothing is known), ``allowed_low`` and ``allowed_high``
        (what counts as right), ``broken`` (whether it was shown not to hold by then).
    """
    import polars as pl

    so_far = list(accumulate(one.rows for one in document.looks))
    rows = [
        (
            look.look, look.at, look.source, look.rows, total, one.key, one.course[place].value,
            *(one.course[place].interval or (None, None)), *one.allowed,
            one.state == "does not hold" and one.rows.last <= look.look,
        )
        for place, (look, total) in enumerate(zip(document.looks, so_far, strict=True))
        for one in document.questions
    ]  # fmt: skip
    names = {"look": pl.Int64, "at": pl.String, "source": pl.String, "rows": pl.Int64, "rows_so_far": pl.Int64}
    numbers_of = dict.fromkeys(("value", "low", "high", "allowed_low", "allowed_high"), pl.Float64)
    schema = {**names, "question": pl.String, **numbers_of, "broken": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")
