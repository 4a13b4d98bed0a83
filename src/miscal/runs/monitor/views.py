"""Arrange the numbers of a monitor for its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING

from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.report.drawing import Scale, round_ticks
from miscal.report.formatting import bounds, points, signed
from miscal.report.precision import decimals_for
from miscal.runs.monitor.document import LineLook, LineNumbers, LookNumbers, MonitoredGroup, Monitoring
from miscal.runs.monitor.lines import FEATURE, GAIN, GROUPS, LEVEL, RISE, SLOPE

if TYPE_CHECKING:
    import polars as pl

LEFT, RIGHT, TOP, BOTTOM = 34.0, 322.0, 8.0, 118.0
STRIP_LEFT, STRIP_RIGHT, STRIP_TOP, STRIP_BOTTOM = 30.0, 252.0, 4.0, 52.0
STRIP_LOOKS = 24
"""Looks that a strip shows at most: the last ones."""
STRIP_SPAN = (0.5, 2.0)
"""Least and largest half-width of the axis of strips, in log-odds: small differences do not look large, and one wild
look does not flatten the others."""

MEAN = "mean"
TITLES = {
    MEAN: "All lines together",
    GAIN: "Corrected against raw",
    LEVEL: "Corrected {probabilities}: level",
    SLOPE: "Corrected {probabilities}: slope",
    "raw_total": "Raw {probabilities}: all rows",
    "raw_hidden": "Raw {probabilities}: the hidden field of the run",
    "total": "Corrected {probabilities}: level and slope",
    "hidden": "Corrected {probabilities}: {equal}",
    "inputs": "Inputs: told from those of the run",
    "unsupported": "Inputs: unlike all rows of the run",
}
ASKED = {
    MEAN: "Has nothing changed for the worse? The mean of all lines and of both questions about inputs.",
    GAIN: "Are the corrected {probabilities} no worse than the raw ones, by log loss?",
    LEVEL: "Are the outcomes, of all rows, as near to the corrected {probabilities} as the run measured?",
    SLOPE: "Are they at every height of the corrected {probability}?",
    "raw_total": "Are the outcomes what the raw {probabilities} say?",
    "raw_hidden": "At equal raw {probability}, {alike}, whatever the field of the run says of them?",
    "total": "Could a correction learned anew not be better, on average and at every {probability}?",
    "hidden": "At equal corrected {probability}, do the outcomes not depend on the inputs, so that no new correction "
    "could be better?",
    "inputs": "Do the new inputs come from where those of the run come from?",
    "unsupported": "Are rows without a local estimate as rare as in the run?",
}
STILL = {"yes": "still there", "unclear": "not shown", "opposite": "the other way round"}
SIDES = {"change": "ALARM: ", "advice": "Advice to refit: ", "raw": ""}


@dataclass(frozen=True)
class Chart:
    """The course of one question.

    Attributes
    ----------
    title, question, answer : str
    path : str
        Of the curve.
    dots : list of (float, float)
    line : float or None
        Height of the line at which it is answered.
    across, up : list of (float, str)
        Ticks.
    answered : bool
    alarm : bool
        Whether an answer raises an alarm.
    """

    title: str
    question: str
    answer: str
    path: str
    dots: list[tuple[float, float]]
    line: float
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    answered: bool
    alarm: bool


def charts(document: Monitoring) -> list[Chart]:
    """Draw the course of everything but groups and features, over rows on one axis; alarms first."""
    words = vocabulary(document.kind)
    ends = [0, *accumulate(one.rows for one in document.looks)]
    x = Scale(0, ends[-1], LEFT, RIGHT)
    drawn = [_chart(MEAN, "change", document.evidence, document.line, document.raised, ends, x, words)]
    drawn += [
        _chart(one.kind, "change", one.course, one.line, one.answered, ends, x, words)
        for one in document.lines
        if one.kind in TITLES
    ]
    asked = sorted(document.questions, key=lambda one: list(SIDES).index(one.side))
    drawn += [_chart(one.kind, one.side, one.course, one.line, one.answered, ends, x, words) for one in asked]
    return sorted(drawn, key=lambda one: not (one.alarm and one.answered))


def _chart(
    kind: str,
    side: str,
    course: Sequence[float],
    line: float,
    answered: int | None,
    ends: list[int],
    x: Scale,
    words: Vocabulary,
) -> Chart:
    fills = {"probability": words.probability, "probabilities": words.probabilities, "equal": words.equal_rows()}
    title, question = (texts[kind].format(**fills, alike=words.alike) for texts in (TITLES, ASKED))
    values = [0.0, *course]
    # a question can be answered within a look, and its capital be lower at the end of it
    y = Scale(min(-1.0, *values), max(line * 1.25, *values), BOTTOM, TOP)
    dots = [(x(end), y(value)) for end, value in zip(ends, values, strict=True)]
    path = "".join(f"{'L' if place else 'M'}{across} {up}" for place, (across, up) in enumerate(dots))
    step = max(1, round((y.high - y.low) / 5))
    whole = range(ceil(y.low / step) * step, int(y.high) + 1, step)
    now = f"capital now {capital(values[-1])}, line at {capital(line)}"
    return Chart(
        title=title,
        question=question,
        answer=f"Not answered: {now}." if answered is None else f"{SIDES[side]}No, since look {answered}: {now}.",
        path=path,
        dots=dots[1:],
        line=y(line),
        across=[(x(tick), f"{tick:,.0f}") for tick in round_ticks(0, ends[-1], 4)],
        up=[(y(tick), capital(tick) if -3 <= tick <= 4 else f"10^{tick}") for tick in whole],
        answered=answered is not None,
        alarm=side == "change",
    )


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


@dataclass(frozen=True)
class StripLook:
    """A look on the strip of a line.

    Attributes
    ----------
    x, y, low, high : float
    off : bool
        Whether the interval of this look alone is clear of what counts as no change.
    """

    x: float
    y: float
    low: float
    high: float
    off: bool


@dataclass(frozen=True)
class LineRow:
    """A line of the tables of groups and features.

    Attributes
    ----------
    line : LineNumbers
    group : MonitoredGroup or None
        Of a group.
    last : str
        The last look: the residual in points with its interval, or the shift of a feature.
    still : str
    looks : list of StripLook
    band : (float, float)
        Heights of what counts as no change.
    ticks : list of (float, str)
    zero : float
    first, latest : int
        Numbers of the looks at both ends.
    spoken : str
    """

    line: LineNumbers
    group: MonitoredGroup | None
    last: str
    still: str
    looks: list[StripLook]
    band: tuple[float, float]
    ticks: list[tuple[float, str]]
    zero: float
    first: int
    latest: int
    spoken: str


def group_rows(document: Monitoring) -> list[LineRow]:
    """Draw regimes, findings and values look by look; those with an alarm first."""
    groups = {one.key: one for one in document.groups}
    return _rows([(one, groups[one.key]) for one in document.lines if one.kind in GROUPS], document)


def feature_rows(document: Monitoring) -> list[LineRow]:
    """Draw features, and confidences within groups, look by look; those with an alarm first."""
    return _rows([(one, None) for one in document.lines if one.kind in (FEATURE, RISE)], document)


def _rows(lines: list[tuple[LineNumbers, MonitoredGroup | None]], document: Monitoring) -> list[LineRow]:
    shown = [look.shift.value for one, _ in lines for look in one.looks[-STRIP_LOOKS:]]
    widest = max([STRIP_SPAN[0], *(abs(value) for value in shown if value is not None)])
    axis = Scale(-min(widest, STRIP_SPAN[1]), min(widest, STRIP_SPAN[1]), STRIP_BOTTOM, STRIP_TOP)
    return sorted((_row(one, group, axis, document) for one, group in lines), key=lambda row: row.line.answered is None)


def _row(one: LineNumbers, group: MonitoredGroup | None, axis: Scale, document: Monitoring) -> LineRow:
    looks = one.looks[-STRIP_LOOKS:]
    across = Scale(0, len(looks), STRIP_LEFT, STRIP_RIGHT)
    low, high = (axis.inside(end) for end in one.allowed)
    last, stated = _last(one, decimals_for(document.epsilon)), vocabulary(document.kind).probability
    return LineRow(
        line=one,
        group=group,
        last=last,
        still="" if group is None or group.before is None else STILL[group.still],
        looks=[drawn for k, look in enumerate(looks) if (drawn := _strip_look(look, one, across(k + 0.5), axis))],
        band=(high, low),
        ticks=[(axis(tick), signed(tick, 1)) for tick in round_ticks(axis.low, axis.high, 3)],
        zero=axis(0.0),
        first=looks[0].look,
        latest=looks[-1].look,
        spoken=f"Shift of {one.about} from the corrected {stated} at each look; at the last one {last}",
    )


def _strip_look(look: LineLook, one: LineNumbers, x: float, axis: Scale) -> StripLook | None:
    value, ends = look.shift.value, look.shift.interval
    if value is None or ends is None or ends[0] is None or ends[1] is None:
        return None
    off = ends[0] > one.allowed[1] or ends[1] < one.allowed[0]
    return StripLook(x, axis.inside(value), axis.inside(ends[0]), axis.inside(ends[1]), off)


def _last(one: LineNumbers, decimals: int) -> str:
    look = one.looks[-1]
    measure, form = (look.residual, "points") if one.kind in GROUPS else (look.shift, "metric")
    if measure.value is None:
        return "no rows"
    value = points(measure.value, decimals) if form == "points" else signed(measure.value, 2)
    ends = measure.interval
    if ends is None or ends[0] is None or ends[1] is None:
        return value
    in_points = bounds(ends, digits=decimals)
    return f"{value} ({in_points if form == 'points' else f'{signed(ends[0], 2)} to {signed(ends[1], 2)}'})"


def worse(look: LookNumbers) -> bool:
    """Whether the corrected confidences of a look scored worse than the raw ones."""
    return look.brier_corrected > look.brier_raw or (look.lost.value or 0.0) > 0


def course_table(document: Monitoring) -> pl.DataFrame:
    """List the evidence of each question and line after each look.

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
        for one in (*document.questions, *document.lines)
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
