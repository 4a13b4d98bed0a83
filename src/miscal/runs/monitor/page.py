"""The page of a monitor and its table: the numbers of its document arranged, and drawn."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.vocabulary import vocabulary
from miscal.report.drawing import Scale, round_ticks
from miscal.report.formatting import points, signed
from miscal.report.frame import render_page
from miscal.report.source import printable
from miscal.runs.monitor.document import BROKEN, GAIN, HOLDS, UNKNOWN, Monitoring, QuestionNumbers, numbers

if TYPE_CHECKING:
    import polars as pl

STYLES = ("base.css", "tables.css", "figures.css", "print.css", "monitor.css")

STRIP_LEFT, STRIP_RIGHT, STRIP_TOP, STRIP_BOTTOM = 30.0, 252.0, 4.0, 52.0
STRIP_LOOKS = 24
"""Looks that a strip shows at most: the last ones."""
STRIP_SPAN = (0.05, 0.3)
"""Least and largest half-width of the axis of strips: small differences do not look large, and one wild look does not
flatten the others."""

GLOSSARY = (
    ("Look", "One call of `miscal monitor`, with a batch of rows that came after those before it."),
    (
        "Holds, does not hold, not known",
        "Each question has an interval, and a zone that is allowed. The correction does not hold where the "
        "interval is clear of the zone, it holds where the interval lies within it, and else it is not known. The "
        "chance that anything which holds is ever said not to is at most 5 %, however often one looks.",
    ),
    (
        "Interval",
        "Of the mean outcome less the mean corrected {probability}. It counts units, holds at all looks together, and "
        "allows for all that is asked.",
    ),
    (
        "Allowed",
        "Two points to either side, or what the run could be off by without knowing it. A correction is never exact; "
        "how far off it was when it was made is no change.",
    ),
    (
        "Alarm",
        "It is raised where the correction does not hold for all rows. Once raised, it stays: the rows that raised it "
        "are still there. It ends with a new run and its monitor.",
    ),
)


def build(document: Monitoring) -> str:
    """Return the page of a monitor: one HTML file without program or outside resource, always the same text."""
    shown = printable(document)
    terms = vocabulary(shown.kind)
    return render_page(
        "monitor.html",
        STYLES,
        folder=Path(__file__).parent,
        filters=(("nats", lambda value: signed(value, 4)),),
        document=shown,
        questions=question_rows(shown),
        glossary=[(word, meaning.format(probability=terms.probability)) for word, meaning in GLOSSARY],
        terms=terms,
        version=shown.versions.get("miscal"),
    )


def question_rows(document: Monitoring) -> list[dict[str, Any]]:
    """Arrange the questions with the strips of their looks: those about all rows first, then what does not hold."""
    ends = [
        abs(one.value)
        for asked in document.questions
        for one in asked.course[-STRIP_LOOKS:]
        if asked.kind != GAIN and one.value is not None
    ]
    widest = min(max([STRIP_SPAN[0], *ends]), STRIP_SPAN[1])
    axis = Scale(-widest, widest, STRIP_BOTTOM, STRIP_TOP)
    order = (BROKEN, UNKNOWN, HOLDS)
    asked = sorted(document.questions, key=lambda one: (not one.alarms, order.index(one.state)))
    return [_row(one, axis, document) for one in asked]


def _row(one: QuestionNumbers, axis: Scale, document: Monitoring) -> dict[str, Any]:
    """Return a line of the table; the gain, which has another scale, has no marks of looks."""
    looks = [] if one.kind == GAIN else one.course[-STRIP_LOOKS:]
    across = Scale(0, max(len(looks), 1), STRIP_LEFT, STRIP_RIGHT)
    low, high = one.allowed
    low = axis.low if low is None else low
    said = numbers(one, document)
    return {
        "question": one,
        "numbers": said,
        "looks": [
            {
                "x": across(k + 0.5),
                "y": axis.inside(look.value),
                "low": axis.inside(ends[0]),
                "high": axis.inside(ends[1]),
                "off": ends[0] > high or ends[1] < low,
            }
            for k, look in enumerate(looks)
            if look.value is not None and (ends := look.interval) and ends[0] is not None and ends[1] is not None
        ],
        "band": (axis.inside(high), axis.inside(low)),
        "ticks": [(axis(tick), points(tick, 0)) for tick in round_ticks(axis.low, axis.high, 3)],
        "zero": axis(0.0),
        "first": len(one.course) - len(looks) + 1,
        "latest": len(one.course),
        "spoken": f"Outcomes less corrected {vocabulary(document.kind).probabilities}, {one.about}: {said}",
    }


def course_table(document: Monitoring) -> pl.DataFrame:
    """List value and interval of each question after each look, as ``course.csv`` has them."""
    import polars as pl

    so_far = list(accumulate(one.rows for one in document.looks))
    rows = [
        (
            look.look, look.at, look.source, look.rows, total, one.key, one.course[place].value,
            *(one.course[place].interval or (None, None)), *one.allowed,
            one.state == BROKEN and one.rows.last <= look.look,
        )
        for place, (look, total) in enumerate(zip(document.looks, so_far, strict=True))
        for one in document.questions
    ]  # fmt: skip
    names = {"look": pl.Int64, "at": pl.String, "source": pl.String, "rows": pl.Int64, "rows_so_far": pl.Int64}
    numbers_of = dict.fromkeys(("value", "low", "high", "allowed_low", "allowed_high"), pl.Float64)
    schema = {**names, "question": pl.String, **numbers_of, "broken": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")
