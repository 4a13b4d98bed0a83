"""The page of a monitor and its table: the numbers of its document arranged, and drawn."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miscal.base.document import Measure
from miscal.base.vocabulary import vocabulary
from miscal.report.drawing import Scale, round_ticks
from miscal.report.formatting import count, points, signed
from miscal.report.frame import render_page
from miscal.report.groups import Group
from miscal.report.opening import opening
from miscal.report.panels.groups import forest_axis
from miscal.report.source import printable
from miscal.runs.monitor.document import (
    BROKEN,
    GAIN,
    HOLDS,
    LEVEL,
    UNKNOWN,
    Monitoring,
    QuestionNumbers,
    RowsOfLooks,
    numbers,
    tolerated,
)

if TYPE_CHECKING:
    import polars as pl

STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "print.css", "monitor.css")
PROGRAMS = ("folds.js",)
SHOWN = 6
"""Questions in the picture that opens the page."""
COURSE_LOOKS = 60
"""Looks that its other picture shows at most: the last ones."""

STRIP_LEFT, STRIP_RIGHT, STRIP_TOP, STRIP_BOTTOM = 30.0, 252.0, 4.0, 52.0
STRIP_LOOKS = 24
"""Looks that a strip shows at most: the last ones."""
STRIP_SPAN = (0.05, 0.3)
"""Least and largest half-width of the axis of strips: small differences do not look large, and one wild look does not
flatten the others."""

_COUNTED = {BROKEN: "where it does not hold", UNKNOWN: "where it is not known", HOLDS: "where it holds"}

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
        "The tolerance to either side of what the correction says: two points, unless `--tolerance` says otherwise. Of "
        "the log loss, no more than without the correction.",
    ),
    (
        "Alarm",
        "It is raised where the correction does not hold for all rows. Once raised, it stays: the rows that raised it "
        "are still there. It ends with a new run and its monitor.",
    ),
)


def build(document: Monitoring) -> str:
    """Return the page of a monitor: one HTML file without outside resource, always the same text."""
    shown = printable(document)
    terms = vocabulary(shown.kind)
    groups = compared_groups(shown)
    return render_page(
        "monitor.html",
        STYLES,
        PROGRAMS,
        folder=Path(__file__).parent,
        filters=(("nats", lambda value: signed(value, 4)),),
        document=shown,
        **opening(shown.answer),
        rows=groups[:SHOWN],
        total=len(groups),
        along=forest_axis(groups[:SHOWN]),
        course=course_row(shown),
        tolerance=tolerated(shown.asked(LEVEL)[0]),
        notes=[*shown.warnings, *(f"Not asked: {one}." for one in shown.left_out)],
        asked_line=_states(shown),
        looks_line=f"{count(len(shown.looks))} so far, with {count(shown.rows)} rows",
        questions=question_rows(shown),
        glossary=[(word, meaning.format(probability=terms.probability)) for word, meaning in GLOSSARY],
        terms=terms,
        version=shown.versions.get("miscal"),
    )


def _states(document: Monitoring) -> str:
    """Count the questions by their answers."""
    states = Counter(one.state for one in document.questions)
    return ", ".join(f"{states[one]} {said}" for one, said in _COUNTED.items() if states[one])


def compared_groups(document: Monitoring) -> list[Group]:
    """Return what is asked of rows as groups: what the correction says, what happened, what was said before it."""
    rows = [(one, one.rows) for one in document.in_order if one.kind != GAIN and one.rows.observed is not None]
    return [
        Group(
            number=0,
            name=one.about,
            n=of.n,
            predicted=of.corrected or 0.0,
            happened=_happened(of),
            corrected=of.raw,
            hidden=of.value,
            colour="broken" if one.state == BROKEN else "",
            note=one.state,
        )
        for one, of in rows
    ]


def _happened(rows: RowsOfLooks) -> Measure:
    """Return how often the outcome was 1, with the interval of its distance from what was said."""
    ends, says, true = rows.value.interval, rows.corrected or 0.0, rows.observed or 0.0
    if rows.value.value is None or ends is None or ends[0] is None or ends[1] is None:
        return Measure(value=true)
    return Measure(value=true, interval=(max(0.0, says + ends[0]), min(1.0, says + ends[1])))


def course_row(document: Monitoring) -> dict[str, Any]:
    """Place the looks of all rows in the picture that opens the page, on an axis that fits them."""
    (level,) = document.asked(LEVEL)
    looks = level.course[-COURSE_LOOKS:]
    ends = [abs(end) for one in looks for end in (one.value, *(one.interval or ())) if end is not None]
    allowed = max(abs(end) for end in level.allowed if end is not None)
    widest = min(max([2 * allowed, *ends]), max(2 * allowed, STRIP_SPAN[1]))
    return _row(level, Scale(-widest, widest, 306.0, 12.0), document, (44.0, 360.0), COURSE_LOOKS, 5)


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
    return [_row(one, axis, document, (STRIP_LEFT, STRIP_RIGHT), STRIP_LOOKS) for one in document.in_order]


def _row(
    one: QuestionNumbers, axis: Scale, document: Monitoring, ends: tuple[float, float], most: int, ticks: int = 3
) -> dict[str, Any]:
    """Return a line of the table; the gain, which has another scale, has no marks of looks."""
    looks = [] if one.kind == GAIN else one.course[-most:]
    across = Scale(0, max(len(looks), 1), *ends)
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
        "ticks": [
            (axis(tick), points(tick, 0)) for tick in round_ticks(axis.low, axis.high, 3 if most == STRIP_LOOKS else 5)
        ],
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
